"""Places of this project, its Python and the releases of gRPC in a guest.

The places are the same for all checkouts, and of the project there is a copy without bytecode.
Reading the clock takes a nanosecond of virtual time, and how often gRPC reads it hangs on where its
memory lies: on the paths in a process's arguments and environment, and on what Python loads. What
`PYTHONPATH` names beside the project is where it is.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from emu.guest.boot import EXCHANGE, Order

_ROOT: Final = str(Path(__file__).resolve().parents[2])
_PROJECT: Final = f"{EXCHANGE}/project"
_PACKAGES: Final = ("emu", "h2model", "netcosim", "topo")
"""Packages that are copied, and no more: Python notes what is in a folder, which takes memory."""

_PYTHON: Final = f"{EXCHANGE}/python"
_FOLDER: Final = f"{EXCHANGE}/folder-"
_PATH: Final = "PYTHONPATH"


def order_for(script: str, folders: Mapping[str, str] | None = None) -> Order:
    """A program of this project, to be run in a guest.

    Parameters
    ----------
    script : its file
    folders : environment variables that name folders which it needs, whether they exist or not
    """
    copies = {f"{_PROJECT}/{name}": f"{_ROOT}/{name}" for name in _PACKAGES}
    places = {}
    if sys.prefix != sys.base_prefix:
        places[_PYTHON] = sys.prefix
    environment = {}
    for number, (variable, folder) in enumerate((folders or {}).items()):
        environment[variable] = f"{_FOLDER}{number}"
        if Path(folder).is_dir():
            places[environment[variable]] = folder
    inherited = [path for path in os.environ.get(_PATH, "").split(os.pathsep) if path]
    others = [path for path in map(os.path.abspath, inherited) if path != _ROOT]
    return Order(
        command=(_seen(sys.executable, places), "-P", _seen(script, copies)),
        environment={_PATH: os.pathsep.join([_PROJECT, *others]), **environment},
        places=places,
        copies=copies,
    )


def _seen(path: str, places: Mapping[str, str]) -> str:
    """A path of the machine as the guest's programs are given it."""
    for place, folder in sorted(places.items(), key=lambda item: -len(item[1])):
        if path == folder or path.startswith(f"{folder}/"):
            return place + path[len(folder) :]
    return path
