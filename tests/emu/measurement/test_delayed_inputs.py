"""Inputs of the models that a pause delayed: credit, hand-overs, PINGs; others only seem late."""

from pathlib import Path

import pytest

from emu.measurement.burst_clock import RECOVERY_NS, connection_clocks
from emu.measurement.delayed_inputs import GRANT, HAND_OVER, PING, DelayedInput, delayed_inputs
from emu.measurement.trace_rows import common_zero
from emu.pauses.pauses import Pauses
from netcosim.spans import Span
from tests.emu.measurement.scenes import FRAME_NS, LAG_NS, MS, NO_PAUSES, Scene, paths_of, recorded

WINDOW_BYTES = 300_000
PART_BYTES = 125_000  # more than 10 ms of the link


def moved_in(folder: Path, scene: Scene, pauses: Pauses) -> list[DelayedInput]:
    seen = scene.seen(folder)
    paths = paths_of(scene)
    return delayed_inputs(connection_clocks([seen], paths, pauses, common_zero([seen])), pauses)


def out_of_credit(*, switches: bool) -> tuple[Scene, Span]:
    """Stream 1 stalls, others are served, and 20 ms later it gets credit; between when and when.

    With `switches` the sender takes two of the others in turn meanwhile, else it stays with one.
    """
    scene = Scene(window=WINDOW_BYTES)
    stalled, one, other = (scene.ask(2 * WINDOW_BYTES) for _ in range(3))
    for index in (stalled, one, other):
        scene.hand_over(index)
    assert scene.serve(stalled) == WINDOW_BYTES
    since_ns = scene.now_ns
    scene.serve(one, PART_BYTES)
    scene.serve(other if switches else one, PART_BYTES)
    due_ns, came_ns = since_ns, scene.now_ns
    scene.grant(stalled, WINDOW_BYTES)
    scene.serve(other if switches else one, 50_000)
    finish(scene, stalled, one, other)
    return scene, (due_ns, came_ns)


def finish(scene: Scene, *tensors: int) -> None:
    for index in tensors:
        scene.grant(index, 10**6)
        scene.serve(index)


def server_away(waited: Span) -> Span:
    """Of the time in which credit was missing the last part."""
    return waited[1] - 15 * MS, waited[1] - MS


def test_late_credit_that_a_decision_had_to_do_without_moves_the_burst(tmp_path: Path) -> None:
    scene, waited = out_of_credit(switches=True)
    (found,) = moved_in(tmp_path, scene, recorded(server_away(waited)))
    assert (found.what, found.time_ns) == (GRANT, pytest.approx(waited[1], abs=FRAME_NS))
    # The link worked all the time from the pause's begin on.
    assert found.late_ns == pytest.approx(15 * MS, abs=3 * FRAME_NS)


def test_late_credit_without_a_decision_meanwhile_moves_nothing(tmp_path: Path) -> None:
    scene, waited = out_of_credit(switches=False)
    assert moved_in(tmp_path, scene, recorded(server_away(waited))) == []


def test_credit_that_no_recorded_pause_held_back_is_the_receiver_s_own(tmp_path: Path) -> None:
    scene, waited = out_of_credit(switches=True)
    long_over = (waited[0], waited[1] - RECOVERY_NS - 2 * FRAME_NS)
    later = (waited[1] + MS, waited[1] + 20 * MS)
    for pauses in (NO_PAUSES, recorded(long_over), recorded(later)):
        assert moved_in(tmp_path, scene, pauses) == []


def test_a_pause_of_the_link_itself_moves_nothing(tmp_path: Path) -> None:
    """Both processors were away: nothing was carried that a rule would have done otherwise."""
    scene = Scene(window=WINDOW_BYTES)
    index = scene.ask(2 * WINDOW_BYTES)
    scene.hand_over(index)
    scene.serve(index)
    began_ns = scene.idle(20 * MS)
    scene.grant(index, WINDOW_BYTES)
    scene.serve(index)
    assert moved_in(tmp_path, scene, recorded((began_ns, scene.now_ns))) == []


def test_credit_that_was_not_needed_yet_is_never_late(tmp_path: Path) -> None:
    scene = Scene(window=WINDOW_BYTES)
    one, other = scene.ask(2 * WINDOW_BYTES), scene.ask(2 * WINDOW_BYTES)
    for index in (one, other):
        scene.hand_over(index)
    began_ns = scene.now_ns
    for _ in range(2):
        scene.serve(one, PART_BYTES)
        scene.serve(other, PART_BYTES)
    scene.grant(one, WINDOW_BYTES)
    scene.grant(other, WINDOW_BYTES)
    came_ns = scene.now_ns
    scene.serve(one)
    scene.serve(other)
    assert moved_in(tmp_path, scene, recorded((began_ns, came_ns))) == []


def handed_over(*, switches: bool, taken_after_ns: int | None = None) -> tuple[Scene, int]:
    """A tensor handed over 20 ms after it was asked for, while others are served; when it was.

    Its transport says that it had it `taken_after_ns` later, or does not say.
    """
    scene = Scene()
    one, other, late = scene.ask(600_000), scene.ask(600_000), scene.ask(100_000)
    scene.hand_over(one)
    scene.hand_over(other)
    scene.serve(one, PART_BYTES)
    scene.serve(one, PART_BYTES)
    handed_ns = scene.now_ns
    taken_ns = None if taken_after_ns is None else handed_ns + taken_after_ns
    scene.hand_over(late, taken_ns=taken_ns)
    scene.serve(one, PART_BYTES)
    scene.serve(other if switches else one, PART_BYTES)
    for index in (one, other, late):
        scene.serve(index)
    return scene, handed_ns


def test_a_hand_over_that_was_logged_late_is_known_to_the_models(tmp_path: Path) -> None:
    scene, handed_ns = handed_over(switches=True)
    assert moved_in(tmp_path, scene, recorded((handed_ns - 15 * MS, handed_ns - MS))) == []


def test_a_message_held_back_behind_the_log_moves_the_burst(tmp_path: Path) -> None:
    scene, handed_ns = handed_over(switches=True)
    away = (handed_ns - MS, handed_ns + 14 * MS)
    (found,) = moved_in(tmp_path, scene, recorded(away))
    assert found.what == HAND_OVER
    assert found.late_ns == pytest.approx(14 * MS, abs=3 * FRAME_NS)


def test_a_message_that_the_transport_had_at_once_was_not_held_back(tmp_path: Path) -> None:
    """The endpoint was on the other processor."""
    scene, handed_ns = handed_over(switches=True, taken_after_ns=MS // 10)
    away = (handed_ns - MS, handed_ns + 14 * MS)
    assert moved_in(tmp_path, scene, recorded(away)) == []


def test_a_transport_that_had_it_late_says_how_late(tmp_path: Path) -> None:
    scene, handed_ns = handed_over(switches=True, taken_after_ns=13 * MS)
    (found,) = moved_in(tmp_path, scene, recorded((handed_ns - MS, handed_ns + 14 * MS)))
    assert (found.what, found.time_ns) == (HAND_OVER, handed_ns + 13 * MS)
    assert found.late_ns == pytest.approx(13 * MS, abs=3 * FRAME_NS)
    (tmp_path / "b").mkdir()
    elsewhere = recorded((handed_ns - 90 * MS, handed_ns - 60 * MS))
    assert moved_in(tmp_path / "b", scene, elsewhere) == []


def test_without_a_decision_meanwhile_it_does_not(tmp_path: Path) -> None:
    scene, handed_ns = handed_over(switches=False)
    away = (handed_ns - MS, handed_ns + 8 * MS)
    assert moved_in(tmp_path, scene, recorded(away)) == []


def pinged(*, switches, window_moves=False, scarce=True) -> tuple[Scene, int, int]:
    """A PING that is answered 40 kB later; when it was asked and answered.

    Afterwards credit is used up if it is `scarce`.
    """
    scene = Scene(window=400_000 if scarce else 10**7)
    index, other = scene.ask(10**6), scene.ask(10**6)
    scene.hand_over(index)
    scene.hand_over(other)
    scene.serve(index, PART_BYTES)
    scene.ping(answered=False)
    asked_ns = scene.now_ns
    scene.serve(index, PART_BYTES)
    scene.serve(other if switches else index, PART_BYTES)
    scene.answer()
    came_ns = scene.now_ns
    if window_moves:
        scene.initial_window(500_000 if scarce else 2 * 10**7)
    scene.serve(index)
    scene.serve(other)
    if scarce:
        finish(scene, index, other)
    return scene, asked_ns, came_ns


def test_a_late_answer_to_a_ping_matters_if_there_was_a_decision(tmp_path: Path) -> None:
    scene, asked_ns, came_ns = pinged(switches=True)
    (found,) = moved_in(tmp_path, scene, recorded((asked_ns - MS, came_ns)))
    assert found.what == PING
    assert found.late_ns == pytest.approx(came_ns - asked_ns - LAG_NS, abs=3 * FRAME_NS)
    assert moved_in(tmp_path, scene, NO_PAUSES) == []


def test_a_late_answer_without_a_decision_moves_nothing(tmp_path: Path) -> None:
    scene, asked_ns, came_ns = pinged(switches=False)
    assert moved_in(tmp_path, scene, recorded((asked_ns - MS, came_ns))) == []


def test_a_window_that_moves_by_a_late_answer_always_matters(tmp_path: Path) -> None:
    scene, asked_ns, came_ns = pinged(switches=False, window_moves=True)
    (found,) = moved_in(tmp_path, scene, recorded((asked_ns - MS, came_ns)))
    assert found.what == PING


@pytest.mark.parametrize("window_moves", [False, True])
def test_no_answer_matters_where_there_is_credit_to_the_end(tmp_path, window_moves) -> None:
    scene, asked_ns, came_ns = pinged(switches=True, window_moves=window_moves, scarce=False)
    assert moved_in(tmp_path, scene, recorded((asked_ns - MS, came_ns))) == []


def test_a_ping_that_is_answered_at_once_is_not_late(tmp_path: Path) -> None:
    scene = Scene()
    index = scene.ask(10**6)
    scene.hand_over(index)
    scene.serve(index, PART_BYTES)
    scene.ping()
    scene.serve(index)
    assert moved_in(tmp_path, scene, recorded((scene.now_ns - 60 * MS, scene.now_ns))) == []


def test_a_decision_lies_before_what_it_put_on_the_wire(tmp_path: Path) -> None:
    """Credit that came just before a turn's first frame came too late for that decision."""
    scene = Scene(window=WINDOW_BYTES)
    stalled, one, other = (scene.ask(2 * WINDOW_BYTES) for _ in range(3))
    for index in (stalled, one, other):
        scene.hand_over(index)
    scene.serve(stalled)
    scene.serve(one, 2 * PART_BYTES)
    scene.grant(stalled, WINDOW_BYTES)  # what follows was in the sender's buffer already
    came_ns = scene.now_ns
    scene.serve(other, PART_BYTES)
    finish(scene, stalled, one, other)
    away = (came_ns - LAG_NS + FRAME_NS, came_ns - FRAME_NS)
    (found,) = moved_in(tmp_path, scene, recorded(away))
    assert found.what == GRANT
