"""Lengths of our own sender's HEADERS, against what h2 writes for the same calls."""

from typing import Any

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection

from emu.plan import Plan, make_plan
from emu.prediction.own_headers import own_headers
from emu.remote.endpoint_common import tensor_path
from h2model import h2_headers
from netcosim.scenario import build_scenario
from netcosim.trace import Service, StreamRow
from topo.addresses import address_of

SIZES = (131_072, 7, 40_000, 7, 1_234_567)
BURSTS = 3


def plan_of(direction: str, **transport: Any) -> Plan:
    return make_plan(
        build_scenario(
            {
                "name": "headers",
                "cluster": {"topology": "pair", "link": {"rate": "10mbit"}},
                "workload": [
                    {
                        "name": "few",
                        "tensors": [
                            {"name": f"t{i}", "size": f"{s}B"} for i, s in enumerate(SIZES)
                        ],
                        "direction": direction,
                    }
                ],
                "transport": [
                    {"name": "own", "sender": "h2", "receiver": "h2", "discipline": "fifo"}
                    | transport
                ],
            },
            "headers",
        )
    )


def row(burst: int, stream: int, tensor: str, size_bytes: int, ready_ns: int = 0) -> StreamRow:
    return StreamRow(
        world="emu",
        cell="few/own",
        burst=burst,
        source="s0",
        destination="w0",
        connection=0,
        stream=stream,
        tensor=tensor,
        size_bytes=size_bytes,
        wire_bytes=size_bytes,
        requested_ns=0,
        ready_ns=ready_ns,
        start_ns=0,
        wire_end_ns=1,
        services=(Service(start_ns=0, end_ns=1, size_bytes=size_bytes, position=0),),
    )


class Written:
    """Two ends of a connection, and the bytes of the frames that they write."""

    def __init__(self) -> None:
        self.client = H2Connection(H2Configuration(client_side=True, header_encoding=None))
        self.server = H2Connection(H2Configuration(client_side=False, header_encoding=None))
        self.client.initiate_connection()
        self.server.initiate_connection()
        self.exchange()

    def exchange(self) -> None:
        for _ in range(2):
            self.server.receive_data(self.client.data_to_send())
            self.client.receive_data(self.server.data_to_send())

    def ask(self, headers: h2_headers.Headers) -> tuple[int, int]:
        """A request's stream and the bytes of its HEADERS."""
        stream = self.client.get_next_available_stream_id()
        self.client.send_headers(stream, headers, end_stream=True)
        written = self.client.data_to_send()
        self.server.receive_data(written)
        return stream, len(written)

    def answer(self, stream: int, headers: h2_headers.Headers) -> int:
        """Bytes of an answer's HEADERS."""
        self.server.send_headers(stream, headers, end_stream=True)
        written = self.server.data_to_send()
        self.client.receive_data(written)
        return len(written)


@pytest.mark.parametrize("direction", ["pull", "push", "pull-back"])
def test_lengths_are_what_h2_writes(direction: str) -> None:
    plan = plan_of(direction)
    (cell,) = plan.cells
    (planned,) = plan.connections(cell)
    own = own_headers(plan, cell, planned)
    assert own is not None
    responder = next(host for host in plan.net.hosts if host.name == planned.responder)
    authority = f"{address_of(plan.net, responder)}:{planned.port}"
    written, pushes = Written(), direction == "push"
    for burst in range(BURSTS):
        found, rows = {}, []
        for message in planned.messages:
            size = message.size_bytes
            path = tensor_path(burst, message.index)
            asked = h2_headers.request(path, authority, size if pushes else 0, grpc=False)
            stream, asked_bytes = written.ask(asked)
            answer_bytes = written.answer(stream, h2_headers.response(size, grpc=False))
            found[stream] = asked_bytes if pushes else answer_bytes
            rows.append(row(burst, stream, message.tensor, size))
        assert own.of_burst(burst, rows) == found


def test_answers_are_shortened_by_those_that_went_before_on_the_wire() -> None:
    """Messages that are ready in another order than they were asked for go in that order."""
    plan = plan_of("pull-back")
    (cell,) = plan.cells
    (planned,) = plan.connections(cell)
    own = own_headers(plan, cell, planned)
    assert own is not None
    written, order = Written(), (3, 1, 4, 0, 2)  # of the two of 7 bytes the second one goes first
    for burst in range(BURSTS):
        streams = [
            written.ask(h2_headers.request(tensor_path(burst, m.index), "a", 0, grpc=False))[0]
            for m in planned.messages
        ]
        found, rows = {}, []
        for ready_ns, place in enumerate(order):
            message, stream = planned.messages[place], streams[place]
            size = message.size_bytes
            found[stream] = written.answer(stream, h2_headers.response(size, grpc=False))
            rows.append(row(burst, stream, message.tensor, size, ready_ns))
        assert own.of_burst(burst, sorted(rows, key=lambda row: row.stream)) == found


def test_other_framings_have_none() -> None:
    plan = plan_of("pull", receiver="grpc")
    (cell,) = plan.cells
    assert own_headers(plan, cell, plan.connections(cell)[0]) is None
