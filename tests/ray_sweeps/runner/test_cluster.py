"""A cluster of three machines, started as docs/how-to/ray-cluster.md says, and a sweep on it."""

import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars
import pytest

from netcosim.errors import EnvironmentRefusedError
from netcosim.workload.catalogue import load_profile
from netcosim.workload.profile_file import dump_profile
from ray_sweeps.cli import command
from ray_sweeps.runner.cluster import _check_node
from tests.inside import ROOT
from tests.ray_sweeps.runner.machines import Machine, entered, joined_machines
from tests.ray_sweeps.runner.ray_child import CRASHES, ray_child

SCRIPT = ROOT / "tools/ray_cluster.sh"
PAGE = ROOT / "docs/how-to/ray-cluster.md"

FILES = """
name = "files"
description = "A profile and a speed trace that only the driver's machine has."
replications = 2

[scenario]
name = "base"
[scenario.cluster]
topology = "star"
link = { rate = "10gbit" }
[scenario.training]
steps = 10
warmup = 1
[[scenario.workload]]
name = "own"
profile = "files/own.json"
[[scenario.straggler]]
kind = "trace"
workers = [0]
options = { file = "files/speed.csv" }
[[scenario.transport]]
name = "h2"
sender = "h2"
receiver = "h2"
discipline = "round_robin"
flow_control = false

[factors]
rate = ["1gbit", "10gbit"]
workers = [1, 2, 3]
"""

LONG = FILES.replace("replications = 2", "replications = 1000")


@dataclass
class Cluster:
    """Three machines, the first of which is the head's, and a folder that they share."""

    machines: list[Machine]
    folder: Path
    token: Path

    def started(self, machine: Machine, *arguments: object, **given: object) -> "Node":
        place = ["--listen", machine.address, "--token", given.pop("token", self.token)]
        options = ["--processors", "1", "--store", "100"]
        environment = {"TMPDIR": "/dev/shm", **given}  # the machine's own, and gone with it
        process = machine.start(SCRIPT, *arguments, *place, *options, **environment)
        return Node(machine, process)

    def sweep(
        self, name: str, out: str, *options: object, **given: object
    ) -> subprocess.Popen[str]:
        """Start a sweep on the head's machine, in a folder in which Python finds nothing."""
        head = self.machines[0]
        token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": given.pop("token", self.token)}
        program = [sys.executable, "-P", "-m", "ray_sweeps.run", name, "--out", out, "--no-report"]
        joined = ["--address", f"{head.address}:6379", *options]
        return head.start(*program, *joined, folder=self.folder, **token, **given)

    def has_rows(self, out: str, driver: subprocess.Popen[str]) -> None:
        """Wait until a sweep has some."""
        while not list(self.folder.glob(f"{out}/runs/*.parquet")):
            assert driver.poll() is None
            time.sleep(0.1)

    def rows(self, out: str) -> polars.DataFrame:
        return (
            polars.scan_parquet(self.folder / out / "runs/*.parquet").sort("key", "run").collect()
        )


@dataclass
class Node:
    """The script on a machine."""

    machine: Machine
    process: subprocess.Popen[str]

    def ready(self) -> None:
        assert self.process.stdout is not None and self.process.stderr is not None
        if f"runs at {self.machine.address};" not in self.process.stdout.readline():
            raise AssertionError(self.process.stderr.read())

    def stop(self) -> None:
        self.machine.stop(self.process)
        said = self.process.communicate(timeout=600)
        assert (self.process.returncode, *said) == (0, "", "")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    token = folder / "token"
    subprocess.run([SCRIPT, "token", token], check=True)
    files = folder / "files"
    files.mkdir()
    (files / "own.json").write_text(dump_profile(load_profile("alexnet")))
    shutil.copy(ROOT / "examples/speed.csv", files)
    for name, text in (("files", FILES), ("long", LONG)):
        (folder / f"{name}.toml").write_text(text)
    with joined_machines(3) as machines:
        head, *others = machines
        for each in others:
            each.run("mount", "-t", "tmpfs", "tmpfs", files)
            assert each.run("ls", files) == ""
        found = Cluster(machines, folder, token)
        found.started(head, "head").ready()
        yield found


@pytest.fixture(scope="module")
def nodes(cluster: Cluster) -> list[Node]:
    head, *others = cluster.machines
    found = [cluster.started(each, "node", "--head", head.address) for each in others]
    for node in found:
        node.ready()
    return found


@pytest.fixture(scope="module")
def serial(cluster: Cluster) -> polars.DataFrame:
    """Rows of the sweep, made in this process."""
    sweep, out = cluster.folder / "files.toml", cluster.folder / "serial"
    assert command.run([str(sweep), "--serial", "--out", str(out), "--no-report"]) == 0
    return cluster.rows("serial")


def last_line(driver: subprocess.Popen[str], *, lost: bool = False) -> str:
    """What a sweep says at last that finds its cluster unfit, or has lost it."""
    _, errors = driver.communicate(timeout=600)
    assert driver.returncode == 3, errors
    assert not lost or ("Traceback" not in errors and "***" not in errors)
    return errors.splitlines()[-1]


def goes_well(driver: subprocess.Popen[str]) -> str:
    """All that a sweep says that ends well."""
    _, errors = driver.communicate(timeout=600)
    assert driver.returncode == 0, errors
    return errors


def told_ports() -> list[tuple[range, str, str]]:
    """Ports, machines and addresses of the page's table."""
    rows = re.findall(
        r"^\| (\d+)(?: to (\d+))? \| [^|]+ \| ([^|]+) \| ([^|]+) \|", PAGE.read_text(), re.M
    )
    assert len(rows) >= 5
    return [(range(int(a), int(b or a) + 1), on, at) for a, b, on, at in rows]


def is_told(machine: Machine, address: str, port: int, *, head: bool) -> bool:
    for ports, on, at in told_ports():
        if port in ports and (head or on == "each"):
            allowed = {"*": "all" in at, machine.address: "--listen" in at}
            return allowed.get(address, False) or (address == "127.0.0.1" and "loopback" in at)
    return False


@pytest.mark.root
@pytest.mark.soak
def test_the_same_rows_as_serial_and_nothing_listens_elsewhere(cluster, nodes, serial):
    """Two of the machines have neither the profile nor the speed trace."""
    driver = cluster.sweep("files.toml", "out")
    listening = [set[tuple[str, int]]() for _ in cluster.machines]
    while driver.poll() is None:
        for machine, seen in zip(cluster.machines, listening, strict=True):
            seen.update(machine.listening())
        time.sleep(0.2)
    assert "cluster of 3 machine(s), 3 processors" in goes_well(driver)
    rows = cluster.rows("out")
    assert rows.height == 12 and rows["error"].null_count() == 12
    assert rows.equals(serial)
    for machine, seen in zip(cluster.machines, listening, strict=True):
        assert ("*", 6380) in seen
        head = machine is cluster.machines[0]
        assert not {each for each in seen if not is_told(machine, *each, head=head)}


@pytest.mark.root
@pytest.mark.soak
def test_a_machine_with_another_engine(cluster, nodes, serial):
    """It joins late, is there from the start, and gets the sources; others hold no secret."""
    (cluster.folder / "wrong").write_text("0" * 64)
    (cluster.folder / "wrong").chmod(0o600)
    stranger = cluster.sweep("files.toml", "stranger", token=cluster.folder / "wrong")
    last = nodes.pop()
    last.stop()
    assert last.machine.processes() == []
    assert last.machine.run("ls", "/dev/shm") == ""

    driver = cluster.sweep("long.toml", "long")
    cluster.has_rows("long", driver)
    other = cluster.folder / "other"
    for package in ("netcosim", "h2model", "topo", "sim", "ray_sweeps"):
        shutil.copytree(ROOT / package, other / package)
    with (other / "sim/__init__.py").open("a") as source:
        source.write("# another\n")
    head, *_, third = cluster.machines
    cluster.started(third, "node", "--head", head.address, PYTHONPATH=other).ready()
    line = last_line(driver)
    assert line.startswith(f"ray_sweeps.run: node {third.address}: has another release of netcosim")
    assert line.endswith("what was finished is kept: --resume long")
    assert cluster.rows("long").height > 0

    line = last_line(cluster.sweep("files.toml", "refused"))
    assert line.startswith(f"ray_sweeps.run: node {third.address}: has netcosim ")
    assert "install the same there, or say --ship-code" in line

    said = goes_well(cluster.sweep("files.toml", "shipped", "--ship-code"))
    assert "cluster of 3 machine(s)" in said
    assert cluster.rows("shipped").equals(serial)

    line = last_line(stranger)
    assert "Failed to connect to Ray cluster" in line and "RAY_AUTH_TOKEN_PATH=FILE" in line


@pytest.mark.root
@pytest.mark.soak
def test_a_ray_that_crashes_is_told_of(cluster, nodes):
    """The driver's part of it; the cluster goes on."""
    driver = cluster.sweep("long.toml", "crashed", "--ship-code")
    cluster.has_rows("crashed", driver)
    os.kill(ray_child(entered(driver)), signal.SIGSEGV)
    kept = "what was finished is kept: --resume crashed"
    assert last_line(driver, lost=True) in {
        f"ray_sweeps.run: Ray ended by itself (signal {end:d}); {kept}"
        for end in CRASHES[signal.SIGSEGV]
    }
    assert cluster.rows("crashed").height > 0
    assert "ray_sweeps" not in cluster.machines[0].run("ps", "-eo", "args")
    goes_well(cluster.sweep("files.toml", "again", "--ship-code"))


@pytest.mark.root
@pytest.mark.soak
def test_a_head_that_is_lost_is_told_of(cluster, nodes):
    """Also by a driver whose Ray crashes before that. The last test: there is no head after it."""
    driver = cluster.sweep("long.toml", "headless", "--ship-code")
    cluster.has_rows("headless", driver)
    crashing = cluster.sweep("long.toml", "crashing", "--ship-code")  # has to wait for processors
    while "cluster of 3 machine(s)" not in crashing.stderr.readline():
        assert crashing.poll() is None
    child = ray_child(entered(crashing))
    head = cluster.machines[0]
    head.run("pkill", "-KILL", "gcs_server")
    os.kill(child, signal.SIGSEGV)
    gone = f"ray_sweeps.run: the Ray head at {head.address}:6379 is gone: "
    for each in (crashing, driver):
        line = last_line(each, lost=True)
        assert line.startswith(gone)
    assert line.endswith("what was finished is kept: --resume headless")
    assert cluster.rows("headless").height > 0
    assert not (cluster.folder / "crashing").exists()
    assert "ray_sweeps" not in head.run("ps", "-eo", "args")


def test_a_machine_with_another_python_is_refused():
    with pytest.raises(EnvironmentRefusedError) as refused:
        _check_node("10.0.0.7", {"python": "3.9.1", "version": "0.1.0", "engine": ""})
    assert str(refused.value).startswith("node 10.0.0.7: has Python 3.9.1, this machine")
    assert str(refused.value).endswith(f"{platform.python_version()}: take the same")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["start"], 2, "start: no such command"),
        (["head"], 2, '--listen "": must be an address'),
        (["head", "--listen", "localhost"], 2, '--listen "localhost": must be an address'),
        (["head", "--listen", "0.0.0.0"], 2, "--listen 0.0.0.0: must be one address, not all"),
        (["head", "--listen"], 2, "--listen: needs a value"),
        (["node", "--listen", "10.0.0.2"], 2, '--head "": must be the head\'s address'),
        (["head", "--listen", "10.0.0.1", "--head", "10.0.0.1"], 2, "--head: is for a node"),
        (["head", "--listen", "10.0.0.1"], 2, "--token: is required"),
        (["head", "--listen", "10.0.0.1", "--token", "none"], 2, "--token none: can't be read"),
        (["head", "--listen", "10.0.0.1", "--token", "open"], 2, "--token open: others may read"),
        (["head", "--listen", "10.0.0.1", "--store", "x"], 2, "--store x: must be 1 to 999999"),
        (["head", "--colour", "red"], 2, "--colour: no such option"),
        (["token", "open"], 2, "open: is there already"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path, arguments, code, said):
    (tmp_path / "open").write_text("secret")
    (tmp_path / "open").chmod(0o644)
    done = subprocess.run(
        [SCRIPT, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (code, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"ray_cluster: {said}")
