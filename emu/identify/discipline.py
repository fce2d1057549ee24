"""Identification of a sender's discipline: structure of its bursts, and every rule replayed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Final

import numpy as np

from emu.capture.windows import ALL_STREAMS
from emu.identify.bursts import Burst
from emu.identify.discipline_candidates import Candidate
from emu.identify.distance import distance
from emu.identify.evidence_text import turn_evidence
from emu.identify.fitting import Evidence, Fit, fit_all, most_ahead_of
from emu.identify.turns import Turns, read_turns
from h2model import disciplines
from netcosim.results.streams.identification import CandidateScore, DisciplineVerdict

__all__ = ["Evidence", "Replayed", "judge_discipline", "judge_replayed", "replay_all"]

FITS: Final = 0.01
"""Largest share of bytes out of place with which a rule fits."""

FITS_TIMED: Final = 0.05
"""The same for rules whose turns depend on the kernel's pace, which no capture shows."""

OUT_OF_TURN: Final = 0.05
"""Largest share of turns that pass over a stream waiting for longer, for cyclic rules to fit."""

MARGIN: Final = 0.01
"""A rival must be worse by this, and twice as bad, to be excluded."""

MOST_FRAMES: Final = 2000
MOST_BURSTS: Final = 6
MOST_MOVES: Final = 5000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replayed:
    """A burst with its structure and every rule's best replay of its first `upto_bytes`.

    `fits` is empty where no streams overlapped, or the burst is not among those that were replayed.
    """

    evidence: Evidence
    turns: Turns
    upto_bytes: int = 0
    fits: Mapping[str, Fit] = field(default_factory=dict)


def replay_all(evidence: Sequence[Evidence]) -> list[Replayed]:
    """Read the structure of all bursts, and replay the largest with overlapping streams."""
    read = [Replayed(evidence=e, turns=read_turns(e.burst, e.credit)) for e in evidence]
    met = [each for each in read if each.turns.contested and not _is_flood(each.evidence.burst)]
    met.sort(key=lambda each: -each.evidence.burst.total_bytes)
    chosen = met[:MOST_BURSTS]
    most_ahead = most_ahead_of(evidence)
    found = []
    for each in read:
        if any(each is other for other in chosen):
            frames = MOST_FRAMES // len(chosen)
            upto, fits = fit_all(each.evidence, each.turns, frames, most_ahead)
            found.append(replace(each, upto_bytes=upto, fits=fits))
        else:
            found.append(each)
    return found


def judge_discipline(evidence: Sequence[Evidence]) -> DisciplineVerdict:
    """Identify the discipline that served the bursts, or say why that is not possible."""
    return judge_replayed(replay_all(evidence))


def judge_replayed(replayed: Sequence[Replayed]) -> DisciplineVerdict:
    """Identify the discipline from bursts of which some or all were replayed."""
    turns = reduce(add, (each.turns for each in replayed), Turns())
    met = [each for each in replayed if each.fits]
    if not met and turns.contested:
        return _nothing("it was not replayed, others being larger", turns)
    if not met:
        return _nothing("no two streams were unfinished at the same time", turns)
    fits = [(each.upto_bytes, each.fits) for each in met]
    ranking = _ranking(fits, turns, guessed=not any(each.evidence.priorities for each in met))
    announced = all(each.evidence.burst.initial_window is not None for each in met)
    return _verdict(fits, turns, ranking, unbound=announced and not turns.limited)


def _is_flood(burst: Burst) -> bool:
    """True if SETTINGS move so many windows that a replay would take too long."""
    moves = sum(grant.stream == ALL_STREAMS for grant in burst.grants)
    return moves * len(burst.streams) > MOST_MOVES


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranking:
    """Rules by how well they explain all bursts.

    Attributes
    ----------
    pooled : each rule's fits
    scores : their means
    ranked : names, the nearest first
    left : those that explain the bursts and that the nearest does not exclude
    best : the first of these, else the nearest
    alike : of those that are left, the others that the best one does not exclude
    """

    pooled: Mapping[str, Sequence[Fit]]
    scores: Mapping[str, float]
    ranked: Sequence[str]
    left: Sequence[str]
    best: str
    alike: tuple[str, ...]

    def table(self) -> tuple[CandidateScore, ...]:
        """Return the score of each rule, the nearest first."""
        kept = (self.best, *self.alike)
        return tuple(
            _score(self.pooled[name], self.scores[name], excluded=name not in kept)
            for name in self.ranked
        )

    def score(self, name: str) -> CandidateScore:
        """Return the score of one rule."""
        return next(each for each in self.table() if each.name == name)

    def options(self, name: str) -> dict[str, int]:
        """Return the options with which a rule was replayed."""
        return _int_options(self.pooled[name][0].candidate)


def _ranking(
    fits: Sequence[tuple[int, Mapping[str, Fit]]], turns: Turns, *, guessed: bool
) -> _Ranking:
    """Rank the rules; `guessed` priorities were inferred."""
    pooled = _pooled(fits)
    scores = {name: float(np.mean([f.score for f in mine])) for name, mine in pooled.items()}
    ranked = sorted(pooled, key=lambda name: (scores[name], name))
    if guessed:
        ranked = [name for name in ranked if not _needless(name, scores)]
    nearest = pooled[ranked[0]]
    # One that fits is no answer where another one that does not is clearly nearer.
    left = [
        name
        for name in ranked
        if _fits(name, pooled[name], turns) and not _is_excluded(nearest, pooled[name])
    ]
    best = left[0] if left else ranked[0]
    alike = tuple(name for name in left[1:] if not _is_excluded(pooled[best], pooled[name]))
    return _Ranking(pooled=pooled, scores=scores, ranked=ranked, left=left, best=best, alike=alike)


def _verdict(
    fits: Sequence[tuple[int, Mapping[str, Fit]]],
    turns: Turns,
    ranking: _Ranking,
    *,
    unbound: bool,
) -> DisciplineVerdict:
    """Turn a ranking into a verdict; `unbound` windows are known never to have bound."""
    plain = _same_without_windows(ranking.best, ranking.alike) if unbound else None
    if not ranking.left:
        finding = _none_fits(ranking, turns)
    elif plain is not None:
        finding = _plain_rule(plain, ranking)
    elif ranking.alike:
        finding = _several_fit(ranking, fits)
    else:
        finding = _one_fits(ranking)
    return DisciplineVerdict(
        discipline=finding.discipline,
        options=finding.options,
        alike=finding.alike,
        statement=finding.statement,
        evidence=turn_evidence(turns),
        candidates=ranking.table(),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finding:
    """Rule that explains the bursts, if it is one, and the statement on it.

    `alike` are the rules that can't be told from one another, or from the one that was found.
    """

    discipline: str | None = None
    options: dict[str, int] = field(default_factory=dict)
    alike: tuple[str, ...] = ()
    statement: str


def _none_fits(ranking: _Ranking, turns: Turns) -> _Finding:
    return _Finding(alike=ranking.alike, statement=_none_of_them(ranking.table()[0], turns))


def _plain_rule(plain: str, ranking: _Ranking) -> _Finding:
    """Rule without windows, of which all that fit are variants that no window distinguished."""
    alike = tuple(name for name in (ranking.best, *ranking.alike) if name != plain)
    return _Finding(
        discipline=plain,
        options=ranking.options(plain) if plain == ranking.best else {},
        alike=alike,
        statement=(
            f"{_named(plain, {}, ranking.score(plain))}; {', '.join(alike)} is the same rule where"
            " no window binds, as here"
        ),
    )


def _several_fit(ranking: _Ranking, fits: Sequence[tuple[int, Mapping[str, Fit]]]) -> _Finding:
    return _Finding(
        alike=(ranking.best, *ranking.alike),
        statement=_cannot_tell(ranking.best, ranking.alike, ranking.pooled, fits),
    )


def _one_fits(ranking: _Ranking) -> _Finding:
    best = ranking.best
    options = ranking.options(best)
    others = [each for each in ranking.table() if each.name != best]
    second = f"; next best {_shown(others[0])}" if others else ""
    return _Finding(
        discipline=best,
        options=options,
        statement=_named(best, options, ranking.score(best)) + second,
    )


def _same_without_windows(best: str, alike: Sequence[str]) -> str | None:
    """The rule that all of these are where no window binds; None if they are not one."""
    plain = disciplines.without_windows(best)
    if plain not in (best, *alike) or not alike:
        return None
    return plain if {disciplines.without_windows(name) for name in alike} == {plain} else None


def _pooled(fits: Sequence[tuple[int, Mapping[str, Fit]]]) -> dict[str, list[Fit]]:
    """Each rule's fits of all bursts; without priorities in a burst, those of its plain rule."""
    every = dict.fromkeys(name for _, found in fits for name in found)
    names = [
        name
        for name in every
        if disciplines.traits(name).by_priority or all(name in found for _, found in fits)
    ]
    return {name: [_fit_of(name, found) for _, found in fits] for name in names}


def _fit_of(name: str, found: Mapping[str, Fit]) -> Fit:
    return found[name if name in found else disciplines.without_priorities(name)]


def _fits(name: str, fits: Sequence[Fit], turns: Turns) -> bool:
    """True if a rule explains what was captured, whatever others do."""
    if disciplines.traits(name).cyclic and turns.out_of_turn > OUT_OF_TURN * turns.returned:
        return False
    misplaced = float(np.mean([fit.apart.misplaced for fit in fits]))
    return misplaced <= (FITS_TIMED if disciplines.traits(name).timed else FITS)


def _none_of_them(nearest: CandidateScore, turns: Turns) -> str:
    text = (
        f"none of the known disciplines fits: the nearest, {nearest.name}, is off by"
        f" {100 * nearest.misplaced:.1f} % of the bytes"
    )
    cyclic = disciplines.traits(nearest.name).cyclic
    if cyclic and turns.out_of_turn > OUT_OF_TURN * turns.returned:
        text += f", and {turns.out_of_turn} of {turns.returned} turns were out of turn"
    return text


def _named(name: str, options: Mapping[str, int], score: CandidateScore) -> str:
    return (
        f"{disciplines.describe(name, options)}: its replay misplaces"
        f" {100 * score.misplaced:.2f} % of the bytes (order error {100 * score.order_error:.2f} %)"
    )


def _is_excluded(best: Sequence[Fit], rival: Sequence[Fit]) -> bool:
    """True if a rival is clearly worse on the whole, or in some burst and clearly better in none.

    Bursts on which the rules do not differ speak for none, however many they are.
    """
    ours, theirs = [fit.score for fit in best], [fit.score for fit in rival]
    if _clearly_worse(float(np.mean(theirs)), float(np.mean(ours))):
        return True
    pairs = list(zip(ours, theirs, strict=True))
    return any(_clearly_worse(b, a) for a, b in pairs) and not any(
        _clearly_worse(a, b) for a, b in pairs
    )


def _clearly_worse(one: float, other: float) -> bool:
    return one - other >= max(MARGIN, other)


def _shown(rival: CandidateScore) -> str:
    text = f"{rival.name} {100 * rival.misplaced:.1f} %"
    if rival.strained:
        text += f", if it was {rival.ahead_bytes} bytes ahead of the wire, which its kernel was not"
    return text


def _needless(name: str, scores: Mapping[str, float]) -> bool:
    """True if priorities were guessed though the rule without them does as well."""
    if not disciplines.traits(name).by_priority:
        return False
    plain = disciplines.without_priorities(name)
    return scores[plain] - scores[name] < max(MARGIN, scores[name])


def _score(fits: Sequence[Fit], score: float, *, excluded: bool) -> CandidateScore:
    return CandidateScore(
        name=fits[0].candidate.name,
        options=_int_options(fits[0].candidate),
        order_error=float(np.mean([fit.apart.order_error for fit in fits])),
        misplaced=float(np.mean([fit.apart.misplaced for fit in fits])),
        turns=float(np.mean([fit.apart.turns for fit in fits])),
        score=score,
        ahead_bytes=max(fit.setting.ahead_bytes for fit in fits),
        strained=any(fit.strain for fit in fits),
        excluded=excluded,
    )


def _int_options(candidate: Candidate) -> dict[str, int]:
    return {name: int(value) for name, value in candidate.options.items()}


def _cannot_tell(
    best: str,
    alike: Sequence[str],
    pooled: Mapping[str, Sequence[Fit]],
    fits: Sequence[tuple[int, Mapping[str, Fit]]],
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
