"""A burst's bounds, the run's trust, and the counters behind them."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.measured import longest_within
from emu.plan import make_plan
from emu.processor import ProcessorClock
from emu.trust import reasons_against
from emu.validity import BOUNDS, Facts, judge
from netcosim.results.run_record import Validity
from netcosim.scenario import read_scenario
from tests.run.running import scenario

GOOD = Facts(
    steal=BOUNDS.steal,
    throttled_ns=0,
    segments=10_000,
    retransmissions=5,
    drops=0,
    capture_drops=0,
    largest_gap_ns=BOUNDS.gap_ns,
    late_ns=BOUNDS.late_ns,
    past_scheduler_bytes=None,
)


def verdict(facts: Facts, *, lossy: bool = False) -> Validity:
    return judge(facts, cell="w/t", burst=3, attempt=1, lossy=lossy)


def test_at_its_bounds_a_burst_is_valid() -> None:
    found = verdict(GOOD)
    assert found.valid
    assert found.reasons == ()
    assert (found.cell, found.burst, found.attempt) == ("w/t", 3, 1)
    assert found.past_scheduler_bytes is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"steal": 0.0111}, "steal 1.1% > 1.0%"),
        ({"throttled_ns": 1_500_000}, "throttled for 1.5 ms"),
        ({"capture_drops": 1}, "the capture lost 1 packets"),
        (
            {"largest_gap_ns": 5_100_000},
            "the link idled 5.1 ms for no lack of credit (> 5 ms)",
        ),
        ({"late_ns": 6_000_000}, "a wait ended 6.0 ms late"),
        (
            {"retransmissions": 6},
            "6 of 10000 segments were sent again on a link without loss",
        ),
        ({"drops": 2}, "2 packets dropped on a link without loss"),
        ({"problems": ("cut off in mid-frame",)}, "cut off in mid-frame"),
    ],
)
def test_each_bound_is_a_reason(change: dict[str, int], reason: str) -> None:
    found = verdict(replace(GOOD, **change))
    assert not found.valid
    assert found.reasons == (reason,)


def test_every_broken_bound_is_told() -> None:
    found = verdict(replace(GOOD, steal=0.5, drops=1, problems=("a", "b")))
    assert found.reasons[:2] == ("a", "b")
    assert len(found.reasons) == 4


def test_what_a_link_drops_by_design_is_no_reason() -> None:
    facts = replace(GOOD, retransmissions=900, drops=900)
    assert verdict(facts, lossy=True).valid
    assert not verdict(replace(facts, capture_drops=1), lossy=True).valid


@pytest.mark.parametrize(
    ("link", "lossy"), [({}, False), ({"model": "fifo"}, True), ({"loss": 0.01}, True)]
)
def test_which_links_drop_by_design(link: dict[str, object], lossy: bool) -> None:
    given_ = read_scenario(Path(scenario("tiny")))
    cluster = given_.cluster.model_copy(
        update={"link": given_.cluster.link.model_copy(update=link)}
    )
    assert make_plan(given_.model_copy(update={"cluster": cluster})).lossy == lossy


def judged(*valid: bool) -> list[Validity]:
    facts = [GOOD if good else replace(GOOD, drops=7) for good in valid]
    return [
        judge(each, cell="any", burst=i, attempt=0, lossy=False) for i, each in enumerate(facts)
    ]


def test_a_run_is_trusted_when_every_cell_has_its_valid_bursts() -> None:
    assert reasons_against({"a": judged(True, False, True), "b": judged(True, True)}, 2) == []
    assert reasons_against({"a": judged(True, True), "b": judged(False, True, False)}, 2) == [
        "b: 1 of 2 bursts are valid after 3 attempts: 7 packets dropped on a link without loss"
    ]
    assert reasons_against({"a": judged()}, 1) == ["a: 0 of 1 bursts are valid after 0 attempts"]


TIMES = st.integers(0, 40)
SPANS = st.lists(st.tuples(TIMES, TIMES).map(lambda two: (min(two), max(two))), max_size=6)


@given(SPANS, TIMES, TIMES)
def test_longest_within_counts_what_is_covered_without_a_break(
    spans: list[tuple[int, int]], one: int, other: int
) -> None:
    start, end = min(one, other), max(one, other)
    longest = run = 0
    for tick in range(start, end):  # each unit of time by itself
        run = run + 1 if any(a <= tick < b for a, b in spans) else 0
        longest = max(longest, run)
    assert longest_within(spans, start, end) == longest


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
