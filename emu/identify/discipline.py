"""From bursts to the sender's discipline: structure read off the wire, and every rule replayed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Final

import numpy as np

from emu.capture.windows import ALL_STREAMS
from emu.identify.bursts import Burst
from emu.identify.candidates import Candidate
from emu.identify.distance import distance
from emu.identify.fitting import Evidence, Fit, fit_all, most_ahead_of
from emu.identify.turns import Turns, read_turns
from emu.identify.words import describe, turn_evidence
from h2model import disciplines
from netcosim.results.identification import CandidateScore, DisciplineVerdict

__all__ = ["Evidence", "Replayed", "judge_discipline", "judge_replayed", "replay_all"]

FITS: Final = 0.01
"""A rule that puts a larger share of the bytes out of place does not fit."""

FITS_PACED: Final = 0.05
"""The same of rules whose turns hang on how fast the kernel takes them, which no capture shows."""

PACED: Final = frozenset({"write_cycle"})

OUT_OF_TURN: Final = 0.05
"""Rules that go round fit if no larger share of the turns passes over one that waits for longer."""

GO_ROUND: Final = frozenset({"processor_sharing", "round_robin", "write_cycle"})

MARGIN: Final = 0.01
"""A rival must be worse by this, and twice as bad, to be excluded."""

MOST_FRAMES: Final = 2000
MOST_BURSTS: Final = 6
MOST_MOVES: Final = 5000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replayed:
    """A burst with its structure and every rule's best replay of its first `upto_bytes`.

    `fits` is empty where no streams met, or the burst is not among those that were replayed.
    """

    evidence: Evidence
    turns: Turns
    upto_bytes: int = 0
    fits: Mapping[str, Fit] = field(default_factory=dict)


def replay_all(evidence: Sequence[Evidence]) -> list[Replayed]:
    """Read all bursts, and replay the largest of those in which streams met."""
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
    """Say which discipline served the bursts, or why that can't be told from them."""
    return judge_replayed(replay_all(evidence))


def judge_replayed(replayed: Sequence[Replayed]) -> DisciplineVerdict:
    """Say it from bursts that were replayed, some of them or all."""
    turns = reduce(add, (each.turns for each in replayed), Turns())
    met = [each for each in replayed if each.fits]
    if not met and turns.contested:
        return _nothing("it was not replayed, others being larger", turns)
    if not met:
        return _nothing("no two streams were unfinished at the same time", turns)
    return _rank(
        [(each.upto_bytes, each.fits) for each in met],
        turns,
        guessed=not any(each.evidence.priorities for each in met),
        unbound=not turns.limited
        and all(each.evidence.burst.initial_window is not None for each in met),
    )


def _is_flood(burst: Burst) -> bool:
    """Whether SETTINGS move so many windows that a replay would take for ever."""
    moves = sum(grant.stream == ALL_STREAMS for grant in burst.grants)
    return moves * len(burst.streams) > MOST_MOVES


def _rank(
    fits: Sequence[tuple[int, Mapping[str, Fit]]], turns: Turns, *, guessed: bool, unbound: bool
) -> DisciplineVerdict:
    """From every rule's fits to the verdict.

    `guessed` priorities were inferred; `unbound` windows are known never to have bound.
    """
    pooled = _pooled(fits)
    scores = {name: float(np.mean([f.score for f in mine])) for name, mine in pooled.items()}
    ranked = sorted(pooled, key=lambda name: (scores[name], name))
    if guessed and _needless(scores):
        ranked.remove("priority")
    nearest = ranked[0]
    rivals = {name: _is_excluded(pooled[nearest], pooled[name]) for name in ranked}
    fitting = [name for name in ranked if _fits(name, pooled[name], turns)]
    # One that fits is no answer where another one that does not is clearly nearer.
    left = [name for name in fitting if not rivals[name]]
    best = left[0] if left else nearest
    alike = tuple(name for name in left[1:] if not _is_excluded(pooled[best], pooled[name]))
    table = tuple(
        _score(pooled[name], scores[name], excluded=name not in (best, *alike)) for name in ranked
    )

    def verdict(statement: str, found: str | None, alike: tuple[str, ...]) -> DisciplineVerdict:
        options = _int_options(pooled[best][0].candidate) if found == best else {}
        return DisciplineVerdict(
            discipline=found,
            options=options,
            alike=alike,
            statement=statement,
            evidence=turn_evidence(turns),
            candidates=table,
        )

    scored = {each.name: each for each in table}
    if not left:
        return verdict(_none_of_them(scored[nearest], turns), None, ())
    if unbound and (plain := _same_without_windows(best, alike)) is not None:
        too = tuple(name for name in (best, *alike) if name != plain)
        same = f"; {', '.join(too)} is the same rule where no window binds, as here"
        return verdict(_named(plain, {}, scored[plain]) + same, plain, too)
    if alike:
        return verdict(_cannot_tell(best, alike, pooled, fits), None, (best, *alike))
    others = [each for each in table if each.name != best]
    second = f"; next best {_shown(others[0])}" if others else ""
    options = _int_options(pooled[best][0].candidate)
    return verdict(_named(best, options, scored[best]) + second, best, ())


def _same_without_windows(best: str, alike: Sequence[str]) -> str | None:
    """The rule that all of these are where no window binds; None if they are not one."""
    plain = disciplines.without_windows(best)
    if plain not in (best, *alike) or not alike:
        return None
    return plain if {disciplines.without_windows(name) for name in alike} == {plain} else None


def _pooled(fits: Sequence[tuple[int, Mapping[str, Fit]]]) -> dict[str, list[Fit]]:
    """By rule its fits of all bursts; priority, which only some call for, is fifo in the others."""
    names = [name for name in fits[0][1] if all(name in found for _, found in fits)]
    if any("priority" in found for _, found in fits) and "priority" not in names:
        names.append("priority")
    return {name: [found.get(name, found["fifo"]) for _, found in fits] for name in names}


def _fits(name: str, fits: Sequence[Fit], turns: Turns) -> bool:
    """Whether a rule explains what was captured, whatever others do."""
    if name in GO_ROUND and turns.out_of_turn > OUT_OF_TURN * turns.returned:
        return False
    misplaced = float(np.mean([fit.apart.misplaced for fit in fits]))
    return misplaced <= (FITS_PACED if name in PACED else FITS)


def _none_of_them(nearest: CandidateScore, turns: Turns) -> str:
    text = (
        f"none of the known disciplines fits: the nearest, {nearest.name}, is off by"
        f" {100 * nearest.misplaced:.1f} % of the bytes"
    )
    if nearest.name in GO_ROUND and turns.out_of_turn > OUT_OF_TURN * turns.returned:
        text += f", and {turns.out_of_turn} of {turns.returned} turns were out of turn"
    return text


def _named(name: str, options: Mapping[str, int], score: CandidateScore) -> str:
    return (
        f"{describe(name, options)}: its replay misplaces {100 * score.misplaced:.2f} % of the"
        f" bytes (order error {100 * score.order_error:.2f} %)"
    )


def _is_excluded(best: Sequence[Fit], rival: Sequence[Fit]) -> bool:
    """Whether a rival is clearly worse on the whole, or in some burst and clearly better in none.

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


def _needless(scores: Mapping[str, float]) -> bool:
    """Whether priorities were guessed though plain fifo does as well without."""
    if "priority" not in scores:
        return False
    return scores["fifo"] - scores["priority"] < max(MARGIN, scores["priority"])


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
