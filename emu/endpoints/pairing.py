"""Plan the two ends of a connection from its transport and direction."""

import json
import os
from dataclasses import dataclass, field
from typing import Any, Final

from emu.endpoints import probe_log
from emu.endpoints.releases import newest
from emu.endpoints.transports import load
from h2model import transports
from h2model.protocol import DEFAULT_FRAME_BYTES, FRAME_HEADER_BYTES
from netcosim.errors import ScenarioError
from netcosim.scenario import Direction, ProcessorSpec, TcpSpec, TransportSpec

_INHERITED = ("PATH", "LANG", "HOME", "TMPDIR", "PYTHONPYCACHEPREFIX")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A Mininet host by name, and the address it uses for this connection."""

    host: str
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EndPlan:
    """Plan of one endpoint process: its host, its command, the capabilities of root's it keeps."""

    name: str
    host: str
    argv: tuple[str, ...]
    environment: dict[str, str]
    capabilities: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionPlan:
    """Plan of one connection's ends. The responder listens; the direction decides who sends."""

    name: str
    requester: EndPlan
    responder: EndPlan
    sender_host: str
    receiver_host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointTiming:
    """Timing of a connection's ends, where it is not the machine's.

    Attributes
    ----------
    poll_ns : how often our own sender looks for room in its socket; None: as usual
    processor : what messages cost at each end
    logs_probe : whether a library logs the delays between its PINGs, which takes no time here
    """

    poll_ns: int | None = None
    processor: ProcessorSpec = field(default_factory=ProcessorSpec)
    logs_probe: bool = False

    def tcp(self) -> dict[str, int]:
        """Entries of an end's TCP settings."""
        return {} if self.poll_ns is None else {"poll_ns": self.poll_ns}

    def costs(self) -> dict[str, Any]:
        """Entries of an end's configuration."""
        if self.processor == ProcessorSpec():
            return {}
        pairs = (("sent", self.processor.sent), ("received", self.processor.received))
        return {"processor": {name: [cost.message, cost.ns_per_byte] for name, cost in pairs}}


THE_MACHINES: Final = EndpointTiming()
"""Ends that take what the machine takes."""


def pair(
    spec: TransportSpec,
    direction: Direction,
    *,
    worker: Place,
    server: Place,
    port: int,
    tcp: TcpSpec,
    timing: EndpointTiming = THE_MACHINES,
    name: str | None = None,
) -> ConnectionPlan:
    """Plan the connection between a worker and a server.

    Pull: the worker asks, the server sends. Pull-back: the server asks, the worker sends.
    Push: the worker asks and sends. Windows go to the receiver, the discipline to the sender.

    Raises
    ------
    ScenarioError
        An unknown implementation, or a setting that neither end takes.
    EndpointError
        This machine lacks what an end needs; see `missing`.
    """
    check_transport(spec)
    asks, answers = (server, worker) if direction == "pull-back" else (worker, server)
    requester_sends = direction == "push"
    sender, receiver = (asks, answers) if requester_sends else (answers, asks)

    def end(place: Place, role: str, *, sends: bool) -> EndPlan:
        config = {
            "role": role,
            "mode": direction,
            "address": answers.address,
            "port": port,
            "tcp": {**tcp_of(spec, tcp), **timing.tcp()},
            **timing.costs(),
        }
        return _end(spec, place, config, sends=sends, logs_probe=timing.logs_probe)

    return ConnectionPlan(
        name=name or f"{worker.host}-{server.host}",
        requester=end(asks, "requester", sends=requester_sends),
        responder=end(answers, "responder", sends=not requester_sends),
        sender_host=sender.host,
        receiver_host=receiver.host,
        port=port,
    )


def check_transport(spec: TransportSpec) -> None:
    """Refuse settings that the transport's two ends can't do together, or files that are missing.

    Raises
    ------
    ScenarioError
        Names the field, its value and what is allowed.
    """
    transports.check_transport(spec, newest())
    load(spec.sender).check(spec, sends=True)
    load(spec.receiver).check(spec, sends=False)


def widest_windows(spec: TransportSpec) -> TransportSpec:
    """The same transport with windows that never bind, or else with the receiver's own."""
    own = spec.model_copy(
        update={"flow_control": True, "window": None, "connection_window": None, "credit": None}
    )
    off = own.model_copy(update={"flow_control": False})
    try:
        check_transport(off)
    except ScenarioError:
        return own
    return off


def missing(spec: TransportSpec) -> str | None:
    """Reason why this machine can't start the transport's two ends; None if it can."""
    for name, sends in ((spec.sender, True), (spec.receiver, False)):
        reason = load(name).missing(spec, sends=sends)
        if reason is not None:
            return reason
    return None


def _end(
    spec: TransportSpec, place: Place, config: dict[str, Any], *, sends: bool, logs_probe: bool
) -> EndPlan:
    name = spec.sender if sends else spec.receiver
    release = spec.sender_release if sends else spec.receiver_release
    implementation = load(name)
    config["settings"] = implementation.settings(spec, sends=sends)
    return EndPlan(
        name=" ".join(filter(None, (name, release, config["role"]))),
        host=place.host,
        argv=(*implementation.command(spec, sends=sends), json.dumps(config)),
        environment=end_environment()
        | implementation.environment(spec, sends=sends)
        | (dict(probe_log.VARIABLES) if logs_probe else {}),
        capabilities=implementation.CAPABILITIES,
    )


def end_environment() -> dict[str, str]:
    """Environment variables of every end."""
    inherited = {key: os.environ[key] for key in _INHERITED if key in os.environ}
    return inherited | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}


def send_limit_bytes(spec: TransportSpec, tcp: TcpSpec) -> int | None:
    """Bound of our own sender's unacknowledged bytes: the send buffer, down to a half frame.

    Room for a frame then comes half a frame's time after a whole one was acknowledged, and so
    never at the moment at which the credit that this frame gave arrives: what is decided does not
    depend on which of the two is first.
    """
    if tcp.send_buffer is None:
        return None
    frame = (spec.frame_size or DEFAULT_FRAME_BYTES) + FRAME_HEADER_BYTES
    whole_frames = (tcp.send_buffer - frame // 2) // frame
    return whole_frames * frame + frame // 2 if whole_frames > 0 else tcp.send_buffer


def tcp_of(spec: TransportSpec, tcp: TcpSpec) -> dict[str, Any]:
    """TCP settings of the ends of a transport's connections."""
    bounded = transports.load(spec.sender).BOUNDS_UNACKNOWLEDGED
    return {
        "congestion_control": tcp.congestion_control,
        "send_buffer_bytes": send_limit_bytes(spec, tcp) if bounded else tcp.send_buffer,
        "receive_buffer_bytes": tcp.receive_buffer,
        "notsent_lowat_bytes": tcp.notsent_lowat,
    }
