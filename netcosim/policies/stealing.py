"""Work stealing within a step: FlexRR's rule, from workers that are behind to those that are ahead.

Source: Harlap et al., "Addressing the straggler problem for iterative convergent parallel ML"
(SoCC 2016), as Chen, Weng, Wang, Li and Li (SoCC 2020, section 5.3) emulate it: examples are
computed one by one, progress is looked at 100 times a step, and all other workers are helpers. What
it takes for help to be given, and how much is given at a time, the latter does not say: the numbers
here are ours, and are to be swept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

CHECKS: Final = 100
BEHIND: Final = 0.2
FIRST_PART: Final = 0.025
NEXT_PART: Final = 0.05


class Help(NamedTuple):
    """Examples that go from a worker to another one."""

    straggler: int
    helper: int
    examples: int


@dataclass(kw_only=True)
class WorkStealing:
    """State of the rule over one step after the other.

    Attributes
    ----------
    behind : part of a step by which a worker must be behind another to be helped by it
    first_part, next_part : of the straggler's batch, given at the first and at further times
    """

    behind: float = BEHIND
    first_part: float = FIRST_PART
    next_part: float = NEXT_PART

    def __post_init__(self) -> None:
        """Nobody has been helped."""
        self._helped: set[int] = set()

    def begin(self) -> None:
        """Begin the next step."""
        self._helped.clear()

    def check(self, batches: Sequence[int], left: Sequence[int]) -> list[Help]:
        """Say who gives how many examples to whom, as things stand.

        Parameters
        ----------
        batches : examples of each worker's step
        left : of these, with what it was given, those that it has not begun
        """
        parts = [after / batch for after, batch in zip(left, batches, strict=True)]
        remaining = list(left)
        helps = []
        helpers = sorted(range(len(left)), key=parts.__getitem__)
        for straggler in sorted(range(len(left)), key=parts.__getitem__, reverse=True):
            if not helpers or parts[straggler] - parts[helpers[0]] < self.behind:
                break
            helper = helpers.pop(0)
            part = self.next_part if straggler in self._helped else self.first_part
            examples = min(max(1, round(part * batches[straggler])), remaining[straggler])
            if examples == 0 or helper == straggler:
                continue
            self._helped.add(straggler)
            remaining[straggler] -= examples
            helps.append(Help(straggler, helper, examples))
        return helps
