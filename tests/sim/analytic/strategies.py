"""Jobs for property tests."""

from hypothesis import strategies as st

from sim.analytic import OneWorker

SECOND = 1_000_000_000


@st.composite
def jobs(draw: st.DrawFn, servers: int | None = None) -> OneWorker:
    count = servers or draw(st.integers(1, 3))
    forward, backward = draw(st.integers(0, SECOND)), draw(st.integers(1, SECOND))

    def per_server(least: int, most: int) -> tuple[float, ...]:
        return tuple(draw(st.lists(st.integers(least, most), min_size=count, max_size=count)))

    server_ns = per_server(0, SECOND)
    node_ns = max(forward + backward, *server_ns)
    return OneWorker(
        down_bytes=per_server(0, 10**8),
        up_bytes=per_server(0, 10**8),
        worker_ns=forward + backward,
        server_ns=server_ns,
        rate_bps=per_server(10**6, 10**10),
        batch=draw(st.integers(1, 512)),
        forward_ns=forward,
        backward_ns=backward,
        busiest_ns=draw(st.none() | st.floats(node_ns / 8, node_ns)),
    )
