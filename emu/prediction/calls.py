"""Lengths of the HEADERS by which a connection's calls ask for messages, or push them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from emu.plan import Plan, PlannedConnection
from emu.remote.endpoint_common import tensor_path
from h2model.call_headers import CallHeaders
from h2model.candidates import call_headers
from h2model.protocol import FRAME_HEADER_BYTES
from netcosim.job import Cell
from netcosim.trace import StreamRow
from topo.addresses import address_of


@dataclass(slots=True)
class Calls:
    """Calls of one connection, burst by burst; `headers` None: their lengths are not known."""

    indices: Mapping[str, int]
    headers: CallHeaders | None

    def of_burst(self, burst: int, rows: Sequence[StreamRow]) -> dict[int, int]:
        """Bytes of each stream's HEADERS frame in the connection's next burst."""
        if self.headers is None:
            return {}
        return {
            row.stream: FRAME_HEADER_BYTES
            + self.headers.block_bytes(tensor_path(burst, self.indices[row.tensor]))
            for row in sorted(rows, key=lambda row: row.stream)
        }


def authority_of(plan: Plan, planned: PlannedConnection) -> str:
    """Address and port that a connection's requests name."""
    responder = next(host for host in plan.net.hosts if host.name == planned.responder)
    return f"{address_of(plan.net, responder)}:{planned.port}"


def calls_of(plan: Plan, cell: Cell, planned: PlannedConnection) -> Calls:
    """Calls of a planned connection before its first burst."""
    return Calls(
        indices={message.tensor: message.index for message in planned.messages},
        headers=call_headers(cell.transport, authority_of(plan, planned)),
    )
