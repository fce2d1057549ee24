"""Which disciplines are replayed over a burst, with the options that the burst suggests."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from emu.identify.bursts import Burst
from emu.identify.turns import Turns
from h2model import disciplines

LEAST_FRAME = 16_384
"""What every receiver must take (RFC 9113, section 6.5.2); a full frame is no smaller."""

_MOST_TARGETS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A discipline with options; `name` is the discipline's, several may share it."""

    name: str
    options: Mapping[str, int | bool | str] = field(default_factory=dict)


def candidates(burst: Burst, turns: Turns) -> list[Candidate]:
    """Every discipline of the registry; what is quantitative in it is read off the turns."""
    found: list[Candidate] = []
    for name in disciplines.names():
        options = _OPTIONS.get(name)
        found += [
            Candidate(name=name, options=each)
            for each in ([{}] if options is None else options(burst, turns))
        ]
    return found


def _two_visit(burst: Burst, _: Turns) -> list[dict[str, int]]:
    # By decisions as single as frames, or gathered into writes as grpcio 1.17.0 to 1.59.5 do.
    single = [{"requeue_at_completion": flag} for flag in (0, 1)]
    writes = [{"write": 1 << 20}, {"write": 1 << 17, "write_max": 1 << 24}]
    return [*single, *({**each, "frame": burst.frame_bytes} for each in writes)]


def _round_robin(burst: Burst, turns: Turns) -> list[dict[str, int]]:
    quantum = turns.usual_turn_bytes or _median(turns)
    default = disciplines.load("round_robin").OPTIONS["quantum"]
    # A round robin below a frame is processor sharing in grains.
    return [{"quantum": max(quantum or default, min(LEAST_FRAME, default))}]


def _processor_sharing(burst: Burst, turns: Turns) -> list[dict[str, int]]:
    default = disciplines.load("processor_sharing").OPTIONS["grain"]
    quantum = turns.usual_turn_bytes
    return [{"grain": quantum if quantum and quantum < LEAST_FRAME else default}]


def _write_cycle(burst: Burst, turns: Turns) -> list[dict[str, int]]:
    # With finish_first it serves as fifo does, and is called so.
    return [{"target": target, "frame": burst.frame_bytes} for target in _targets(burst, turns)]


def _targets(burst: Burst, turns: Turns) -> list[int]:
    """What the target can have been at the burst's beginning: it outlives the bursts before."""
    default = disciplines.load("write_cycle").OPTIONS["target"]
    if burst.first or not turns.turn_bytes:
        return [default]
    grown = [default]
    while grown[-1] < max(turns.turn_bytes):
        grown.append(grown[-1] * 3 // 2)
    return grown[-_MOST_TARGETS:]


def _median(turns: Turns) -> int | None:
    return int(np.median(turns.turn_bytes)) if turns.turn_bytes else None


_OPTIONS = {
    "two_visit": _two_visit,
    "round_robin": _round_robin,
    "processor_sharing": _processor_sharing,
    "write_cycle": _write_cycle,
}
