"""File ownership of results: through sudo, the user who called it."""

from collections.abc import Mapping
from dataclasses import dataclass

from netcosim.errors import EnvironmentRefusedError

_LARGEST_ID = 2**32 - 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A user and a group by number."""

    uid: int
    gid: int


def calling_user(environ: Mapping[str, str], effective_uid: int) -> Owner | None:
    """User who called sudo; None without sudo: files stay with the user who creates them.

    Raises
    ------
    EnvironmentRefusedError
        SUDO_UID or SUDO_GID is not a number.
    """
    if effective_uid != 0 or not {"SUDO_UID", "SUDO_GID"} <= environ.keys():
        return None
    return Owner(uid=_number("SUDO_UID", environ), gid=_number("SUDO_GID", environ))


def _number(name: str, environ: Mapping[str, str]) -> int:
    text = environ[name]
    if not (text.isascii() and text.isdigit() and int(text) <= _LARGEST_ID):
        raise EnvironmentRefusedError(f'{name}: "{text}": must be the number of a user or group')
    return int(text)
