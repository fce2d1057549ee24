"""Identification of a sender's discipline: structure of its bursts, and every rule replayed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Final

import numpy as np

from emu.capture.windows import ALL_STREAMS
from emu.identify.bursts import PIECE_BYTES, Burst
from emu.identify.choices_against import Against, believed, choices_against
from emu.identify.discipline_candidates import Candidate
from emu.identify.distance import distance
from emu.identify.evidence_text import turn_evidence
from emu.identify.fitting import Evidence, Fit, fit_all, most_ahead_of
from emu.identify.turns import Turns, read_turns
from h2model import disciplines
from netcosim.results.streams.identification import CandidateScore, DisciplineVerdict

__all__ = ["Evidence", "Replayed", "judge_discipline", "judge_replayed", "replay_all"]

FITS: Final = 0.01
"""Largest share of bytes out of place with which a rule fits; of the order error, twice as much."""

FITS_TIMED: Final = 0.05
"""Never more than this for rules whose turns depend on the kernel's pace, which no capture shows.

It only ends what the capture itself bounds, see `_most_misplaced`: a fit is no fit where one turn
is a twentieth of the burst, whatever its streams.
"""

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
    most_ahead = most_ahead_of(evidence)
    read = [_read(each, most_ahead) for each in evidence]
    met = [each for each in read if each.turns.contested and not _is_flood(each.evidence.burst)]
    met.sort(key=lambda each: -each.evidence.burst.total_bytes)
    chosen = met[:MOST_BURSTS]
    found = []
    for each in read:
        if any(each is other for other in chosen):
            frames = MOST_FRAMES // len(chosen)
            upto, fits = fit_all(each.evidence, each.turns, frames, most_ahead)
            found.append(replace(each, upto_bytes=upto, fits=fits))
        else:
            found.append(each)
    return found


def _read(evidence: Evidence, most_ahead: int) -> Replayed:
    measured = evidence.most_ahead_bytes
    ahead = most_ahead if measured is None else measured
    turns = read_turns(evidence.burst, evidence.credit, ahead, evidence.priorities)
    return Replayed(evidence=evidence, turns=turns)


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
    return _verdict(met, turns, _ranking(met, turns))


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
    near : those that explain the bursts and that the nearest does not exclude
    left : of these, those that are off by clearly less than rules can be off by
    best : the first of these, else the nearest
    alike : of those that are left, the others that the best one does not exclude
    guess : rule that would explain the bursts by priorities of which nothing else speaks
    """

    pooled: Mapping[str, Sequence[Fit]]
    scores: Mapping[str, float]
    ranked: Sequence[str]
    near: Sequence[str]
    left: Sequence[str]
    best: str
    alike: tuple[str, ...]
    guess: str | None

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


def _ranking(met: Sequence[Replayed], turns: Turns) -> _Ranking:
    """Rank the rules by their fits of the bursts that were replayed."""
    pooled = _pooled([each.fits for each in met])
    scores = {name: float(np.mean([f.score for f in mine])) for name, mine in pooled.items()}
    ranked = sorted(pooled, key=lambda name: (scores[name], name))
    guess = None
    if not any(each.evidence.priorities for each in met):
        for name in [name for name in ranked if disciplines.traits(name).by_priority]:
            needless = _is_needless(name, scores)
            if needless or not believed(_with_bursts(met, pooled[name])):
                ranked.remove(name)
                guess = guess if needless or not _explains(pooled[name], name, met) else name
    nearest = pooled[ranked[0]]
    # One that fits is no answer where another one that does not is clearly nearer.
    standing = [name for name in ranked if _fits(name, pooled[name], turns, met)]
    misplaced = {name: _misplaced(fits) for name, fits in pooled.items() if name in ranked}
    near = [name for name in standing if not _is_excluded(nearest, pooled[name])]
    left = [n for n in near if _is_telling(n, misplaced) and _goes_round(n, turns)]
    best = left[0] if left else ranked[0]
    alike = tuple(
        name
        for name in standing
        if left and name != best and not _is_told_from(best, name, pooled, misplaced)
    )
    return _Ranking(
        pooled=pooled,
        scores=scores,
        ranked=ranked,
        near=near,
        left=left,
        best=best,
        alike=alike,
        guess=guess,
    )


def _with_bursts(met: Sequence[Replayed], fits: Sequence[Fit]) -> list[tuple[Burst, Fit]]:
    return [(each.evidence.burst, fit) for each, fit in zip(met, fits, strict=True)]


def _verdict(met: Sequence[Replayed], turns: Turns, ranking: _Ranking) -> DisciplineVerdict:
    """Turn a ranking into a verdict."""
    finding = _finding(met, turns, ranking)
    return DisciplineVerdict(
        discipline=finding.discipline,
        options=finding.options,
        alike=finding.alike,
        statement=finding.statement,
        evidence=turn_evidence(turns),
        candidates=ranking.table(),
    )


def _finding(met: Sequence[Replayed], turns: Turns, ranking: _Ranking) -> "_Finding":
    """Say which rule explains the bursts, if the evidence tells it from others."""
    announced = all(each.evidence.burst.initial_window is not None for each in met)
    unbound = announced and not turns.limited
    plain = _same_without_windows(ranking.best, ranking.alike) if unbound else None
    if not ranking.left:
        return _unexplained(met, turns, ranking)
    shuffled = turns.shuffled and not any(each.evidence.priorities for each in met)
    if turns.mostly_whole and (turns.idled or shuffled):
        return _Finding(
            alike=(ranking.best, *ranking.alike),
            statement=_CANNOT_TELL + f"{_gone_whole(turns)}, {_no_order(turns)}",
        )
    if plain is not None:
        return _plain_rule(plain, ranking)
    if ranking.alike:
        return _several_fit(ranking, met)
    return _one_fits(ranking, turns)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finding:
    """Rule that explains the bursts, if it is one, and the statement on it.

    `alike` are the rules that can't be told from one another, or from the one that was found.
    """

    discipline: str | None = None
    options: dict[str, int] = field(default_factory=dict)
    alike: tuple[str, ...] = ()
    statement: str


_CANNOT_TELL: Final = "cannot tell the discipline with this capture, because "


def _unexplained(met: Sequence[Replayed], turns: Turns, ranking: _Ranking) -> _Finding:
    """No rule explains the bursts: because none does, or because they do not say enough."""
    if ranking.guess is not None:
        why = (
            "streams overtook others that came before: priorities would explain it, which no"
            " capture shows, and so would another order"
        )
        return _Finding(statement=_CANNOT_TELL + why)
    if turns.mostly_whole:
        return _Finding(statement=_CANNOT_TELL + f"{_gone_whole(turns)}, {_no_order(turns)}")
    if ranking.near:
        few = any(not _goes_round(name, turns) for name in ranking.near)
        why = (
            "there are too few turns to show that they go round"
            if few
            else "windows left its sender little to choose: every rule is off by hardly anything"
        )
        fit = f", and {' or '.join(ranking.near)} would explain it"
        return _Finding(alike=tuple(ranking.near), statement=_CANNOT_TELL + why + fit)
    standing = [
        name
        for name in ranking.ranked
        if not disciplines.traits(name).by_priority
        and not any(each.refutes for each in _against(name, ranking.pooled[name], turns, met))
    ]
    thin = _why_thin(met, turns)
    if standing and thin:
        why = f"no replay comes near, but {thin}, and no choice speaks against "
        return _Finding(statement=_CANNOT_TELL + why + " or ".join(standing))
    return _Finding(statement=_none_of_them(ranking, turns, met))


def _why_thin(met: Sequence[Replayed], turns: Turns) -> str:
    """Why a replay that is off speaks against no rule; empty if it does."""
    if 2 * turns.untold >= turns.contested:
        return "nothing shows when the messages were handed over"
    largest = max(met, key=lambda each: each.upto_bytes)
    frame_bytes = min(turns.frame_bytes, PIECE_BYTES)
    if FITS * largest.upto_bytes < frame_bytes:
        frames = -(-largest.upto_bytes // frame_bytes)
        return f"of {frames} frames one alone is more than a replay may be off"
    return ""


def _gone_whole(turns: Turns) -> str:
    return f"{turns.whole} of {turns.contested} streams went whole in one visit"


def _no_order(turns: Turns) -> str:
    """Why an order of whole streams tells no rule."""
    if turns.idled:
        return "most of them after a pause of the sender, which had nothing else to send then"
    return "and nothing shows in which order they were handed over"


def _apart(met: Sequence[Replayed], ranking: _Ranking) -> float:
    """The largest share of a burst's bytes that the rules which are left place differently."""
    return max(
        distance(one.runs, other.runs, each.upto_bytes).misplaced
        for name in ranking.alike
        for each, one, other in zip(
            met, ranking.pooled[ranking.best], ranking.pooled[name], strict=True
        )
    )


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


def _several_fit(ranking: _Ranking, met: Sequence[Replayed]) -> _Finding:
    return _Finding(
        alike=(ranking.best, *ranking.alike), statement=_cannot_tell(ranking, _apart(met, ranking))
    )


def _one_fits(ranking: _Ranking, turns: Turns) -> _Finding:
    best = ranking.best
    options = ranking.options(best)
    others = [each for each in ranking.table() if each.name != best]
    second = f"; next best {_shown(others[0])}" if others else ""
    traits = disciplines.traits(best)
    same = traits.in_turns if options.get(traits.turn_option or "") == turns.frame_bytes else None
    frame = f"; a turn is one DATA frame, and {same} with it serves alike" if same else ""
    return _Finding(
        discipline=best,
        options=options,
        alike=() if same is None else (same,),
        statement=_named(best, options, ranking.score(best)) + frame + second,
    )


def _same_without_windows(best: str, alike: Sequence[str]) -> str | None:
    """The rule that all of these are where no window binds; None if they are not one."""
    plain = disciplines.without_windows(best)
    if plain not in (best, *alike) or not alike:
        return None
    return plain if {disciplines.without_windows(name) for name in alike} == {plain} else None


def _pooled(found: Sequence[Mapping[str, Fit]]) -> dict[str, list[Fit]]:
    """Each rule's fits of all bursts; without priorities in a burst, those of its plain rule."""
    every = dict.fromkeys(name for fits in found for name in fits)
    names = [
        name
        for name in every
        if disciplines.traits(name).by_priority or all(name in fits for fits in found)
    ]
    return {name: [_fit_of(name, fits) for fits in found] for name in names}


def _fit_of(name: str, found: Mapping[str, Fit]) -> Fit:
    return found[name if name in found else disciplines.without_priorities(name)]


def _fits(name: str, fits: Sequence[Fit], turns: Turns, met: Sequence[Replayed]) -> bool:
    """True if a rule explains what was captured, whatever others do."""
    against = _against(name, fits, turns, met)
    return _explains(fits, name, met) and not any(each.refutes for each in against)


def _most_misplaced(name: str, met: Sequence[Replayed]) -> float:
    """The largest share of the bytes that a rule may misplace that fits.

    Who goes round is never further from equal shares than one turn a stream, however large its
    turns (Goyal et al., SIGCOMM 1996). So a replay that has the sender's order and not its pace is
    off by some part of a turn: the largest one that the capture shows bounds it.
    """
    if not disciplines.traits(name).timed:
        return FITS
    largest = [max(e.turns.turn_bytes, default=0) / e.turns.total_bytes for e in met]
    return min(FITS_TIMED, max(FITS, float(np.mean(largest))))


def _explains(fits: Sequence[Fit], name: str, met: Sequence[Replayed]) -> bool:
    """True if a rule's replays put hardly any bytes, and hardly any stream's end, out of place."""
    most = _most_misplaced(name, met)
    order_error = float(np.mean([fit.apart.order_error for fit in fits]))
    return _misplaced(fits) <= most and order_error <= 2 * most


def _is_telling(name: str, misplaced: Mapping[str, float]) -> bool:
    """True if a rule is off by clearly less than rules can be off by, with such windows.

    Where windows bind all the time, hardly a byte is out of place by any rule, nor by none. A rule
    that may misplace more than others is nearer than each of them, by the factor that excludes a
    rival, too: else the same capture would fit one that is allowed less.
    """
    others = [each for rule, each in misplaced.items() if rule != name]
    if not others:
        return True
    rival = min(others) if disciplines.traits(name).timed else max(others)
    return 2 * misplaced[name] <= rival


def _goes_round(name: str, turns: Turns) -> bool:
    """True if turns show that they go round, where a rule's turn is read off them.

    Who lets each new stream preempt the one before cuts all but one, at most once each. So does
    round robin with few turns, and their size explains itself.
    """
    measured = disciplines.traits(name).turn_option is not None
    return not measured or len(turns.turn_bytes) >= turns.contested


def _misplaced(fits: Sequence[Fit]) -> float:
    return float(np.mean([fit.apart.misplaced for fit in fits]))


def _against(
    name: str, fits: Sequence[Fit], turns: Turns, met: Sequence[Replayed]
) -> list[Against]:
    replayed = [(each.turns, fit) for each, fit in zip(met, fits, strict=True)]
    return [*choices_against(name, turns, replayed)]


def _none_of_them(ranking: _Ranking, turns: Turns, met: Sequence[Replayed]) -> str:
    name = ranking.best
    nearest = ranking.score(name)
    against = _against(name, ranking.pooled[name], turns, met)
    text = (
        f"none of the known disciplines fits: the nearest, {name}, is off by"
        f" {100 * nearest.misplaced:.1f} % of the bytes (order error"
        f" {100 * nearest.order_error:.1f} %)"
    )
    return text + "".join(f", and {each}" for each in against if each.refutes)


def _named(name: str, options: Mapping[str, int], score: CandidateScore) -> str:
    return (
        f"{disciplines.describe(name, options)}: its replay misplaces"
        f" {100 * score.misplaced:.2f} % of the bytes (order error {100 * score.order_error:.2f} %)"
    )


def _is_told_from(
    best: str, rival: str, pooled: Mapping[str, Sequence[Fit]], misplaced: Mapping[str, float]
) -> bool:
    """True if the capture tells a rule from another one that fits.

    That is by bytes alone: how often turns change is no evidence where all place the bytes alike,
    as under windows that bind all the time. But rules that differ only by the size of their turns
    are told by those.
    """
    if disciplines.traits(best).in_turns == rival:
        return _is_excluded(pooled[best], pooled[rival])
    return _clearly_worse(misplaced[rival], misplaced[best])


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


def _is_needless(name: str, scores: Mapping[str, float]) -> bool:
    """True if priorities were guessed though the rule without them does as well."""
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


def _cannot_tell(ranking: _Ranking, apart: float) -> str:
    """State that several rules explain the bursts, which differ in the place of these bytes."""
    best, alike, pooled = ranking.best, ranking.alike, ranking.pooled
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
