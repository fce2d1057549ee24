"""Optional parts of an installation: which packages an extra needs, and whether they are there."""

import re
import sys
from importlib import metadata
from typing import Final

from netcosim.errors import EnvironmentRefusedError

DISTRIBUTION: Final = "netcosim"

_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA: Final = re.compile(r"""extra\s*==\s*['"]([A-Za-z0-9._-]+)['"]""")


def missing(extra: str, distribution: str = DISTRIBUTION) -> list[str]:
    """Packages of an extra that are not installed; those of an unknown extra are none."""
    found = []
    for requirement in metadata.requires(distribution) or ():
        needed, _, marker = requirement.partition(";")
        name = _NAME.match(needed)
        if name and extra in _EXTRA.findall(marker) and not _installed(name[0]):
            found.append(name[0])
    return found


def require(extra: str, distribution: str = DISTRIBUTION) -> None:
    """Refuse to go on without the packages of an extra.

    Raises
    ------
    EnvironmentRefusedError
        Names those that are missing, and the command that installs them.
    """
    lacking = missing(extra, distribution)
    if lacking:
        raise EnvironmentRefusedError(
            f"needs the extra '{extra}' ({', '.join(lacking)} missing):"
            f" {sys.executable} -m pip install '.[{extra}]', in a checkout of {distribution}"
        )


def _installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True
