"""A listener to compilations that prints."""

import sys


class Printed:
    """Prints what is being done, line by line."""

    def say(self, message: str) -> None:
        """Print a line."""
        sys.stdout.write(f"{message}\n")
        sys.stdout.flush()
