"""Ctrl-C while a command ends."""

import signal
import subprocess
import sys

SLOW_END = """
import threading, time
from netcosim.entry import leave
threading.Thread(target=time.sleep, args=(1.0,)).start()
print("about to end", flush=True)
leave(3)
"""


def test_ctrl_c_while_the_interpreter_ends_changes_nothing() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SLOW_END], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as ending:
        assert ending.stdout is not None
        ending.stdout.readline()
        for _ in range(3):
            try:
                ending.wait(0.2)
            except subprocess.TimeoutExpired:
                ending.send_signal(signal.SIGINT)
        _, errors = ending.communicate()
    assert (ending.returncode, errors) == (3, "")
