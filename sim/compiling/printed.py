"""A listener to compilations that prints."""

import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Printed:
    """Prints what is being done, line by line, on standard output or on standard error."""

    on_stderr: bool = False

    def say(self, message: str) -> None:
        """Print a line."""
        stream = sys.stderr if self.on_stderr else sys.stdout
        stream.write(f"{message}\n")
        stream.flush()
