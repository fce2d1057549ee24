"""Link probes in the hosts of a live network: started, asked, ended."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from emu.network.live import LiveNetwork
from emu.remote import link_probe
from netcosim.errors import NetworkError

_PORT: Final = 5201

Json = dict[str, Any]
Ask = Callable[[Json], Json]


@contextlib.contextmanager
def serving(live: LiveNetwork, servers: Sequence[str]) -> Iterator[None]:
    """Run a listening probe in each of these hosts."""
    probes = {s: _start(live, s, "serve", live.address(s), None) for s in servers}
    try:
        for server, probe in probes.items():
            _read_answer(probe, server)
        yield
    finally:
        for probe in probes.values():
            probe.kill()
            probe.communicate()


@contextlib.contextmanager
def asking(live: LiveNetwork, server: str, worker: str) -> Iterator[Ask]:
    """Run a probe in the worker that carries out requests against the server's.

    `emu.remote.link_probe` documents requests and answers.
    """
    probe = _start(live, worker, "ask", live.address(server), subprocess.PIPE)

    def ask(request: Json) -> Json:
        _send_request(probe, request)
        return _read_answer(probe, worker)

    try:
        yield ask
    finally:
        probe.kill()
        probe.communicate()


def ask_at_once(
    live: LiveNetwork, server: str, workers: Sequence[str], request: Json
) -> dict[str, Json]:
    """Give one request to all workers at the same time; answers by worker."""
    probes = {w: _start(live, w, "ask", live.address(server), subprocess.PIPE) for w in workers}
    try:
        for worker, probe in probes.items():  # all have started before any is asked to send
            _send_request(probe, {"do": "rtt", "seconds": 0})
            _read_answer(probe, worker)
        for probe in probes.values():
            _send_request(probe, request)
        return {worker: _read_answer(probe, worker) for worker, probe in probes.items()}
    finally:
        for probe in probes.values():
            probe.kill()
            probe.communicate()


def _start(
    live: LiveNetwork, host: str, role: str, address: str, stdin: int | None
) -> subprocess.Popen[str]:
    argv = [sys.executable, "-I", "-S", str(link_probe.__file__), role, address, str(_PORT)]
    return live.popen(
        host,
        argv,
        stdin=subprocess.DEVNULL if stdin is None else stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _send_request(probe: subprocess.Popen[str], request: Json) -> None:
    assert probe.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # why it died is reported by _read_answer
        probe.stdin.write(json.dumps(request) + "\n")
        probe.stdin.flush()


def _read_answer(probe: subprocess.Popen[str], host: str) -> Json:
    assert probe.stdout is not None
    line = probe.stdout.readline()
    if not line:
        _, complaint = probe.communicate()
        last = complaint.strip().splitlines()[-1:] or ["it died"]
        raise NetworkError(f"link probe in {host}: {last[0]}")
    answer: Json = json.loads(line)
    if "failure" in answer:
        raise NetworkError(f"link probe in {host}: {answer['failure']}")
    return answer
