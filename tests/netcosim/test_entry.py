"""Signals while a command ends."""

import signal
import subprocess
import sys

import pytest

SLOW_END = """
import threading, time
from netcosim.entry import leave
threading.Thread(target=time.sleep, args=(1.0,)).start()
print("about to end", flush=True)
leave(3)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_the_interpreter_ends_changes_nothing(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SLOW_END], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as ending:
        assert ending.stdout is not None
        ending.stdout.readline()
        for _ in range(3):
            try:
                ending.wait(0.2)
            except subprocess.TimeoutExpired:
                ending.send_signal(number)
        _, errors = ending.communicate()
    assert (ending.returncode, errors) == (3, "")
