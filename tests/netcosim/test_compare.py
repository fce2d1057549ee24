"""Two traces compared, on bursts small enough to be scored by hand."""

import pytest

from netcosim.compare import score
from netcosim.trace import Service
from netcosim.work_clock import WorkClock
from tests.netcosim.rows import stream_row


def row(stream, end, *, starts=(0,), **values):
    given = {
        "stream": stream,
        "tensor": f"m{stream}",
        "start_ns": starts[0],
        "wire_end_ns": end,
        "services": tuple(Service(start_ns=t, end_ns=t + 1, size_bytes=5) for t in starts),
    }
    return stream_row(**{**given, **values})


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


def in_turns(*served, world="emu", end=1000, **values):
    """Rows of streams that were served in these turns of (stream, bytes)."""
    turns = {}
    for position, (stream, size) in enumerate(served):
        turns.setdefault(stream, []).append(
            Service(
                start_ns=100 * position, end_ns=100 * position + 50, size_bytes=size,
                position=position,
            )
        )  # fmt: skip
    how = {} if world == "emu" else {"model": "fifo", "level": "PREDICT"}
    return [
        row(stream, end, world=world, services=tuple(mine), **how, **values)
        for stream, mine in turns.items()
    ]


class TestOrder:
    """The order error: of positions in the connection's bytes, whatever the times are."""

    def test_by_hand(self):
        measured = in_turns((1, 10), (3, 20), (1, 10))  # 1 ends at 40 of 40, 3 at 30
        predicted = in_turns((3, 20), (1, 20), world="predict", end=77)  # at 40, at 20
        (found,) = score(measured, predicted)
        assert (found.order.streams, found.order.max) == (2, 0.25)
        assert found.order.mean == 0.125
        assert (found.by_burst[0].order_mean, found.by_burst[0].order_max) == (0.125, 0.25)

    def test_each_connection_has_a_clock_of_its_own(self):
        measured = [*in_turns((1, 10), (3, 30)), *in_turns((1, 900), (3, 100), connection=1)]
        predicted = [
            *in_turns((1, 10), (3, 30), world="predict"),
            *in_turns((3, 100), (1, 900), world="predict", connection=1),
        ]
        (found,) = score(measured, predicted)
        # Of connection 1, stream 1 ends at 0.9 and not at 1, stream 3 at 1 and not at 0.1.
        assert sorted(found.order_errors[0].tolist()) == pytest.approx([0, 0, 0.1, 0.9])

    def test_bursts_stand_one_by_one_and_can_be_picked(self):
        measured = [*in_turns((1, 10), (3, 10)), *in_turns((3, 10), (1, 10), burst=1)]
        predicted = [
            *in_turns((1, 10), (3, 10), world="predict"),
            *in_turns((1, 10), (3, 10), world="predict", burst=1),
        ]
        (found,) = score(measured, predicted)
        assert [(b.burst, b.order_mean, b.order_equal) for b in found.by_burst] == [
            (0, 0.0, True),
            (1, 0.5, False),
        ]
        assert found.orders_equal == 1
        assert found.order_of({0}).max == 0
        assert found.order_of({1}).mean == 0.5
        assert found.order_of({0, 1}) == found.order
        assert found.order_of({7}) is None


class TestShare:
    """The share error: of positions in the bytes of a link that connections share."""

    def test_by_hand(self):
        measured = [row(1, 900, link_position=0.6), row(1, 1000, connection=1, link_position=1.0)]
        predicted = [
            model(1, 900, link_position=0.5),
            model(1, 1000, connection=1, link_position=1.0),
        ]
        (found,) = score(measured, predicted)
        assert (found.share.streams, found.share.max) == (2, pytest.approx(0.1))
        assert found.order.max == 0

    def test_without_shared_links_there_is_none(self):
        (found,) = score(MEASURED, [model(1, 500), model(3, 1000)])
        assert found.share is None

    def test_a_stream_with_a_link_to_itself_is_left_out(self):
        measured = [row(1, 900, link_position=0.6), row(1, 1000, connection=1)]
        predicted = [model(1, 900, link_position=0.5), model(1, 1000, connection=1)]
        (found,) = score(measured, predicted)
        assert found.share.streams == 1


class TestClocks:
    """Measured times are scored on the clock of link work; predicted ones are on it already."""

    CUT = WorkClock.without([(100, 300)])

    def test_a_cut_is_in_the_wall_clock_s_error_only(self):
        measured = [row(1, 700), row(3, 1200, starts=(500,))]
        predicted = [model(1, 500), model(3, 1000, starts=(500,))]
        (found,) = score(measured, predicted, {("w/t", 0, 0): self.CUT})
        assert found.wire.max == 0
        assert found.wall.max == 200 / 1200
        assert found.by_burst[0].time_max == 0
        (without,) = score(measured, predicted)
        assert without.wall == without.wire == found.wall

    def test_what_ended_before_the_cut_is_not_moved(self):
        measured = [row(1, 100), row(3, 1200, starts=(500,))]
        (found,) = score(measured, [model(1, 100), model(3, 1000)], {("w/t", 0, 0): self.CUT})
        assert found.wire.max == 0

    def test_the_burst_is_as_long_as_its_link_worked(self):
        (found,) = score([row(1, 1200)], [model(1, 900)], {("w/t", 0, 0): self.CUT})
        assert found.wire.max == 100 / 1000

    def test_clocks_are_of_a_connection_in_a_burst(self):
        measured = [row(1, 1000), row(1, 1000, connection=1), row(1, 1000, burst=1)]
        predicted = [model(1, 800), model(1, 1000, connection=1), model(1, 1000, burst=1)]
        (found,) = score(measured, predicted, {("w/t", 0, 0): self.CUT})
        assert found.wire.max == 0

    def test_delivered_ends_go_through_the_same_clock(self):
        measured = [row(1, 700, delivered_ns=800)]
        (found,) = score(measured, [model(1, 500, delivered_ns=600)], {("w/t", 0, 0): self.CUT})
        assert found.delivered.max == 0

    def test_the_order_needs_no_clock(self):
        measured = in_turns((1, 10), (3, 20), (1, 10))
        predicted = in_turns((3, 20), (1, 20), world="predict")
        cut = {("w/t", 0, 0): self.CUT}
        assert score(measured, predicted, cut)[0].order == score(measured, predicted)[0].order
