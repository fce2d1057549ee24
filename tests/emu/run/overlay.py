"""Hold a copy of the machine's files in which every write can be found again.

A stand-alone script, started in a mount namespace of its own: ``overlay.py FOLDER``. Every file
system becomes the lower layer of an overlay, so that the machine's own files are all there, and
what is written, changed or deleted goes to the overlays' upper layers. Prints the number of a
descriptor of the folder that holds those; ends, and takes everything with it, when its standard
input is closed.
"""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

_PSEUDO = ("/proc", "/sys", "/dev")
_MNT_DETACH = 2
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}


def main(folder: str) -> None:
    mount("-t", "tmpfs", "world", folder)
    root = Path(folder, "root")
    for name in ("root", "upper", "work"):
        Path(folder, name).mkdir()
    for point in mount_points():
        cover(Path(folder), root, point)
    mount("-t", "tmpfs", "memory", f"{root}/dev/shm")
    upper = os.open(f"{folder}/upper", os.O_RDONLY | os.O_DIRECTORY)
    pivot(root)
    print(upper, flush=True)
    sys.stdin.read()


def mount_points() -> list[str]:
    """Top first; those of the kernel's own file systems as a whole."""
    points = {"/"}
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        point = line.split()[4].encode().decode("unicode_escape")
        if point.startswith(_PSEUDO):
            point = "/" + point.split("/")[1]
        points.add(point)
    return sorted(points)


def cover(folder: Path, root: Path, point: str) -> None:
    target = str(root) + point.rstrip("/")
    if point in _PSEUDO:
        mount("--rbind", point, target)
    elif Path(point).is_dir() and str(folder) != point:
        layer = "root" if point == "/" else point.strip("/").replace("/", "%")
        upper, work = folder / "upper" / layer, folder / "work" / layer
        upper.mkdir()
        work.mkdir()
        try:
            options = f"lowerdir={point},upperdir={upper},workdir={work}"
            mount("-t", "overlay", "overlay", "-o", options, target)
        except subprocess.CalledProcessError:  # not every file system can be a lower layer
            mount("--bind", "-o", "ro", point, target)


def mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True, capture_output=True)


def pivot(root: Path) -> None:
    """Make `root` the root of this mount namespace, and let go of the old one."""
    os.chdir(root)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(_SYS_PIVOT_ROOT[os.uname().machine], b".", b".") != 0:
        raise OSError(ctypes.get_errno(), "pivot_root")
    if libc.umount2(b".", _MNT_DETACH) != 0:
        raise OSError(ctypes.get_errno(), "umount2")
    os.chdir("/")


if __name__ == "__main__":
    main(sys.argv[1])
