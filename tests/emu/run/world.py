"""A world for runs: the machine's files in an overlay, so that everything a run leaves shows.

Runs see the machine as it is; what they write stays in the overlay, where `World.changes` lists
it, and goes with the world. What other programs of the machine write meanwhile does not show.
"""

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Self

HOLDER = Path(__file__).parent / "overlay.py"
ROOT = Path(__file__).parents[3]
HOME = "/home/u"
"""An empty one: a cache that is there already would hide who makes it."""


class World:
    """Made in an empty folder; leaving it ends everything that was made."""

    def __init__(self, folder: Path) -> None:
        argv = ["unshare", "--mount", "--propagation", "private", sys.executable, "-I", "-S"]
        self._holder = subprocess.Popen(
            [*argv, str(HOLDER), str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._holder.stdout is not None
        told = self._holder.stdout.readline()
        assert told, "a world of one's own needs root, and overlayfs in the kernel"
        self._upper = Path(f"/proc/{self._holder.pid}/fd/{int(told)}")
        self.at("/home/u/work").mkdir(parents=True)
        self._own = {"/home", "/home/u", "/home/u/work"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._holder.stdin is not None
        assert self._holder.stdout is not None
        self._holder.stdin.close()
        self._holder.wait(timeout=240)
        self._holder.stdout.close()

    def at(self, path: str) -> Path:
        """Path at which a file of this world is found from outside."""
        return Path(f"/proc/{self._holder.pid}/root{path}")

    def popen(self, argv, *, cwd="/home/u/work", environ=None, **how) -> "subprocess.Popen[bytes]":
        """Start a program in this world; it becomes the process itself."""
        enter = ["nsenter", f"--mount=/proc/{self._holder.pid}/ns/mnt", f"--wd={self.at(cwd)}"]
        return subprocess.Popen(
            [*enter, "--", *argv],
            env={**os.environ, "HOME": HOME, **(environ or {})},
            **how,  # type: ignore[call-overload]
        )

    def shell(self, script: str) -> None:
        """Do something in this world, such as a mount."""
        assert self.popen(["sh", "-ec", script]).wait(timeout=240) == 0

    def mounts(self) -> list[str]:
        """Everything mounted, without the numbers that differ from mount to mount."""
        return sorted(
            " ".join(line.split()[3:])
            for line in Path(f"/proc/{self._holder.pid}/mountinfo").read_text().splitlines()
        )

    def mount_namespace(self) -> str:
        return str(Path(f"/proc/{self._holder.pid}/ns/mnt").readlink())

    def changes(self, *, below: str | None = None) -> set[str]:
        """Every file and folder that is new, changed or gone; not those `below` a folder."""
        found: set[str] = set()
        for layer in self._upper.iterdir():
            point = "" if layer.name == "root" else f"/{layer.name.replace('%', '/')}"
            for path in layer.rglob("*"):
                name = f"{point}/{path.relative_to(layer)}"
                touched = stat.S_ISDIR(path.lstat().st_mode) and os.path.lexists(name)
                if not touched and (below is None or not f"{name}/".startswith(f"{below}/")):
                    found.add(name)
        found |= {f"/dev/shm/{path.name}" for path in self.at("/dev/shm").iterdir()}
        return found - self._own

    def forget_changes(self) -> None:
        """Take everything as it is now for the machine's own."""
        self._own |= self.changes()
