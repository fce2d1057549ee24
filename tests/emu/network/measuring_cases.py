"""Cases of measured links, run inside namespaces; each function returns plain values."""

import contextlib
import itertools
import subprocess
import threading
import time
from collections.abc import Iterator
from typing import Any
from unittest import mock

from emu.network import (
    LiveNetwork,
    commands,
    measure_and_verify,
    measure_network,
    open_network,
    share_measurement,
    verify,
)
from emu.network.contention import watching_contention
from emu.network.probe_processes import ask_at_once, serving
from netcosim.errors import NetworkError
from tests.emu.network.cases import build_spec, cluster
from tests.loaded import loaded

Json = dict[str, Any]


def measured(load: float = 0.0, seed: int = 0, **settings: Any) -> Json:
    """A network measured, under load if asked for, and what is said against it."""
    asked = cluster(**settings)
    with open_network(build_spec(asked), tcp=asked.tcp) as live:
        return _measured(live, asked, load, seed)


def slower(rate: str, load: float = 0.0) -> Json:
    """A pair whose link has another rate than it was given, one way."""
    asked = cluster(link={"rate": "100mbit", "model": "fifo"})
    with open_network(build_spec(asked), tcp=asked.tcp) as live:
        for change in _changes("s0-eth0", rate):
            commands.within(live._applied.built.pid("s0"), lambda c=change: commands.run(c))
        return _measured(live, asked, load, 1)


def standing_still(on_s: float, off_s: float, load: float = 0.0) -> Json:
    """A pair whose link stands still again and again, one way, for as long each time."""
    asked = cluster(link={"rate": "100mbit", "model": "fifo"})
    with (
        open_network(build_spec(asked), tcp=asked.tcp) as live,
        _stopped_regularly(live, on_s, off_s),
    ):
        return _measured(live, asked, load, 1)


def accepted(load: float = 0.0, **settings: Any) -> Json:
    """A network measured as a run does it."""
    asked = cluster(**settings)
    with open_network(build_spec(asked), tcp=asked.tcp) as live, loaded(load):
        found, attempts = measure_and_verify(live, asked.tcp)
    return {**found.record(), "attempts": attempts}


def share_with_silence(silent_readings: int) -> Json:
    """How two workers share, where w1's first readings had no processor for their whole time."""
    asked = cluster(topology="star", workers=2, link={"rate": "20mbit"})
    asks = itertools.count(1)

    def ask_with_silence(*arguments: Any) -> dict[str, Json]:
        answers = ask_at_once(*arguments)
        if next(asks) <= silent_readings:
            del answers["w1"]["samples"][1:]
        return answers

    with (
        open_network(build_spec(asked), tcp=asked.tcp) as live,
        watching_contention() as busy,
        serving(live, ["s0"]),
        mock.patch.object(share_measurement, "ask_at_once", ask_with_silence),
    ):
        try:
            share = share_measurement.measure_share(live, "s0", busy)
        except NetworkError as problem:
            return {"said": str(problem)}
        return {"bytes": share.bytes_by_worker, "readings": share.readings}


def _measured(live: LiveNetwork, asked: Any, load: float, seed: int) -> Json:
    with loaded(load, seed):
        found = measure_network(live)
    try:
        verify(found, asked.tcp)
        said = ""
    except NetworkError as problem:
        said = str(problem)
    return {**found.record(), "said": said}


def _changes(interface: str, rate: str) -> list[list[str]]:
    """Commands that give a link of the model fifo another rate."""
    bucket = f"rate {rate} ceil {rate} burst 25000 cburst 25000"
    return [
        ["tc", *f"class change dev {interface} parent {parent} classid {name} htb {bucket}".split()]
        for parent, name in (("2:1", "2:f"), ("2:", "2:1"))
    ]


@contextlib.contextmanager
def _stopped_regularly(live: LiveNetwork, on_s: float, off_s: float) -> Iterator[None]:
    """The link gets so low a rate that the next frame is far away, then its own again."""
    tc = live.popen("s0", ["tc", "-batch", "-"], stdin=subprocess.PIPE, text=True)
    done = threading.Event()

    def change(rate: str) -> None:
        assert tc.stdin is not None
        tc.stdin.write("".join(" ".join(words[1:]) + "\n" for words in _changes("s0-eth0", rate)))
        tc.stdin.flush()

    def run() -> None:
        while not done.wait(on_s):
            change("1mbit")  # a frame in 12 ms
            time.sleep(off_s)
            change("100mbit")

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        tc.kill()
