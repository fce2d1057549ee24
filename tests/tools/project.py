"""A small project with the real menu, whose dependencies are made here: no registry is asked."""

import base64
import hashlib
import os
import subprocess
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PYPROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "netcosim"
version = "0.1.0"
"""

# An editable wheel is a path file and its metadata.
BACKEND = """
import pathlib, zipfile

def build_editable(folder, config_settings=None, metadata_directory=None):
    info = "netcosim-0.1.0.dist-info/"
    files = {
        "netcosim.pth": str(pathlib.Path.cwd()),
        info + "METADATA": "Metadata-Version: 2.1\\nName: netcosim\\nVersion: 0.1.0\\n",
        info + "WHEEL": "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\n"
        "Tag: py3-none-any\\n",
    }
    record = "".join(f"{name},,\\n" for name in files) + info + "RECORD,,\\n"
    name = "netcosim-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(folder, name), "w") as wheel:
        for path, text in (*files.items(), (info + "RECORD", record)):
            wheel.writestr(path, text)
    return name
"""

RUN = """
import json, os, sys
seen = {"pid": os.getpid(), "uid": os.getuid(), "cwd": os.getcwd(), "args": sys.argv[1:]}
print(json.dumps(seen))
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """A checkout with the real `dev`, and locks of one small dependency, ``pebble``.

    The emulation needs ``flint`` as well.
    """

    root: Path
    wheels: Path

    @property
    def venv(self) -> Path:
        return self.root / ".venv"

    def command(self, *args: str) -> list[str]:
        return [str(self.root / "dev"), *args]

    def environment(self, extra: Mapping[str, str]) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        offline = {
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.wheels),
            "PIP_CONFIG_FILE": os.devnull,
            "TMPDIR": str(self.wheels),
        }
        return kept | offline | dict(extra)

    def dev(
        self, *args: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*args),
            cwd=cwd or self.root,
            env=self.environment(env or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def lock(self, version: str) -> None:
        """Lock this version of the dependency, after making its wheel."""
        parts = {"plan": self._pin("pebble", version), "base": "", "emu": self._pin("flint", "1.0")}
        before = ""
        for name, text in {**parts, "all": "", "dev": ""}.items():
            self.lock_of(name).write_text(before + text)
            before = f"-r {name}.lock\n"

    def lock_of(self, name: str) -> Path:
        return self.root / "requirements" / f"{name}.lock"

    def _pin(self, name: str, version: str) -> str:
        wheel = self.wheels / f"{name}-{version}-py3-none-any.whl"
        if not wheel.exists():
            make_wheel(wheel, name, version)
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        return f"{name}=={version} --hash=sha256:{digest}\n"

    def pebble(self, venv: Path | None = None, also: str = "") -> str:
        """Version of the dependency as the environment sees it; `also` is imported with it."""
        python = (venv or self.venv) / "bin" / "python"
        shown = f"import emu, pebble{also and ', ' + also}; print(pebble.VERSION)"
        done = subprocess.run(
            [python, "-P", "-c", shown], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()


def make_wheel(path: Path, name: str, version: str, file: str = "", body: str = "") -> None:
    """A wheel of one module: a version, or in this file this body."""
    info = f"{name}-{version}.dist-info"
    files = {
        file or f"{name}.py": body or f"VERSION = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
    }
    lines = []
    for made, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        lines.append(f"{made},sha256={digest.decode()},{len(text)}\n")
    files[f"{info}/RECORD"] = "".join([*lines, f"{info}/RECORD,,\n"])
    with zipfile.ZipFile(path, "w") as wheel:
        for made, text in files.items():
            wheel.writestr(made, text)
