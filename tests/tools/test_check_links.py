"""The checker of the documentation's links, on texts with known faults."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKER = Path(__file__).resolve().parents[2] / "tools" / "check_links.py"


def check(root: Path) -> tuple[int, list[str]]:
    (root / "tools").mkdir()
    shutil.copy(CHECKER, root / "tools")
    done = subprocess.run(
        [sys.executable, root / "tools" / CHECKER.name], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr.splitlines()


@pytest.mark.parametrize(
    ("link", "fault"),
    [
        ("docs/there.md", None),
        ("docs/there.md#the-second-one", None),
        ("docs/there.md#two-words-1", None),
        ("#top", None),
        ("docs/", None),
        ("https://example.org/none", None),
        ("docs/missing.md", "no such file"),
        ("docs/there.md#third", "no such heading"),
        ("#bottom", "no such heading"),
        ("../elsewhere.md", "leads out of the project"),
    ],
)
def test_each_link_is_followed(tmp_path: Path, link: str, fault: str | None) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "there.md").write_text("# The `second` one\n## Two words\n## Two words\n")
    (tmp_path / "README.md").write_text(f"# Top\n\nSee [it]({link}).\n")
    wrong = [] if fault is None else [f"README.md: {link}: {fault}"]
    assert check(tmp_path) == (1 if wrong else 0, wrong)


def test_source_files_that_are_named_are_there(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.py").touch()
    text = "`a/b.py`, `a/c.py`, `a/NAME.py`, `c.py`, `/a/d.py`, `a/b.py --help`\n"
    (tmp_path / "README.md").write_text(f"{text}\n```text\n`a/e.py`\n```\n")
    (tmp_path / "CHANGELOG.md").write_text("`a/f.py`\n")
    assert check(tmp_path) == (1, ["README.md: a/c.py: no such file"])


def test_links_in_code_are_not_links(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("`[a](b)`\n\n```text\n[c](d)\n```\n\n[e]: f.md\n")
    assert check(tmp_path) == (1, ["README.md: f.md: no such file"])
