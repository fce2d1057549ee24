"""Choices of a sender that are against a rule: each discipline is held to what it never does.

A replay from the beginning is off by little where windows are small or turns short, whatever the
rule: no stream gets far ahead of another. So what each choice shows by itself counts, too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, lgamma, log
from typing import Final

from emu.identify.bursts import Burst
from emu.identify.fitting import Fit, inferred_priorities
from emu.identify.turns import Turns
from h2model import disciplines

MOST_AGAINST: Final = 0.05
"""Largest share of a sender's choices that may be against a rule which fits."""

_LONGER: Final = 1.02
"""A turn is longer than a rule allows from this on."""

_BY_CHANCE: Final = 0.05
"""Largest chance with which any order would seem to follow priorities that are guessed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """Choices against a rule, of those that could have been; `words` say what was done."""

    wrong: int
    of: int
    words: str

    @property
    def refutes(self) -> bool:
        """True if they are too many for the rule to fit."""
        return self.wrong > MOST_AGAINST * self.of

    def __str__(self) -> str:
        """Count them in words."""
        return f"{self.wrong} of {self.of} {self.words}"


def choices_against(
    name: str, turns: Turns, replayed: Sequence[tuple[Turns, Fit]]
) -> Iterator[Against]:
    """Count the choices against a rule, by what it never does.

    Parameters
    ----------
    name
        The discipline.
    turns
        Structure of all bursts.
    replayed
        That of those that were replayed, with the rule's fit.
    """
    traits = disciplines.traits(name)
    if traits.cyclic:
        yield Against(wrong=turns.out_of_turn, of=turns.returned, words="turns were out of turn")
    if traits.to_the_end:
        words = "visits left data and credit behind"
        yield Against(wrong=len(turns.turn_bytes), of=turns.visits, words=words)
    met = sum(len(each.met_bytes) for each, _ in replayed)
    if traits.by_arrival:
        wrong = sum(each.overtook for each, _ in replayed)
        yield Against(wrong=wrong, of=met, words="visits passed over a stream that was first")
    if traits.by_priority:
        wrong = sum(each.less_urgent for each, _ in replayed)
        yield Against(wrong=wrong, of=met, words="visits passed over a more urgent stream")
    if traits.turn_option is not None:
        long = sum(_longer(each, fit, traits.turn_option) for each, fit in replayed)
        yield Against(wrong=long, of=met, words="turns were longer while others waited")
    if traits.write_option is not None:
        least = disciplines.load(name).OPTIONS[traits.write_option]
        apart = [size for each, _ in replayed for size in each.cut_apart]
        wrong = sum(_LONGER * size < least for size in apart)
        yield Against(wrong=wrong, of=len(apart), words="turns were cut within a write")


def _longer(turns: Turns, fit: Fit, option: str) -> int:
    most = _LONGER * int(fit.candidate.options.get(option, 0))
    return sum(size > most for size in turns.met_bytes)


def believed(fits: Sequence[tuple[Burst, Fit]]) -> bool:
    """True if priorities that were guessed explain more than any order would let them.

    With as many priorities as streams they explain every order in which whole streams can go. So
    they must be few: of all orders of n streams, no more than k ** n follow from k of them. And no
    one stream may be all there is to them, first or last: it may have been handed over late.
    """
    chance, urgent, others = 0.0, 0, 0
    for burst, fit in fits:
        found = [*inferred_priorities(burst, fit.setting).values()]
        chance += len(found) * log(len(set(found))) - lgamma(len(found) + 1)
        urgent += sum(priority > 0 for priority in found)
        others += sum(priority == 0 for priority in found)
    return exp(min(0.0, chance)) <= _BY_CHANCE and min(urgent, others) > 1
