"""Standard error without what libraries write to it beside Python."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def unseen_stderr() -> Iterator[None]:
    """Drop what libraries write to standard error; what fails is an exception."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
