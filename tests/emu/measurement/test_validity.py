"""Valid and judged bursts, trust in a run, and the counters behind them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from emu.measurement.delayed_inputs import GRANT, HAND_OVER, DelayedInput
from emu.measurement.validity import BOUNDS, Facts, LinkSeen, judge, unreadable
from emu.pauses.processor_time import ProcessorClock
from emu.plan import make_plan
from emu.summary import reasons_against
from netcosim.results.run_record import Validity
from netcosim.results.streams.summary import Answer, CellSummary
from netcosim.scenario import read_scenario
from netcosim.scoring.cell import summarise_cell
from tests.emu.run.running import scenario
from tests.netcosim.results.synthetic import Case, facts, measured_rows, predicted_rows, summary

RATE_BPS = 100_000_000
GOOD = Facts(
    steal=0.0,
    throttled_ns=0,
    retransmissions=0,
    drops=0,
    capture_drops=0,
    late_ns=0,
    length_ns=10**9,
)


def link(seen_bps: float | None) -> tuple[LinkSeen, ...]:
    return (LinkSeen(name="s0-sw", rate_bps=RATE_BPS, seen_bps=seen_bps),)


def verdict(facts: Facts, *, lossy: bool = False) -> Validity:
    return judge(facts, cell="w/t", burst=3, attempt=1, lossy=lossy)


def test_a_whole_burst_is_valid_and_judged() -> None:
    found = verdict(GOOD)
    assert (found.valid, found.judged) == (True, True)
    assert (found.reasons, found.delayed_inputs) == ((), ())
    assert (found.cell, found.burst, found.attempt) == ("w/t", 3, 1)
    assert found.past_scheduler_bytes is None


@pytest.mark.parametrize(
    "surroundings",
    [
        {"steal": 0.41},
        {"throttled_ns": 300_000_000},
        {"late_ns": 80_000_000},
        {"retransmissions": 700, "loss_probes": 3, "timeouts": 2, "reorderings": 9},
        {"lost_ns": 400_000_000, "cut_ns": 100_000_000},
        {"past_scheduler_bytes": 10**7},
    ],
)
def test_what_the_machine_did_is_recorded_and_invalidates_nothing(surroundings) -> None:
    found = verdict(replace(GOOD, **surroundings))
    assert (found.valid, found.judged, found.reasons) == (True, True, ())
    for name, value in surroundings.items():
        assert getattr(found, name) == value


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"capture_drops": 1}, "the capture lost 1 packets"),
        ({"drops": 2}, "2 packets dropped on a link without loss"),
        ({"problems": ("cut off in mid-frame",)}, "cut off in mid-frame"),
        (
            {"links": link(0.95 * RATE_BPS)},
            "link s0-sw carried frames back to back at 95mbit of 100mbit",
        ),
    ],
)
def test_evidence_that_is_lost_is_a_reason(change: dict[str, Any], reason: str) -> None:
    found = verdict(replace(GOOD, **change))
    assert (found.valid, found.judged) == (False, False)
    assert found.reasons == (reason,)


@pytest.mark.parametrize(
    ("share", "valid"),
    [(1.2, True), (1.0, True), (BOUNDS.link_share, True), (BOUNDS.link_share - 0.0001, False)],
)
def test_the_bound_of_a_slow_link(share: float, valid: bool) -> None:
    assert verdict(replace(GOOD, links=link(share * RATE_BPS))).valid is valid


def test_a_link_that_carried_too_little_to_tell_is_no_reason() -> None:
    assert verdict(replace(GOOD, links=link(None))).valid


def test_a_delayed_input_is_shown_and_not_judged() -> None:
    moved = (
        DelayedInput(what=HAND_OVER, time_ns=5, late_ns=1_200_000),
        DelayedInput(what=GRANT, time_ns=9, late_ns=12_340_000),
    )
    found = verdict(replace(GOOD, moved=moved))
    assert (found.valid, found.judged, found.reasons) == (True, False, ())
    assert found.delayed_inputs == (
        "a hand-over came 1.2 ms of link work late",
        "a grant came 12.3 ms of link work late",
    )
    assert not verdict(replace(GOOD, moved=moved, drops=1)).valid


def test_every_reason_is_told() -> None:
    facts = replace(GOOD, drops=1, capture_drops=2, problems=("a", "b"), links=link(10**6))
    assert verdict(facts).reasons[:2] == ("a", "b")
    assert len(verdict(facts).reasons) == 5


def test_what_a_link_drops_by_design_is_no_reason() -> None:
    facts = replace(GOOD, retransmissions=900, drops=900, links=link(10**6))
    assert verdict(facts, lossy=True).valid
    assert not verdict(replace(facts, capture_drops=1), lossy=True).valid


def test_bytes_that_do_not_match_are_no_evidence() -> None:
    found = unreadable("tensor 3 was received but not captured", cell="c", burst=1, attempt=0)
    assert (found.valid, found.judged) == (False, False)
    assert found.reasons == ("tensor 3 was received but not captured",)


@pytest.mark.parametrize(
    ("link_settings", "lossy"), [({}, False), ({"model": "fifo"}, True), ({"loss": 0.01}, True)]
)
def test_which_links_drop_by_design(link_settings: dict[str, object], lossy: bool) -> None:
    given_ = read_scenario(Path(scenario("tiny")))
    cluster = given_.cluster.model_copy(
        update={"link": given_.cluster.link.model_copy(update=link_settings)}
    )
    assert make_plan(given_.model_copy(update={"cluster": cluster})).lossy == lossy


def cell(**changes: object) -> CellSummary:
    (made,) = summary((Case(sizes=(300_000, 2_000_000), bursts=1),)).cells
    return made.model_copy(update=changes)


@pytest.mark.parametrize("kind", ["follows", "undecided", "fits none", "alike"])
def test_every_kind_of_answer_can_be_trusted(kind: str) -> None:
    answer = Answer.model_validate({"kind": kind, "model": "fifo", "bursts": 1})
    assert reasons_against([cell(answer=answer)]) == []


def test_a_cell_without_evidence_or_that_contradicts_itself_can_not() -> None:
    nothing = Answer(kind="no evidence")
    contradiction = Answer(kind="contradiction", model="fifo", agreeing=1, bursts=2)
    good = cell()
    cells = [
        cell(cell="w/a", answer=nothing, judged_bursts=0, shown_bursts=0, invalid_bursts=3),
        good,
        cell(cell="w/b", answer=contradiction, judged_bursts=2),
    ]
    assert reasons_against(cells) == [
        "w/a: no valid burst in 3",
        "w/b: its bursts contradict each other",
    ]


@pytest.mark.parametrize(("lost", "trusted"), [(0.5, True), (0.72, False)])
def test_a_cell_that_was_mostly_pauses_can_not(lost: float, trusted: bool) -> None:
    """Its line says so, too; what no pause explains is in the errors and cuts nothing out."""
    seen = replace(facts(Case(sizes=(300_000, 2_000_000))), lost_share=lost, unexplained_share=0)
    case = Case(sizes=(300_000, 2_000_000))
    made = summarise_cell(seen, measured_rows(case), predicted_rows(case))
    share = "72 % of its bursts' time was cut out as pauses; must be at most 50 %"
    assert reasons_against([made]) == ([] if trusted else [f"{made.cell}: {share}"])
    said = "Pauses of the machine took 72 % of its bursts' time: do not trust it."
    assert (said in made.verdict) == (not trusted)
    assert reasons_against([made.model_copy(update={"unexplained_share": lost})]) == []


def test_bursts_that_are_only_shown_are_an_answer() -> None:
    (made,) = summary((Case(sizes=(300_000, 2_000_000), bursts=2, shown=(0, 1)),)).cells
    assert reasons_against([made]) == []


STAT = "cpu  {user} 0 100 5000 0 0 0 {steal} 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n"


def machine(folder: Path, *, user: int, steal: int, cgroup: str, throttled: dict[str, str]) -> Path:
    (folder / "proc/self").mkdir(parents=True, exist_ok=True)
    (folder / "proc/stat").write_text(STAT.format(user=user, steal=steal))
    (folder / "proc/self/cgroup").write_text(cgroup)
    for where, text in throttled.items():
        (folder / "cgroups" / where).mkdir(parents=True, exist_ok=True)
        (folder / "cgroups" / where / "cpu.stat").write_text(text)
    return folder


def read(folder: Path) -> ProcessorClock:
    return ProcessorClock.read(folder / "proc", folder / "cgroups")


def test_steal_is_a_share_of_all_time(tmp_path: Path) -> None:
    before = read(machine(tmp_path, user=1000, steal=10, cgroup="0::/\n", throttled={}))
    after = read(machine(tmp_path, user=1080, steal=30, cgroup="0::/\n", throttled={}))
    assert after.since(before).steal == pytest.approx(0.2)
    assert after.since(before).throttled_ns == 0
    assert after.since(after).steal == 0


V1 = "nr_periods 9\nnr_throttled 2\nthrottled_time {n}\n"
V2 = "usage_usec 7\nnr_throttled 2\nthrottled_usec {n}\n"


@pytest.mark.parametrize(
    ("cgroup", "where", "text", "unit_ns"),
    [
        ("0::/a/b\n", "a/b", V2, 1000),
        ("0::/../c\n", "", V2, 1000),  # a container that shows its own cgroup as the top one
        ("5:memory:/x\n4:cpu,cpuacct:/docker/1\n0::/\n", "cpu/docker/1", V1, 1),
        ("4:cpuacct,cpu:/docker/1\n", "cpu", V1, 1),
    ],
)
def test_throttling_is_found_in_both_versions_of_cgroups(
    tmp_path: Path, cgroup: str, where: str, text: str, unit_ns: int
) -> None:
    readings = [
        read(machine(tmp_path, user=1, steal=0, cgroup=cgroup, throttled={where: text.format(n=n)}))
        for n in (1000, 4000)
    ]
    assert readings[1].since(readings[0]).throttled_ns == 3000 * unit_ns


def test_this_machine_can_be_read() -> None:
    earlier = ProcessorClock.read()
    later = ProcessorClock.read()
    assert later.total >= earlier.total > 0
    assert 0 <= later.since(earlier).steal <= 1
