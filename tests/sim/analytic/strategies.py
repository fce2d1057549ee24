"""Jobs for property tests."""

from hypothesis import strategies as st

from sim.analytic import OneWorker, Phases

SECOND = 1_000_000_000


@st.composite
def jobs(draw: st.DrawFn, servers: int | None = None) -> OneWorker:
    count = servers or draw(st.integers(1, 3))
    worker_ns = draw(st.integers(1, 2 * SECOND))

    def per_server(least: int, most: int) -> tuple[float, ...]:
        return tuple(draw(st.lists(st.integers(least, most), min_size=count, max_size=count)))

    server_ns = per_server(0, SECOND)
    node_ns = max(worker_ns, *server_ns)
    return OneWorker(
        down_bytes=per_server(0, 10**8),
        up_bytes=per_server(0, 10**8),
        worker_ns=worker_ns,
        server_ns=server_ns,
        rate_bps=per_server(10**6, 10**10),
        batch=draw(st.integers(1, 512)),
        busiest_ns=draw(st.none() | st.floats(node_ns / 8, node_ns)),
        phases=Phases(
            down_ns=per_server(0, SECOND),
            worker_ns=draw(st.integers(1, SECOND)),
            up_ns=per_server(0, SECOND),
            server_ns=server_ns,
        ),
    )
