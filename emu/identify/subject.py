"""Subject of an identification, and its place in the identify scenario."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from emu.endpoints.pairing import widest_windows
from emu.endpoints.releases import newest
from h2model import credit as credit_rules
from h2model import transports
from h2model.protocol import DEFAULT_WINDOW_BYTES
from h2model.transports.grpc import holds_window
from netcosim.errors import ScenarioError
from netcosim.scenario import (
    ProcessorSpec,
    Scenario,
    TransportSpec,
    build_scenario,
    with_values,
)

SCENARIO: Final = "identify"
SENDER_TRANSPORTS: Final = ("windowed", "unlimited")
"""Transports in which the subject sends."""

RECEIVER_TRANSPORTS: Final = ("credit",)
"""Transports in which it receives."""

OTHER_TRANSPORTS: Final = ("default", "off")
"""Transports in which it does both; our own endpoints have no settings of their own to show."""

HAND_OVER: Final = "20us"
"""Processor time of a message at its sender, by the virtual clock.

Messages that take none are handed over in the same microsecond. Which of them go into a library's
first write, its threads then decide by chance, and no rule tells.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A kind of endpoint, with the settings of a transport that it has as sender and as receiver.

    `credit` is the credit rule of all receivers with a window.
    """

    kind: str = "grpc"
    sends: Mapping[str, str] = field(default_factory=dict)
    receives: Mapping[str, str] = field(default_factory=dict)
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
            return cls(
                kind="h2",
                sends={"discipline": discipline or "fifo"},
                credit=credit,
            )
        if endpoint is not None:
            script = str(endpoint.absolute())
            return cls(
                kind="script", sends={"sender_script": script}, receives={"receiver_script": script}
            )
        if release is not None:
            return cls(sends={"sender_release": release}, receives={"receiver_release": release})
        return None


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
    if transports.load(subject.kind).BOUNDS_UNACKNOWLEDGED:
        data["transport"] = [t for t in data["transport"] if t["name"] not in OTHER_TRANSPORTS]
    for transport in data["transport"]:
        name = transport["name"]
        if name in (*SENDER_TRANSPORTS, *OTHER_TRANSPORTS):
            _put(transport, subject, sends=True)
        if name in (*RECEIVER_TRANSPORTS, *OTHER_TRANSPORTS):
            _put(transport, subject, sends=False)
        if subject.credit is not None and transport.get("window"):
            transport["credit"] = subject.credit
    found = build_scenario(data, "command line")
    possible = [t for each in found.transport if (t := _possible(each)) is not None]
    return found.model_copy(update={"transport": tuple(possible)})


def with_hand_overs(scenario: Scenario) -> Scenario:
    """Return the identify scenario with messages that cost `HAND_OVER`, by the virtual clock.

    Costs that it has stay; a program of one's own takes its own time.
    """
    ends = {end for each in scenario.transport for end in (each.sender, each.receiver)}
    given = scenario.cluster.processor != ProcessorSpec()
    if scenario.clock == "real" or given or "script" in ends:
        return scenario
    return with_values(scenario, {"cluster.processor.sent.message": HAND_OVER})


def _possible(transport: TransportSpec) -> TransportSpec | None:
    """Replace a window that the release can't hold; None for a flow control off that it lacks."""
    if transport.receiver != "grpc":
        return transport
    if transport.window is not None and not holds_window(transport.receiver_release or newest()):
        return transport.model_copy(update={"window": DEFAULT_WINDOW_BYTES})
    if not transport.flow_control and widest_windows(transport).flow_control:
        return None
    return transport


def _put(transport: dict[str, Any], subject: Subject, *, sends: bool) -> None:
    end = "sender" if sends else "receiver"
    transport[end] = subject.kind
    transport.update(subject.sends if sends else subject.receives)


def name_of(scenario: Scenario, newest: str) -> str:
    """Name the subject in words, from the scenario as resolved; `newest` is grpcio's release."""
    sends = next(t for t in scenario.transport if t.name in SENDER_TRANSPORTS)
    if sends.sender == "grpc":
        return f"grpcio {sends.sender_release or newest}"
    if sends.sender == "script":
        return str(sends.sender_script)
    receives = next(t for t in scenario.transport if t.name in RECEIVER_TRANSPORTS)
    return f"our h2 endpoint ({sends.discipline}, {receives.credit or credit_rules.DEFAULT})"
