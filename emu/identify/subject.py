"""Subject of an identification, and its place in the identify scenario."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from emu.endpoints.pairing import widest
from emu.endpoints.releases import newest
from h2model.transports.grpc import RFC_WINDOW_BYTES, holds_window
from netcosim.errors import ScenarioError
from netcosim.scenario import Scenario, TransportSpec, build_scenario

SCENARIO: Final = "identify"
SENDER_CELLS: Final = ("windowed", "unlimited")
"""Transports in which the subject sends."""

RECEIVER_CELLS: Final = ("credit",)
"""Transports in which it receives."""

BOTH_CELLS: Final = ("default", "off")
"""Transports in which it does both; our own endpoints have no settings of their own to show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A release of grpcio (None: the newest), a script, or our own endpoints by rule."""

    kind: Literal["grpc", "script", "h2"] = "grpc"
    release: str | None = None
    script: Path | None = None
    discipline: str | None = None
    credit: str | None = None

    @classmethod
    def asked(
        cls,
        *,
        release: str | None,
        endpoint: Path | None,
        discipline: str | None,
        credit: str | None,
    ) -> "Subject | None":
        """Return the subject that the options name; None if they name none.

        Raises
        ------
        ScenarioError
            They name several.
        """
        others = {"--release": release, "--endpoint": endpoint}
        ours = {"--discipline": discipline, "--credit": credit}
        given = [name for name, value in (others | ours).items() if value is not None]
        if len(given) > 1 and given[0] in others:
            raise ScenarioError(f"{given[1]}: can't be asked for together with {given[0]}")
        if discipline is not None or credit is not None:
            return cls(kind="h2", discipline=discipline or "fifo", credit=credit)
        if endpoint is not None:
            return cls(kind="script", script=endpoint.absolute())
        return cls(release=release) if release is not None else None


def with_subject(scenario: Scenario, subject: Subject) -> Scenario:
    """Return the identify scenario with another subject.

    Raises
    ------
    ScenarioError
        The scenario is not the identify scenario, or a value is not allowed in it.
    """
    if scenario.name != SCENARIO:
        raise ScenarioError(
            f"--release, --endpoint, --discipline and --credit go with --scenario {SCENARIO}"
        )
    data = scenario.model_dump(mode="json", exclude_none=True)
    if subject.kind == "h2":
        data["transport"] = [t for t in data["transport"] if t["name"] not in BOTH_CELLS]
    for transport in data["transport"]:
        name = transport["name"]
        if name in (*SENDER_CELLS, *BOTH_CELLS):
            _put(transport, subject, sends=True)
        if name in (*RECEIVER_CELLS, *BOTH_CELLS):
            _put(transport, subject, sends=False)
        if subject.credit is not None and transport.get("window"):
            transport["credit"] = subject.credit
    found = build_scenario(data, "command line")
    transports = [t for each in found.transport if (t := _possible(each)) is not None]
    return found.model_copy(update={"transport": tuple(transports)})


def _possible(transport: TransportSpec) -> TransportSpec | None:
    """Replace a window that the release can't hold; None for a flow control off that it lacks."""
    if transport.receiver != "grpc":
        return transport
    if transport.window is not None and not holds_window(transport.receiver_release or newest()):
        return transport.model_copy(update={"window": RFC_WINDOW_BYTES})
    if not transport.flow_control and widest(transport).flow_control:
        return None
    return transport


def _put(transport: dict[str, Any], subject: Subject, *, sends: bool) -> None:
    end = "sender" if sends else "receiver"
    transport[end] = subject.kind
    if subject.kind == "grpc" and subject.release is not None:
        transport[f"{end}_release"] = subject.release
        if not sends and "window" in transport and not holds_window(subject.release or newest()):
            transport["window"] = f"{RFC_WINDOW_BYTES}B"
    elif subject.kind == "script":
        transport[f"{end}_script"] = str(subject.script)
    elif subject.kind == "h2" and sends:
        transport["discipline"] = subject.discipline


def name_of(scenario: Scenario, newest: str) -> str:
    """Name the subject in words, from the scenario as resolved; `newest` is grpcio's release."""
    sends = next(t for t in scenario.transport if t.name in SENDER_CELLS)
    if sends.sender == "grpc":
        return f"grpcio {sends.sender_release or newest}"
    if sends.sender == "script":
        return str(sends.sender_script)
    receives = next(t for t in scenario.transport if t.name in RECEIVER_CELLS)
    return f"our h2 endpoint ({sends.discipline}, {receives.credit or 'half'})"
