"""Figures beside the simulated rate, worked out by hand for steps of a few operations."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from netcosim.results.training.bottleneck import bottleneck
from netcosim.results.training.summary import Point, Series
from netcosim.scenario import parse_scenario
from netcosim.workload import parse_profile
from sim.analytic import one_worker
from sim.experiment.cell import training_cells
from sim.experiment.phases import phases
from sim.experiment.point import Reference, make_series, utilisation
from sim.experiment.statistics import estimate
from tests.netcosim.workload.profiles import plain
from tests.sim.cli.started import FAST, Done, Inside, assert_refused, summary_of
from tests.sim.experiment.test_statistics import point as made_point

SIZE, FORWARD, BACKWARD, UPDATE = 100_000, 3_000_000, 5_000_000, 70_000
ON_LINK = SIZE * 8 / (1448 / 1514)
"""Nanoseconds that a tensor takes at 1 Gbit/s."""

SLOW = '[[straggler]]\nkind = "slow"\nworkers = [0]\noptions = { factor = 3.0 }\n'
TRANSIENT = (
    '[[straggler]]\nkind = "transient"\nworkers = [0]\n'
    'options = { every = "20ms", lasting = "10ms", factor = 3.0 }\n'
)
GONE = '[[straggler]]\nkind = "leave"\nworkers = [0]\noptions = { at = "20ms" }\n'


def transfer(name: str, source: str, after: Sequence[str] = ()) -> dict[str, Any]:
    tensor, destination = name[0], "server" if source == "worker" else "worker"
    made = {"kind": "transfer", "name": name, "source": source, "destination": destination}
    return {**made, "tensor": tensor, "size_bytes": SIZE, "after": list(after)}


def compute(name: str, after: Sequence[str], node: str = "worker") -> dict[str, Any]:
    update = {"tensor": name[0]} if node == "server" else {}
    return {"kind": "compute", "name": name, "resource": node, "after": list(after), **update}


CHAIN = [
    transfer("w/pull", "server"),
    compute("w/forward", ["w/pull"]),
    compute("w/backward", ["w/forward"]),
    transfer("w/push", "worker", ["w/backward"]),
    compute("w/update", ["w/push"], "server"),
]
"""Nothing overlaps: a step takes 2 * ON_LINK and all its computing."""

OVERLAPPING = [
    transfer("v/pull", "server"),
    transfer("w/pull", "server"),
    compute("v/work", ["v/pull"]),
    transfer("v/push", "worker", ["v/work"]),
    compute("w/work", ["w/pull"]),
    transfer("w/push", "worker", ["w/work"]),
    compute("v/update", ["v/push"], "server"),
    compute("w/update", ["w/push"], "server"),
]


def profile(operations: Sequence[Mapping[str, Any]], *rows: Sequence[int]) -> str:
    """Computing in the order of the operations; without parsing."""
    data = plain(duration_ns=[list(row) for row in rows], parsing=[])
    data["step"]["operations"] = list(operations)
    return json.dumps(data)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "same.json").write_text(profile(CHAIN, (FORWARD, BACKWARD, UPDATE)))
    rows = ((FORWARD, BACKWARD, UPDATE), (2 * FORWARD, 3 * BACKWARD, UPDATE))
    (tmp_path / "two.json").write_text(profile(CHAIN, *rows))
    return tmp_path


def simulated(inside: Inside, more: str, *arguments: str, work: str = "same") -> Done:
    Path("job.toml").write_text(FAST + more)
    job = ("--scenario", "./job.toml", "--workload", f"{work}.json", "--out", "out")
    return inside.run(*job, "--trace-steps", "0", *arguments, interpreted=True)


def series_of(inside: Inside, more: str, *arguments: str, work: str = "same") -> Series:
    done = simulated(inside, more, *arguments, work=work)
    assert done.code == 0, done.err
    [series] = summary_of().series
    Path("out").rename(f"out{len(list(Path().iterdir()))}")
    return series


def test_one_worker_is_its_own_reference(inside, here):
    series = series_of(inside, "", "--workers", "1,2", "--steps", "60", work="two")
    assert series.alone == series.points[0].steps_per_s
    assert len(series.alone.values) == 2
    assert series.alone.values[0] != series.alone.values[1]


@pytest.mark.parametrize("more", [SLOW, GONE, SLOW + GONE])
def test_the_reference_is_no_straggler(inside, here, more):
    """It is the same whoever straggles, and whether or not one worker is asked for."""
    healthy = series_of(inside, "", "--workers", "1", work="two")
    series = series_of(inside, more, "--workers", "2,3", work="two")
    assert series.alone == healthy.alone
    without = series_of(inside, "", "--workers", "2,3", work="two")
    assert [p.baselines for p in series.points] == [p.baselines for p in without.points]
    assert without.alone == healthy.alone
    assert without.points[0].steps_per_s.mean < 2 * healthy.alone.mean


def test_a_slow_worker_alone_is_slower_than_the_reference(inside, here):
    done = simulated(inside, SLOW, "--workers", "1")
    own = 2 * ON_LINK + UPDATE
    share = (own + FORWARD + BACKWARD) / (own + 3 * (FORWARD + BACKWARD))
    assert f"{share:.3g} times one worker without stragglers ({100 * share:.0f} %" in done.out
    assert "\nFormulas know nothing of stragglers; where one is faster, " in done.out


def test_saturation_is_by_the_reference(here):
    """Two more workers have to add 1 step a second, not what is little to the first two."""
    Path("own.json").write_text(profile(CHAIN, (FORWARD, BACKWARD, UPDATE)))
    text = FAST.replace('profile = "alexnet"', 'profile = "./own.json"')
    [cell] = training_cells(parse_scenario(text, "job"))
    one = one_worker(cell.plans(0).plan, cell.network(1), cell.batch)
    reference = Reference(steps_per_s=estimate([10.0]), one_worker=one)
    points = [made_point(workers, rate) for workers, rate in ((2, 20.0), (4, 21.2), (8, 22.4))]
    found = make_series(cell, points, reference).saturation
    assert found.workers == 4


@pytest.mark.parametrize(
    ("entries", "workers", "message"),
    [
        ([("[0]", 'at = "20ms"')], "1-4", '"leave, 20ms": the one worker would be gone for good;'),
        ([('"all"', 'at = "0s"')], "3", '"leave, 0ns": all 3 workers would be gone for good; one'),
        (
            [("[0, 1]", 'at = "20ms"'), ("[1]", 'at = "1ms", back = "5ms"')],
            "2,3",
            '"leave, 20ms": all 2 workers would be gone for good; one must stay or come',
        ),
    ],
)
def test_nobody_left(inside, here, entries, workers, message):
    texts = [
        f'[[straggler]]\nkind = "leave"\nworkers = {who}\noptions = {{ {when} }}\n'
        for who, when in entries
    ]
    assert_refused(simulated(inside, "".join(texts), "--workers", workers), f"straggler: {message}")
    assert not Path("out").exists()


def test_who_comes_back_is_left(inside, here):
    """All are away for a while, and one for ever."""
    back = GONE.replace("[0]", "[1]").replace(" }", ', back = "60ms" }')
    series = series_of(inside, GONE + back, "--workers", "2", "--warmup", "0")
    assert 0 < series.points[0].steps_per_s.mean < series.alone.mean


def test_lin_with_the_phases_of_a_chain(inside, here):
    series = series_of(inside, "", "--workers", "1,2")
    one, two = (p.baselines["lin_phases"] for p in series.points)
    alone_ns = 2 * ON_LINK + FORWARD + BACKWARD + UPDATE
    assert one == pytest.approx(1e9 / alone_ns, rel=1e-8)
    waiting_ns = 2 * ON_LINK * ON_LINK / alone_ns
    assert two == pytest.approx(2e9 / (alone_ns + waiting_ns), rel=1e-8)
    assert [p.baselines["lin"] for p in series.points] == pytest.approx([one, two], rel=1e-8)


def test_phases_are_means_over_the_recorded_steps(inside, here):
    """Without overlap they are what totals say."""
    [point] = series_of(inside, "", "--workers", "3", work="two").points
    assert point.baselines["lin_phases"] == pytest.approx(point.baselines["lin"], rel=1e-8)


def test_cynthia_is_told_the_reference_step(inside, here):
    [point] = series_of(inside, SLOW, "--workers", "8").points
    computing, network = FORWARD + BACKWARD, 2 * ON_LINK
    used = network / (network + computing + UPDATE)
    step_ns = computing * 8 * used + network
    assert 8 * used > 1
    assert point.baselines["cynthia"] == pytest.approx(8e9 / step_ns, rel=1e-8)


def test_every_formula_has_an_answer_and_is_shown(inside, here):
    done = simulated(inside, "", "--workers", "2")
    summary = json.loads(Path("out/summary.json").read_text())
    found = summary["series"][0]["points"][0]["baselines"]
    assert len(found) == 6
    assert None not in found.values()
    assert "phases" in done.out


def test_phases_of_several_servers_are_not_one_after_the_other(inside, here):
    found = series_of(inside, "", "--workers", "1", "--servers", "2").points[0].baselines
    assert [name for name, value in found.items() if value is None] == ["lin_phases"]


@pytest.mark.parametrize(
    ("work", "computing"), [((100_000, 2_000_000), 0), ((2_000_000, 0), 1_000_000)]
)
def test_phases_as_a_capture_shows_them(here, monkeypatch, work, computing):
    """Two tensors: the first one's push may begin before the second one's pull ends."""
    monkeypatch.setattr("sim.engine.engine.compile_engine", interpreted)
    operations = OVERLAPPING
    Path("own.json").write_text(profile(operations, *[(*work, UPDATE, UPDATE)] * 2))
    text = FAST.replace('profile = "alexnet"', 'profile = "./own.json"')
    [cell] = training_cells(parse_scenario(text, "job"))
    found = phases(cell)
    first, second = work
    up_begins = ON_LINK + first
    second_ready = max(2 * ON_LINK, up_begins) + second
    up_ends = max(up_begins + ON_LINK, second_ready) + ON_LINK
    assert found.down_ns == pytest.approx((2 * ON_LINK,))
    assert found.worker_ns == pytest.approx(max(0.0, up_begins - 2 * ON_LINK))
    assert (found.worker_ns > 0) == (computing > 0)
    assert found.up_ns == pytest.approx((up_ends - up_begins,))
    assert found.server_ns == pytest.approx((UPDATE,))


@pytest.mark.parametrize(("without", "idle"), [(0, "down"), (3, "up")])
def test_a_direction_in_which_nothing_is_sent(here, monkeypatch, without, idle):
    """All but the other direction and the server is computing."""
    monkeypatch.setattr("sim.engine.engine.compile_engine", interpreted)
    left = [op for i, op in enumerate(CHAIN) if i != without and not (without == 3 and i == 4)]
    names = {op["name"] for op in left}
    left = [{**op, "after": [a for a in op.get("after", ()) if a in names]} for op in left]
    row = (FORWARD, BACKWARD, UPDATE)[: 3 if idle == "down" else 2]
    [cell] = training_cells(parse_scenario(FAST, "job"))
    changed = parse_profile(profile(left, row, row), "own.json")
    found = phases(replace(cell, profile=changed, prepared={}))
    assert found.worker_ns == pytest.approx(FORWARD + BACKWARD)
    assert found.down_ns == pytest.approx((0 if idle == "down" else ON_LINK,))
    assert found.up_ns == pytest.approx((0 if idle == "up" else ON_LINK,))
    assert found.server_ns == pytest.approx((UPDATE if idle == "down" else 0,))


def test_no_more_steps_are_done_for_phases_than_a_run_has(here, monkeypatch):
    monkeypatch.setattr("sim.engine.engine.compile_engine", interpreted)
    text = FAST.replace("steps = 20\nwarmup = 5", "steps = 1\nwarmup = 0")
    text = text.replace('profile = "alexnet"', 'profile = "./two.json"')
    [cell] = training_cells(parse_scenario(text, "job"))
    found = phases(cell)
    assert found.worker_ns == pytest.approx(FORWARD + BACKWARD)


def interpreted(discipline: str, share: str, *, extended: bool, schedule: str | None) -> Any:
    from sim.kernels.compiled import interpret
    from sim.kernels.loop import advance

    return interpret(advance, discipline, share, extended=extended, schedule=schedule)


def point_of(inside: Inside, more: str, workers: int, mode: str, *other: str) -> Point:
    arguments = ("--workers", str(workers), "--synchronisation", mode, "--steps", "20", *other)
    return series_of(inside, more, *arguments).points[0]


def test_straggler_time_in_rounds(inside, here):
    """All pull at once; then those that compute as fast as each other push at once."""
    late = 2 * (FORWARD + BACKWARD)
    two, four = (point_of(inside, SLOW, workers, "bsp").straggler_ns for workers in (2, 4))
    assert two == pytest.approx(late)
    assert four == pytest.approx(late - 2 * ON_LINK)
    assert point_of(inside, "", 2, "bsp").straggler_ns == pytest.approx(0)


def test_who_begins_a_round_late_ends_it_late(inside, here):
    late = '[[straggler]]\nkind = "join"\nworkers = [1]\noptions = { at = "5ms" }\n'
    mode = ("--synchronisation", "bsp", "--steps", "2", "--warmup", "0")
    [point] = series_of(inside, late, "--workers", "2", *mode).points
    assert point.straggler_ns is not None
    assert point.straggler_ns * 1.001 > 2_500_000  # 5 ms in the first round, none in the second


@pytest.mark.parametrize("mode", ["asp", "ssp"])
def test_without_rounds_there_is_no_straggler_time(inside, here, mode):
    assert point_of(inside, SLOW, 2, mode).straggler_ns is None


def test_joined_by_step_from_all_there_are_rounds(inside, here):
    """The slow one ends its push later by what it computes more."""
    joined = point_of(inside, SLOW, 2, "join").straggler_ns
    assert joined == pytest.approx(2 * (FORWARD + BACKWARD))
    assert point_of(inside, SLOW, 2, "join", "--join", "tensor").straggler_ns is None
    assert point_of(inside, SLOW, 2, "join", "--first", "1").straggler_ns is None


def test_where_nothing_overlaps_steps_take_all_that_they_could(inside, here):
    work = FORWARD + BACKWARD
    for workers, more, factor in ((1, "", 1), (2, "", 1), (1, SLOW, 3)):
        found = point_of(inside, more, workers, "bsp").step_bounds
        upper = 2 * workers * ON_LINK + factor * work + UPDATE
        lower = max(workers * ON_LINK, factor * work)
        assert (found.upper_ns, found.lower_ns) == pytest.approx((upper, lower))
        assert found.efficiency == pytest.approx(0, abs=1e-9)
        assert found.speed_up == pytest.approx((upper - lower) / lower)


def test_updates_between_steps_are_not_part_of_them(inside, here):
    joined = point_of(inside, "", 1, "join").step_bounds
    own = point_of(inside, "", 1, "asp").step_bounds
    assert own.upper_ns - joined.upper_ns == pytest.approx(UPDATE)
    assert joined.efficiency == pytest.approx(0, abs=1e-9)


def test_bounds_of_speeds_that_change_in_steps_are_not_known(inside, here):
    assert point_of(inside, GONE, 2, "asp").step_bounds is None
    assert point_of(inside, TRANSIENT, 2, "asp").step_bounds is None


@pytest.mark.parametrize("both_busy", [1.0, 0.6, 0.4])
def test_a_port_that_is_full_beside_its_other_direction_is_called_full(
    inside, here, monkeypatch, both_busy
):
    """Workers that hardly compute keep both directions busy."""
    text = FAST.replace("[training]", f"[training]\nboth_busy = {both_busy}")
    monkeypatch.setattr("tests.sim.cli.test_reference.FAST", text)
    rows = profile(CHAIN, (10_000, 10_000, 0), (600_000, 10_000, 0))
    (here / "same.json").write_text(rows)
    [point] = series_of(inside, "", "--workers", "12", "--steps", "60").points
    assert [link.utilisation for link in point.link_utilisation] == pytest.approx([1, 1], abs=0.05)
    moved = point.steps_per_s.mean * ON_LINK / 1e9
    assert moved == pytest.approx(both_busy, abs=0.05)
    assert bottleneck(point).name == "server 0 down"


def test_a_port_that_sends_less_than_it_receives(inside, here, monkeypatch):
    text = FAST.replace("[training]", "[training]\nboth_busy = 0.5")
    monkeypatch.setattr("tests.sim.cli.test_reference.FAST", text)
    operations = [*CHAIN]
    operations[3] = {**operations[3], "size_bytes": SIZE // 4}
    (here / "same.json").write_text(profile(operations, (10_000, 10_000, 0)))
    [point] = series_of(inside, "", "--workers", "2").points
    moved = point.steps_per_s.mean * ON_LINK / 1e9
    down, up = (link.utilisation for link in point.link_utilisation)
    assert down == pytest.approx(1.25 * moved, rel=1e-6)
    assert up == pytest.approx(0.5 * moved, rel=1e-6)


@pytest.mark.parametrize(
    ("moved", "opposite", "both_busy", "busy"),
    [
        (0.7, 0.9, 1.0, 0.7),
        (0.6, 0.6, 0.6, 1.0),
        (0.8, 0.3, 0.6, 1.0),  # 0.5 of the time both, the rest alone
        (0.3, 0.8, 0.6, 0.5),
        (0.4, 0.0, 0.5, 0.4),
        (0.5, 0.5, 0.25, 1.0),
    ],
)
def test_the_time_that_a_port_is_busy(moved, opposite, both_busy, busy):
    assert utilisation(moved, opposite, both_busy) == pytest.approx(busy)
