"""Particulars of gRPC endpoints: order, whole messages, the server for old releases."""

import dataclasses
import json
from itertools import groupby

import pytest

from emu.endpoints import Connection, ConnectionPlan
from h2model.protocol import GRPC_PREFIX_BYTES
from netcosim.errors import EndpointError

from .conftest import Net, burst, plan, tensors, transport
from .wire import DATA

pytestmark = pytest.mark.root

MS = 1_000_000


def one_thread(planned: ConnectionPlan) -> ConnectionPlan:
    end = planned.responder
    config = json.loads(end.argv[2])
    config["settings"]["server"] = "thread"
    return dataclasses.replace(
        planned, responder=dataclasses.replace(end, argv=(*end.argv[:2], json.dumps(config)))
    )


def test_whole_messages_go_one_after_another(net: Net, capture) -> None:
    """On the wire each is one visit, in the order in which the application handed them over.

    That is the requests' order but for what gRPC itself delivers to its handlers in another one.
    """
    net.shape("20mbit")
    spec = transport("grpc", "grpc", flow_control=False, whole_messages=True)
    sizes = [300_000 + 1000 * index for index in range(6)]
    with Connection(plan(spec), net.popen) as connection:
        log = burst(connection, tensors(*sizes))
    sent = [f for f in capture() if f.kind == DATA and f.from_responder and f.size]
    visits = [sum(f.size for f in run) for _, run in groupby(sent, lambda f: f.stream)]
    handed = sorted(log.streams, key=lambda stream: stream.handed_ns)
    assert visits == [sizes[stream.index] + GRPC_PREFIX_BYTES for stream in handed]


def test_without_it_streams_take_turns(net: Net, capture) -> None:
    net.shape("20mbit")
    spec = transport("grpc", "grpc", flow_control=False)
    with Connection(plan(spec), net.popen) as connection:
        burst(connection, tensors(*[400_000] * 6))
    order = [f.stream for f in capture() if f.kind == DATA and f.from_responder and f.size]
    changes = [stream for i, stream in enumerate(order) if i == 0 or order[i - 1] != stream]
    assert len(changes) > len(set(order))


@pytest.mark.parametrize("mode", ["pull", "pull-back", "push"])
def test_one_thread_delivers_in_order(net: Net, mode) -> None:
    ready = tuple(5 * MS * i for i in range(4))
    with Connection(one_thread(plan(transport("grpc", "grpc"), mode)), net.popen) as connection:
        for number in range(2):
            log = burst(connection, tensors(100_000, 1, 50_000, 2000, ready_ns=ready), number)
            handed = [stream.handed_ns for stream in log.streams]
            assert handed == sorted(handed)


def test_one_thread_refuses_what_it_would_reorder(net: Net) -> None:
    planned = one_thread(plan(transport("grpc", "grpc"), "pull-back"))
    with (
        Connection(planned, net.popen) as connection,
        pytest.raises(EndpointError, match=r"pull-back with ready times that fall .* needs grpc"),
    ):
        burst(connection, tensors(1000, 1000, ready_ns=(MS, 0)))


def test_options_of_its_own_socket_are_read_back(net: Net) -> None:
    with Connection(plan(transport("grpc", "grpc")), net.popen) as connection:
        for side in ("requester", "responder"):
            assert connection.opened[side]["tcp"]["congestion_control"]
            assert connection.opened[side]["release"].startswith("1.")
