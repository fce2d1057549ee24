"""The shared command line: options, one line for every failure, the table at the end."""

import io
import os
import re
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from netcosim.cli import (
    CrashSite,
    Options,
    adjust,
    choose_scenario,
    interruption,
    make_parser,
    print_summary,
    read_options,
    run_main,
)
from netcosim.errors import ScenarioError
from netcosim.results.streams.summary import NotRun, Summary
from netcosim.scenario import builtin_scenarios, dump_scenario
from tests.netcosim.results.synthetic import Case, scenario, summary
from tests.processes import ended

NOTHING = Options(
    scenario=None, out=None, list_names=False, plan=False, seed=None, repetitions=None
)
SMALL = Case(sizes=(400_000, 3_000_000, 300_000, 2_500_000), bursts=2)


def options(*arguments: str) -> Options:
    return read_options(make_parser("emu.run", "run it"), arguments)


def test_no_option_leaves_all_to_the_scenario() -> None:
    assert options() == NOTHING


def test_every_option_is_understood() -> None:
    found = options(
        *("--scenario", "default", "--out", "a/b", "--list", "--plan", "--seed", "7"),
        *("--repetitions", "2"),
    )
    assert found == Options(
        scenario="default", out=Path("a/b"), list_names=True, plan=True, seed=7, repetitions=2
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--sede", "1"), "unrecognized arguments: --sede 1; did you mean --seed?"),
        (("--sce", "x"), "unrecognized arguments"),
        (("--seed", "one"), "argument --seed: invalid int value: 'one'"),
        (("--out",), "argument --out: expected one argument"),
        (("file.toml",), "unrecognized arguments: file.toml"),
    ],
)
def test_a_wrong_option_is_one_line(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(ScenarioError, match=message) as caught:
        options(*arguments)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_help_lists_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        options("--help")
    assert caught.value.code == 0
    assert "130 interrupted" in capsys.readouterr().out


def test_a_scenario_is_found_by_name_or_file(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(dump_scenario(scenario("mine")))
    (tmp_path / "notes.txt").write_text("no scenario")
    builtin = builtin_scenarios(tmp_path)
    assert list(builtin) == ["mine"]
    by_file = replace(NOTHING, scenario=str(tmp_path / "mine.toml"))
    assert choose_scenario(NOTHING, builtin, "mine") == scenario("mine")
    assert choose_scenario(by_file, {}, "mine") == scenario("mine")
    with pytest.raises(ScenarioError, match='--scenario: "other": must be a file or one of: mine'):
        choose_scenario(replace(NOTHING, scenario="other"), builtin, "mine")
    with pytest.raises(ScenarioError, match='--scenario: "": must be a file or one of: mine'):
        choose_scenario(replace(NOTHING, scenario=""), builtin, "mine")
    with pytest.raises(ScenarioError, match=r"none\.toml: can't be read: No such file"):
        choose_scenario(replace(NOTHING, scenario=str(tmp_path / "none.toml")), builtin, "mine")


def test_seed_and_repetitions_override_and_are_checked() -> None:
    changed = adjust(scenario(), replace(NOTHING, seed=99, repetitions=5))
    assert (changed.seed, changed.repetitions) == (99, 5)
    assert adjust(scenario(), NOTHING) == scenario()
    with pytest.raises(ScenarioError, match="command line: repetitions: 0: must be >= 1"):
        adjust(scenario(), replace(NOTHING, repetitions=0))
    with pytest.raises(ScenarioError, match="command line: seed: -1"):
        adjust(scenario(), replace(NOTHING, seed=-1))


def table(made: Summary, width: int = 80) -> str:
    out = io.StringIO()
    print_summary(made, Console(file=out, width=width))
    return out.getvalue()


def test_the_table_fits_eighty_columns_and_marks_the_best() -> None:
    other = replace(SMALL, workload="a-rather-long-workload", transport="grpc-off", truth="fifo")
    text = table(summary((SMALL, other)))
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("*0 ") == 2  # both ends are in order
    flat = " ".join(text.split())
    assert "level PREDICT" in flat
    assert "mixed8/h2-on: h2 with flow control on (window 1MiB) follows two_visit" in flat
    assert "follows two_visit (2 of 2 bursts, grade A):" in flat
    assert "…" not in text


def test_the_table_of_an_untrusted_run_begins_with_the_warning() -> None:
    text = table(summary((SMALL,), trusted=False, complete=False, reasons=("a [red]bad[/] link",)))
    assert text.splitlines()[:3] == [
        "DO NOT TRUST THESE FIGURES",
        "This run is incomplete",
        "- a [red]bad[/] link",
    ]


def test_the_table_names_the_cells_that_were_not_run_and_why() -> None:
    left = NotRun(cell="w/old", workload="w", transport="old", reason="no [b]Python[/b] 3.7")
    text = table(summary((SMALL,), not_run=(left,)))
    rows = [line.split() for line in text.splitlines()]
    [row] = [row for row in rows if row[:1] == ["w"]]
    assert set(row[1:-2]) == {"-"} and row[-2:] == ["not", "run"]
    assert rows[rows.index(row) + 1] == ["old"]
    assert "w/old: not run: no [b]Python[/b] 3.7" in text
    assert "DO NOT TRUST" not in text and "incomplete" not in text
    alone = table(summary((), not_run=(left,)))
    assert "nothing to compare" in alone and "w/old: not run: " in alone


def test_a_run_without_bursts_says_so() -> None:
    assert "nothing to compare" in table(summary(()))
    text = table(summary((replace(SMALL, invalid=(0, 1)),)))
    assert "no burst was valid" in " ".join(text.split())


def test_the_table_shows_times_where_the_link_lost_little() -> None:
    """The time error of the nearest model, and the grade; at C nothing is said of times."""
    lossless = table(summary((SMALL,)))
    assert re.search(r" 0\.\d\d +2 of 2 *\n.* 0\.\d\d +A *$", lossless, re.MULTILINE)
    paused = table(summary((replace(SMALL, pause=(90_000_000, 100_000_000)),)))
    assert re.search(r" - +2 of 2 *\n.* C *$", paused, re.MULTILINE)
    assert "time error" not in paused


def test_bursts_with_a_delayed_input_are_undecided() -> None:
    text = table(summary((replace(SMALL, shown=(0, 1)),)))
    assert re.search(r" none *\n.* judged *$", text, re.MULTILINE) and "undecided" in text


def test_a_name_can_not_steer_the_terminal() -> None:
    made = summary((SMALL,))
    cell = made.cells[0].model_copy(update={"verdict": "\x1b[2Jgone\r\nand more"})
    text = table(made.model_copy(update={"cells": (cell,)}))
    assert "\x1b" not in text and r"\x1b[2Jgone and more" in text


def command(body: str, *, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    code = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from netcosim.cli import run_main
        from netcosim.errors import *
        from netcosim.results.folder import ResultsFolder
        from tests.netcosim.results.synthetic import scenario
        def main(site):
            {body}
            return 0
        sys.exit(run_main(main, "emu.run"))
        """
    ).format(body=textwrap.dedent(body).strip().replace("\n", "\n    "))
    path = str(Path(__file__).parents[3])
    return ended(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path, "TMPDIR": str(cwd), **variables},
        cwd=cwd,
    )


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("UntrustedResultError", 1),
        ("ScenarioError", 2),
        ("EnvironmentRefusedError", 3),
        ("NetworkError", 4),
        ("EndpointError", 5),
        ("StorageError", 6),
        ("CaptureError", 7),
        ("InterruptedRunError", 130),
    ],
)
def test_expected_failures_are_one_line_and_their_code(tmp_path, error, code) -> None:
    done = command(f"raise {error}('what: where\\n\\x1b[31mand more')", cwd=tmp_path)
    assert done.returncode == code
    assert done.stderr == "emu.run: what: where \\x1b[31mand more\n"
    assert list(tmp_path.iterdir()) == []


def test_a_good_end_is_quiet(tmp_path: Path) -> None:
    done = command("print('done')", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_an_interruption_is_one_line(tmp_path: Path, name: str) -> None:
    done = command(f"import os, signal; os.kill(os.getpid(), signal.{name})", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (130, "emu.run: interrupted\n")


def test_signals_are_as_they_were_afterwards() -> None:
    def main(_: CrashSite) -> int:
        with pytest.raises(KeyboardInterrupt, match="SIGTERM") as caught:
            signal.raise_signal(signal.SIGTERM)
        assert interruption(caught.value) == "SIGTERM"
        signal.raise_signal(signal.SIGTERM)  # counts as the same
        return 0

    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    assert run_main(main, "emu.run") == 0
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before
    assert interruption(KeyboardInterrupt()) == "Ctrl-C"


def test_a_bug_keeps_its_traceback_in_the_results_folder(tmp_path: Path) -> None:
    body = """
    with ResultsFolder.create(Path("run"), scenario()) as folder:
        site.keep(folder)
    {}["gone"]
    """
    done = command(body, cwd=tmp_path)
    assert done.returncode == 70
    assert done.stderr == "emu.run: this is a bug: KeyError: 'gone' (see run/traceback.txt)\n"
    assert "KeyError" in (tmp_path / "run" / "traceback.txt").read_text()


def test_a_bug_without_a_folder_keeps_its_traceback_elsewhere(tmp_path: Path) -> None:
    done = command("1 / 0", cwd=tmp_path)
    assert done.returncode == 70
    (kept,) = tmp_path.iterdir()
    line = f"emu.run: this is a bug: ZeroDivisionError: division by zero (see {kept})\n"
    assert done.stderr == line
    assert "Traceback" in kept.read_text()


@pytest.mark.parametrize("say", ["print", "Console().print"])
def test_nobody_reading_is_quiet(tmp_path: Path, say: str) -> None:
    code = (
        "import sys; from netcosim.cli import run_main; from rich.console import Console\n"
        "def main(site):\n"
        f"    for _ in range(10_000): {say}('a line that nobody reads')\n"
        "    return 0\n"
        "sys.exit(run_main(main, 'emu.run'))\n"
    )
    script = '"$1" -c "$2" | head -n 1; echo "${PIPESTATUS[0]}"'
    done = ended(["bash", "-c", script, "bash", sys.executable, code], cwd=tmp_path)
    assert done.stdout == "a line that nobody reads\n141\n"
    assert done.stderr == ""
