"""Texts that tests expect, in files beside them; SNAPSHOTS=write rewrites the files."""

import difflib
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from netcosim.errors import ScenarioError


def assert_kept(path: Path, text: str) -> None:
    """Hold a text against the file that keeps it."""
    if os.environ.get("SNAPSHOTS") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    kept = path.read_text("utf-8")
    lines = difflib.unified_diff(kept.splitlines(), text.splitlines(), "kept", "found", lineterm="")
    assert text == kept, f"{path} (SNAPSHOTS=write rewrites it)\n" + "\n".join(lines)


def sections(texts: Mapping[str, str]) -> str:
    """One text of many, each under its name; without blanks at the ends of lines."""
    lines = "\n".join(f"## {name}\n{text.rstrip()}\n" for name, text in texts.items())
    return "".join(f"{line.rstrip()}\n" for line in lines.splitlines())


def refusals(calls: Mapping[str, Callable[[], object]]) -> str:
    """What each of these calls is refused with: a line of printable text each, exit code 2."""
    said = ""
    for name, call in calls.items():
        with pytest.raises(ScenarioError) as refused:
            call()
        assert str(refused.value).isprintable(), name
        assert refused.value.exit_code == 2
        said += f"{name}: {refused.value}\n"
    return said
