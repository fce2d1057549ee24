"""Whole runs over releases of gRPC and somebody's own endpoint; what is missing is not run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from netcosim.results.streams.grants import WINDOW_UPDATE
from netcosim.trace import bursts, service_order
from tests.emu.run.running import WORK, Done, results, run_to_end, scenario
from tests.emu.run.world import ROOT, World
from tests.releases import provided

pytestmark = [pytest.mark.root, pytest.mark.guest]
NEEDS = {
    "mix/newest": None,
    "mix/to-h2": "1.59.5",
    "mix/on": "1.39.0",
    "mix/off": "1.17.0",
    "mix/own": None,
}
ENDS = {
    "mix/newest": {"sender", "receiver"},
    "mix/to-h2": {"sender"},
    "mix/on": {"sender", "receiver"},
    "mix/off": {"sender", "receiver"},
}


def lacking() -> dict[str, str]:
    """The cells that this machine can't run, and why."""
    reasons = {cell: provided().get(release or "") for cell, release in NEEDS.items()}
    return {cell: reason for cell, reason in reasons.items() if reason is not None}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Done, World]]:
    expected = lacking()
    with World(tmp_path_factory.mktemp("world")) as world:
        done = run_to_end(world, "--scenario", scenario("releases"), "--out", "out")
        assert done.code == 0, done.err
        assert expected.keys() < NEEDS.keys()
        yield done, world


def test_every_cell_is_there_as_measured_or_as_not_run(run: tuple[Done, World]) -> None:
    done, world = run
    with results(world) as folder:
        summary = folder.read_summary()
    assert summary is not None
    assert summary.complete
    assert summary.trusted
    assert {one.cell: one.reason for one in summary.not_run} == lacking()
    assert {cell.cell for cell in summary.cells} == NEEDS.keys() - lacking().keys()
    page = world.at(f"{WORK}/out/report.html").read_text()
    for one in summary.not_run:
        assert one.cell in page and "not run: " in page
        assert f"{one.cell}: not run: grpcio {NEEDS[one.cell]} is not set up" in unfolded(done.out)


def unfolded(text: str) -> str:
    return " ".join(text.split())


def test_the_ends_are_the_releases_that_were_asked_for(run: tuple[Done, World]) -> None:
    _, world = run
    with results(world) as folder:
        record = folder.read_run()
    assert record is not None
    for cell in ENDS.keys() - lacking().keys():
        peers = record.peers[f"{cell} connection 0"]
        wanted = NEEDS[cell] or record.versions["grpcio"]
        assert {peers[end]["release"] for end in ENDS[cell]} == {wanted}
        windows = peers["receiver"]["settings"]["initial_window_size"]
        assert (
            windows[0]
            == {
                "mix/newest": 4 * 2**20,
                "mix/to-h2": 128 * 2**10,
                "mix/on": 256 * 2**10,
                "mix/off": 2**31 - 1 - 2**20,
            }[cell]
        )
        assert cell == "mix/newest" or len(windows) == 1


def test_switched_off_it_sends_whole_messages_without_credit(run: tuple[Done, World]) -> None:
    _, world = run
    if "mix/off" in lacking():
        return
    with results(world) as folder:
        rows = [row for row in folder.read_trace() if row.cell == "mix/off"]
        grants = [row for row in folder.read_grants() if row.cell == "mix/off"]
    assert [row for row in grants if row.kind == WINDOW_UPDATE] == []
    for streams in bursts(rows).values():
        order = service_order(streams)
        assert list(order) == sorted(set(order))


@pytest.fixture
def nowhere(world: World) -> dict[str, str]:
    world.at(f"{WORK}/releases").mkdir()
    return {"NETCOSIM_GRPC_RELEASES": f"{WORK}/releases"}


def test_without_environments_the_rest_is_run(world: World, nowhere: dict[str, str]) -> None:
    done = run_to_end(world, "--scenario", scenario("releases"), "--out", "out", environ=nowhere)
    assert done.code == 0, done.err
    with results(world) as folder:
        summary = folder.read_summary()
    assert summary is not None
    assert summary.complete
    assert {cell.cell for cell in summary.cells} == {"mix/newest", "mix/own"}
    assert {one.cell for one in summary.not_run} == {"mix/to-h2", "mix/on", "mix/off"}
    for one in summary.not_run:
        assert one.reason == (
            f"grpcio {NEEDS[one.cell]} is not set up: no environment in {WORK}/releases;"
            f" see ./dev grpc-releases {NEEDS[one.cell]}"
        )
        assert one.reason not in summary.reasons


def test_a_run_of_nothing_is_refused_before_anything_is_built(world, nowhere) -> None:
    text = Path(scenario("releases")).read_text()
    head, _, rest = text.rpartition("[[transport]]")[0].partition("[[transport]]")
    world.at(f"{WORK}/old.toml").write_text(
        head + "[[transport]]" + rest.partition("[[transport]]")[2]
    )
    planned = run_to_end(world, "--scenario", "old.toml", "--plan", environ=nowhere)
    assert planned.code == 0
    assert unfolded(planned.out).count("not run mix/") == 3
    done = run_to_end(world, "--scenario", "old.toml", "--out", "out", environ=nowhere)
    assert done.code == 3
    assert done.last.startswith("emu.run: no cell can be run here: grpcio 1.59.5 is not set up")
    assert not world.at(f"{WORK}/out").exists()


def test_an_own_endpoint_follows_its_own_rule(run: tuple[Done, World]) -> None:
    _, world = run
    with results(world) as folder:
        rows = [row for row in folder.read_trace() if row.cell == "mix/own"]
        record = folder.read_run()
        script = folder.read_scenario().transport[-1].sender_script
    assert Path(script or "").samefile(ROOT / "examples" / "own_endpoint.py")
    assert record is not None
    assert record.peers["mix/own connection 0"]["sender"]["release"] == "example"
    assert rows
    for streams in bursts(rows).values():
        ends = [row.tensor for row in sorted(streams, key=lambda row: row.wire_end_ns)]
        assert ends == ["b", "c", "a"]  # the smallest remainder first
        assert {row.wire_bytes - row.size_bytes for row in streams} == {5}
