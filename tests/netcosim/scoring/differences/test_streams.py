"""Two emulations compared, and streams of a simulation with those of an emulation."""

from dataclasses import replace

import pytest

from netcosim.results.streams.summary import Answer
from netcosim.scoring.differences.emulation import (
    emulation_changes,
    exclude_each_other,
    judged_bursts,
    link_changes,
)
from netcosim.scoring.differences.records import CellChange
from netcosim.scoring.differences.worlds import worlds_changes
from netcosim.trace import Service, StreamRow
from tests.netcosim.results.synthetic import (
    Case,
    measured_rows,
    predicted_rows,
    run_record,
    summary,
)

CASE = Case(sizes=(400_000, 3_000_000, 300_000, 2_500_000))


def compared(a: Case, b: Case) -> CellChange:
    changes = emulation_changes(
        summary((a,)),
        summary((b,)),
        judged_bursts(measured_rows(a)),
        judged_bursts(measured_rows(b)),
        (),
    )
    return changes.cells[0]


def test_an_emulation_does_not_differ_from_itself() -> None:
    found = compared(CASE, CASE)
    assert (found.other_rule, found.answer_a) == (False, "follows two_visit")
    assert (found.bursts_a, found.bursts_b) == (3, 3)
    assert [figure.figure for figure in found.figures] == [
        *("order error", "time error", "burst length", "goodput")
    ]
    for change in (f.change for f in found.figures):
        assert (change.difference, change.method, change.beyond) == (0, "welch", False)
    assert len(found.ends.streams) == len(CASE.sizes)
    assert found.ends.found.beyond == 0


def test_another_order_of_service_shows() -> None:
    found = compared(CASE, replace(CASE, truth="fifo"))
    assert found.other_rule
    assert (found.answer_a, found.answer_b) == ("follows two_visit", "follows fifo")
    figures = {(figure.figure, figure.model): figure.change for figure in found.figures}
    assert figures["order error", "two_visit"].beyond
    assert figures["order error", "fifo"].difference < 0
    # The same bytes take as long in any order.
    assert not figures["burst length", None].beyond
    assert found.ends.found.beyond > 0


def test_a_slower_link_makes_bursts_longer_by_as_much() -> None:
    found = compared(CASE, replace(CASE, rate_bps=CASE.rate_bps / 2))
    figures = {figure.figure: figure.change for figure in found.figures}
    assert figures["burst length"].share == pytest.approx(1, abs=0.02)
    assert figures["goodput"].share == pytest.approx(-0.5, abs=0.02)
    assert figures["burst length"].beyond
    assert found.ends.found.beyond == len(CASE.sizes)


def test_only_judged_bursts_count_and_grade_c_has_no_times() -> None:
    held = replace(CASE, shown=(1,), invalid=(2,))
    found = compared(CASE, held)
    assert (found.bursts_a, found.bursts_b) == (3, 1)
    assert all(f.change.method == "none" for f in found.figures)
    long_pause = compared(CASE, replace(CASE, pause=(10_000_000, 200_000_000)))
    assert long_pause.grade_b == "C"
    assert "time error" not in [figure.figure for figure in long_pause.figures]


def answer(kind: str, *models: str) -> Answer:
    return Answer.model_validate(
        {"kind": kind, "model": models[0] if models else None, "rivals": models[1:]}
    )


@pytest.mark.parametrize(
    ("a", "b", "other"),
    [
        (answer("follows", "fifo"), answer("follows", "fifo"), False),
        (answer("follows", "fifo"), answer("follows", "two_visit"), True),
        (answer("follows", "fifo"), answer("undecided", "two_visit", "fifo"), False),
        (answer("follows", "fifo"), answer("undecided", "two_visit", "priority"), True),
        (answer("follows", "fifo"), answer("fits none", "fifo"), True),
        (answer("fits none"), answer("fits none", "fifo"), False),
        (answer("follows", "fifo"), answer("alike", "two_visit"), False),
        (answer("no evidence"), answer("fits none"), False),
    ],
)
def test_verdicts_differ_where_no_rule_is_left_to_both(a: Answer, b: Answer, other: bool) -> None:
    assert exclude_each_other(a, b) is exclude_each_other(b, a) is other


def test_links_are_compared_by_path_and_direction() -> None:
    path = {"server": "s0", "worker": "w0", "down_bps": 95_000_000, "up_bps": 94_000_000}
    a = run_record().model_copy(update={"links": [path, {**path, "worker": "w1"}]})
    b = run_record().model_copy(update={"links": [{**path, "down_bps": 96_000_000}]})
    assert [(c.path, c.direction, c.a_bps, c.b_bps) for c in link_changes(a, b)] == [
        ("s0 - w0", "down", 95_000_000, 96_000_000),
        ("s0 - w0", "up", 94_000_000, 94_000_000),
    ]
    assert link_changes(a, None) == ()


def as_simulated(rows: list[StreamRow]) -> list[StreamRow]:
    """The same streams as a simulation writes them: other numbers and zeros, services unplaced."""
    return [
        replace(
            row,
            world="sim",
            model="two_visit",
            valid=True,
            connection=row.connection + 4,
            stream=row.stream * 2 + 1,
            ready_ns=row.ready_ns + 7_000_000_000,
            start_ns=row.start_ns + 7_000_000_000,
            wire_end_ns=row.wire_end_ns + 7_000_000_000,
            services=tuple(
                Service(
                    start_ns=s.start_ns + 7_000_000_000,
                    end_ns=s.end_ns + 7_000_000_000,
                    size_bytes=s.size_bytes,
                )
                for s in row.services
            ),
        )
        for row in rows
    ]


def test_the_same_streams_in_both_worlds_do_not_differ() -> None:
    rows = measured_rows(CASE)
    [cell] = worlds_changes(as_simulated(rows), rows, simulated_first=True).cells
    assert (cell.bursts, cell.orders_equal) == (3, 3)
    assert (cell.order_max, cell.time_max) == (0, 0)
    assert (cell.length_ns.difference, cell.length_ns.beyond) == (0, False)
    assert (len(cell.ends.streams), cell.ends.found.beyond) == (4, 0)


def test_errors_are_those_of_a_prediction_and_swapping_mirrors_lengths() -> None:
    rows = measured_rows(CASE)
    fifo = [row for row in predicted_rows(CASE) if row.model == "fifo"]
    ours = as_simulated(fifo)
    [cell] = worlds_changes(ours, rows, simulated_first=True).cells
    [scored] = [m for m in summary((CASE,)).cells[0].models if m.model == "fifo"]
    assert cell.order_mean == pytest.approx(scored.order.mean)
    assert cell.time_mean == pytest.approx(scored.wire.mean, rel=0.01)
    [swapped] = worlds_changes(ours, rows, simulated_first=False).cells
    assert swapped.order_mean == cell.order_mean
    assert swapped.length_ns.difference == -cell.length_ns.difference
    for one, two in zip(cell.ends.streams, swapped.ends.streams, strict=True):
        assert (one.tensor, one.end_ns.difference) == (two.tensor, -two.end_ns.difference)


def test_only_streams_and_judged_bursts_of_both_count() -> None:
    rows = measured_rows(replace(CASE, invalid=(0,)))
    first = rows[0].tensor
    ours = [row for row in as_simulated(measured_rows(CASE)) if row.tensor != first]
    [cell] = worlds_changes(ours, rows, simulated_first=True).cells
    assert (cell.bursts, len(cell.ends.streams)) == (2, 3)
    assert (cell.ends.only_a, cell.ends.only_b) == (0, 1)
    assert worlds_changes(
        [replace(row, cell="x/y") for row in ours], rows, simulated_first=True
    ) == (worlds_changes([], rows, simulated_first=True))
