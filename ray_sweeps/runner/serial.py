"""Executor in the driver's own process, one task after the other."""

from collections import deque

from ray_sweeps.evaluation import Evaluator, evaluate, resolve
from ray_sweeps.runner.executor import Ended, Resolve, Task
from ray_sweeps.runner.work import TASK_S


class Serial:
    """Executes a task when it is asked for one that has ended."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._tasks: deque[Task] = deque()

    @property
    def processors(self) -> int:
        """One task at a time."""
        return 1

    @property
    def in_flight(self) -> int:
        """Tasks that were submitted and not executed."""
        return len(self._tasks)

    def submit(self, task: Task) -> None:
        """Take a task."""
        self._tasks.append(task)

    def ended(self, within_s: float) -> Ended | None:
        """Execute the task that was submitted first, however long that takes."""
        task = self._tasks.popleft()
        if isinstance(task, Resolve):
            return Ended(task=task, result=resolve(self._evaluator, task.numbers))
        return Ended(task=task, result=evaluate(self._evaluator, task.items, TASK_S))
