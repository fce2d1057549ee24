"""Predictions equal those of a connection played byte by byte with the disciplines' twins."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from h2model.connection import LinkModel, ReceiverModel, SenderModel, StreamPlan
from h2model.credit import load as load_credit
from h2model.disciplines import load, names
from h2model.predict import predict
from h2model.protocol import UNLIMITED_BYTES
from tests.h2model.connection_twin import TICK_NS, ByteConnection
from tests.h2model.discipline_twins import TWINS
from tests.h2model.machine_driver import SMALL

# Rules that always let a message finish, whatever the window.
RULES = (None, "fixed", "grpc_progress", "half", "rest_at_header", "rest_when_exhausted")

messages = st.dictionaries(
    st.sampled_from((1, 3, 5, 7)),
    st.tuples(st.integers(1, 150), st.integers(0, 300), st.integers(0, 2)),
    min_size=1,
)
settings_of_the_path = st.fixed_dictionaries(
    {
        "window": st.integers(1, 120),
        "connection_window": st.one_of(st.none(), st.integers(1, 200)),
        "frame": st.integers(8, 60),
        "delay": st.integers(0, 20),
        "latency": st.integers(0, 60),
        "past": st.integers(0, 250),
    }
)


@pytest.mark.oracle
@pytest.mark.parametrize("name", names())
@settings(max_examples=150, deadline=None)
@given(data=st.data(), messages=messages, path=settings_of_the_path, credit=st.sampled_from(RULES))
def test_byte_by_byte(name, data, messages, path, credit):
    options = {
        **load(name).OPTIONS,
        **data.draw(st.fixed_dictionaries({}, optional=SMALL.get(name, {}))),
    }
    never = 10**9
    twin = ByteConnection(
        sender=TWINS[name](
            never if credit is None else path["window"],
            path["connection_window"] or never,
            **options,
        ),
        grant=None if credit is None else load_credit(credit).grant,
        **path,
    )
    assert twin.play(messages)
    schedule = predict(
        [
            StreamPlan(stream=stream, size_bytes=size, ready_ns=ready * TICK_NS, priority=priority)
            for stream, (size, ready, priority) in messages.items()
        ],
        SenderModel(discipline=name, options=options, frame_bytes=path["frame"]),
        LinkModel(
            rate_bps=1e6,
            delay_ns=path["delay"] * TICK_NS,
            credit_latency_ns=path["latency"] * TICK_NS,
            past_bytes=path["past"],
        ),
        ReceiverModel(
            window_bytes=path["window"],
            connection_window_bytes=path["connection_window"] or UNLIMITED_BYTES,
            credit=credit,
        ),
    )
    assert schedule.end_ns == twin.ends
    assert merged([(i.stream, i.size_bytes) for i in schedule.intervals]) == merged(twin.order)


def merged(pieces):
    """Neighbours of one stream as one: an interval may hold several decisions."""
    runs = []
    for stream, size in pieces:
        if runs and runs[-1][0] == stream:
            runs[-1] = (stream, runs[-1][1] + size)
        else:
            runs.append((stream, size))
    return runs
