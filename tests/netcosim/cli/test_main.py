"""The command `netcosim`: commands by name, extras that are missing, version, completion."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import netcosim
from netcosim.cli.main import about, commands, main
from netcosim.command_name import VARIABLE

METADATA = """\
Metadata-Version: 2.1
Name: netcosim-more
Version: 1
Provides-Extra: light
Provides-Extra: heavy
Requires-Dist: numpy; extra == "light"
Requires-Dist: no-such-package-anywhere>=2; extra == "heavy"
Requires-Dist: numpy>=2; extra == 'heavy'
"""

ENTRY_POINTS = """\
[netcosim.commands]
greet = netcosim_more:greet
greet-lightly = netcosim_more:greet [light]
greet-heavily = netcosim_more:greet [heavy]
"""

MODULE = '''
def greet(arguments):
    """Greet whoever is named; return the exit code."""
    print("hello", *arguments)
    return len(arguments)
'''


@pytest.fixture
def more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another distribution is installed, with commands of its own."""
    info = tmp_path / "netcosim_more-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA)
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    (tmp_path / "netcosim_more.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.fixture(autouse=True)
def _name_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `main` puts into the environment ends with the test."""
    monkeypatch.setenv(VARIABLE, "")


def test_the_projects_commands_are_there_and_say_what_they_do():
    known = commands()
    assert {"sim", "emu", "predict", "identify", "analyze", "profile", "report"} <= known.keys()
    assert [name for name, entry in known.items() if not about(entry)] == []
    assert all(callable(entry.load()) for entry in known.values())


@pytest.mark.usefixtures("more")
def test_a_command_gets_the_arguments_behind_its_name_and_its_code_is_returned(capsys):
    assert main(["greet", "you", "--plan"]) == 2
    assert main(["greet-lightly"]) == 0
    assert capsys.readouterr().out == "hello you --plan\nhello\n"
    assert about(commands()["greet"]) == "Greet whoever is named"


@pytest.mark.usefixtures("more")
def test_a_missing_extra_is_one_line_with_what_installs_it(capsys):
    assert main(["greet-heavily", "you"]) == 3
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert said.err == (
        "netcosim greet-heavily: needs the extra 'heavy' (no-such-package-anywhere missing):"
        f" {sys.executable} -m pip install '.[heavy]', in a checkout of netcosim-more\n"
    )


def test_mistakes_are_one_line_and_code_2(capsys):
    for arguments, said in (
        ([], "netcosim: COMMAND: is required (see --help)\n"),
        (["--plan"], "netcosim: unrecognized arguments: --plan (see --help)\n"),
        (["schema", "moon"], "netcosim schema: argument KIND: invalid choice: 'moon'"),
    ):
        assert main(arguments) == 2
        assert capsys.readouterr().err.startswith(said)
    assert main(["sin"]) == 2
    assert '"sin": unknown; did you mean sim? allowed: analyze, ' in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--version"], ["sim", "--version"], ["lint-profile"]])
def test_every_command_has_a_version(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        main([*arguments, "--version"])
    assert (end.value.code, capsys.readouterr().out) == (0, f"netcosim {netcosim.__version__}\n")


def test_the_citation_has_the_version_and_the_licence():
    text = (Path(__file__).parents[3] / "CITATION.cff").read_text()
    assert f"\nversion: {netcosim.__version__}\n" in text
    assert "\nlicense: Apache-2.0\n" in text


@pytest.mark.oracle
def test_a_shell_gets_commands_options_and_names():
    def completions(line: str) -> set[str]:
        done = subprocess.run(
            ["sh", "-c", 'exec "$0" -m netcosim.cli.main 8>&1 >/dev/null 9>&1', sys.executable],
            env={
                **os.environ,
                "_ARGCOMPLETE": "1",
                "_ARGCOMPLETE_IFS": "\n",
                "COMP_LINE": line,
                "COMP_POINT": str(len(line)),
                "COMP_TYPE": "9",
            },
            capture_output=True,
            text=True,
            check=True,
        )
        return {word.rstrip() for word in done.stdout.split("\n")}

    assert completions("netcosim s") == {"schema", "sim", "sweep"}
    assert completions("netcosim sim --work") == {"--workload", "--workers"}
    assert completions("netcosim sim --workload resnet") == {"resnet50", "resnet50_b4"}
