"""Senders and receivers of known rules are recognised from their captures, or not guessed at."""

import itertools
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.capture import analyse_capture
from emu.capture.arrays import ints
from emu.identify.bursts import find_bursts
from emu.identify.credit import _counted_ns, judge_credit
from emu.identify.discipline import Evidence, judge_discipline, judge_replayed, replay_all
from emu.identify.distance import distance
from emu.identify.turns import Turns, read_turns
from h2model import credit, disciplines
from tests.emu.capture import wire

from .scenes import (
    LARGEST,
    MS,
    PREFACE,
    Message,
    Stranger,
    World,
    at_random,
    capture,
    frame,
    latest_first,
    oldest_first,
    weighted,
)

KIB = 1024
WINDOW = 256 * KIB
SIZES = [n * KIB for n in (1200, 150, 900, 200, 1500, 100, 700, 300)]
AHEAD = World.buffer_bytes


def together(discipline):
    return [
        Message(s, 0, (i * 5) % 8 if discipline == "priority" else 0) for i, s in enumerate(SIZES)
    ]


def staggered(discipline):
    return [
        Message(s, i * 30 * MS, i % 3 if discipline == "priority" else 0)
        for i, s in enumerate(SIZES)
    ]


def seen(path, world, **known):
    """The evidence of one capture, and its connection."""
    report = analyse_capture(capture(path, world))
    assert report.problems == ()
    (connection,) = report.connections
    bursts = find_bursts(connection, to_client=True).kept
    found = [Evidence(burst=burst, credit=connection.to_client.credit, **known) for burst in bursts]
    return found, connection


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("rule", "early"),
    [*((rule, True) for rule in credit.names()), ("half", False), ("rest_at_header", False)],
)
@pytest.mark.parametrize("discipline", disciplines.names())
def test_every_discipline_under_every_credit_rule(tmp_path, discipline, rule, early):
    """Bursts as `identify` runs them: one windowed, one staggered without windows."""
    worlds = [
        World(discipline, together(discipline), credit=rule, window=WINDOW, early_headers=early),
        World(discipline, staggered(discipline), early_headers=early),
    ]
    evidence = []
    for number, world in enumerate(worlds):
        priorities = {2 * i + 1: m.priority for i, m in enumerate(world.messages)}
        found, connection = seen(
            tmp_path / f"{number}", world, priorities=priorities, most_ahead_bytes=AHEAD
        )
        evidence += found
        if number == 0:
            assert judge_credit([(connection, True)]).rule == rule
    verdict = judge_discipline(evidence)
    assert verdict.discipline == discipline, verdict.statement
    assert discipline in verdict.statement


@pytest.mark.parametrize("discipline", ["round_robin", "write_cycle", "processor_sharing"])
def test_one_capture_of_a_stranger_is_enough_without_windows(tmp_path, discipline):
    evidence, _ = seen(tmp_path / "a", World(discipline, staggered(discipline)))
    assert judge_discipline(evidence).discipline == discipline


@pytest.mark.parametrize("early", [True, False], ids=["headers-first", "headers-with-data"])
@pytest.mark.parametrize("discipline", ["round_robin", "write_cycle", "processor_sharing"])
def test_a_push_has_no_requests_and_is_read_all_the_same(tmp_path, discipline, early):
    """HEADERS that come with the first DATA tell nothing of the hand-over."""
    world = World(discipline, together(discipline), push=True, early_headers=early)
    report = analyse_capture(capture(tmp_path / "a", world))
    (connection,) = report.connections
    bursts = find_bursts(connection, to_client=False).kept
    evidence = [Evidence(burst=b, credit=connection.to_server.credit) for b in bursts]
    assert judge_discipline(evidence).discipline == discipline


def test_without_windows_that_bind_two_visit_is_fifo(tmp_path):
    evidence, _ = seen(tmp_path / "a", World("fifo", staggered("fifo")))
    verdict = judge_discipline(evidence)
    assert (verdict.discipline, verdict.alike) == ("fifo", ("two_visit",))
    assert "the same rule where no window binds" in verdict.statement


def test_how_far_the_sender_is_ahead_can_decide(tmp_path):
    """A sender with megabytes in its socket buffer learns of credit late; fifo is then the same."""
    world = World("two_visit", together("two_visit"), credit="rest_at_header", window=WINDOW)
    evidence, _ = seen(tmp_path / "a", world)
    verdict = judge_discipline(evidence)
    assert verdict.discipline is None
    assert {"fifo", "two_visit"} <= set(verdict.alike)
    assert "ahead of the wire" in verdict.statement
    evidence, _ = seen(tmp_path / "a", world, most_ahead_bytes=AHEAD)
    assert judge_discipline(evidence).discipline == "two_visit"


def test_the_quantum_is_read_off_the_wire(tmp_path):
    world = World("round_robin", together("round_robin"), options={"quantum": 49152})
    verdict = judge_discipline(seen(tmp_path / "a", world)[0])
    assert (verdict.discipline, verdict.options) == ("round_robin", {"quantum": 49152})


def test_where_the_remainder_waits_is_told(tmp_path):
    """C-core queues a first visit's remainder at once, the paper's text allows: when it is over."""
    for flag in (0, 1):
        world = World(
            "two_visit",
            [Message(900 * KIB), Message(100 * KIB, 8 * MS), Message(700 * KIB, 10 * MS)],
            options={"requeue_at_completion": flag},
            credit="rest_at_header",
            window=WINDOW,
            buffer_bytes=40_000,
        )
        verdict = judge_discipline(seen(tmp_path / f"{flag}", world)[0])
        if verdict.discipline is not None:
            assert verdict.discipline == "two_visit"
            assert verdict.options == {"requeue_at_completion": flag}
        else:
            assert "two_visit" in verdict.alike


def test_one_stream_after_the_other_tells_nothing(tmp_path):
    alone = [Message(200 * KIB, i * 200 * MS) for i in range(4)]
    evidence, _ = seen(tmp_path / "a", World("fifo", alone))
    verdict = judge_discipline(evidence)
    assert verdict.discipline is None
    assert "no two streams were unfinished at the same time" in verdict.statement


def test_a_rule_of_nobody_is_called_none(tmp_path):
    """The last comes first: no known discipline serves in that order with such HEADERS."""
    world = World("fifo", staggered("fifo"))
    (evidence,), _ = seen(tmp_path / "a", world)
    burst = evidence.burst
    shuffled = burst.stream.copy()
    order = {stream: burst.streams[-1 - i].stream for i, stream in enumerate(
        s.stream for s in burst.streams)}  # fmt: skip
    for place, stream in enumerate(burst.stream.tolist()):
        shuffled[place] = order[stream] if place % 7 < 3 else stream
    strange = replace(burst, stream=shuffled)
    verdict = judge_discipline([Evidence(burst=strange)])
    assert verdict.discipline is None


STRANGERS = {
    "any stream, a frame": lambda: at_random(16 * KIB, 16 * KIB),
    "any stream, 64 to 512 KiB": lambda: at_random(64 * KIB, 512 * KIB),
    "any stream, 16 KiB to 1 MiB": lambda: at_random(16 * KIB, 1024 * KIB, seed=3),
    "weights 1 and 2": lambda: weighted((1, 2), 16 * KIB),
    "weights 1 to 4": lambda: weighted((1, 2, 3, 4), 64 * KIB),
    "weights 4 and 1, large turns": lambda: weighted((4, 1), 64 * KIB),
}


@pytest.mark.oracle
@pytest.mark.parametrize("early", [True, False], ids=["headers-first", "headers-with-data"])
@pytest.mark.parametrize("choose", STRANGERS.values(), ids=STRANGERS.keys())
def test_a_rule_that_no_discipline_has_is_given_no_name(tmp_path, choose, early):
    """Not even that of the nearest, which puts a few per cent of the bytes out of place."""
    worlds = [
        World(
            *("fifo", together("fifo")),
            credit="rest_at_header",
            window=WINDOW,
            early_headers=early,
            stranger=Stranger(choose(), WINDOW),
        ),
        World("fifo", staggered("fifo"), early_headers=early, stranger=Stranger(choose())),
    ]
    evidence = []
    for number, world in enumerate(worlds):
        evidence += seen(tmp_path / f"{number}", world, most_ahead_bytes=AHEAD)[0]
    verdict = judge_discipline(evidence)
    nearest = verdict.candidates[0]
    assert (verdict.discipline, verdict.alike, verdict.options) == (None, (), {})
    turns = sum((read_turns(e.burst, e.credit, AHEAD) for e in evidence), Turns())
    if not turns.mostly_whole:
        assert verdict.statement.startswith(
            f"none of the known disciplines fits: the nearest, {nearest.name}, is off by"
            f" {100 * nearest.misplaced:.1f} % of the bytes"
        )
    else:
        assert "10 of 16 streams went whole in one visit" in verdict.statement
    assert all(each.order_error > 0 for each in verdict.candidates)


def any_world(seed, discipline):
    """A burst of any sizes, hand-overs, windows, frames, buffers and links."""
    rng = random.Random(f"{seed} {discipline}")
    sizes = [round(2 ** rng.uniform(15, 21)) for _ in range(rng.randint(3, 9))]
    apart_ns = rng.choice((0, 0, 2 * MS, 20 * MS))
    messages = [Message(s, n * apart_ns, rng.randrange(3)) for n, s in enumerate(sizes)]
    window = rng.choice((LARGEST, 65_535, 65_536, 1 << 20, 1 << 24))
    size = rng.choice((4096, 8192, 16375, 16384))
    options = {"round_robin": {"quantum": size * rng.choice((1, 1, 2, 4))}}
    stranger = {
        "any stream": lambda: at_random(size, 40 * size, seed),
        "any stream, a frame": lambda: at_random(size, size, seed),
        "weights": lambda: weighted(rng.sample(range(1, 5), 3), size),
        "latest first": lambda: latest_first,
        "oldest first": lambda: oldest_first(4 * size),
    }.get(discipline)
    return World(
        "fifo" if stranger else discipline,
        messages,
        options=options.get(discipline, {}),
        credit=None if window == LARGEST else rng.choice(credit.names()),
        window=window,
        early_headers=rng.random() < 0.5,
        push=rng.random() < 0.3,
        rate_bps=rng.choice((2e7, 1e8, 1e9)),
        buffer_bytes=rng.choice((40_000, 120_000, 400_000)),
        frame_bytes=size,
        stranger=None if stranger is None else Stranger(stranger(), window),
    )


RULES = (*disciplines.names(), "any stream", "any stream, a frame", "weights", "latest first",
         "oldest first")  # fmt: skip


def hold_to_no_wrong_name(path, rule, seed):
    """A rule that puts no byte out of place serves alike: no capture could tell the two."""
    world = any_world(seed, rule)
    (connection,) = analyse_capture(capture(path, world)).connections
    bursts = find_bursts(connection, to_client=not world.push).kept
    data = connection.to_server if world.push else connection.to_client
    known = {1 + 2 * n: m.priority for n, m in enumerate(world.messages)}
    priorities = known if rule == "priority" else {}  # else any order could be by priorities
    verdict = judge_discipline(
        [Evidence(burst=b, credit=data.credit, priorities=priorities) for b in bursts]
    )
    named = {verdict.discipline, *verdict.alike}
    exact = {each.name for each in verdict.candidates if each.misplaced == 0}
    right = verdict.discipline is None or rule in named or verdict.discipline in exact
    assert right, verdict.statement


@pytest.mark.oracle
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rule", RULES)
def test_no_burst_gets_a_wrong_name(tmp_path, rule, seed):
    """Whatever its sizes, windows and frames: its own, one that serves it alike, or none."""
    hold_to_no_wrong_name(tmp_path / "a", rule, seed)


@pytest.mark.parametrize(
    ("rule", "seed"), [("round_robin", 0), ("processor_sharing", 1), ("latest first", 8)]
)
def test_bursts_that_fit_several_rules_or_have_few_turns_get_no_name(tmp_path, rule, seed):
    """Small windows let all rules place the bytes alike; two equal turns make no quantum."""
    hold_to_no_wrong_name(tmp_path / "a", rule, seed)


@pytest.mark.parametrize("discipline", ["round_robin", "processor_sharing", "write_cycle"])
def test_who_goes_round_passes_nobody_over(tmp_path, discipline):
    """That is what tells turns from any order with turns of the same sizes."""
    for number, messages in enumerate((together(discipline), staggered(discipline))):
        evidence, _ = seen(tmp_path / f"{number}", World(discipline, messages))
        turns = sum((read_turns(e.burst, e.credit, AHEAD) for e in evidence), Turns())
        assert turns.returned > 2
        assert turns.out_of_turn == 0
        stranger = Stranger(at_random(16 * KIB, 256 * KIB))
        evidence, _ = seen(tmp_path / f"any{number}", World("fifo", messages, stranger=stranger))
        turns = sum((read_turns(e.burst, e.credit, AHEAD) for e in evidence), Turns())
        assert turns.out_of_turn > turns.returned / 5


def test_the_order_error_is_how_far_streams_end_in_bytes_from_where_they_did():
    """A of 3 then B of 1 against B first: A ends at 4 instead of 3, B at 1 instead of 4."""
    one, other = [(1, 3), (2, 1)], [(2, 1), (1, 3)]
    assert distance(one, other, 4).order_error == pytest.approx((1 + 3) / 2 / 4)
    assert distance(one, one, 4).order_error == 0
    # What lies beyond the bytes that are compared ends with them.
    assert distance([(1, 2), (2, 9)], [(1, 2), (2, 5)], 4).order_error == 0


def test_bursts_that_were_not_replayed_do_not_say_that_no_streams_met(tmp_path):
    evidence, _ = seen(tmp_path / "a", World("round_robin", together("round_robin")))
    (each,) = replay_all(evidence)
    verdict = judge_replayed([replace(each, fits={})])
    assert verdict.discipline is None
    assert verdict.statement.endswith("because it was not replayed, others being larger")


@pytest.mark.parametrize(
    ("rules", "window", "size"),
    [
        # The rest is one window: given anew or as the rest, it is the same.
        (("fixed", "rest_when_exhausted"), 256 * KIB, 512 * KIB),
    ],
)
def test_rules_that_grant_the_same_are_not_told_apart(tmp_path, rules, window, size):
    for rule in rules:
        world = World("fifo", [Message(size), Message(size)], credit=rule, window=window)
        _, connection = seen(tmp_path / rule, world)
        verdict = judge_credit([(connection, True)])
        assert verdict.rule is None
        assert set(verdict.alike) == set(rules)
        assert "cannot tell" in verdict.statement


PAUSES = tuple((at * MS, (at + 35) * MS) for at in range(20, 400, 90))


@pytest.mark.parametrize("rule", credit.names())
def test_a_receiver_that_the_machine_holds_up_keeps_its_rule(tmp_path, rule):
    """If it gives credit often; of five updates in all a rule may not be told: no guess."""
    world = World("fifo", together("fifo"), credit=rule, window=WINDOW, pauses=PAUSES)
    _, connection = seen(tmp_path / "a", world)
    verdict = judge_credit([(connection, True)])
    told = (rule,) if rule in ("half", "grpc_progress") else (rule, None)
    assert verdict.rule in told, verdict


def test_credit_that_comes_late_while_the_receiver_speaks_is_no_rule(tmp_path):
    """A receiver that takes 30 ms for each update and was never silent for so long."""
    many = [Message(1200 * KIB) for _ in range(8)]
    late = World("round_robin", many, credit="half", window=WINDOW, handling_ns=30 * MS)
    _, connection = seen(tmp_path / "a", late)
    verdict = judge_credit([(connection, True)])
    assert verdict.rule is None, verdict
    assert verdict.statement.startswith("none of the known credit rules")


@given(spoke=st.lists(st.integers(0, 99), unique=True, max_size=8))
def test_what_a_receiver_must_have_counted_though_it_was_silent(spoke):
    """Of the time since an arrival may pass: its patience, 10, and the longest silence meanwhile.

    Nobody knows of a silence before it first spoke.
    """
    spoke.sort()

    def silence(since):
        edges = [since, *(time for time in spoke if time > since), 100]
        return max(b - a for a, b in itertools.pairwise(edges))

    allowed = [since for since in range(101) if 100 - since - silence(since) <= 10]
    expected = min(90, max(allowed[0], spoke[0])) if spoke else 90
    assert _counted_ns(ints(spoke), 100, 10) == expected


def test_no_stream_larger_than_its_window_tells_no_credit_rule(tmp_path):
    _, connection = seen(tmp_path / "a", World("fifo", together("fifo")))
    verdict = judge_credit([(connection, True)])
    assert verdict.rule is None
    assert "no whole stream was larger" in verdict.statement


def spoken(path, visits, *, heads=()):
    """The evidence of a server that sends whole visits: (stream, bytes, pause before it, ends).

    All is asked for at once, and a frame of 16 KiB passes each 1.3 ms. `heads` are the streams
    whose HEADERS answer before, in one segment.
    """
    settings = frame(4, 0, 0, (4).to_bytes(2, "big") + LARGEST.to_bytes(4, "big"))
    credit = frame(8, 0, 0, (LARGEST - 65535).to_bytes(4, "big"))
    talk = wire.Talk().handshake(100_000)
    talk.say("client", PREFACE + settings + credit).say("server", frame(4, 0, 0))
    streams = sorted({visit[0] for visit in visits})
    talk.pause(MS).say("client", b"".join(frame(1, 5, s, b"\x84") for s in streams))
    if heads:
        talk.pause(MS).say("server", b"".join(frame(1, 4, s, b"\x88") for s in heads))
    begun = set(heads)
    for stream, size, pause_ns, ends in visits:
        talk.pause(pause_ns)
        head = b"" if stream in begun else frame(1, 4, stream, b"\x88")
        begun.add(stream)
        for at in range(0, size, 16384):
            last = at + 16384 >= size
            piece = bytes(min(16384, size - at))
            content = head + frame(0, int(ends and last), stream, piece)
            talk.pause(1_290_000).say("server", content, (1 << 15,))
            head = b""
    report = analyse_capture(wire.write(path, talk.close().packets))
    assert report.problems == ()
    (connection,) = report.connections
    bursts = find_bursts(connection, to_client=True).kept
    return [Evidence(burst=burst, credit=connection.to_client.credit) for burst in bursts]


def whole(order, size=10 * 16384, pause_ns=0):
    return [(stream, size, pause_ns, True) for stream in order]


def test_headers_in_one_segment_have_the_order_of_the_wire(tmp_path):
    """5, 1, 3 is first in, first out, though all came at one time and 1 is the smallest."""
    verdict = judge_discipline(spoken(tmp_path / "a", whole((5, 1, 3)), heads=(5, 1, 3)))
    assert verdict.discipline == "fifo", verdict.statement


@pytest.mark.parametrize(
    ("visits", "why"),
    [
        (whole((1, 3, 5, 7, 9), pause_ns=40 * MS), "most of them after a pause of the sender"),
        (whole((9, 3, 11, 1, 13, 7, 5)), "nothing shows in which order they were handed over"),
    ],
    ids=["one message at a time", "by chance"],
)
def test_whole_messages_of_unknown_hand_over_tell_no_rule(tmp_path, visits, why):
    """As on loopback: each message is one write, and none waits for another."""
    verdict = judge_discipline(spoken(tmp_path / "a", visits))
    assert verdict.discipline is None
    assert verdict.statement.startswith("cannot tell the discipline with this capture, because ")
    assert why in verdict.statement


def test_one_preempted_stream_of_nine_is_no_priority(tmp_path):
    order = [(1, 16384 * 5, 0, False), (3, 16384 * 40, 0, True), (1, 16384 * 60, 0, True)]
    visits = [*order, *whole((5, 7, 9, 11, 13, 15, 17))]
    evidence = spoken(tmp_path / "a", visits, heads=range(1, 18, 2))
    verdict = judge_discipline(evidence)
    assert verdict.discipline is None
    assert "priority" not in verdict.alike
    assert {each.name for each in verdict.candidates}.isdisjoint({"priority"})


@pytest.mark.parametrize("size", [16375, 8192])
def test_a_turn_of_one_frame_is_a_turn_of_round_robin(tmp_path, size):
    """Whatever size its sender's frames have; processor sharing with such grains is the same."""
    options = {"quantum": size}
    world = World("round_robin", together("round_robin"), options=options, frame_bytes=size)
    verdict = judge_discipline(seen(tmp_path / "a", world)[0])
    assert (verdict.discipline, verdict.options) == ("round_robin", options)
    assert verdict.alike == ("processor_sharing",)
    assert "a turn is one DATA frame" in verdict.statement


def held_longer():
    """Turns of four frames in a cycle, of which each eighth is four times as long."""
    count, last = 0, 0

    def choose(able):
        nonlocal count, last
        count += 1
        last = next((stream for stream in able if stream > last), min(able))
        return last, 65536 * (4 if count % 8 == 0 else 1)

    return choose


@pytest.mark.parametrize(
    ("choose", "said"),
    [
        (lambda: at_random(1 << 20, 1 << 20), "visits passed over a stream that was first"),
        (held_longer, "turns were longer while others waited"),
    ],
    ids=["any stream while it has credit", "turns longer now and then"],
)
def test_every_rule_is_held_to_what_it_never_does(tmp_path, choose, said):
    """Small windows keep all streams abreast, whatever the rule: replays are hardly off."""
    many = [Message(1600 * KIB) for _ in range(8)]
    window = 65535 if "was first" in said else LARGEST
    world = World("fifo", many, credit="half", window=window, stranger=Stranger(choose(), window))
    verdict = judge_discipline(seen(tmp_path / "a", world)[0])
    assert verdict.discipline is None
    assert verdict.statement.startswith("none of the known disciplines fits")
    assert said in verdict.statement
