"""Executor on Ray: a task of the driver is a task of Ray.

Ray schedules, and begins a task again whose process or machine was lost. An exception in a task is
one of the program: it ends the sweep.
"""

from typing import Any

import ray
from ray.exceptions import LocalRayletDiedError, RayError, RaySystemError, RayTaskError

from netcosim.errors import EnvironmentRefusedError, NetcosimError
from netcosim.formatting import one_line
from ray_sweeps.evaluation import Evaluator, Items, Points, Rows, evaluate, resolve
from ray_sweeps.keys import engine
from ray_sweeps.runner.executor import RETRIES, Ended, Evaluate, Resolve, Task
from ray_sweeps.runner.head import Head
from ray_sweeps.runner.probe import AS_HERE
from ray_sweeps.runner.work import TASK_S


def _resolve(evaluator: "Held", numbers: range, engine_hash: str) -> tuple[int, Points]:
    check_engine(engine_hash)
    return _attempt(), resolve(_evaluator(evaluator), numbers)


def _evaluate(evaluator: "Held", items: Items, engine_hash: str) -> tuple[int, Rows]:
    check_engine(engine_hash)
    return _attempt(), evaluate(_evaluator(evaluator), items, TASK_S)


Held = tuple[Any]
"""A reference that Ray does not resolve, as it is within something."""

_evaluators: dict[str, Evaluator] = {}


def _evaluator(held: Held) -> Evaluator:
    """The evaluator of a sweep, read once in each process: what it has kept is kept."""
    (reference,) = held
    name = reference.hex()
    if name not in _evaluators:
        _evaluators.clear()
        _evaluators[name] = ray.get(reference)
    return _evaluators[name]


def check_engine(wanted: str) -> None:
    """Refuse to make runs with another engine than the driver's; nodes may join late.

    Raises
    ------
    EnvironmentRefusedError
        This machine has another release of the project, or other libraries.
    """
    if engine() != wanted:
        where = ray.util.get_node_ip_address()
        raise EnvironmentRefusedError(
            f"node {where}: has another release of netcosim, numpy or numba than the machine of the"
            f" sweep: {AS_HERE}"
        )


def _attempt() -> int:
    """Number of times that this task was begun, by what Ray knows but does not publish; else 1."""
    from ray._private.worker import global_worker

    told = getattr(global_worker.core_worker, "get_current_task_attempt_number", None)
    return 1 if told is None else 1 + int(told())


class OnRay:
    """Executes tasks on the cluster that this process is connected to.

    Parameters
    ----------
    evaluator : is sent once to each machine, and read once in each process there
    """

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator: Held = (ray.put(evaluator),)
        remote = ray.remote(num_cpus=1, max_retries=RETRIES, retry_exceptions=False)
        self._resolve, self._evaluate = remote(_resolve), remote(_evaluate)
        self._tasks: dict[Any, Task] = {}
        self._head = Head(ray.get_runtime_context().gcs_address)
        self._processors = _processors()

    @property
    def head(self) -> str:
        """Address of the cluster's head."""
        return self._head.address

    @property
    def processors(self) -> int:
        """Processors of the cluster, as it is now."""
        return self._processors

    @property
    def in_flight(self) -> int:
        """Tasks that Ray has."""
        return len(self._tasks)

    def submit(self, task: Task) -> None:
        """Hand a task to Ray."""
        match task:
            case Resolve(numbers):
                reference = self._resolve.remote(self._evaluator, numbers, engine())
            case Evaluate(items):
                reference = self._evaluate.remote(self._evaluator, items, engine())
        self._tasks[reference] = task

    def ended(self, within_s: float) -> Ended | None:
        """Wait for a task to end, so long at most.

        Raises
        ------
        HeadGoneError
            The cluster's head is gone.
        EnvironmentRefusedError
            A machine of it can't make runs.
        """
        ready, _ = ray.wait(list(self._tasks), num_returns=1, timeout=within_s)
        if self._head.answers():
            self._processors = _processors()
        if not ready:
            return None
        task = self._tasks.pop(ready[0])
        try:
            attempts, result = ray.get(ready[0])
        except LocalRayletDiedError:
            raise  # of no task: all of this Ray is gone
        except RayTaskError as problem:
            if not _lost(problem.cause):
                raise _cause(problem) from None
            lost = type(problem.cause).__name__
        except RayError as problem:
            lost = type(problem).__name__
        else:
            return Ended(task=task, result=result, attempts=attempts)
        return Ended(task=task, result=None, attempts=1 + RETRIES, lost=lost)


def _lost(cause: Exception) -> bool:
    """True if a task failed as Ray did on its machine, not as the program."""
    return isinstance(cause, RayError) and not isinstance(cause, RaySystemError | RayTaskError)


def _cause(problem: RayTaskError) -> Exception:
    """Exception of a task as it stands; a machine that can't even read the task is refused."""
    cause: Exception = problem.cause
    if isinstance(cause, NetcosimError):
        return cause
    if isinstance(cause, RaySystemError):  # a class that it has not, or has otherwise
        said = one_line(str(cause).partition("traceback:")[0].removeprefix("System error: "))
        return EnvironmentRefusedError(
            f"node {problem.ip}: netcosim can't be used there: {said}: {AS_HERE}"
        )
    found: Exception = problem.as_instanceof_cause()
    return found


def _processors() -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))
