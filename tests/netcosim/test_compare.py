"""Two traces compared, on bursts small enough to be scored by hand."""

import pytest

from netcosim.compare import score
from netcosim.trace import Service, StreamRow


def row(stream, end, *, starts=(0,), **values):
    given = {
        "world": "emu",
        "cell": "w/t",
        "burst": 0,
        "source": "s0",
        "destination": "w0",
        "connection": 0,
        "stream": stream,
        "tensor": f"m{stream}",
        "size_bytes": 10,
        "wire_bytes": 10,
        "ready_ns": 0,
        "start_ns": starts[0],
        "wire_end_ns": end,
        "services": tuple(Service(start_ns=t, end_ns=t + 1, size_bytes=5) for t in starts),
    }
    return StreamRow(**{**given, **values})


def model(stream, end, *, name="fifo", **values):
    return row(stream, end, world="predict", model=name, level="PREDICT", **values)


MEASURED = [row(1, 500, starts=(0,)), row(3, 1000, starts=(500,))]


def test_errors_and_order_of_one_burst():
    (found,) = score(MEASURED, [model(3, 1010, starts=(510,)), model(1, 450)])
    assert (found.cell, found.model, found.level, found.bursts) == ("w/t", "fifo", "PREDICT", 1)
    assert found.orders_equal == 1
    assert found.wire.streams == 2
    assert found.wire.mean == pytest.approx((0.05 + 0.01) / 2)
    assert found.wire_secondary.max == pytest.approx(50 / 500)
    assert found.delivered is None


def test_another_order_is_not_equal_even_with_the_same_ends():
    (found,) = score(MEASURED, [model(1, 500, starts=(0, 900)), model(3, 1000, starts=(500,))])
    assert found.orders_equal == 0
    assert found.wire.max == 0


def test_every_model_has_its_score_pooled_over_bursts():
    measured = [*MEASURED, row(1, 800, burst=1)]
    predicted = [
        model(1, 500),
        model(3, 1000, starts=(500,)),
        model(1, 880, burst=1),
        model(1, 500, name="two_visit"),
        model(3, 900, name="two_visit", starts=(500,)),
    ]
    fifo, two_visit = score(measured, predicted)
    assert (fifo.model, fifo.bursts, fifo.wire.streams, fifo.orders_equal) == ("fifo", 2, 3, 2)
    assert fifo.wire.max == pytest.approx(0.1)
    assert (two_visit.model, two_visit.bursts) == ("two_visit", 1)


def test_invalid_bursts_are_not_scored():
    measured = [*MEASURED, row(1, 800, burst=1, valid=False)]
    predicted = [model(1, 500), model(3, 1000, starts=(500,)), model(1, 1, burst=1)]
    (found,) = score(measured, predicted)
    assert found.bursts == 1
    assert score([row(1, 800, valid=False)], [model(1, 800)]) == []


def test_delivered_ends_are_scored_where_all_are_known():
    measured = [row(1, 500, delivered_ns=600), row(3, 1000, starts=(500,), delivered_ns=1250)]
    (found,) = score(measured, [model(1, 500), model(3, 1000, delivered_ns=1250)])
    assert found.delivered.max == pytest.approx(100 / 1250)
    assert found.delivered_secondary.max == pytest.approx(100 / 600)
    half = [measured[0], MEASURED[1]]
    (found,) = score(half, [model(1, 500), model(3, 1000)])
    assert found.delivered is None
    assert found.delivered_secondary is None


def test_connections_are_kept_apart():
    measured = [row(1, 500), row(1, 1000, connection=1)]
    (found,) = score(measured, [model(1, 1000, connection=1), model(1, 500)])
    assert found.wire.max == 0


@pytest.mark.parametrize(
    "predicted", [[model(1, 500)], [model(1, 500), model(3, 1000), model(5, 1000)]]
)
def test_streams_of_one_trace_only_are_refused(predicted):
    with pytest.raises(ValueError, match=r"w/t, burst 0: connection 0, stream \d is in one"):
        score(MEASURED, predicted)
