"""Profiles of training jobs: the model, its file format, its linter, importers, a catalogue."""

from netcosim.workload.model import (
    Compute,
    Jitter,
    Operation,
    Parsing,
    Profile,
    Resource,
    Step,
    Transfer,
)
from netcosim.workload.profile_file import dump_profile, parse_profile, read_profile

__all__ = [
    "Compute",
    "Jitter",
    "Operation",
    "Parsing",
    "Profile",
    "Resource",
    "Step",
    "Transfer",
    "dump_profile",
    "parse_profile",
    "read_profile",
]
