"""Bursts, links and receivers at random."""

from hypothesis import strategies as st

from h2model.connection import LinkModel, ReceiverModel, StreamPlan
from h2model.credit import names as credit_names
from h2model.protocol import UNLIMITED_BYTES


def bursts(most_bytes, latest_ns, *, min_size=0, max_size):
    """Lists of so many streams, of some size, ready at some time, of some priority."""
    drawn = st.tuples(st.integers(1, most_bytes), st.integers(0, latest_ns), st.integers(0, 3))
    return st.lists(drawn, min_size=min_size, max_size=max_size).map(
        lambda found: [
            StreamPlan(stream=2 * i + 1, size_bytes=size, ready_ns=ready, priority=priority)
            for i, (size, ready, priority) in enumerate(found)
        ]
    )


def links(rates_bps, most_delay_ns):
    return st.builds(
        LinkModel,
        rate_bps=st.sampled_from(rates_bps),
        delay_ns=st.integers(0, most_delay_ns),
        credit_latency_ns=st.integers(0, 3_000_000),
        past_bytes=st.sampled_from((0, 20_000, 65_536, 1_000_000)),
    )


def receivers(most_window_bytes):
    return st.builds(
        ReceiverModel,
        window_bytes=st.integers(10_000, most_window_bytes),
        connection_window_bytes=st.sampled_from((65_535, 10**6, UNLIMITED_BYTES)),
        credit=st.sampled_from((None, *credit_names())),
    )
