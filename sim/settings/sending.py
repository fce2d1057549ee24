"""From a transport to the discipline, options and windows of its connections."""

from dataclasses import replace
from typing import Final

from h2model import disciplines
from h2model.candidates import assumed, candidate_senders, receiver_model
from h2model.connection import UNLIMITED_BYTES
from netcosim.errors import ScenarioError
from netcosim.scenario import TransportSpec
from sim.plan import Sending
from sim.settings.ends import check_ends
from sim.settings.releases import check_releases

CHUNK_BYTES: Final = 65536
"""A chunk of the disciplines that preempt: they can't while one is on the link."""


def sending_of(transport: TransportSpec, window_bytes: int | None = None) -> Sending:
    """What the simulator is told of a transport.

    Our own sender follows the discipline that it is given; a gRPC sender the one that
    `h2model.parameters` has for its release under its settings, or, if that was not studied, for
    the nearest release; a script the discipline that the scenario says it has. Windows are the
    receiver's; with flow control off there are none. Credit returns at once, whatever the
    receiver's rule: a window that a probe would widen stays as it begins.

    Parameters
    ----------
    transport : of a scenario
    window_bytes : the stream window, where it is another than the transport's: a scaled one

    Raises
    ------
    ScenarioError
        The sender's discipline is not known, or a setting does not go with it.
    """
    where = f"transport[{transport.name}]"
    check_ends(transport)
    check_releases(transport)
    discipline = _discipline(transport, where)
    try:
        # Each sender model has the options of the discipline in its own right.
        given = candidate_senders(transport)[discipline].options
        options = tuple(disciplines.resolve_options(discipline, given))
    except ValueError as problem:
        raise ScenarioError(f"{where}.options: {problem}") from None
    window, connection = _windows(transport, window_bytes)
    sending = Sending(
        discipline=discipline,
        options=options,
        window_bytes=window,
        connection_window_bytes=connection,
    )
    if disciplines.preempts(discipline):
        return replace(sending, chunk_bytes=CHUNK_BYTES)
    return sending


def _discipline(transport: TransportSpec, where: str) -> str:
    if transport.sender == "grpc":
        for field in ("discipline", "options"):
            if value := getattr(transport, field):
                shown = value if isinstance(value, str) else ", ".join(value)
                allowed = "a grpc sender has no such setting; its release decides"
                raise ScenarioError.at(f"{where}.{field}", shown, allowed)
    elif transport.whole_messages and transport.sender == "h2":
        allowed = "an h2 sender has no such setting; give it the discipline fifo"
        raise ScenarioError.at(f"{where}.whole_messages", True, allowed)
    found = assumed(transport)
    allowed = ", ".join(disciplines.names())
    if found is None:
        raise ScenarioError(
            f"{where}.discipline: is required: what a sender of the kind {transport.sender} does"
            f" is not known; allowed: {allowed}"
        )
    if found not in disciplines.names():
        raise ScenarioError.at(f"{where}.discipline", found, f"unknown; allowed: {allowed}")
    return found


def _windows(transport: TransportSpec, window_bytes: int | None) -> tuple[int | None, int | None]:
    """The stream window and the connection's; None: never binds."""
    wanted = transport.window if window_bytes is None else window_bytes
    receiver = receiver_model(transport, wanted)
    if receiver.credit is None:
        return None, None
    if transport.receiver == "grpc" and wanted is not None:
        return wanted, wanted  # the models keep to a release's own where a probe would widen it
    connection = receiver.connection_window_bytes
    return receiver.window_bytes, None if connection == UNLIMITED_BYTES else connection
