"""Time that is cut out of a burst and time that stays, on captures of real HTTP/2."""

from pathlib import Path

import pytest

from emu.measurement.burst_clock import (
    RECOVERY_NS,
    ConnectionClock,
    connection_clocks,
    link_positions,
)
from emu.measurement.trace_rows import common_zero
from emu.pauses.pauses import Pauses
from netcosim.results.streams.lost import PAUSE, UNEXPLAINED
from netcosim.spans import Span, total_ns
from tests.emu.measurement.scenes import (
    BUCKET_NS,
    FRAME_NS,
    LINK,
    MS,
    NO_PAUSES,
    START_NS,
    Link,
    Scene,
    paths_of,
    recorded,
    stream_of,
)

GAP_NS = 20 * MS
LOST_NS = GAP_NS - BUCKET_NS
"""Loss of a gap on a link that was busy before: the bucket makes the rest good."""


def clocks_of(folder: Path, pauses: Pauses, *scenes: Scene) -> list[ConnectionClock]:
    seen = [scene.seen(folder) for scene in scenes]
    return connection_clocks(seen, paths_of(*scenes), pauses, common_zero(seen))


def halted() -> tuple[Scene, Span]:
    """A tensor of 1 MB, and the sender away for a while in its middle; when that was."""
    made = Scene()
    index = made.ask(10**6)
    made.hand_over(index)
    made.serve(index, 500_000)
    began_ns = made.idle(GAP_NS)
    made.serve(index)
    return made, (began_ns, began_ns + GAP_NS)


def two(**how: int) -> tuple[Scene, Scene]:
    """Two connections over one link; `how` is for the first."""
    link = Link()
    return Scene(link=link, **how), Scene(number=1, link=link)


def near(length_ns: int) -> object:
    """As long as this, but for a frame or two."""
    return pytest.approx(length_ns, abs=2 * FRAME_NS)


def test_a_burst_that_keeps_the_link_busy_loses_nothing(tmp_path: Path) -> None:
    scene = Scene()
    scene.whole(2 * 10**6)
    everything = recorded((START_NS - MS, scene.now_ns + MS))
    (clock,) = clocks_of(tmp_path, everything, scene)
    assert (clock.cut, clock.unexplained) == ((), ())
    assert clock.way == LINK


def test_a_recorded_pause_is_cut(tmp_path: Path) -> None:
    scene, pause = halted()
    (clock,) = clocks_of(tmp_path, recorded(pause), scene)
    assert total_ns(clock.cut) == near(LOST_NS)
    assert clock.unexplained == ()
    ((start, end),) = clock.cut
    assert pause[0] < start < end <= pause[1] + FRAME_NS


def test_the_same_without_a_record_is_unexplained_and_stays(tmp_path: Path) -> None:
    scene, pause = halted()
    for pauses in (NO_PAUSES, recorded((pause[0] - 60 * MS, pause[0] - 40 * MS))):
        (clock,) = clocks_of(tmp_path, pauses, scene)
        assert clock.cut == ()
        assert total_ns(clock.unexplained) == clock.lost_ns == near(LOST_NS)
        assert clock.clock(START_NS).cut_ns == 0


def test_a_pause_explains_its_time_and_that_of_recovering_from_it(tmp_path: Path) -> None:
    scene, (began_ns, ended_ns) = halted()
    early = recorded((began_ns, ended_ns - 2 * RECOVERY_NS))
    (clock,) = clocks_of(tmp_path, early, scene)
    seen = clock.seen.carried.data.round_trip_ns
    assert total_ns(clock.unexplained) == near(RECOVERY_NS - seen)
    assert total_ns(clock.cut) == near(LOST_NS - RECOVERY_NS + seen)
    assert clock.cut[-1][1] == clock.unexplained[0][0]


def test_frames_that_were_only_stamped_late_cost_nothing(tmp_path: Path) -> None:
    scene = Scene()
    index = scene.ask(10**6)
    scene.hand_over(index)
    scene.serve(index, 300_000)
    scene.away_until_ns = scene.now_ns + GAP_NS
    scene.serve(index)
    for pauses in (NO_PAUSES, recorded((scene.away_until_ns - GAP_NS, scene.away_until_ns))):
        (clock,) = clocks_of(tmp_path, pauses, scene)
        assert clock.lost_ns <= 2 * FRAME_NS


def test_a_stall_for_credit_is_never_cut(tmp_path: Path) -> None:
    scene = Scene(window=500_000)
    index = scene.ask(10**6)
    scene.hand_over(index)
    assert scene.serve(index) == 500_000
    began_ns = scene.idle(GAP_NS)
    scene.grant(index, 600_000)
    assert scene.serve(index) == 500_000
    for pause in ((began_ns, began_ns + GAP_NS), (began_ns + 5 * MS, began_ns + 9 * MS)):
        (clock,) = clocks_of(tmp_path, recorded(pause), scene)
        assert (clock.cut, clock.unexplained) == ((), ())
        assert total_ns(clock.work.lost) == near(LOST_NS)


def test_of_a_stall_and_a_pause_after_it_only_the_pause_is_cut(tmp_path: Path) -> None:
    scene = Scene(window=500_000)
    index = scene.ask(10**6)
    scene.hand_over(index)
    scene.serve(index)
    scene.idle(GAP_NS)
    scene.grant(index, 600_000)
    scene.serve(index, 100_000)
    began_ns = scene.idle(GAP_NS)
    scene.serve(index)
    (clock,) = clocks_of(tmp_path, recorded((START_NS, scene.now_ns)), scene)
    assert total_ns(clock.cut) == near(LOST_NS)
    assert clock.cut[0][0] > began_ns


def test_a_time_in_which_nothing_was_handed_over_is_not_cut(tmp_path: Path) -> None:
    scene = Scene()
    scene.whole(500_000)
    began_ns = scene.idle(GAP_NS)
    scene.whole(500_000)
    (clock,) = clocks_of(tmp_path, recorded((began_ns, began_ns + GAP_NS)), scene)
    assert (clock.cut, clock.unexplained) == ((), ())


def test_what_was_handed_over_meanwhile_counts_from_then_on(tmp_path: Path) -> None:
    scene = Scene()
    scene.whole(500_000)
    began_ns = scene.idle(GAP_NS // 2)
    index = scene.ask(500_000)
    since_ns = scene.idle(GAP_NS // 2)  # the application did it, and was taken away at once
    scene.hand_over(index, handed_ns=since_ns)
    scene.serve(index)
    (clock,) = clocks_of(tmp_path, recorded((began_ns, began_ns + GAP_NS)), scene)
    assert total_ns(clock.cut) == near(GAP_NS // 2)
    assert clock.cut[0][0] >= since_ns


def test_the_losses_are_told_on_the_burst_s_own_clock(tmp_path: Path) -> None:
    scene, pause = halted()
    late = recorded((pause[0] - 5 * MS, pause[0] + 5 * MS))
    (clock,) = clocks_of(tmp_path, late, scene)
    zero_ns = common_zero([clock.seen])
    rows = clock.rows("w/t", zero_ns)
    assert [row.cause for row in rows] == [PAUSE, UNEXPLAINED]
    assert [(row.cell, row.burst, row.connection) for row in rows] == [("w/t", 0, 0)] * 2
    assert sum(row.length_ns for row in rows) == clock.lost_ns
    assert pause[0] - zero_ns < rows[0].start_ns < rows[1].start_ns < pause[1] - zero_ns
    worked = clock.clock(zero_ns)
    assert worked.cut_ns == rows[0].length_ns
    assert worked.at(rows[0].start_ns) == worked.at(rows[0].start_ns + rows[0].length_ns)


class TestTwoConnections:
    """Both over the one link, which is the bottleneck of both."""

    def test_while_one_is_served_the_other_loses_nothing(self, tmp_path: Path) -> None:
        one, other = two()
        waiting = other.ask(300_000)
        other.hand_over(waiting)
        one.whole(2 * 10**6)
        other.serve(waiting)
        clocks = clocks_of(tmp_path, recorded((START_NS, other.now_ns)), one, other)
        assert all(clock.lost_ns <= 2 * FRAME_NS for clock in clocks)

    def test_what_the_link_loses_both_lose(self, tmp_path: Path) -> None:
        one, other = two()
        one.whole(10**6)
        waiting = other.ask(300_000)
        other.hand_over(waiting)
        began_ns = other.idle(GAP_NS)
        other.serve(waiting)
        clocks = clocks_of(tmp_path, recorded((began_ns, began_ns + GAP_NS)), one, other)
        assert [total_ns(clock.cut) for clock in clocks] == [near(LOST_NS)] * 2
        assert clocks[0].cut == clocks[1].cut

    def test_a_link_is_usable_if_any_of_them_could_send(self, tmp_path: Path) -> None:
        """One waits for credit, the other could go on but is paused: that time is lost."""
        one, other = two(window=500_000)
        stalled = one.ask(10**6)
        one.hand_over(stalled)
        one.serve(stalled)
        waiting = other.ask(300_000)
        other.hand_over(waiting)
        began_ns = other.idle(GAP_NS)
        other.serve(waiting)
        one.grant(stalled, 600_000)
        one.serve(stalled)
        clocks = clocks_of(tmp_path, recorded((began_ns, began_ns + GAP_NS)), one, other)
        assert [total_ns(clock.cut) for clock in clocks] == [near(LOST_NS)] * 2


class TestLinkPositions:
    """Position of a stream's end in the DATA of all connections over a link."""

    def test_by_hand(self, tmp_path: Path) -> None:
        one, other = two()
        one.whole(100_000)
        one.idle(MS)
        other.whole(300_000)
        one.idle(MS)
        one.whole(600_000)
        found = link_positions(clocks_of(tmp_path, NO_PAUSES, one, other))
        assert found == pytest.approx(
            {(0, stream_of(0)): 0.1, (1, stream_of(0)): 0.4, (0, stream_of(1)): 1.0}
        )

    def test_pauses_do_not_move_them(self, tmp_path: Path) -> None:
        found = []
        for gap_ns in (MS, 70 * MS):
            one, other = two()
            index = one.ask(400_000)
            one.hand_over(index)
            one.serve(index, 200_000)
            one.idle(gap_ns)
            other.whole(300_000)
            one.idle(gap_ns)
            one.serve(index)
            found.append(link_positions(clocks_of(tmp_path, NO_PAUSES, one, other)))
        assert found[0] == found[1]

    def test_a_connection_with_a_link_to_itself_has_none(self, tmp_path: Path) -> None:
        scene, _ = halted()
        assert link_positions(clocks_of(tmp_path, NO_PAUSES, scene)) == {}
