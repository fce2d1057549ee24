"""Launch parameters of a user's own endpoint: a stand-alone program, steered as ours are.

docs/reference/endpoints.md has its commands and the events it must report. It speaks gRPC's
framing, whatever its peer: any gRPC library does.
"""

import os
import sys
from pathlib import Path
from typing import Any

from netcosim.errors import ScenarioError
from netcosim.scenario import TransportSpec

CAPABILITIES = ()


def check(spec: TransportSpec, *, sends: bool) -> None:
    """Refuse a script that is not named, not there, or can't be started.

    Raises
    ------
    ScenarioError
        Names the field, its value and what is allowed.
    """
    end = "sender" if sends else "receiver"
    field = f"transport[{spec.name}].{end}_script"
    path = _path(spec, sends=sends)
    if path is None:
        raise ScenarioError(f'{field}: is required with {end} = "script"')
    if not Path(path).is_file():
        raise ScenarioError.at(field, path, "no such file")
    if not os.access(path, os.X_OK) and not path.endswith(".py"):
        raise ScenarioError.at(field, path, "must be executable, or a .py file")


def command(spec: TransportSpec, *, sends: bool) -> tuple[str, ...]:
    """The file itself if it is executable; else the project's own Python with the file."""
    path = str(Path(_path(spec, sends=sends) or "").absolute())
    return (path,) if os.access(path, os.X_OK) else (sys.executable, path)


def missing(spec: TransportSpec, *, sends: bool) -> str | None:
    """Need nothing that `check` has not seen."""
    return None


def settings(spec: TransportSpec, *, sends: bool) -> dict[str, Any]:
    """Everything that the scenario says of this end; None where it says nothing."""
    common: dict[str, Any] = {"grpc": True, "frame_size_bytes": spec.frame_size}
    if sends:
        return common | {"options": dict(spec.options), "whole_messages": spec.whole_messages}
    return common | {
        "flow_control": spec.flow_control,
        "window_bytes": spec.window,
        "connection_window_bytes": spec.connection_window,
        "credit": spec.credit,
    }


def environment(spec: TransportSpec, *, sends: bool) -> dict[str, str]:
    """No environment variables of its own."""
    return {}


def _path(spec: TransportSpec, *, sends: bool) -> str | None:
    return spec.sender_script if sends else spec.receiver_script
