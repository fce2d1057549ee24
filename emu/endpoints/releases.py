"""Environments of gRPC releases other than the project's own; `./dev grpc-releases` builds them."""

import json
import os
import re
import sys
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Final

from netcosim.errors import EndpointError
from netcosim.extras import require

VARIABLE: Final = "NETCOSIM_GRPC_RELEASES"
STAMP: Final = "netcosim-grpc-release.json"
REASON: Final = ".not-ready"
"""Suffix of the file that says why a release could not be set up."""

_CHECKOUT: Final = Path(__file__).resolve().parents[2]


def folder() -> Path:
    """Folder of the environments, with one folder a release."""
    return Path(os.environ.get(VARIABLE) or _CHECKOUT / ".grpc-releases").absolute()


def newest() -> str:
    """The release in the project's own environment, or that which set-up will put there.

    Raises
    ------
    EnvironmentRefusedError
        It is not installed, and this is no checkout.
    """
    with suppress(metadata.PackageNotFoundError):
        return metadata.version("grpcio")
    found = locked()
    if found is None:
        require("emu")
    return str(found)


def locked() -> str | None:
    """The release that the checkout's locks pin; None outside of a checkout."""
    try:
        text = (_CHECKOUT / "requirements" / "emu.lock").read_text(encoding="utf-8")
    except OSError:
        return None
    pin = re.search(r"^grpcio==([0-9.]+)", text, re.MULTILINE)
    return pin[1] if pin else None


def not_ready(release: str | None) -> str | None:
    """Reason why endpoints of this release can't be started here; None if they can."""
    if release is None or release == newest():
        return None
    environment = folder() / release
    try:
        stamp = json.loads((environment / STAMP).read_text(encoding="utf-8"))
        if stamp["release"] == release and os.access(_python(release), os.X_OK):
            return None
        why = f"the Python of {environment} is gone"
    except (OSError, ValueError, TypeError, KeyError):
        why = _recorded(release) or f"no environment in {folder()}"
    return f"grpcio {release} is not set up: {why}; see ./dev grpc-releases {release}"


def interpreter(release: str | None) -> str:
    """The Python that has this release.

    Raises
    ------
    EndpointError
        It is not set up.
    """
    reason = not_ready(release)
    if reason is not None:
        raise EndpointError(reason)
    return sys.executable if release in (None, newest()) else str(_python(release or ""))


def _python(release: str) -> Path:
    return folder() / release / "bin" / "python"


def _recorded(release: str) -> str:
    """Reason that the set-up recorded for a missing release; empty if it recorded none."""
    try:
        return (folder() / f"{release}{REASON}").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""
