"""Verdict on a cell: its answer as a sentence for a person."""

from collections.abc import Sequence
from typing import Final

from netcosim.formatting import percent
from netcosim.results.streams.summary import Answer, ModelResult
from netcosim.scoring.decision import NO_LIMITS, Limits
from netcosim.scoring.first_bursts import counted, counted_times, first_differs

ORDER_ONLY: Final = "C"
"""The grade at which times mean little."""


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
        Grade of the time that the link lost (`netcosim.scoring.facts`).
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
    order = counted(best, later=first_differs(best))
    error = f"{percent(order.mean)} on average (max {percent(order.max)})"
    if answer.kind == "alike":
        return (
            f"{subject}: this cell cannot tell the models apart; their orders differ by"
            f" {percent(spread)} at most, and the nearest, {best.model}, has an order error of"
            f" {percent(order.mean)} on average."
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


def _named(subject: str, answer: Answer, best: ModelResult, grade: str | None) -> str:
    decisive = f"{answer.agreeing} of {answer.bursts} bursts"
    decisive += f", grade {grade}" if grade else ""
    order = counted(best, later=first_differs(best))
    figures = f"order error {percent(order.mean)} on average (max {percent(order.max)})"
    if answer.kind == "undecided":
        names = ", ".join(answer.rivals)
        return f"{subject}: undecided between {best.model} and {names} ({decisive}): {figures}"
    return f"{subject} follows {best.model} ({decisive}): {figures}"


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
        mean, largest = counted_times(best, later=later)
        text += f"; time error {percent(mean)} (max {percent(largest)})"
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
            f"The first burst on a connection by itself: order error"
            f" {percent(best.order_first.mean)}"
            f" (max {percent(best.order_first.max)})."
        )
    if configured is not None and configured not in (best.model, *answer.alike):
        notes.append(f"It was configured to follow {configured}.")
    return notes
