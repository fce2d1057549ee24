"""Which models are tried on a transport's bursts, and what is known of its receiver beforehand."""

from collections.abc import Mapping

from h2model.connection import UNLIMITED_BYTES, ReceiverModel, SenderModel
from h2model.disciplines import names
from netcosim.scenario import TransportSpec

DEFAULT_FRAME_BYTES = 16384
GRPC_PREFIX_BYTES = 5
"""Length prefix of a gRPC message: compression flag and four bytes of length."""

GRPC_INITIAL_WINDOW_BYTES = 4 * 2**20
"""What a gRPC receiver announces at once while it probes the bandwidth-delay product."""

H2_DEFAULT_WINDOW_BYTES = 65535
"""RFC 9113, section 6.9.2."""


def speaks_grpc(transport: TransportSpec) -> bool:
    """Whether messages carry gRPC's five-byte prefix: one end is not our own."""
    return (transport.sender, transport.receiver) != ("h2", "h2")


def candidate_senders(transport: TransportSpec) -> dict[str, SenderModel]:
    """Every discipline as a model of this transport's sender, by name.

    The configured discipline of our own sender gets its configured options, all others their
    defaults.
    """
    frame = transport.frame_size or DEFAULT_FRAME_BYTES
    return {
        name: SenderModel(
            discipline=name, options=_options(name, transport, frame), frame_bytes=frame
        )
        for name in names()
        if name != "priority" or transport.discipline == "priority"
    }


def receiver_model(transport: TransportSpec, window_bytes: int | None) -> ReceiverModel:
    """The receiver's windows and credit rule, from its configuration alone."""
    if not transport.flow_control:
        return ReceiverModel()
    if transport.receiver == "grpc":
        return ReceiverModel(
            window_bytes=window_bytes or GRPC_INITIAL_WINDOW_BYTES, credit="grpc_progress"
        )
    return ReceiverModel(
        window_bytes=window_bytes or H2_DEFAULT_WINDOW_BYTES,
        connection_window_bytes=transport.connection_window or UNLIMITED_BYTES,
        credit=transport.credit or "half",
    )


def _options(
    name: str, transport: TransportSpec, frame_bytes: int
) -> Mapping[str, int | bool | str]:
    if transport.discipline == name:
        return transport.options
    if name == "write_cycle":
        return {"frame": frame_bytes, "finish_first": int(transport.whole_messages)}
    return {}
