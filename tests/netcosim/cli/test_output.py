"""Standard streams that can't be written: what was finished is there, and no traceback is seen."""

import io
import os
import sys
from pathlib import Path

import pytest

from netcosim.errors import ScenarioError
from netcosim.failure import CrashSite, guarded
from netcosim.formatting import escaped, one_line
from tests.inside import ROOT
from tests.processes import ended

# Progress to standard error, a result in a file, then what was asked for.
COMMAND = """
import sys
from pathlib import Path
from rich.console import Console
from netcosim.cli import run_main
def main(site):
    console = Console(stderr=True)
    for step in range(3):
        console.print(f"step {step}")
        sys.stderr.write("more of it\\n")
    with console.status("drawing"):
        Path("result").write_text("finished")
    Console().print("figures \\u2500 \\udcff", markup=False)
    print("more figures")
    return 0
sys.exit(run_main(main, "emu.run"))
"""


def shell(line: str, cwd: Path, code: str = COMMAND) -> tuple[int, str, str]:
    """Exit code of the command within a line of shell, where it is `$@`; and what was seen."""
    done = ended(
        ["bash", "-c", f"set -o pipefail; {line}", "bash", sys.executable, "-c", code],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
    )
    return done.returncode, done.stdout, done.stderr


SEEN = "figures ─ \\udcff\nmore figures\n"
PROGRESS = "".join(f"step {n}\nmore of it\n" for n in range(3))


@pytest.mark.parametrize(
    ("line", "code", "out", "err"),
    [
        ('"$@" 2>/dev/full', 0, SEEN, ""),
        ('"$@" 2>&-', 0, SEEN, ""),
        ('"$@" 2> >(head -n 1 >/dev/null)', 0, SEEN, ""),
        ('{ "$@" 2>&1 >&3 | head -n 1; } 3>figures', 0, "step 0\n", ""),
        ('"$@" >/dev/full 2>errors; code=$?; tail -n 1 errors; exit $code', 6,
         "emu.run: standard output: can't be written: No space left on device\n", ""),
        ('"$@" >&-', 0, "", PROGRESS),
        ('"$@" <&- >&- 2>&-', 0, "", ""),
        ('"$@" 2>/dev/null | true', 141, "", ""),
    ],
)  # fmt: skip
def test_streams_that_can_not_be_written(tmp_path, line, code, out, err) -> None:
    assert shell(line, tmp_path) == (code, out, err)
    assert (tmp_path / "result").read_text() == "finished"


@pytest.mark.oracle
def test_help_that_can_not_be_written(tmp_path: Path) -> None:
    body = (
        "import sys; from netcosim.cli import Parser, run_main\n"
        "sys.exit(run_main(lambda _: Parser(prog='p').parse_args(['--help']), 'p'))"
    )
    said = "p: standard output: can't be written: No space left on device\n"
    assert shell('"$@" >/dev/full', tmp_path, body) == (6, "", said)
    assert shell('"$@" >&-', tmp_path, body) == (0, "", "")


def test_characters_that_an_encoding_lacks_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))

    def main(_: CrashSite) -> int:
        print("at ─ \udcff")
        return 0

    assert guarded(main, "p") == 0
    assert raw.getvalue() == b"at \\u2500 \\udcff\n"


def test_too_little_memory_is_no_bug(capsys: pytest.CaptureFixture[str]) -> None:
    def main(_: CrashSite) -> int:
        raise MemoryError

    assert guarded(main, "p") == 3
    assert capsys.readouterr().err == "p: this machine has not enough memory for it\n"


def test_a_line_is_short_whatever_a_person_names(capsys: pytest.CaptureFixture[str]) -> None:
    """A name of any length may be part of it; what is allowed is told at its end."""

    def main(_: CrashSite) -> int:
        raise ScenarioError(f"job.toml: {'ä' * 200_000}: must be short")

    assert guarded(main, "p") == 2
    said = capsys.readouterr().err
    assert len(said.encode()) <= 4096
    assert said.startswith("p: job.toml: äää")
    assert said.endswith(": must be short\n")


def test_a_traceback_that_can_be_written_nowhere(tmp_path, capsys) -> None:
    def main(site: CrashSite) -> int:
        site.spare = tmp_path / "none"
        raise KeyError("gone")

    assert guarded(main, "p") == 70
    said = "p: this is a bug: KeyError: 'gone' (its traceback can't be written: No such file"
    assert capsys.readouterr().err.startswith(said)


def test_text_can_not_steer_a_terminal() -> None:
    text = "a  \x1b[2J\x07\x9b\u202e\udc9b\nend"
    assert escaped(text) == r"a  \x1b[2J\x07\x9b\u202e\udc9b\nend"
    assert one_line(text) == r"a \x1b[2J\x07\x9b\u202e\udc9b end"
