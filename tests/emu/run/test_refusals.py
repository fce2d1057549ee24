"""Refusals: one line, its exit code, and before anything is touched."""

import os
import re
from pathlib import Path

import pytest

from emu.cli import command
from emu.cli.machine_checks import check_for_guests, has_module
from emu.network.kernel import probe_kernel
from netcosim.errors import EnvironmentRefusedError
from tests.emu.network.cases import build_spec, cluster
from tests.emu.run.running import DIRECT, WORK, run_to_end, scenario
from tests.emu.run.world import ROOT, World

pytestmark = [pytest.mark.root, pytest.mark.emulation]
NOBODY = (
    *("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"),
    # Python may be installed below root's home.
    *("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"),
)
TINY = Path(scenario("tiny")).read_text()


@pytest.mark.parametrize(
    ("was", "becomes", "message"),
    [
        ('"64KiB"', '"-64KiB"', 'transport[0].window: "-64KiB": must be >= 0'),
        ('"100mbit"', '"100"', 'cluster.link.rate: "100": has no unit; must be a rate such as'),
        ('"100mbit"', "100", 'cluster.link.rate: 100: must be text with a unit, such as "100mbit"'),
        ("two_visit", "three", 'transport[h2].discipline: unknown discipline "three"; allowed: '),
        (
            'sender = "grpc"',
            'sender = "quic"',
            'transport[grpc].sender: "quic": unknown; allowed: ',
        ),
        ('"pair"', '"ring"', 'cluster.topology: "ring": unknown topology; allowed: pair, '),
        ("[cluster]", "[cluster", "not TOML: "),
    ],
)
def test_a_wrong_scenario(here, capsys, was, becomes, message) -> None:
    assert was in TINY
    (here / "wrong.toml").write_text(TINY.replace(was, becomes, 1))
    assert command.run(["--scenario", "wrong.toml", "--out", "out"]) == 2
    said = capsys.readouterr()
    assert (said.out, len(said.err.splitlines())) == ("", 1)
    assert said.err.startswith(f"emu.run: wrong.toml: {message}")
    assert [path.name for path in here.iterdir()] == ["wrong.toml"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--scenari", "x"),
            "unrecognized arguments: --scenari x; did you mean --scenario? (see --help)",
        ),
        (
            ("--scenario", "nobody"),
            '--scenario: "nobody": must be a file or one of: default, identify',
        ),
        (("--repetitions", "0"), "command line: repetitions: 0: must be >= 1"),
    ],
)
def test_a_wrong_option(here, capsys, arguments, message) -> None:
    assert command.run(arguments) == 2
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"emu.run: {message}\n")
    assert list(here.iterdir()) == []


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that the command is started in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_refused_scenario_touches_nothing(world: World) -> None:
    world.at(f"{WORK}/wrong.toml").write_text(TINY.replace("repetitions", "repetition", 1))
    done = run_to_end(world, "--scenario", "wrong.toml", "--out", "out")
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert done.err.startswith("emu.run: wrong.toml: repetition: 1: unknown key")
    assert world.changes() == {f"{WORK}/wrong.toml"}


def test_a_scenario_that_is_not_there_touches_nothing(world: World) -> None:
    done = run_to_end(world, "--scenario", "gone.toml")
    line = "emu.run: gone.toml: can't be read: No such file or directory\n"
    assert (done.code, done.out, done.err) == (2, "", line)
    assert world.changes() == set()


def test_without_root(world: World) -> None:
    done = run_to_end(world, "--scenario", scenario("tiny"), command=(*NOBODY, *DIRECT))
    line = "emu.run: the emulation needs root: start it with sudo\n"
    assert (done.code, done.out, done.err) == (3, "", line)
    assert world.changes() == set()


@pytest.mark.parametrize("option", ["--plan", "--list", "--help"])
def test_what_touches_nothing_needs_no_root(world: World, option: str) -> None:
    done = run_to_end(world, "--scenario", scenario("tiny"), option, command=(*NOBODY, *DIRECT))
    assert (done.code, done.err) == (0, "")
    assert {"--plan": "three/grpc", "--list": "mixed8", "--help": "exit codes"}[option] in done.out
    assert world.changes() == set()


def test_dev_without_root_or_sudo(world: World) -> None:
    path = path_without(world, "sudo")
    world.shell(f"{ROOT}/dev run --help >/dev/null")
    world.forget_changes()
    dev = ("env", f"PATH={path}", *NOBODY, str(ROOT / "dev"), "run")
    done = run_to_end(world, "--scenario", scenario("tiny"), command=dev)
    line = "dev: needs root, and there is no sudo; run it as root\n"
    assert (done.code, done.out, done.err) == (3, "", line)
    assert world.changes() == set()


@pytest.mark.parametrize(
    ("tool", "package"),
    [("tcpdump", "tcpdump"), ("tc", "iproute2"), ("mnexec", "mininet"), ("brctl", "bridge-utils")],
)
def test_a_missing_tool(world: World, tool: str, package: str) -> None:
    command = ("env", f"PATH={path_without(world, tool)}", *DIRECT)
    done = run_to_end(world, "--scenario", scenario("tiny"), command=command)
    line = f"emu.run: {tool} is missing: install the package {package}\n"
    assert (done.code, done.out, done.err) == (3, "", line)
    assert world.changes(below="/home/u/bin") == set()


def path_without(world: World, missing: str) -> str:
    """A folder with everything that can be called, but for one program."""
    folder = world.at("/home/u/bin")
    folder.mkdir()
    folders = [Path(name) for name in (*os.get_exec_path(), "/usr/sbin", "/sbin")]
    for place in folders:
        for program in place.iterdir() if place.is_dir() else ():
            link = folder / program.name
            if program.name != missing and not link.is_symlink():
                link.symlink_to(program)
    world.forget_changes()
    return "/home/u/bin"


def test_delay_where_the_kernel_has_no_netem(world: World) -> None:
    """Refused with the reason; a kernel that has netem runs it."""
    text = TINY.replace('rate = "100mbit"', 'rate = "100mbit"\ndelay = "5ms"')
    world.at(f"{WORK}/long.toml").write_text(text)
    done = run_to_end(world, "--scenario", "long.toml", "--out", "out")
    if probe_kernel().has("netem"):
        assert done.code in (0, 1), done.err
        return
    assert (done.code, done.out, len(done.err.splitlines())) == (3, "", 1)
    wish = "link link (delay 5ms, jitter 0ns, loss 0)"
    assert done.err.startswith(f"emu.run: {wish} needs netem, which this kernel lacks: tc qdisc ")
    assert world.changes() == {f"{WORK}/long.toml"}


@pytest.mark.parametrize("who", [NOBODY, ()], ids=["nobody", "root"])
@pytest.mark.parametrize(
    ("was", "becomes", "code", "message"),
    [
        ('"100mbit"', '"100gbit"', 2, 'wrong.toml: rate of link link: "100gbit": must be <= 10gb'),
        (
            "tensors = [",
            "tensors = [" + "".join(f'{{name = "t{i}", size = "1kB"}},' for i in range(5000)),
            2,
            "wrong.toml: workload[three]: 5003 streams on one connection: must be <= 4096 to be ",
        ),
        (
            'topology = "pair"',
            'topology = "pair"\ntcp = { congestion_control = "none_such" }',
            3,
            "cluster.tcp.congestion_control needs congestion control none_such, which this kernel",
        ),
    ],
    ids=["rate", "streams", "congestion control"],
)
def test_a_plan_refuses_what_can_not_run(world, who, was, becomes, code, message) -> None:
    assert was in TINY
    world.at(f"{WORK}/wrong.toml").write_text(TINY.replace(was, becomes, 1))
    done = run_to_end(world, "--scenario", "wrong.toml", "--plan", command=(*who, *DIRECT))
    assert (done.code, done.out, len(done.err.splitlines())) == (code, "", 1)
    assert done.err.startswith(f"emu.run: {message}")
    assert world.changes() == {f"{WORK}/wrong.toml"}


@pytest.mark.parametrize("who", [NOBODY, ()], ids=["nobody", "root"])
def test_a_plan_with_delay(world: World, who: tuple[str, ...]) -> None:
    """Nobody's answer is root's, who tries it out."""
    text = TINY.replace('rate = "100mbit"', 'rate = "100mbit"\ndelay = "5ms"')
    world.at(f"{WORK}/long.toml").write_text(text)
    done = run_to_end(world, "--scenario", "long.toml", "--plan", command=(*who, *DIRECT))
    assert done.code == (0 if probe_kernel().has("netem") else 3), done.err
    if done.code:
        assert "needs netem, which this kernel lacks" in done.last


def test_what_only_root_can_check_is_told(world: World) -> None:
    arguments = ("--scenario", scenario("tiny"), "--plan")
    text = "not checked tools, namespaces and the shaping of links: needs root"
    assert text in run_to_end(world, *arguments, command=(*NOBODY, *DIRECT)).out
    assert "not checked" not in run_to_end(world, *arguments).out


def test_a_module_that_could_be_loaded_counts(tmp_path: Path) -> None:
    (tmp_path / "modules.builtin").write_text("kernel/net/ipv4/tcp_cubic.ko\n")
    (tmp_path / "modules.dep").write_text("kernel/net/sched/sch_made_up.ko.xz: kernel/lib/a.ko\n")
    assert has_module("sch_made_up", "CONFIG_MADE_UP", tmp_path)
    assert has_module("tcp_cubic", "CONFIG_TCP_CONG_CUBIC", tmp_path)
    assert has_module("sch_other", "CONFIG_OTHER", tmp_path) is False


def test_a_container_that_forbids_namespaces(world: World) -> None:
    drop = ("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin")
    done = run_to_end(world, "--scenario", scenario("tiny"), command=(*drop, *DIRECT))
    assert (done.code, done.out) == (3, "")
    assert done.err == (
        "emu.run: private namespaces: Operation not permitted;"
        " the emulation can't be kept apart from the host\n"
    )
    assert world.changes() == set()


def test_a_container_that_forbids_a_higher_priority_is_good_enough(world: World) -> None:
    drop = ("setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice")
    arguments = ("--scenario", scenario("one"), "--out", "out")
    done = run_to_end(world, *arguments, command=(*drop, *DIRECT))
    assert done.code in (0, 1), done.err


def test_a_bug_before_there_is_a_results_folder_leaves_its_traceback(world: World) -> None:
    path = path_without(world, "tc")
    program = world.at(f"{path}/tc")
    program.write_text("no program")
    program.chmod(0o755)
    command = ("env", f"PATH={path}", "TMPDIR=/var/tmp", *DIRECT)
    done = run_to_end(world, "--scenario", scenario("tiny"), command=command)
    assert (done.code, done.out) == (70, "")
    told = re.fullmatch(
        r"emu\.run: this is a bug: OSError: \[Errno 8\] Exec format error: 'tc'"
        r" \(see (/var/tmp/emu\.run-\w+-traceback\.txt)\)\n",
        done.err,
    )
    assert told, done.err
    assert "Exec format error" in world.at(told[1]).read_text()
    assert world.changes(below=path) == {told[1]}


def test_open_vswitch_that_is_not_installed_is_refused_before_a_guest_boots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for kind in ("linuxbridge", "openvswitch"):
        net = build_spec(cluster(topology="star", switch=kind))
        if kind == "linuxbridge":
            check_for_guests(net)
        else:
            with pytest.raises(EnvironmentRefusedError, match="install the package openvswitch-sw"):
                check_for_guests(net)
