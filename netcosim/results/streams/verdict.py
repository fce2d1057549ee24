"""Verdict on the rule that a cell follows, by its bursts' order errors, and its sentence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from netcosim.results.streams.summary import Answer, BurstErrors, Errors, ModelResult

DISCRIMINATING: Final = 0.05
"""Least distance of two models' predicted positions that makes a cell evidence."""

FITS: Final = 0.05
"""A model whose mean order error in the median burst is larger does not fit."""

MARGIN: Final = 0.01
"""Excess of its mean order error from which on a rival is excluded in a burst, with `FACTOR`.

Models whose predictions differ by less are alike."""

FACTOR: Final = 2.0
"""Ratio of mean order errors from which on a rival is excluded in a burst, with `MARGIN`."""

FIRST_MARGIN: Final = 0.001
"""First bursts that are farther off by less are like the later ones."""

ORDER_ONLY: Final = "C"
"""The grade at which times mean little."""

Separations = Mapping[frozenset[str], float]


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
    best = _winner(ranked, scores)
    others = [m.model for m in ranked if m.model != best]
    alike = [m for m in others if separations.get(frozenset((best, m)), 1.0) < MARGIN]
    if configured in alike:
        alike = [best, *(m for m in alike if m != configured)]
        best = configured
    apart = [m for m in others if m not in alike and m != best]
    bursts = len(scores[best])
    won = {m: _excluded(scores[m], scores[best], limits.unable(m, best)) for m in apart}
    against = {m: _excluded(scores[best], scores[m], limits.unable(m, best)) for m in apart}
    few = limits.too_few(len(ranked[0].by_burst))
    rivals = [m for m in apart if few or 2 * sum(won[m]) <= bursts]
    agreeing = sum(all(won[m][i] for m in apart) for i in range(bursts))
    if len(ranked) > 1 and max(separations.values(), default=1.0) < DISCRIMINATING:
        kind = "alike"
    elif few and rivals:
        kind = "undecided"
    elif any(2 * sum(lost) >= bursts for lost in against.values()):
        kind = "contradiction"
    elif sorted(burst.order_mean for burst in scores[best])[bursts // 2] > FITS:
        kind = "fits none"
    else:
        kind = "undecided" if rivals else "follows"
    return Answer.model_validate(
        {
            "kind": kind,
            "model": best,
            "rivals": tuple(rivals),
            "alike": tuple(alike),
            "agreeing": agreeing,
            "bursts": bursts,
        }
    )


def _scores_that_count(ranked: Sequence[ModelResult]) -> Mapping[str, Sequence[BurstErrors]]:
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


def _winner(ranked: Sequence[ModelResult], scores: Mapping[str, Sequence[BurstErrors]]) -> str:
    """The model that is nearest in most bursts; of several the one with the smallest mean."""
    names = [m.model for m in ranked]
    errors = {name: [burst.order_mean for burst in scores[name]] for name in names}
    bursts = range(len(errors[names[0]]))
    least = [min(errors[name][i] for name in names) for i in bursts]
    wins = {name: sum(errors[name][i] <= least[i] for i in bursts) for name in names}
    return max(names, key=lambda name: (wins[name], -names.index(name)))


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


def verdict(
    subject: str,
    answer: Answer,
    ranked: Sequence[ModelResult],
    spread: float,
    grade: str | None = None,
    configured: str | None = None,
    limits: Limits = NO_LIMITS,
) -> str:
    """Sentence that states a cell's answer, for a person.

    Parameters
    ----------
    subject
        What was run, such as ``h2 with flow control on``.
    answer
        What was decided.
    ranked
        The PREDICT scores, best first.
    spread
        The largest mean difference between two models' predicted positions.
    grade
        Grade of the time that the link lost (`netcosim.results.streams.cell_summary`).
    configured
        The discipline that our own sender was configured to follow, if it was.
    limits
        Limits of the bursts' evidence.
    """
    by_name = {m.model: m for m in ranked}
    if answer.model is None:
        return f"{subject}: no burst was valid, or none is predicted yet."
    best = by_name[answer.model]
    if not answer.bursts:
        return (
            f"{subject}: undecided: in every burst a pause delayed an input of the models; the"
            f" nearest there is {best.model}, with an order error of {percent(best.order.mean)}."
        )
    error = f"{percent(best.order.mean)} on average (max {percent(best.order.max)})"
    if answer.kind == "alike":
        return (
            f"{subject}: this cell cannot tell the models apart; their orders differ by"
            f" {percent(spread)} at most, and the nearest, {best.model}, has an order error of"
            f" {percent(best.order.mean)} on average."
        )
    if answer.kind == "fits none":
        return (
            f"{subject} fits none of the models: the nearest, {best.model}, has an order error of"
            f" {error}."
        )
    if answer.kind == "contradiction":
        return (
            f"{subject}: the bursts contradict each other: {best.model} is nearest in most,"
            f" and excluded in as many. Its order error is {error}."
        )
    sentence = _named(subject, answer, best, grade) + _beside(answer, ranked, grade)
    return " ".join([sentence, *_notes(answer, best, configured, limits)])


def undecided_between(ranked: Sequence[ModelResult]) -> Answer:
    """The answer where bursts are there, and none may be judged: nothing is excluded."""
    if not ranked:
        return Answer(kind="no evidence")
    best, *others = ranked
    return Answer(kind="undecided", model=best.model, rivals=tuple(m.model for m in others))


def _named(subject: str, answer: Answer, best: ModelResult, grade: str | None) -> str:
    sure = f"{answer.agreeing} of {answer.bursts} bursts" + (f", grade {grade}" if grade else "")
    order = counted(best, later=first_differs(best))
    figures = f"order error {percent(order.mean)} on average (max {percent(order.max)})"
    if answer.kind == "undecided":
        names = ", ".join(answer.rivals)
        return f"{subject}: undecided between {best.model} and {names} ({sure}): {figures}"
    return f"{subject} follows {best.model} ({sure}): {figures}"


def _beside(answer: Answer, ranked: Sequence[ModelResult], grade: str | None) -> str:
    """The next best model; and the time error, if the grade allows to speak of it."""
    best = next(m for m in ranked if m.model == answer.model)
    later = first_differs(best)
    others = [m for m in ranked if m.model not in (best.model, *answer.alike)]
    text = ""
    if others:
        near = min(others, key=lambda m: counted(m, later=later).mean)
        text = f", next best {near.model} {percent(counted(near, later=later).mean)}"
    if grade != ORDER_ONLY:
        text += f"; time error {percent(best.wire.mean)} (max {percent(best.wire.max)})"
    return f"{text}."


def _notes(answer: Answer, best: ModelResult, configured: str | None, limits: Limits) -> list[str]:
    notes = []
    judged = len(best.by_burst)
    if answer.kind == "undecided" and limits.too_few(judged):
        notes.append(
            f"A pause delayed an input of the models in {limits.shown} of"
            f" {judged + limits.shown} valid bursts: too few are judged."
        )
    same = [m for m in answer.rivals if limits.one_rule(m, best.model)]
    if same and limits.unbound:
        notes.append(
            f"In {len(limits.unbound)} of {judged} bursts no window bound, where"
            f" {best.model} and {', '.join(same)} are one rule."
        )
    if answer.alike:
        notes.append(f"Predicted alike here: {', '.join(answer.alike)}.")
    if first_differs(best) and best.order_first is not None:
        notes.append(
            f"The first burst on a connection by itself: {percent(best.order_first.mean)}"
            f" (max {percent(best.order_first.max)})."
        )
    if configured is not None and configured not in (best.model, *answer.alike):
        notes.append(f"It was configured to follow {configured}.")
    return notes


def first_differs(model: ModelResult) -> bool:
    """True if first bursts of connections are farther off than later ones, by margin and factor."""
    first, later = model.order_first, model.order_later
    if first is None or later is None:
        return False
    return first.mean >= later.mean + FIRST_MARGIN and first.mean >= FACTOR * later.mean


def counted(model: ModelResult, *, later: bool) -> Errors:
    """A model's order errors over the bursts that count, only later ones where first ones differ.

    `later` is by the model that was named, and the same for all that stand beside it.
    """
    return model.order_later if later and model.order_later else model.order


def percent(fraction: float) -> str:
    """A fraction as per cent with two or three digits, such as ``0.12 %`` or ``9.8 %``."""
    value = 100 * fraction
    if value == 0:
        return "0 %"
    if value < 0.01:
        return "<0.01 %"
    digits = 2 if value < 1 else 1 if value < 10 and value != round(value) else 0
    return f"{value:.{digits}f} %"
