"""Commands of tests, each waited for."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def ended(command: Sequence[str | Path], **how: Any) -> "subprocess.CompletedProcess[str]":
    """The command when it has ended, whatever its exit code, with what it said."""
    return subprocess.run(command, capture_output=True, text=True, check=False, **how)
