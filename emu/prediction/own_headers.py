"""Lengths of the HEADERS that our own sender writes before its messages' DATA."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hpack import Encoder

from emu.plan import Plan, PlannedConnection
from emu.prediction.calls import authority_of
from emu.remote.endpoint_common import tensor_path
from h2model import h2_headers
from h2model.candidates import speaks_grpc
from h2model.protocol import FRAME_HEADER_BYTES
from netcosim.job import Cell
from netcosim.trace import StreamRow


@dataclass(slots=True, kw_only=True)
class OwnHeaders:
    """HEADERS of one connection, burst by burst: its table of headers outlives them.

    Attributes
    ----------
    authority : of the requests by which messages are pushed; None where they are pulled
    indices : of tensors
    """

    authority: str | None
    indices: dict[str, int]
    _encoder: Encoder = field(default_factory=Encoder)

    def of_burst(self, burst: int, rows: Sequence[StreamRow]) -> dict[int, int]:
        """Bytes of each stream's HEADERS frame in the connection's next burst.

        A message's HEADERS go as it is handed over, whatever its stream's number: the table that
        shortens them holds what went before on the wire.
        """
        return {
            row.stream: FRAME_HEADER_BYTES + len(self._encoder.encode(self._headers(burst, row)))
            for row in sorted(rows, key=lambda row: (row.ready_ns, row.stream))
        }

    def _headers(self, burst: int, row: StreamRow) -> h2_headers.Headers:
        if self.authority is None:
            return h2_headers.response(row.size_bytes, grpc=False)
        path = tensor_path(burst, self.indices[row.tensor])
        return h2_headers.request(path, self.authority, row.size_bytes, grpc=False)


def own_headers(plan: Plan, cell: Cell, planned: PlannedConnection) -> OwnHeaders | None:
    """HEADERS of a planned connection; None where another library sends, or gRPC is spoken."""
    if cell.transport.sender != "h2" or speaks_grpc(cell.transport):
        return None
    pushes = planned.direction == "push"
    return OwnHeaders(
        authority=authority_of(plan, planned) if pushes else None,
        indices={message.tensor: message.index for message in planned.messages},
    )
