"""Decision on the rule that a cell follows, by its bursts' order errors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from netcosim.results.streams.summary import Answer, AnswerKind, BurstErrors, ModelResult
from netcosim.scoring.bounds import DISCRIMINATING, FACTOR, FITS, MARGIN
from netcosim.scoring.first_bursts import first_differs
from netcosim.scoring.separations import Separations

Scores = Mapping[str, Sequence[BurstErrors]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of a cell's evidence: bursts that are not judged or can't tell models apart.

    Attributes
    ----------
    shown : valid bursts that are not judged, as a pause delayed an input of the models
    unbound : numbers of the bursts in which no stream ran out of credit
    without_windows : by model the one that it is where no window binds
    """

    shown: int = 0
    unbound: frozenset[int] = frozenset()
    without_windows: Mapping[str, str] = field(default_factory=dict)

    def one_rule(self, model: str, other: str) -> bool:
        """True if two models are the same rule where no window binds."""
        return self._plain(model) == self._plain(other)

    def unable(self, model: str, other: str) -> frozenset[int]:
        """Numbers of the bursts that exclude neither of two models in favour of the other."""
        return self.unbound if self.one_rule(model, other) else frozenset()

    def too_few(self, judged: int) -> bool:
        """True if the judged bursts are no majority of the valid ones."""
        return judged <= self.shown

    def _plain(self, model: str) -> str:
        return self.without_windows.get(model, model)


NO_LIMITS: Final = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Exclusions:
    """Bursts that exclude a rival in favour of the nearest model, or that one in its favour.

    Attributes
    ----------
    bursts : number of bursts that count
    rival : by rival, for each burst, True if it excludes the rival
    nearest : by rival, for each burst, True if it excludes the nearest model
    """

    bursts: int
    rival: Mapping[str, Sequence[bool]]
    nearest: Mapping[str, Sequence[bool]]

    @property
    def left(self) -> list[str]:
        """Rivals that are not excluded in most bursts."""
        return [model for model, each in self.rival.items() if 2 * sum(each) <= self.bursts]

    @property
    def agreeing(self) -> int:
        """Number of bursts that exclude every rival by themselves."""
        return sum(all(each[i] for each in self.rival.values()) for i in range(self.bursts))

    @property
    def contradictory(self) -> bool:
        """True if half of the bursts or more exclude the nearest model for one rival."""
        return any(2 * sum(each) >= self.bursts for each in self.nearest.values())


def decide(
    ranked: Sequence[ModelResult],
    separations: Separations = MappingProxyType({}),
    configured: str | None = None,
    limits: Limits = NO_LIMITS,
) -> Answer:
    """Rank the models in each burst, and exclude those that are worse in most of them.

    Where at least as many valid bursts may not be judged as may, no model is excluded in most. A
    burst in which no window bound excludes none that differs by what it does at a window: what
    differs then is the prediction of credit.

    Parameters
    ----------
    ranked
        The PREDICT scores, best first.
    separations
        Mean distance between two models' predicted positions, for each pair; one that is not
        given counts as different.
    configured
        The discipline that our own sender was configured to follow; of models that predict the
        same it is named first.
    limits
        Limits of the bursts' evidence.
    """
    if not ranked or not ranked[0].by_burst:
        return Answer(kind="no evidence")
    scores = _scores_that_count(ranked)
    nearest, *alike = _named(ranked, scores, separations, configured)
    apart = [m.model for m in ranked if m.model != nearest and m.model not in alike]
    exclusions = _exclusions(nearest, apart, scores, limits)
    few = limits.too_few(len(ranked[0].by_burst))
    rivals = apart if few else exclusions.left
    if len(ranked) > 1 and max(separations.values(), default=1.0) < DISCRIMINATING:
        kind: AnswerKind = "alike"
    else:
        kind = _kind(scores[nearest], exclusions, few=few, undecided=bool(rivals))
    return Answer(
        kind=kind,
        model=nearest,
        rivals=tuple(rivals),
        alike=tuple(alike),
        agreeing=exclusions.agreeing,
        bursts=exclusions.bursts,
    )


def undecided_between(ranked: Sequence[ModelResult]) -> Answer:
    """The answer where bursts are there, and none may be judged: nothing is excluded."""
    if not ranked:
        return Answer(kind="no evidence")
    best, *others = ranked
    return Answer(kind="undecided", model=best.model, rivals=tuple(m.model for m in others))


def _scores_that_count(ranked: Sequence[ModelResult]) -> Scores:
    """Scores of the bursts that are ranked, by model.

    First bursts on connections stand by themselves where the model that is nearest in later ones is
    farther off there, as a library's first burst can be.
    """
    later = {m.model: [burst for burst in m.by_burst if not burst.first] for m in ranked}
    if later[ranked[0].model]:
        nearest = _winner(ranked, later)
        if first_differs(next(m for m in ranked if m.model == nearest)):
            return later
    return {m.model: m.by_burst for m in ranked}


def _winner(ranked: Sequence[ModelResult], scores: Scores) -> str:
    """The model that is nearest in most bursts; of several the one with the smallest mean."""
    names = [m.model for m in ranked]
    errors = {name: [burst.order_mean for burst in scores[name]] for name in names}
    bursts = range(len(errors[names[0]]))
    least = [min(errors[name][i] for name in names) for i in bursts]
    wins = {name: sum(errors[name][i] <= least[i] for i in bursts) for name in names}
    return max(names, key=lambda name: (wins[name], -names.index(name)))


def _named(
    ranked: Sequence[ModelResult],
    scores: Scores,
    separations: Separations,
    configured: str | None,
) -> list[str]:
    """The nearest model and those that predict the same, the configured one before the others."""
    winner = _winner(ranked, scores)
    others = [m.model for m in ranked if m.model != winner]
    alike = [winner]
    alike += [m for m in others if separations.get(frozenset((winner, m)), 1.0) < MARGIN]
    return sorted(alike, key=lambda m: m != configured)


def _exclusions(nearest: str, rivals: Sequence[str], scores: Scores, limits: Limits) -> _Exclusions:
    def excluded(model: str, by: str) -> list[bool]:
        return _excluded(scores[model], scores[by], limits.unable(model, by))

    return _Exclusions(
        bursts=len(scores[nearest]),
        rival={rival: excluded(rival, nearest) for rival in rivals},
        nearest={rival: excluded(nearest, rival) for rival in rivals},
    )


def _excluded(
    rival: Sequence[BurstErrors], best: Sequence[BurstErrors], unable: frozenset[int]
) -> list[bool]:
    """For each burst, True if it excludes the rival."""
    return [
        r.burst not in unable
        and r.order_mean >= b.order_mean + MARGIN
        and r.order_mean >= FACTOR * b.order_mean
        for r, b in zip(rival, best, strict=True)
    ]


def _kind(
    nearest: Sequence[BurstErrors], exclusions: _Exclusions, *, few: bool, undecided: bool
) -> AnswerKind:
    """Kind of the answer where models can be told apart; `few` if too few bursts are judged."""
    if few and undecided:
        return "undecided"
    if exclusions.contradictory:
        return "contradiction"
    if sorted(burst.order_mean for burst in nearest)[exclusions.bursts // 2] > FITS:
        return "fits none"
    return "undecided" if undecided else "follows"
