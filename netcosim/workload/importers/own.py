"""Importer of the project's own profile files."""

import re
from typing import Final

from netcosim.errors import ScenarioError
from netcosim.workload.model import Profile
from netcosim.workload.profile_file import parse_profile

SUMMARY: Final = "a profile of this project (JSON)"

_FORMAT: Final = re.compile(r'"format"\s*:\s*"netcosim-profile"')


def matches(text: str) -> bool:
    """True if the text names the format."""
    return _FORMAT.search(text) is not None


def read(text: str, source: str, batch: int | None) -> Profile:
    """The profile as it is.

    Raises
    ------
    ScenarioError
        As `parse_profile`, or a batch that is not the file's.
    """
    profile = parse_profile(text, source)
    if batch not in (None, profile.batch):
        raise ScenarioError(f"{source}: batch: {batch}: the file says {profile.batch}")
    return profile
