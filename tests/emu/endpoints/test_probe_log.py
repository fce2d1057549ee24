"""What an endpoint's standard error says of gRPC's probe, as 1.85.1 writes it, in any pieces."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from emu.endpoints.probe_log import ProbeLog

STAMP = b"I1125 00:05:27.931053   16150 bdp_estimator.cc:"
LOGGED = (
    b"I1125 00:05:27.842605   16129 trace.cc:91] gRPC Tracers: bdp_estimator\n"
    + STAMP
    + b"51] bdp[ipv4:10.0.1.1:50051]:complete acc=3000005 est=65536 dt=0.02 bw=7Mbs bw_est=0Mbs\n"
    + STAMP
    + b"74] bdp[ipv4:10.0.1.1:50051]:update_inter_time to 50ms\n"
    + b"Traceback (most recent call last):\n"
    + STAMP
    + b"74] bdp[ipv4:10.0.1.1:50051]:update_inter_time to 203ms\n"
    + b"MemoryError\n"
)


@given(st.lists(st.integers(1, len(LOGGED) - 1), max_size=6))
def test_delays_are_read_and_the_rest_is_kept(cuts):
    log, kept = ProbeLog(), b""
    places = [0, *sorted(set(cuts)), len(LOGGED)]
    for begin, end in pairwise(places):
        kept += log.take(LOGGED[begin:end])
    assert log.delays_ms == [50, 203]
    assert kept == b"Traceback (most recent call last):\nMemoryError\n"


def test_a_last_line_without_an_end_is_there():
    log = ProbeLog()
    assert log.take(b"One\nKilled: no memory") == b"One\n"
    assert log.rest == b"Killed: no memory"
