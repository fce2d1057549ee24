"""Outcome of a cell's answer where the rule that its sender follows is known."""

from typing import Literal

from netcosim.results.streams.summary import Answer

Outcome = Literal["right", "undecided", "fits none", "wrong", "missing"]


def outcome_of(answer: Answer, right: str | None) -> Outcome:
    """Outcome of the answer of a cell whose sender follows `right`.

    To leave it undecided between other rules is as wrong as to name another one.
    """
    if answer.kind in ("no evidence", "contradiction"):
        return "missing"
    named = {answer.model, *answer.alike}
    if answer.kind == "follows":
        return "right" if right in named else "wrong"
    if answer.kind == "undecided":
        return "undecided" if right in named | {*answer.rivals} else "wrong"
    return "undecided" if answer.kind == "alike" else "fits none"
