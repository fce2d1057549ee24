"""The menu itself: what it says, what it starts, and where."""

import json
import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.soak

CHECKOUT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["tset"], "dev: tset: no such command; ./dev help lists them"),
        (
            ["virtual-kernel", "old"],
            "dev: virtual-kernel: old: not a version of Linux, such as 6.12",
        ),
        (["bare", "trixie"], "dev: bare: no command"),
        (["bare", "../etc", "true"], "dev: bare: ../etc: not a Debian suite"),
    ],
)
def test_a_mistake_is_one_line_and_code_2(project, args, said):
    done = project.dev(*args)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said + "\n")
    assert not project.venv.exists()


def test_help_names_every_command(project):
    done = project.dev("help")
    assert (done.returncode, done.stderr) == (0, "")
    source = (project.root / "dev").read_text()
    names = ("run", "test", "test-shared", "check", "bench", "provision", "grpc-releases", "bare")
    for name in names:
        assert f"    {name}" in source
        assert f"\n  {name} " in done.stdout
    assert project.dev().stdout == done.stdout


@pytest.mark.root
def test_run_replaces_the_shell_and_stays_where_the_caller_is(ready, tmp_path):
    assert os.geteuid() == 0, "needs root"
    here = tmp_path / "here"
    (here / "emu").mkdir(parents=True)  # must not be taken for the project's
    (here / "emu" / "__init__.py").write_text("raise SystemExit('shadowed')")
    (here / "emu" / "run.py").write_text("")
    process = subprocess.Popen(
        ready.command("run", "--out", "a b", "*"),
        cwd=here,
        env=ready.environment({}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    out, errors = process.communicate(timeout=600)
    assert (process.returncode, errors) == (0, "")
    assert json.loads(out) == {
        "pid": process.pid,
        "uid": 0,
        "cwd": str(here),
        "args": ["--out", "a b", "*"],
    }
    assert not list(ready.root.rglob("emu/__pycache__"))


@pytest.mark.root
def test_what_root_makes_belongs_to_the_owner_of_the_checkout(project):
    assert os.geteuid() == 0, "needs root"
    owner = 12345
    os.chown(project.root, owner, owner)
    os.chown(project.root / "dev", owner, owner)
    (project.root / "tests").mkdir()
    (project.root / "pytest.py").write_text("open('left-by-root', 'w').close()")
    assert project.dev("test").returncode == 0
    made = [project.venv, project.venv / "bin" / "python", project.root / "left-by-root"]
    assert [path.lstat().st_uid for path in made] == [owner] * 3


@pytest.mark.root
def test_every_command_is_told_where_other_releases_are(project, tmp_path):
    assert os.geteuid() == 0, "needs root"
    tell = "import os, sys; print(sys.argv[1:], os.environ['NETCOSIM_GRPC_RELEASES'])"
    for file in ("emu/run.py", "pytest.py", "tools/grpc_releases.py"):
        (project.root / file).write_text(tell)
    elsewhere = {"NETCOSIM_GRPC_RELEASES": "some where"}
    for command in ("run", "test", "grpc-releases"):
        done = project.dev(command, "1.2.3", cwd=tmp_path, env=elsewhere)
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith(f"'1.2.3'] {tmp_path}/some where\n")


TIERS = "(emulation or oracle or guest or soak or pages)"


@pytest.mark.root
@pytest.mark.parametrize("which", ["not alone", "alone"])
def test_a_failing_part_of_the_suite_fails_the_command(ready, which):
    assert os.geteuid() == 0, "needs root"
    failing = f"not shared and not {TIERS} and {which}"
    tell = f"import sys; print(sys.argv[2]); raise SystemExit(7 * (sys.argv[2] == {failing!r}))"
    (ready.root / "pytest.py").write_text(tell)
    done = ready.dev("test")
    assert done.returncode == 7
    assert done.stdout.splitlines() == [
        f"not shared and not {TIERS} and {part}" for part in ("not alone", "alone")
    ]


@pytest.mark.root
@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        (["--all"], "not shared"),
        (["--tiers", "guest,pages"], "not shared and (guest or pages)"),
        (["--tiers", "oracle", "--no-root"], "not shared and (oracle) and not root"),
    ],
    ids=" ".join,
)
def test_tiers_are_chosen_by_name(ready, asked, chosen):
    """Sections of pages are spread otherwise than the rest."""
    assert os.geteuid() == 0, "needs root"
    (ready.root / "pytest.py").write_text("import sys; print(sys.argv[2])")
    done = ready.dev("test", *asked)
    parts = ("not (alone or pages)", "pages", "alone")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [f"{chosen} and {part}" for part in parts]


@pytest.mark.root
def test_the_default_tier_without_root(ready):
    assert os.geteuid() == 0, "needs root"
    (ready.root / "pytest.py").write_text("import sys; print(sys.argv[2])")
    done = ready.dev("test", "--no-root")
    first = f"not shared and not {TIERS} and not root and not alone"
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, first)


def test_a_tier_that_does_not_exist_is_named_with_those_that_do(ready):
    done = ready.dev("test", "--tiers", "guest,moon")
    told = "dev: test --tiers: guest,moon: must be of: emulation oracle guest soak pages\n"
    assert (done.returncode, done.stderr) == (2, told)


@pytest.mark.root
def test_without_root_the_rest_is_run_and_it_is_told(ready):
    """Who has neither root nor sudo; the exit code is 0 only where that was asked for."""
    assert os.geteuid() == 0, "needs root"
    (ready.root / "pytest.py").write_text("import sys; print(sys.argv[2])")
    # In a user namespace of its own nobody is root, and the files are still the caller's.
    command = ["unshare", "--user", *ready.command("test")]
    done = subprocess.run(
        command, env=ready.environment({}), capture_output=True, text=True, check=False
    )
    left = "dev: the tests that need root were not run, as there is none; --no-root leaves them out"
    assert (done.returncode, done.stderr.splitlines()[-1]) == (3, left)
    assert done.stdout.splitlines()[0] == f"not shared and not {TIERS} and not root and not alone"


def test_a_bench_that_does_not_exist_is_named_with_those_that_do(ready):
    (ready.root / "bench").mkdir()
    (ready.root / "bench" / "emu.py").touch()
    (ready.root / "bench" / "__init__.py").touch()
    done = ready.dev("bench", "moon")
    assert (done.returncode, done.stderr) == (2, "dev: bench: moon: must be one of: emu\n")
    assert "must be one of: emu" in ready.dev("bench", "../dev").stderr


def test_what_the_menu_takes_for_a_bench_is_one():
    """A module that several benches share is no bench: as one it would run and do nothing."""
    folder = CHECKOUT / "bench"
    packages = list(folder.glob("[a-z]*/__main__.py"))
    modules = [*folder.glob("[a-z]*.py"), *packages]
    names = {p.parent.name if p in packages else p.stem for p in modules}
    assert names > {"emu", "sim", "fidelity", "identify"}
    assert [p for p in modules if '__name__ == "__main__"' not in p.read_text()] == []
