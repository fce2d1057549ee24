"""What a burst rests on: what goes wrong with a capture behind it is no evidence against it."""

from pathlib import Path

import pytest

from emu.measurement.burst_clock import connection_clocks
from emu.measurement.evidence import facts_of
from emu.measurement.grant_rows import grant_rows
from emu.measurement.round import BurstFacts, Round
from emu.measurement.trace_rows import (
    CapturedBurst,
    common_zero,
    find_burst,
    measured_rows,
    window_rows,
)
from emu.plan import make_plan
from netcosim.errors import CaptureError
from netcosim.scenario import read_scenario
from tests.emu.capture.wire import Packet, write
from tests.emu.measurement.scenes import MS, NO_PAUSES, Scene, paths_of
from tests.emu.run.running import scenario

UNTOUCHED = BurstFacts(
    steal=0.0, throttled_ns=0, drops=0, retransmissions=0, loss_probes=0, timeouts=0, reorderings=0
)
CELL = make_plan(read_scenario(Path(scenario("tiny")))).cells[0]


def two_bursts() -> tuple[Scene, list[Packet]]:
    """A burst that stalls for credit, and a second one; the packets that the second one begins."""
    scene = Scene(window=9_000)
    first, second = scene.ask(20_000), scene.ask(7_000)
    scene.hand_over(first)
    scene.serve(first)
    scene.hand_over(second)
    scene.serve(second)
    scene.idle(5 * MS)
    scene.grant(first, 30_000)
    scene.serve(first)
    packets = len(scene.talk.packets)
    scene.idle(10 * MS)
    later = scene.ask(20_000, burst=1)
    scene.hand_over(later)
    scene.serve(later)
    scene.grant(later, 30_000)
    scene.serve(later)
    return scene, scene.talk.packets[packets:]


def read(scene: Scene, seen: CapturedBurst) -> tuple[object, ...]:
    """All that a cell keeps of a burst."""
    zero_ns = common_zero([seen])
    (clock,) = connection_clocks([seen], paths_of(scene), NO_PAUSES, zero_ns)
    return (
        measured_rows(CELL, seen, zero_ns, valid=True),
        window_rows(CELL, seen, zero_ns),
        grant_rows(CELL, seen, zero_ns, None),
        clock.rows(CELL.name, zero_ns),
        clock.work.seen_bps,
    )


def problems(seen: CapturedBurst) -> tuple[str, ...]:
    done = Round(planned=[seen.carried.planned], logs=[{0: seen.log}], facts={0: UNTOUCHED})
    return facts_of(done, [seen], 0).problems


def test_a_capture_that_ends_behind_a_burst_leaves_it_as_it_is(tmp_path: Path) -> None:
    """Wherever it ends, also in the midst of a packet; the problems are told all the same."""
    scene, behind = two_bursts()
    whole = scene.seen(tmp_path)
    expected, told = read(scene, whole), 0
    packets = scene.talk.packets
    for count in range(len(packets) - len(behind), len(packets)):
        path = write(tmp_path / "cut.pcap", packets[: count + 1])
        with path.open("r+b") as file:
            file.truncate(path.stat().st_size - 5)
        cut = scene.seen_in(path)
        assert problems(cut) == ()
        assert read(scene, cut) == expected
        told += bool(cut.carried.report.problems)
    assert told > len(behind) // 2


def test_data_that_is_lost_behind_a_burst_leaves_it_as_it_is(tmp_path: Path) -> None:
    scene, behind = two_bursts()
    expected, lost = read(scene, scene.seen(tmp_path)), 0
    for gone in behind:
        if gone.source == scene.talk.ends["server"] and gone.payload:
            kept = [packet for packet in scene.talk.packets if packet is not gone]
            seen = scene.seen_in(write(tmp_path / "hole.pcap", kept))
            assert problems(seen) == ()
            assert read(scene, seen) == expected
            lost += bool(seen.carried.report.problems)
    assert lost > 10


def test_whatever_a_burst_lost_itself_is_told(tmp_path: Path) -> None:
    """Data or credit: without any of its packets that carry something it is no evidence."""
    scene, behind = two_bursts()
    packets = scene.talk.packets
    mine = [packet for packet in packets[: len(packets) - len(behind)] if packet.payload]
    for gone in mine:
        path = write(tmp_path / "hole.pcap", [p for p in packets if p is not gone])
        try:
            seen = scene.seen_in(path)
            measured_rows(CELL, seen, 0, valid=True)
        except CaptureError:
            continue
        assert problems(seen)


def test_credit_that_may_have_been_lost_within_a_burst_is_told(tmp_path: Path) -> None:
    """What the receiver sent next is missing: nothing shows that it was sent behind the burst."""
    scene, behind = two_bursts()
    asked, *later = (p for p in behind if p.source == scene.talk.ends["client"] and p.payload)
    without = [p for p in scene.talk.packets if p is not asked]
    assert problems(scene.seen_in(write(tmp_path / "a.pcap", without)))
    without = [p for p in scene.talk.packets if p is not later[0]]
    assert problems(scene.seen_in(write(tmp_path / "b.pcap", without))) == ()


@pytest.mark.parametrize(("lost", "counted"), [({0: 0, 1: 3}, 0), ({0: 2, 1: 0}, 2), ({}, 0)])
def test_packets_that_a_capture_dropped_count_in_their_burst(tmp_path, lost, counted) -> None:
    seen = two_bursts()[0].seen(tmp_path)
    done = Round(
        planned=[seen.carried.planned], logs=[{0: seen.log}], facts={0: UNTOUCHED}, lost=lost
    )
    assert facts_of(done, [find_burst(seen.carried, 0)], 0).capture_drops == counted
