"""Wait for events of many endpoint processes at once."""

import selectors
import time
from collections.abc import Sequence

from emu.endpoints.going_on import GoingOn
from emu.endpoints.process import EndpointProcess, Event
from netcosim.errors import EndpointError

_CULPRIT_S = 0.5


def await_event(processes: Sequence[EndpointProcess], name: str, patience_s: float) -> list[Event]:
    """Wait until each of the processes has reported the event `name`.

    On a slow machine that may take any time: they are given up once nothing goes on for
    `patience_s` (`emu.endpoints.going_on`).

    Returns
    -------
    list of Event
        One event a process, in the order of `processes`.

    Raises
    ------
    EndpointError
        A process failed, died, reported something else, or hangs.
    """
    got: dict[EndpointProcess, Event] = {}
    deadline = time.monotonic() + patience_s
    going_on = GoingOn((process.pid for process in processes), patience_s)
    with selectors.DefaultSelector() as selector:
        for process in processes:
            selector.register(process.stdout, selectors.EVENT_READ, process)
            selector.register(process.stderr, selectors.EVENT_READ, process)
        while True:
            for process in processes:
                process.collect()
                _match(process, name, got)
            if any(process.failure for process in processes):
                raise EndpointError(failure_of(processes))
            if len(got) == len(processes):
                return [got[process] for process in processes]
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                if not going_on():
                    missing = ", ".join(str(p) for p in processes if p not in got)
                    told = f"no '{name}', and nothing went on for {patience_s:g} s"
                    raise EndpointError(f"{missing}: {told}")
                deadline = time.monotonic() + patience_s
                continue
            for key, _ in selector.select(left_s):
                _drop_closed(selector, key)


def _match(process: EndpointProcess, name: str, got: dict[EndpointProcess, Event]) -> None:
    while process not in got and process.events:
        event = process.events.popleft()
        if event["event"] != name:
            process.failure = f"{process}: reported '{event['event']}' instead of '{name}'"
            return
        got[process] = event


def _drop_closed(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    """Stop watching a stderr that is closed; it would wake us for ever."""
    process: EndpointProcess = key.data
    if key.fileobj is process.stderr and process.collect_errors():
        selector.unregister(key.fileobj)


def failure_of(processes: Sequence[EndpointProcess]) -> str:
    """The failure to report of several: of the end that failed, not of those that lost it."""
    deadline = time.monotonic() + _CULPRIT_S
    while all(_blames_peer(p) for p in processes if p.failure) and time.monotonic() < deadline:
        time.sleep(0.02)
        for process in processes:
            process.collect()
    failed = sorted((p for p in processes if p.failure), key=_blames_peer)
    return failed[0].failure or ""


def _blames_peer(process: EndpointProcess) -> bool:
    return "connection lost" in (process.failure or "")
