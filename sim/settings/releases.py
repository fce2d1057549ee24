"""Which settings take effect in which release of grpcio; the emulator refuses the same ones.

Source: captures of the releases that docs/how-to/grpc-releases.md lists; those between two that
behave alike are taken to do so, too.
"""

from typing import Final

from h2model.candidates import receiver_rule, sender_rule
from h2model.parameters import order_of, releases
from netcosim.errors import ScenarioError
from netcosim.scenario import TransportSpec

RFC_WINDOW_BYTES: Final = 65535
"""What HTTP/2 begins with (RFC 9113, section 6.9.2)."""

_VARIABLE_OBEYED: Final = ((1, 13), (1, 48))
_WINDOW_TAKEN_BACK: Final = ((1, 52), (1, 74))
_OWN_OFF_SINCE: Final = (1, 74)
_WHOLE_MESSAGES_SINCE: Final = (1, 74)


def check_releases(transport: TransportSpec) -> None:
    """Refuse settings of gRPC ends that take no effect in their releases.

    Raises
    ------
    ScenarioError
        Names the setting, its value and what is allowed; or a release is older than all known.
    """
    where = f"transport[{transport.name}]"
    sends, receives = _release(transport.sender_release), _release(transport.receiver_release)
    for rule_of in (sender_rule, receiver_rule):
        rule_of(transport)  # refuses releases that are older than all that were looked at
    wanted = transport.sender == "grpc" and transport.whole_messages
    if wanted and order_of(sends) < _WHOLE_MESSAGES_SINCE:
        allowed = f"grpcio {sends} does not know it; needs a sender_release from 1.74 on"
        raise ScenarioError.at(f"{where}.whole_messages", True, allowed)
    if transport.receiver != "grpc":
        return
    if not transport.flow_control:
        if order_of(receives) < _OWN_OFF_SINCE and not _off_by_variable(transport):
            allowed = (
                f"a receiver of grpcio {receives} keeps its windows; needs a receiver_release from"
                " 1.74 on, or grpc at both ends with releases from 1.13 to 1.47"
            )
            raise ScenarioError.at(f"{where}.flow_control", False, allowed)
    elif transport.window not in (None, RFC_WINDOW_BYTES) and _within(
        _WINDOW_TAKEN_BACK, transport.receiver_release
    ):
        allowed = f"grpcio {receives} takes it back; needs a receiver_release up to 1.51 or from"
        raise ScenarioError.at(f"{where}.window", transport.window, f"{allowed} 1.74 on")


def _off_by_variable(transport: TransportSpec) -> bool:
    return (
        transport.sender == "grpc"
        and _within(_VARIABLE_OBEYED, transport.sender_release)
        and _within(_VARIABLE_OBEYED, transport.receiver_release)
    )


def _within(releases: tuple[tuple[int, int], tuple[int, int]], release: str | None) -> bool:
    first, gone = releases
    return first <= order_of(_release(release)) < gone


def _release(release: str | None) -> str:
    return release or releases("grpc")[-1]
