"""More streams at once than C-core's servers take by default, and than ours once had room for."""

import pytest

from emu.endpoints import Connection

from .conftest import Net, burst, plan, tensors, transport

STREAMS = 3500
"""gRPC's servers cancel some calls beyond 1,000 that nobody has taken, and all beyond 3,000."""


@pytest.mark.oracle
@pytest.mark.parametrize(("sender", "receiver"), [("h2", "h2"), ("grpc", "h2"), ("grpc", "grpc")])
def test_thousands_of_streams(net: Net, sender: str, receiver: str) -> None:
    with Connection(plan(transport(sender, receiver)), net.popen) as connection:
        log = burst(connection, tensors(*[10] * STREAMS))
    assert len(log.streams) == STREAMS
    assert all(s.requested_ns <= s.handed_ns <= s.delivered_ns for s in log.streams)
