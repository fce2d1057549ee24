"""Candidate disciplines for the replay of a burst, with the options that it suggests."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from emu.identify.bursts import Burst
from emu.identify.turns import Turns
from h2model import disciplines
from h2model.observed import Observed


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A discipline with options; `name` is the discipline's, several may share it."""

    name: str
    options: Mapping[str, int | bool | str] = field(default_factory=dict)


def candidates(burst: Burst, turns: Turns) -> list[Candidate]:
    """List every discipline of the registry, with its numeric options read off the turns."""
    observed = Observed(
        first=burst.first,
        frame_bytes=burst.frame_bytes,
        turn_bytes=turns.turn_bytes,
        usual_turn_bytes=turns.usual_turn_bytes,
    )
    return [
        Candidate(name=name, options=options)
        for name in disciplines.names()
        for options in disciplines.suggested(name, observed)
    ]
