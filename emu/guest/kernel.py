"""The kernel of guests, as ``./dev virtual-kernel`` builds it."""

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

from netcosim.errors import EnvironmentRefusedError

VARIABLE: Final = "NETCOSIM_VIRTUAL_KERNEL"
"""Environment variable that names another folder of kernels, or one kernel's own folder."""

_FOLDER: Final = Path(__file__).resolve().parents[2] / ".virtual-kernel"
_RECORD: Final = "kernel.json"
_HINT: Final = "./dev virtual-kernel builds it"
_INPUTS: Final = Path(__file__).with_name("kernel_build")


@dataclass(frozen=True, kw_only=True, slots=True)
class Kernel:
    """A kernel that was built.

    Attributes
    ----------
    path : the program
    hash : stands for its source, patches and configuration
    release, source : its version, and the package it was built from
    seccomp : guests catch system calls by seccomp, which takes half the time of ptrace
    up_to_date : its patches and configuration are this checkout's
    """

    path: Path
    hash: str
    release: str
    source: str
    seccomp: bool
    up_to_date: bool

    @classmethod
    def find(cls, folder: Path | None = None) -> Self:
        """Find the current kernel of a folder of kernels, or the one that the folder itself is.

        Raises
        ------
        EnvironmentRefusedError
            There is none, or it can't be read.
        """
        place = folder or Path(os.environ.get(VARIABLE) or _FOLDER)
        try:
            built = place
            if not (place / _RECORD).exists():
                built = place / (place / "current").read_text(encoding="ascii").strip()
            found = json.loads((built / _RECORD).read_text(encoding="utf-8"))
            kernel = cls(
                path=built / "linux",
                up_to_date=_is_todays(found),
                **{key: found[key] for key in ("hash", "release", "source", "seccomp")},
            )
        except FileNotFoundError:
            raise EnvironmentRefusedError(
                f"the virtual clock needs a kernel of its own, and {place} has none: {_HINT}"
            ) from None
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise EnvironmentRefusedError(
                f"{place}: the kernel of the virtual clock can't be read ({problem}): {_HINT}"
            ) from None
        if not os.access(kernel.path, os.X_OK):
            raise EnvironmentRefusedError(f"{kernel.path}: is no program: {_HINT}")
        return kernel

    @classmethod
    def every(cls) -> list[Self]:
        """Every kernel beside the current one, and that one first.

        Raises
        ------
        EnvironmentRefusedError
            There is none, or one can't be read.
        """
        current = cls.find()
        folders = sorted(each.parent for each in current.path.parents[1].glob(f"*/{_RECORD}"))
        return [current, *(cls.find(each) for each in folders if each != current.path.parent)]

    def say_if_outdated(self, say: Callable[[str], None]) -> None:
        """Tell one who runs it that its patches or configuration are not this checkout's."""
        if not self.up_to_date:
            say(
                f"the virtual clock's kernel, {self.hash}, has other patches than this checkout: "
                "./dev virtual-kernel builds the newest"
            )

    def record(self) -> dict[str, Any]:
        """Plain values for `run.json`: what it is, not where it lies or what came after it."""
        fields = asdict(self)
        del fields["path"], fields["up_to_date"]
        return fields


def _is_todays(found: dict[str, str]) -> bool:
    """True if today's patches and configuration make this kernel, or were not installed."""
    if not _INPUTS.is_dir():
        return True
    return found["hash"] == _hash_today(found["source"], found["source_sha256"])


def _hash_today(source: str, source_sha256: str) -> str:
    """Hash of a source with today's inputs, as ``tools/virtual_kernel.sh`` forms it."""
    version = _version(source.split(maxsplit=1)[0].removeprefix("linux-source-"))
    folders = [each for each in (_INPUTS / "patches").iterdir() if each.is_dir()]
    older = sorted(
        (each for each in folders if _version(each.name) <= version),
        key=lambda each: _version(each.name),
    )
    patches = sorted(older[-1].glob("*.patch")) if older else []
    files = [_INPUTS / "config", *patches]
    content = b"".join([f"{source_sha256}\n".encode(), *(each.read_bytes() for each in files)])
    return hashlib.sha256(content).hexdigest()[:16]


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))
