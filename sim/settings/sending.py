"""Map a transport to the discipline, options and windows of its connections."""

from dataclasses import replace
from typing import Final

from h2model import disciplines, transports
from h2model.candidates import assumed, candidate_senders, not_studied, receiver_model
from h2model.parameters import releases
from h2model.protocol import DEFAULT_FRAME_BYTES, UNLIMITED_BYTES
from netcosim.errors import ScenarioError
from netcosim.nearest import unknown
from netcosim.scenario import TransportSpec
from sim.plan import Sending

CHUNK_BYTES: Final = 65536
"""Largest chunk of the disciplines that preempt; they can't while a chunk is on the link."""


def sending_of(
    transport: TransportSpec, window_bytes: int | None = None, buffer_bytes: int = 0
) -> Sending:
    """Simulator inputs of a transport: discipline, options, windows and chunk size.

    Our own sender follows the discipline that it is given; a gRPC sender the one that
    `h2model.parameters` has for its release under its settings, or, if that was not studied, for
    the nearest release; a script the discipline that the scenario says it has. Windows are the
    receiver's; with flow control off there are none. Credit returns at once, whatever the
    receiver's rule: a window that a probe would widen stays as it begins.

    Parameters
    ----------
    transport : of a scenario
    window_bytes : the stream window, where it is another than the transport's: a scaled one
    buffer_bytes : that a kernel takes of a connection before they leave, in pieces of a frame or of
        16 KiB, whichever is less; 0: what the discipline grants is on the link at once

    Raises
    ------
    ScenarioError
        The sender's discipline is not known, or a setting does not go with it.
    """
    where = f"transport[{transport.name}]"
    sender = transports.load(transport.sender, f"{where}.sender")
    # Of some kinds only the scenario can say what they do; an emulation shows it.
    also = ("discipline",) if sender.STUDIED is None else ()
    transports.check_transport(transport, releases("grpc")[-1], also)
    not_studied(transport)  # refuses releases that are older than all that were looked at
    discipline = _discipline(transport, where)
    try:
        # Each sender model has the options of the discipline in its own right.
        model = candidate_senders(transport)[discipline]
        options = tuple(disciplines.resolve_options(discipline, model.options))
    except ValueError as problem:
        raise ScenarioError(f"{where}.options: {problem}") from None
    window, connection = _windows(transport, window_bytes)
    sending = Sending(
        discipline=discipline,
        options=options,
        window_bytes=window,
        connection_window_bytes=connection,
        buffer_bytes=buffer_bytes,
        writes_each=sender.WRITES_EACH and buffer_bytes > 0,
    )
    if buffer_bytes:  # of large frames the kernel takes a part
        return replace(sending, chunk_bytes=min(model.frame_bytes, DEFAULT_FRAME_BYTES))
    if disciplines.traits(discipline).preempts:
        return replace(sending, chunk_bytes=CHUNK_BYTES)
    return sending


def _discipline(transport: TransportSpec, where: str) -> str:
    found = assumed(transport)
    if found is None:
        allowed = ", ".join(disciplines.names())
        raise ScenarioError(
            f"{where}.discipline: is required: what a sender of the kind {transport.sender} does"
            f" is not known; allowed: {allowed}"
        )
    if found not in disciplines.names():
        raise ScenarioError.at(f"{where}.discipline", found, unknown(found, disciplines.names()))
    return found


def _windows(transport: TransportSpec, window_bytes: int | None) -> tuple[int | None, int | None]:
    """The stream window and the connection's; None: never binds."""
    wanted = transport.window if window_bytes is None else window_bytes
    receiver = receiver_model(transport, wanted)
    if receiver.credit is None:
        return None, None
    if transports.load(transport.receiver).STUDIED is not None and wanted is not None:
        return wanted, wanted  # the models keep to a release's own where a probe would widen it
    connection = receiver.connection_window_bytes
    return receiver.window_bytes, None if connection == UNLIMITED_BYTES else connection
