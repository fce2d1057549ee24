"""`./dev lock`: bring the locks in requirements/ up to pyproject.toml.

One resolution for all platforms pins every package of the largest set, with hashes; what is pinned
stays as it is as far as it can. Smaller sets are resolved within those pins. A lock holds what its
set needs beyond the one before, whose file it names, so no package can have two pins.
"""

import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "requirements"
SETS: Final[Mapping[str, Sequence[str]]] = {
    "plan": ("--group", "plan"),
    "base": ("--group", "plan", "--group", "build", "pyproject.toml"),
    "emu": ("--group", "plan", "--group", "build", "--extra", "emu", "pyproject.toml"),
    "all": ("--group", "plan", "--group", "build", "--extra", "all", "pyproject.toml"),
    "dev": ("--group", "plan", "--group", "build", "--extra", "dev", "pyproject.toml"),
}
"""What each lock is made of, as options of uv; every one holds the one before."""
LARGEST: Final = list(SETS)[-1]

_COMPILE: Final = (
    *("pip", "compile", "-q", "--no-cache", "--universal", "--no-header", "--no-annotate"),
    *("--python-version", "3.11"),
)


def entries(text: str) -> dict[str, str]:
    """Entries of a lock's text by pin, such as ``numpy==2.4.6 ; python_full_version < '3.12'``."""
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith(("#", "-r "))]
    starts = [i for i, line in enumerate(lines) if not line.startswith(" ")]
    found = ["".join(lines[a:b]) for a, b in pairwise([*starts, len(lines)])]
    return {entry.partition("\n")[0].rstrip("\\").strip(): entry for entry in found}


def name_of(pin: str) -> str:
    """Name of a pin's package."""
    return pin.partition("==")[0]


def read_locks() -> dict[str, dict[str, str]]:
    """Entries of each lock there is, by set."""
    files = {name: FOLDER / f"{name}.lock" for name in SETS}
    return {n: entries(f.read_text("utf-8")) if f.is_file() else {} for n, f in files.items()}


def main() -> int:
    """Write all locks; return the exit code."""
    with tempfile.TemporaryDirectory(prefix="netcosim-lock-") as folder:
        scratch = Path(folder)
        uv = _install_uv(scratch)
        seed = scratch / "all"
        seed.write_text("".join(e for lock in read_locks().values() for e in lock.values()))
        _run(uv, *_COMPILE, "--generate-hashes", *SETS[LARGEST], "-o", str(seed))
        pins = entries(seed.read_text("utf-8"))
        bounds = scratch / "bounds"
        bounds.write_text("".join(f"{pin}\n" for pin in pins))
        parts: dict[str, set[str]] = {}
        for name, options in SETS.items():
            text = _run(uv, *_COMPILE, *options, "-c", str(bounds))
            parts[name] = {name_of(pin) for pin in entries(text)}
    _write(pins, parts)
    return 0


def _write(pins: Mapping[str, str], parts: Mapping[str, set[str]]) -> None:
    """Write each set's lock: a reference to the set before, and what is new."""
    FOLDER.mkdir(exist_ok=True)
    before, known = "", set[str]()
    for name, wanted in parts.items():
        new = wanted - known
        text = "".join(entry for pin, entry in pins.items() if name_of(pin) in new)
        (FOLDER / f"{name}.lock").write_text(before + text, encoding="utf-8")
        before, known = f"-r {name}.lock\n", known | wanted


def _install_uv(folder: Path) -> str:
    """Install uv for the occasion; return its path."""
    pip = (sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "--no-cache-dir")
    _run(*pip, "install", "--target", str(folder / "uv"), "uv")
    return str(folder / "uv" / "bin" / "uv")


def _run(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"dev: lock: {Path(command[0]).name} ended with {done.returncode}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
