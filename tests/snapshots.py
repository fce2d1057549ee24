"""Texts that tests expect, in files beside them; SNAPSHOTS=write rewrites the files."""

import difflib
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from netcosim.errors import NetcosimError, ScenarioError


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


def refusal(
    call: Callable[..., object],
    *arguments: object,
    error: type[NetcosimError] = ScenarioError,
    **settings: object,
) -> str:
    """Line of a refusal of a call with these arguments, all printable."""
    with pytest.raises(error) as refused:
        call(*arguments, **settings)
    assert str(refused.value).isprintable()
    assert refused.value.exit_code == error.exit_code
    return str(refused.value)


def refusals(calls: Mapping[str, Callable[[], object]]) -> str:
    """Lines of the refusals of these calls, one each."""
    return "".join(f"{name}: {refusal(call)}\n" for name, call in calls.items())
