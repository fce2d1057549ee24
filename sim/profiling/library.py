"""Load PyTorch, where it is installed: an optional dependency that only profiling needs."""

import importlib
from types import ModuleType
from typing import Final

from netcosim.errors import EnvironmentRefusedError

INSTALL: Final = "pip install '.[profile]', in a checkout of netcosim"


def load_torch() -> ModuleType:
    """Load PyTorch.

    Raises
    ------
    EnvironmentRefusedError
        It is not installed, or can't be loaded.
    """
    return _load("torch", INSTALL)


def load_torchvision() -> ModuleType:
    """Load torchvision, the library of networks by name.

    Raises
    ------
    EnvironmentRefusedError
        It is not installed, or can't be loaded.
    """
    return _load("torchvision", "pip install torchvision, in the release that fits PyTorch's")


def _load(name: str, how: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as problem:
        if problem.name == name:
            raise EnvironmentRefusedError(f"{name} is not installed: {how}") from None
        reason = str(problem)
    except (ImportError, OSError, RuntimeError) as problem:  # a build for another machine
        reason = str(problem)
    raise EnvironmentRefusedError(f"{name} can't be loaded: {reason}")
