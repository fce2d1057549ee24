"""Exceptions for expected failures, each with the exit code of the command that it ends.

A message is one line: what was wrong, where, the value, and what is allowed.
"""


class NetcosimError(Exception):
    """Base of all expected failures; `exit_code` is what the command returns."""

    exit_code = 70


class UntrustedResultError(NetcosimError):
    """The run finished, but what it measured can't be trusted."""

    exit_code = 1


class ScenarioError(NetcosimError):
    """A scenario, an option or another input file is wrong."""

    exit_code = 2

    @classmethod
    def at(cls, field: str, value: object, allowed: str) -> "ScenarioError":
        """Name the field, its value and what is allowed, in one line."""
        shown = f'"{value}"' if isinstance(value, str) else str(value)
        return cls(f"{field}: {shown}: {allowed}")


class EnvironmentRefusedError(NetcosimError):
    """The machine lacks what the run needs: root, a tool, a kernel feature."""

    exit_code = 3


class NetworkError(NetcosimError):
    """The network could not be built, or does not deliver what was asked for."""

    exit_code = 4


class EndpointError(NetcosimError):
    """A sender or receiver failed or died."""

    exit_code = 5


class StorageError(NetcosimError):
    """The results can't be written: a full disk, an unwritable folder."""

    exit_code = 6


class CaptureError(NetcosimError):
    """A capture can't be read as one."""

    exit_code = 7


class InterruptedRunError(NetcosimError):
    """The run was interrupted, as by Ctrl-C; what was finished is kept."""

    exit_code = 130
