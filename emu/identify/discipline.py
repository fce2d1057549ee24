"""From bursts to the sender's discipline: structure read off the wire, and every rule replayed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Final

import numpy as np

from emu.capture.windows import ALL_STREAMS, CreditHistory
from emu.identify.bursts import Burst, Served, merge_runs
from emu.identify.candidates import Candidate, candidates
from emu.identify.distance import Distance, distance
from emu.identify.replay import HandOver, Run, Setting, replay
from emu.identify.turns import Turns, headers_tell, read_turns
from emu.identify.words import describe, turn_evidence
from netcosim.results.identification import CandidateScore, DisciplineVerdict

FITS: Final = 0.05
"""A rule that misplaces a larger share of the bytes does not fit."""

MARGIN: Final = 0.01
"""A rival must be worse by this, and twice as bad, to be excluded."""

STRAIN: Final = 0.02
"""What an explanation is charged that needs the sender further ahead than its kernel's buffer was:
then it must decide on megabytes at once, as C-core did before 1.60."""

_BY_REQUEST: Final = (
    HandOver.APPEARANCE,
    HandOver.REQUEST,
    HandOver.FIRST_HALF,
    HandOver.FIRST_LONGER,
)
_UNTOLD: Final = (HandOver.APPEARANCE, HandOver.NOTHING)
"""For a push: neither a request nor HEADERS that come before the first DATA."""


MOST_FRAMES: Final = 3000
MOST_BURSTS: Final = 6
MOST_MOVES: Final = 5000
AHEAD_BYTES: Final = (0, 65_536, 131_072, 262_144, 524_288, 1_048_576, 2_097_152)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """One burst with what is known beside it.

    `credit` is the direction's credit over time. `priorities` by stream and `most_ahead_bytes`,
    the most that its kernel held, are known where the sender's own log is at hand.
    """

    burst: Burst
    credit: CreditHistory | None = None
    priorities: Mapping[int, int] = field(default_factory=dict)
    most_ahead_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fit:
    candidate: Candidate
    setting: Setting
    runs: list[Run]
    apart: Distance
    strain: float

    @property
    def score(self) -> float:
        """What it is ranked by."""
        return self.apart.score + self.strain


def judge_discipline(evidence: Sequence[Evidence]) -> DisciplineVerdict:
    """Say which discipline served the bursts, or why that can't be told from them."""
    read = [(each, read_turns(each.burst, each.credit)) for each in evidence]
    met = [(each, turns) for each, turns in read if turns.contested and not _is_flood(each.burst)]
    turns = reduce(add, (turns for _, turns in read), Turns())
    if not met:
        return _nothing("no two streams were unfinished at the same time", turns)
    met.sort(key=lambda pair: -pair[0].burst.total_bytes)
    met = met[:MOST_BURSTS]
    frames = MOST_FRAMES // len(met)
    most_ahead = _most_ahead(evidence)
    fits = [_fit_all(each, burst_turns, frames, most_ahead) for each, burst_turns in met]
    return _rank(
        fits,
        turns,
        guessed=not any(each.priorities for each, _ in met),
        unbound=not turns.limited and all(e.burst.initial_window is not None for e, _ in met),
    )


def _is_flood(burst: Burst) -> bool:
    """Whether SETTINGS move so many windows that a replay would take for ever."""
    moves = sum(grant.stream == ALL_STREAMS for grant in burst.grants)
    return moves * len(burst.streams) > MOST_MOVES


def _most_ahead(evidence: Sequence[Evidence]) -> int:
    """A bound of the bytes past the scheduler, by the sender's answers.

    HEADERS that answer a request, and PING's answer, pass behind all that was past the scheduler
    when they came, so what lay between on a busy wire is no less. Half of the answers are
    believed to have met a full buffer.
    """
    answered = [
        s.opened_at - s.asked_at for e in evidence for s in e.burst.streams if s.asked_at > 0
    ]
    pinged = [between for e in evidence for between in e.burst.answers]
    bounds = [int(np.median(each)) for each in (answered, pinged) if each]
    return min(bounds, default=AHEAD_BYTES[-1])


def _fit_all(
    evidence: Evidence, turns: Turns, frames: int, most_ahead: int
) -> tuple[int, dict[str, _Fit]]:
    """The best replay of every discipline over the burst's first frames; how many bytes."""
    burst = evidence.burst
    upto = int(burst.size_bytes[:frames].sum())
    seen = merge_runs(burst.stream[:frames], burst.size_bytes[:frames])
    found: dict[str, _Fit] = {}
    for candidate in candidates(burst, turns):
        fit = _best_fit(evidence, candidate, seen, upto, most_ahead)
        known = found.get(candidate.name)
        if fit is not None and (known is None or fit.score < known.score):
            found[candidate.name] = fit
    return upto, found


def _best_fit(
    evidence: Evidence, candidate: Candidate, seen: Sequence[Run], upto: int, most_ahead: int
) -> _Fit | None:
    best: _Fit | None = None
    held = evidence.most_ahead_bytes if evidence.most_ahead_bytes is not None else most_ahead
    for setting in _settings(evidence.burst, upto, most_ahead, held):
        priorities: Mapping[int, int] = {}
        if candidate.name == "priority":
            priorities = evidence.priorities or inferred_priorities(evidence.burst, setting)
            if len(set(priorities.values())) < 2:
                return None  # it is fifo then
        runs = replay(
            evidence.burst,
            candidate.name,
            candidate.options,
            setting,
            upto_bytes=upto,
            priorities=priorities,
        )
        fit = _Fit(
            candidate=candidate,
            setting=setting,
            runs=runs,
            apart=distance(seen, runs, upto),
            strain=STRAIN if setting.ahead_bytes > held else 0.0,
        )
        if best is None or fit.score < best.score:
            best = fit
    return best


def _settings(burst: Burst, upto: int, most_ahead: int, held: int) -> Iterator[Setting]:
    """All that the capture leaves open, as far as it can matter for this burst."""
    marks: tuple[HandOver, ...] = (HandOver.HEADERS,) if headers_tell(burst) else _BY_REQUEST
    if all(s.asked_at == s.first_at for s in burst.streams):
        marks = _UNTOLD
    for mark in marks:
        asked = any(s.asked_at > 0 for s in burst.streams) and mark is not HandOver.HEADERS
        later = asked or any(grant.at > 0 for grant in burst.grants)
        bound = min(most_ahead, upto // 2) if later else 0
        steps = (*AHEAD_BYTES, held)
        for ahead in sorted({*(a for a in steps if a < bound), bound}):
            yield Setting(ahead_bytes=ahead, hand_over=mark)


def inferred_priorities(burst: Burst, setting: Setting) -> dict[int, int]:
    """Who must have been more urgent: a stream that came later and finished earlier."""

    def handed(stream: Served) -> tuple[int, int, int]:
        if setting.hand_over is HandOver.HEADERS:
            return stream.opened_at, stream.opened_ns, stream.stream
        return stream.asked_at, stream.asked_ns, stream.stream

    found: dict[int, int] = {}
    earlier: list[Served] = []
    for stream in sorted(burst.streams, key=handed):
        overtaken = [found[e.stream] for e in earlier if e.last_at > stream.last_at]
        found[stream.stream] = 1 + max(overtaken, default=-1)
        earlier.append(stream)
    return found


def _rank(
    fits: Sequence[tuple[int, dict[str, _Fit]]], turns: Turns, *, guessed: bool, unbound: bool
) -> DisciplineVerdict:
    """From every rule's fits to the verdict.

    `guessed` priorities were inferred; `unbound` windows are known never to have bound.
    """
    names = [name for name in fits[0][1] if all(name in found for _, found in fits)]
    # A rule that only some bursts bring into question stands for fifo in the others.
    for _, found in fits:
        if "priority" in found and "priority" not in names:
            names.append("priority")
    pooled = {name: [found.get(name, found["fifo"]) for _, found in fits] for name in names}
    scores = {name: float(np.mean([f.score for f in mine])) for name, mine in pooled.items()}
    ranked = sorted(names, key=lambda name: (scores[name], name))
    if guessed and _needless(scores):
        ranked.remove("priority")
    best = ranked[0]
    margin = max(MARGIN, scores[best])
    excluded = {name: scores[name] - scores[best] >= margin for name in ranked}
    table = tuple(_score(pooled[name], scores[name], excluded=excluded[name]) for name in ranked)
    evidence = turn_evidence(turns)
    options = _int_options(pooled[best][0].candidate)
    if table[0].misplaced > FITS:
        return DisciplineVerdict(
            discipline=None,
            options={},
            alike=(),
            statement=(
                f"none of the known disciplines: the nearest, {best}, misplaces"
                f" {100 * table[0].misplaced:.1f} % of the bytes"
            ),
            evidence=evidence,
            candidates=table,
        )
    alike = tuple(name for name in ranked[1:] if not excluded[name])
    if unbound and {best, *alike} == {"fifo", "two_visit"}:
        return DisciplineVerdict(
            discipline="fifo",
            options={},
            alike=("two_visit",),
            statement=(
                f"{describe('fifo', {})}: its replay misplaces {100 * table[0].misplaced:.2f} % of"
                " the bytes; two_visit is the same rule where no window binds, as here"
            ),
            evidence=evidence,
            candidates=table,
        )
    if alike:
        return DisciplineVerdict(
            discipline=None,
            options={},
            alike=(best, *alike),
            statement=_cannot_tell(best, alike, pooled, fits),
            evidence=evidence,
            candidates=table,
        )
    second = f"; next best {ranked[1]} {100 * table[1].misplaced:.1f} %" if ranked[1:] else ""
    return DisciplineVerdict(
        discipline=best,
        options=options,
        alike=(),
        statement=(
            f"{describe(best, options)}: its replay misplaces {100 * table[0].misplaced:.2f} %"
            f" of the bytes{second}"
        ),
        evidence=evidence,
        candidates=table,
    )


def _needless(scores: Mapping[str, float]) -> bool:
    """Whether priorities were guessed though plain fifo does as well without."""
    if "priority" not in scores:
        return False
    return scores["fifo"] - scores["priority"] < max(MARGIN, scores["priority"])


def _score(fits: Sequence[_Fit], score: float, *, excluded: bool) -> CandidateScore:
    return CandidateScore(
        name=fits[0].candidate.name,
        options=_int_options(fits[0].candidate),
        misplaced=float(np.mean([fit.apart.misplaced for fit in fits])),
        turns=float(np.mean([fit.apart.turns for fit in fits])),
        score=score,
        excluded=excluded,
    )


def _int_options(candidate: Candidate) -> dict[str, int]:
    return {name: int(value) for name, value in candidate.options.items()}


def _cannot_tell(
    best: str,
    alike: Sequence[str],
    pooled: Mapping[str, Sequence[_Fit]],
    fits: Sequence[tuple[int, dict[str, _Fit]]],
) -> str:
    apart = max(
        distance(one.runs, other.runs, upto).misplaced
        for name in alike
        for (upto, _), one, other in zip(fits, pooled[best], pooled[name], strict=True)
    )
    ahead = {name: max(fit.setting.ahead_bytes for fit in pooled[name]) for name in (best, *alike)}
    far = max(ahead, key=lambda name: ahead[name])
    if apart >= 2 * MARGIN:
        why = "all explain what was captured about equally well"
    elif ahead[far] > min(ahead.values()):
        why = f"a sender that is {ahead[far]} bytes ahead of the wire serves so by {far}, too"
    else:
        why = (
            f"on these streams they differ in the place of {100 * apart:.1f} % of the bytes at most"
        )
    return f"cannot tell {best} from {' or '.join(alike)} with this capture, because {why}"


def _nothing(why: str, turns: Turns) -> DisciplineVerdict:
    return DisciplineVerdict(
        discipline=None,
        options={},
        alike=(),
        statement=f"cannot tell the discipline with this capture, because {why}",
        evidence=turn_evidence(turns),
        candidates=(),
    )
