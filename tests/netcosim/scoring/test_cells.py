"""A cell's summary against figures worked out by hand."""

from dataclasses import replace

import pytest

from netcosim.results.streams.lost import UNEXPLAINED
from netcosim.results.streams.summary import Ratios
from netcosim.scoring.cell import summarise_cell
from netcosim.scoring.figures import cell_ratios, link_stall_ns
from netcosim.scoring.separations import model_separations
from netcosim.trace import Service, Stall, StreamRow
from tests.netcosim.results.synthetic import Case, facts, lost_rows, measured_rows, predicted_rows
from tests.netcosim.rows import stream_row

MS = 1_000_000
SMALL = Case(sizes=(300_000, 2_000_000, 400_000))


def row(stream, spans, stalls=None, **kw) -> StreamRow:
    """A stream that moves a byte each nanosecond of its spans, given in ms."""
    services = tuple(
        Service(start_ns=a * MS, end_ns=b * MS, size_bytes=(b - a) * MS) for a, b in spans
    )
    size_bytes = sum(s.size_bytes for s in services)
    base = stream_row(
        cell="mixed8/h2-on",
        source="server1",
        destination="worker1",
        stream=stream,
        tensor=f"t{stream}",
        size_bytes=size_bytes,
        wire_bytes=size_bytes,
        start_ns=services[0].start_ns,
        wire_end_ns=services[-1].end_ns,
        services=services,
        stalls=tuple(Stall(start_ns=a * MS, end_ns=b * MS) for a, b in stalls or []),
        credit_stops=len(stalls or []),
    )
    return replace(base, **kw)  # type: ignore[arg-type]


def prediction(measured: StreamRow, model: str, end_ms: int) -> StreamRow:
    return replace(measured, world="predict", model=model, level="PREDICT", wire_end_ns=end_ms * MS)


def in_order(rows: list[StreamRow], *streams: int) -> list[StreamRow]:
    """The rows with their services in this order of streams, one service after the other."""
    left = {r.stream: list(r.services) for r in rows}
    placed: dict[int, list[Service]] = {r.stream: [] for r in rows}
    for position, stream in enumerate(streams):
        placed[stream].append(replace(left[stream].pop(0), position=position))
    assert not any(left.values())
    return [replace(r, services=tuple(placed[r.stream])) for r in rows]


def test_the_figures_of_two_streams() -> None:
    truth = in_order([row(1, [(0, 10), (20, 40)], [(10, 20)]), row(3, [(40, 100)])], 1, 1, 3)
    predictions = [
        prediction(truth[0], "fifo", 41),
        prediction(truth[1], "fifo", 100),
        *in_order(
            [prediction(truth[0], "round_robin", 80), prediction(truth[1], "round_robin", 98)],
            1,
            3,
            1,
        ),
    ]
    made = summarise_cell(facts(Case(sizes=(1,))), truth, predictions)
    assert (made.judged_bursts, made.shown_bursts, made.invalid_bursts) == (1, 0, 0)
    assert (made.streams, made.burst_bytes) == (2, 90 * MS)
    assert made.burst_length_ns == 100 * MS
    assert made.goodput_bps == pytest.approx(0.9 * 8e9)
    assert (made.stalls, made.link_stall_ns, made.visits) == (1, 10 * MS, 1.5)
    fifo, round_robin = made.models
    assert (fifo.model, round_robin.model) == ("fifo", "round_robin")
    # Stream 1 ends after 30 of 90, stream 3 after 90; round robin has 90 and 70 instead.
    assert (fifo.order.mean, fifo.order.max) == (0, 0)
    assert round_robin.order.mean == pytest.approx((60 + 20) / 90 / 2)
    assert round_robin.order.max == pytest.approx(60 / 90)
    assert fifo.wire.mean == pytest.approx(0.005)
    assert fifo.wire.max == pytest.approx(0.01)
    assert round_robin.wire.mean == pytest.approx(0.21)
    assert (fifo.delivered, fifo.share) == (None, None)
    assert made.separation == round_robin.order.mean
    assert made.best == "fifo" and made.discriminating
    assert (made.answer.kind, made.answer.agreeing, made.answer.bursts) == ("follows", 1, 1)
    assert made.verdict.startswith("h2 with flow control on (window 1MiB) follows fifo")


def test_a_nearer_end_in_time_does_not_outweigh_the_order() -> None:
    truth = in_order([row(1, [(0, 10), (20, 40)]), row(3, [(40, 100)])], 1, 1, 3)
    late = [prediction(truth[0], "fifo", 60), prediction(truth[1], "fifo", 120)]
    on_time = [prediction(truth[0], "round_robin", 40), prediction(truth[1], "round_robin", 100)]
    made = summarise_cell(facts(Case(sizes=(1,))), truth, [*late, *in_order(on_time, 1, 3, 1)])
    assert [(m.model, m.wire.max) for m in made.models] == [("fifo", 0.2), ("round_robin", 0.0)]
    assert (made.best, made.answer.kind) == ("fifo", "follows")


PAUSED = Case(sizes=(300_000, 2_000_000, 400_000), bursts=2, pause=(90 * MS, 20 * MS))


def test_what_a_recorded_pause_cut_out_is_in_the_wall_clock_s_error_only() -> None:
    calm = replace(PAUSED, pause=None)
    before = summarise_cell(facts(calm), measured_rows(calm), predicted_rows(calm))
    after = summarise_cell(
        facts(PAUSED), measured_rows(PAUSED), predicted_rows(PAUSED), lost_rows(PAUSED)
    )
    for one, other in zip(before.models, after.models, strict=True):
        assert (one.order, one.wire, one.wire_secondary) == (
            other.order,
            other.wire,
            other.wire_secondary,
        )
        assert one.by_burst == other.by_burst
    assert after.burst_length_ns == before.burst_length_ns
    assert before.models[0].wall == before.models[0].wire
    assert after.models[0].wall.max > after.models[0].wire.max + 0.05


def test_what_no_pause_explains_stays_in_the_time() -> None:
    lost = [replace(each, cause=UNEXPLAINED) for each in lost_rows(PAUSED)]
    made = summarise_cell(facts(PAUSED), measured_rows(PAUSED), predicted_rows(PAUSED), lost)
    assert made.models[0].wall == made.models[0].wire
    assert made.models[0].wire.max > 0.05


@pytest.mark.parametrize(
    ("lost_share", "grade"),
    [(None, None), (0.0, "A"), (0.005, "A"), (0.00501, "B"), (0.05, "B"), (0.0501, "C")],
)
def test_grades(lost_share: float | None, grade: str | None) -> None:
    known = replace(facts(SMALL), lost_share=lost_share)
    made = summarise_cell(known, measured_rows(SMALL), predicted_rows(SMALL))
    assert (made.grade, made.lost_share) == (grade, lost_share)
    assert (f"grade {grade}" in made.verdict) is (grade is not None)
    assert ("time error" in made.verdict) is (grade != "C")


def test_first_bursts_stand_by_themselves() -> None:
    known = replace(facts(SMALL), first_bursts=frozenset({0}))
    truth, predictions = measured_rows(SMALL), predicted_rows(SMALL)
    # In its first burst the connection did what fifo says, and two-visit after that.
    odd = [
        replace(r, services=next(c.services for c in predictions if same(c, r, "fifo")))
        if r.burst == 0
        else r
        for r in truth
    ]
    made = summarise_cell(known, odd, predictions)
    best = made.models[0]
    assert best.model == "two_visit"
    assert best.order_first is not None and best.order_first.mean > 0.01
    assert best.order_later is not None and best.order_later.max == 0
    assert [b.first for b in best.by_burst] == [True, False, False]
    assert (made.answer.kind, made.answer.agreeing, made.answer.bursts) == ("follows", 2, 2)
    assert "The first burst on a connection by itself" in made.verdict


def same(predicted: StreamRow, measured: StreamRow, model: str) -> bool:
    return predicted.model == model and (predicted.burst, predicted.stream) == (
        measured.burst,
        measured.stream,
    )


def test_bursts_with_a_delayed_input_are_shown_and_decide_nothing() -> None:
    case = replace(SMALL, bursts=2, shown=(0, 1))
    made = summarise_cell(facts(case), measured_rows(case), predicted_rows(case))
    assert (made.judged_bursts, made.shown_bursts, made.invalid_bursts) == (0, 2, 0)
    assert made.models and made.models[0].model == "two_visit"
    assert (made.answer.kind, made.answer.bursts) == ("undecided", 0)
    assert "in every burst a pause delayed an input" in made.verdict
    assert "follows" not in made.verdict


def test_a_burst_with_a_delayed_input_does_not_count_beside_judged_ones() -> None:
    case = replace(SMALL, bursts=3, shown=(1,))
    made = summarise_cell(facts(case), measured_rows(case), predicted_rows(case))
    assert (made.judged_bursts, made.shown_bursts) == (2, 1)
    assert [b.burst for b in made.models[0].by_burst] == [0, 2]
    assert (made.answer.kind, made.answer.bursts) == ("follows", 2)


def test_invalid_bursts_and_other_cells_count_for_nothing() -> None:
    case = replace(SMALL, bursts=2)
    clean = summarise_cell(facts(case), measured_rows(case), predicted_rows(case))
    noisy = [
        *measured_rows(case),
        *[replace(r, burst=2, valid=False, wire_end_ns=10**12) for r in measured_rows(case)],
        *[replace(r, cell="other/cell") for r in measured_rows(case)],
    ]
    extra = [replace(r, burst=2, wire_end_ns=1) for r in predicted_rows(case)]
    assert summarise_cell(facts(case), noisy, [*predicted_rows(case), *extra]) == clean


def test_a_cell_without_a_valid_burst_has_an_honest_summary() -> None:
    case = Case(bursts=1, invalid=(0,), sizes=(10_000,))
    made = summarise_cell(facts(case), measured_rows(case), predicted_rows(case))
    assert (made.judged_bursts, made.invalid_bursts) == (0, 1)
    assert (made.models, made.best, made.answer.kind) == ((), None, "no evidence")
    assert "no burst was valid" in made.verdict


def test_a_windowed_cell_without_a_stall_is_not_counted() -> None:
    truth = [row(1, [(0, 10), (20, 30)])]
    stopped = [replace(truth[0], credit_stops=1)]
    on = facts(Case(sizes=(1,)))
    off = replace(on, windowed=False)
    assert [summarise_cell(f, truth, []).counted for f in (on, off)] == [False, True]
    assert summarise_cell(on, stopped, []).counted


def test_ratios_are_of_the_largest_message() -> None:
    large = replace(row(3, [(0, 10), (20, 30), (40, 50)]), wire_bytes=1000)
    sizes = (100, 100, 800)
    # The second interval follows the first without another stream's between: one turn of 200.
    services = tuple(
        replace(s, size_bytes=size, position=place)
        for s, size, place in zip(large.services, sizes, (3, 4, 6), strict=True)
    )
    truth = [replace(row(1, [(10, 20)]), wire_bytes=10), replace(large, services=services)]
    known = replace(facts(Case(sizes=(1,))), seen_window_bytes=500, past_bytes=2000, bdp_bytes=50.0)
    assert cell_ratios(known, truth) == Ratios(
        window_to_message=0.5, turn_to_message=0.2, buffer_to_message=2.0, bdp_to_window=0.1
    )
    open_ = replace(known, seen_window_bytes=2**31 - 1, past_bytes=None)
    assert cell_ratios(open_, truth[:1]) == Ratios(
        window_to_message=None, turn_to_message=None, buffer_to_message=None, bdp_to_window=None
    )


def test_only_predict_makes_a_model_the_best() -> None:
    truth = [row(1, [(0, 100)])]
    told = replace(prediction(truth[0], "fifo", 100), level="ORACLE")
    made = summarise_cell(
        facts(Case(sizes=(1,))), truth, [told, prediction(truth[0], "round_robin", 97)]
    )
    assert [(m.model, m.level) for m in made.models] == [
        ("round_robin", "PREDICT"),
        ("fifo", "ORACLE"),
    ]
    assert made.best == "round_robin"


def test_separations_pair_up_streams_of_the_same_burst() -> None:
    first = in_order([row(1, [(0, 10), (10, 30)]), row(3, [(30, 40)])], 1, 1, 3)
    second = in_order([row(1, [(0, 10), (10, 30)], burst=1), row(3, [(30, 60)], burst=1)], 1, 1, 3)
    predictions = [
        *(prediction(r, "a", 60) for r in (*first, *second)),
        *(prediction(r, "b", 60) for r in (*in_order(first, 1, 3, 1), *in_order(second, 1, 3, 1))),
    ]
    # a: 30 of 40 and 40 of 40; 30 of 60 and 60 of 60. b: 40 and 20 of 40; 60 and 40 of 60.
    expected = (10 / 40 + 20 / 40 + 30 / 60 + 20 / 60) / 4
    assert model_separations([*first, *second], predictions) == {
        frozenset("ab"): pytest.approx(expected)
    }


def test_separations_do_not_depend_on_when_anything_ends() -> None:
    truth = [row(1, [(0, 100)])]
    predictions = [prediction(truth[0], "a", 100), prediction(truth[0], "b", 10)]
    assert model_separations(truth, predictions) == {frozenset("ab"): 0}


@pytest.mark.parametrize(
    ("rows", "idle_ms"),
    [
        ([row(1, [(0, 10), (20, 30)])], 0),
        ([row(1, [(0, 10), (20, 30)], [(10, 20)])], 10),
        ([row(1, [(0, 10), (20, 30)], [(12, 17)])], 5),
        ([row(1, [(0, 10), (20, 30)], [(10, 20)]), row(3, [(10, 18)])], 2),
        ([row(1, [(0, 10), (20, 30)], [(10, 20)]), row(3, [(30, 40)], [(5, 25)])], 10),
    ],
)
def test_link_stalls(rows: list[StreamRow], idle_ms: int) -> None:
    assert link_stall_ns(rows) == idle_ms * MS


def test_a_sentence_names_the_releases_that_the_scenario_names() -> None:
    plain = replace(facts(Case()), sender="grpc", receiver="grpc", window_bytes=None)
    old = replace(plain, sender_release="1.39.0")
    assert plain.subject == "grpc with flow control on"
    assert old.subject == "grpc 1.39.0 to grpc with flow control on"
    both = replace(old, receiver_release="1.39.0")
    assert both.subject == "grpc 1.39.0 with flow control on"
    found = summarise_cell(both, [], [])
    assert (found.sender_release, found.receiver_release) == ("1.39.0", "1.39.0")


def test_where_no_window_bound_a_rule_is_not_told_from_what_it_is_without() -> None:
    case = Case()
    free = [replace(row, credit_stops=0) for row in measured_rows(case)]
    held = [replace(row, credit_stops=1) for row in free]
    (truth, rival) = (case.truth, "fifo")
    assert truth != rival
    same = replace(facts(case), without_windows={truth: rival})
    kinds = {
        (known, bound): summarise_cell(each, rows, predicted_rows(case)).answer.kind
        for known, each in (("known", same), ("not known", facts(case)))
        for bound, rows in (("free", free), ("held", held))
    }
    assert kinds.pop(("known", "free")) == "undecided"
    assert set(kinds.values()) == {"follows"}
