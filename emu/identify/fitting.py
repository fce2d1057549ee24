"""Fits of every discipline to a burst: its replay with the settings that suit it best."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from emu.capture.windows import CreditHistory
from emu.identify.bursts import Burst, Served, merge_runs
from emu.identify.discipline_candidates import Candidate, candidates
from emu.identify.discipline_replay import HandOverMark, Run, Setting, replay
from emu.identify.distance import Distance, Reference
from emu.identify.turns import Turns, headers_tell
from h2model import disciplines

AHEAD_BYTES: Final = (0, 65_536, 131_072, 262_144, 524_288, 1_048_576, 2_097_152)
_ROUGHLY: Final = (0, 131_072, 1_048_576)

STRAIN: Final = 0.02
"""Penalty of a replay that needs the sender further ahead than its kernel's buffer was:
then it must decide on megabytes at once, as grpcio 1.17.0 to 1.59.5 do."""

_BY_REQUEST: Final = (
    HandOverMark.APPEARANCE,
    HandOverMark.REQUEST,
    HandOverMark.QUEUE,
    HandOverMark.FIRST_HALF,
    HandOverMark.FIRST_LONGER,
)
_OF_A_PUSH: Final = (HandOverMark.APPEARANCE, HandOverMark.NOTHING)
"""Marks of a push, which has neither a request nor HEADERS before the first DATA."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """One burst with its credit, and inputs from the sender's log if there is one.

    `credit` is the direction's credit over time. `priorities` by stream and `most_ahead_bytes`,
    the most that its kernel held, are known where the sender's own log is at hand.
    """

    burst: Burst
    credit: CreditHistory | None = None
    priorities: Mapping[int, int] = field(default_factory=dict)
    most_ahead_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A candidate's replay under one setting; `strain` is the penalty of the setting."""

    candidate: Candidate
    setting: Setting
    runs: list[Run]
    apart: Distance
    strain: float

    @property
    def score(self) -> float:
        """Score to rank by: that of the distance, and the strain."""
        return self.apart.score + self.strain


def most_ahead_of(evidence: Sequence[Evidence]) -> int:
    """Bound of the bytes by which the sender is ahead of the wire, from its answers.

    HEADERS that answer a request, and PING's answer, pass behind all bytes that were chosen before
    they came, so what lay between on a busy wire is no less. Half of the answers are
    believed to have met a full buffer.
    """
    answered = [
        s.opened_at - s.asked_at for e in evidence for s in e.burst.streams if s.asked_at > 0
    ]
    pinged = [between for e in evidence for between in e.burst.answers]
    bounds = [int(np.median(each)) for each in (answered, pinged) if each]
    return min(bounds, default=AHEAD_BYTES[-1])


def fit_all(
    evidence: Evidence, turns: Turns, frames: int, most_ahead: int
) -> tuple[int, dict[str, Fit]]:
    """Fit every discipline to a burst's first frames; return their bytes and the best fits."""
    burst = evidence.burst
    upto = int(burst.size_bytes[:frames].sum())
    search = _Search(
        evidence=evidence,
        seen=Reference(
            merge_runs(burst.stream[:frames], burst.size_bytes[:frames]),
            [served.stream for served in burst.streams],
            upto,
        ),
        upto=upto,
        most_ahead=most_ahead,
    )
    found: dict[str, Fit] = {}
    for candidate in candidates(burst, turns):
        fit = search.roughly(candidate)
        known = found.get(candidate.name)
        if fit is not None and (known is None or fit.score < known.score):
            found[candidate.name] = fit
    return upto, {name: search.closely(fit) for name, fit in found.items()}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Search:
    """Search for the settings of a burst that suit a candidate best."""

    evidence: Evidence
    seen: Reference
    upto: int
    most_ahead: int

    @property
    def held(self) -> int:
        """Most bytes that the sender's kernel held: measured, else bounded by its answers."""
        measured = self.evidence.most_ahead_bytes
        return self.most_ahead if measured is None else measured

    def roughly(self, candidate: Candidate) -> Fit | None:
        """Try all hand-overs with a few values of `ahead_bytes`; None if no priorities differ."""
        fits = (self._fit(candidate, setting) for setting in self._settings(self._marks()))
        return _best(fits)

    def closely(self, fit: Fit) -> Fit:
        """Try all values of `ahead_bytes` with the hand-over that was best, then those beside."""
        better = self._better(fit, (*AHEAD_BYTES, self.held))
        if better.apart.score == 0:
            return better
        at, half = better.setting.ahead_bytes, self.evidence.burst.frame_bytes // 2
        return self._better(better, [at + k * half for k in (-2, -1, 1, 2)])

    def _better(self, fit: Fit, steps: Sequence[int]) -> Fit:
        settings = self._settings((fit.setting.hand_over,), [step for step in steps if step >= 0])
        new = (setting for setting in settings if setting != fit.setting)
        return _best((fit, *(self._fit(fit.candidate, setting) for setting in new))) or fit

    def _marks(self) -> tuple[HandOverMark, ...]:
        burst = self.evidence.burst
        if all(s.asked_at == s.first_at for s in burst.streams):
            return _OF_A_PUSH
        return (HandOverMark.HEADERS,) if headers_tell(burst) else _BY_REQUEST

    def _settings(
        self, marks: Iterable[HandOverMark], steps: Sequence[int] = _ROUGHLY
    ) -> Iterator[Setting]:
        """Settings that the capture leaves open, as far as they can matter for this burst."""
        burst = self.evidence.burst
        for mark in marks:
            by_place = mark in (HandOverMark.HEADERS, HandOverMark.QUEUE)
            asked = any(s.asked_at > 0 for s in burst.streams) and not by_place
            later = asked or any(grant.at > 0 for grant in burst.grants)
            bound = min(self.most_ahead, self.upto // 2) if later else 0
            for ahead in sorted({*(a for a in steps if a < bound), bound}):
                yield Setting(ahead_bytes=ahead, hand_over=mark)

    def _fit(self, candidate: Candidate, setting: Setting) -> Fit | None:
        burst = self.evidence.burst
        priorities: Mapping[int, int] = {}
        if disciplines.traits(candidate.name).by_priority:
            priorities = self.evidence.priorities or inferred_priorities(burst, setting)
            if len(set(priorities.values())) < 2:
                return None  # it is the rule without them then
        runs = replay(
            burst,
            candidate.name,
            candidate.options,
            setting,
            upto_bytes=self.upto,
            priorities=priorities,
        )
        return Fit(
            candidate=candidate,
            setting=setting,
            runs=runs,
            apart=self.seen.distance(runs),
            strain=STRAIN if setting.ahead_bytes > self.held else 0.0,
        )


def _best(fits: Iterable[Fit | None]) -> Fit | None:
    found = [fit for fit in fits if fit is not None]
    return min(found, key=lambda fit: fit.score) if found else None


def inferred_priorities(burst: Burst, setting: Setting) -> dict[int, int]:
    """Infer priorities: a stream that came later and finished earlier was more urgent."""

    def handed(stream: Served) -> tuple[int, int]:
        if setting.hand_over is HandOverMark.HEADERS:
            return stream.opened_at, stream.opened_rank
        return stream.asked_at, stream.asked_rank

    found: dict[int, int] = {}
    earlier: list[Served] = []
    for stream in sorted(burst.streams, key=handed):
        overtaken = [found[e.stream] for e in earlier if e.last_at > stream.last_at]
        found[stream.stream] = 1 + max(overtaken, default=-1)
        earlier.append(stream)
    return found
