"""Profiles that come with the project, by name: one file each under `data`.

They are layer profiles measured on one CPU thread with PyTorch, for this project. A name without a
batch is the one with the largest batch that was measured. The files have minima beside the medians:
what the assumed jitter rests on (docs/reference/profile.md).
"""

from functools import cache
from importlib import resources

from netcosim.errors import ScenarioError
from netcosim.formatting import printable, shown
from netcosim.nearest import unknown
from netcosim.workload.importers import torch
from netcosim.workload.lint import check
from netcosim.workload.model import Profile


def profile_names() -> tuple[str, ...]:
    """The names of all built-in profiles, sorted."""
    files = (resources.files("netcosim.workload") / "data").iterdir()
    return tuple(sorted(f.name.removesuffix(".json") for f in files if f.name.endswith(".json")))


@cache
def load_profile(name: str) -> Profile:
    """The built-in profile of this name; `jitter` is assumed, as its provenance says.

    Raises
    ------
    ScenarioError
        There is none; the message lists those that exist.
    """
    text = profile_bytes(name).decode()
    profile = torch.read(text, name, None).model_copy(update={"name": name})
    check(profile, name)
    return profile


@cache
def profile_bytes(name: str) -> bytes:
    """The file of the built-in profile of this name; errors as of `load_profile`."""
    if name not in profile_names():
        said = f"profile: {shown(name)}: {unknown(name, profile_names())}"
        raise ScenarioError(printable(said))
    return (resources.files("netcosim.workload") / "data" / f"{name}.json").read_bytes()
