"""Independent pieces of work, done side by side on a Ray of one's own."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from netcosim.processors import usable_processors
from netcosim.results.storage.directory import Directory
from ray_sweeps.runner.executor import RETRIES, TASKS_A_PROCESSOR
from ray_sweeps.runner.local_ray import local_ray

Item = TypeVar("Item")
Result = TypeVar("Result")


class Each(Protocol):
    """A way to do pieces of work: yields the result of each, in any order."""

    def __call__(
        self, items: Iterable[Item], function: Callable[[Item], Result], /
    ) -> Iterator[Result]:
        """Yield the results."""


@contextmanager
def each_on_ray(folder: Directory, say: Callable[[str], None]) -> Iterator[Each]:
    """Start a Ray on all processors for pieces of work; it ends with the context.

    Parameters
    ----------
    folder : gets a record of what is started, while it runs
    say : told if Ray listens where others can connect

    Raises
    ------
    EnvironmentRefusedError
        Ray does not start.
    """
    processors = usable_processors()
    with local_ray(folder, processors, say):
        yield lambda items, function: _each(items, function, TASKS_A_PROCESSOR * processors)


def _each(
    items: Iterable[Item], function: Callable[[Item], Result], at_once: int
) -> Iterator[Result]:
    """Do work on the Ray that this process is connected to, so many pieces in flight."""
    import ray
    from ray.exceptions import RayTaskError

    remote = ray.remote(num_cpus=1, max_retries=RETRIES, retry_exceptions=False)(function)
    waiting: list[Any] = []
    left = iter(items)
    while True:
        for item in left:
            waiting.append(remote.remote(item))
            if len(waiting) >= at_once:
                break
        if not waiting:
            return
        ready, waiting = ray.wait(waiting, num_returns=1)
        try:
            yield ray.get(ready[0])
        except RayTaskError as problem:
            raise problem.as_instanceof_cause() from None
