"""Plan of a scenario: connections, load, shares; and the link that the models are given."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from emu.calibration.links import REAL, link_model, path_of, shared_links
from emu.cli.describe import describe
from emu.duration import expected_seconds
from emu.endpoints import releases
from emu.network.measure import Measured
from emu.plan import Plan, make_plan, on_this_machine
from emu.session import resolved_tcp
from emu.training.job_cells import is_training, job_cells
from netcosim.errors import ScenarioError
from netcosim.scenario import TcpSpec, build_scenario, read_scenario
from tests.emu.network.test_verify import PATH
from tests.snapshots import refusal
from topo.spec import GOODPUT_SHARE

H2 = {"name": "h2", "sender": "h2", "receiver": "h2", "discipline": "fifo", "flow_control": False}
GRPC = {"name": "grpc", "sender": "grpc", "receiver": "grpc"}


def plan(
    *,
    direction: str = "pull",
    sizes: Sequence[str] = ("600kB", "300kB", "100kB"),
    transports: Sequence[Mapping[str, Any]] = (H2,),
    spacing: str = "0s",
    **cluster: Any,
) -> Plan:
    tensors = [{"name": f"t{i}", "size": size} for i, size in enumerate(sizes)]
    return make_plan(
        build_scenario(
            {
                "name": "planned",
                "cluster": {"link": {"rate": "100mbit"}, **cluster},
                "workload": [
                    {"name": "w", "tensors": tensors, "direction": direction, "spacing": spacing}
                ],
                "transport": list(transports),
            }
        )
    )


def test_the_lock_has_the_release_of_the_environment_that_was_made_of_it() -> None:
    assert releases.locked() == releases.newest() == metadata.version("grpcio")


@pytest.mark.parametrize(
    ("clock", "transport", "said"),
    [
        ("real", H2, r'cluster.processor: .*must not be given with clock = "real"'),
        (
            "virtual",
            {**H2, "receiver": "script", "receiver_script": "mine.py"},
            r"transport\[h2\]: \"script\": must not be of this kind with 'cluster.processor'",
        ),
    ],
)
def test_costs_of_messages_are_refused_where_nothing_obeys_them(clock, transport, said) -> None:
    scenario = build_scenario(
        {
            "name": "costly",
            "clock": clock,
            "cluster": {"link": {"rate": "100mbit"}, "processor": {"sent": {"message": "1ms"}}},
            "workload": [{"name": "w", "set": "mixed8", "total": "1MB"}],
            "transport": [transport],
        }
    )
    with pytest.raises(ScenarioError, match=said):
        make_plan(scenario)


def test_a_cell_whose_release_is_missing_is_planned_as_not_run(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("NETCOSIM_GRPC_RELEASES", str(tmp_path))
    (tmp_path / "1.17.0.not-ready").write_text("no Python 3.7 on this machine\n")
    old = {**GRPC, "name": "old", "receiver_release": "1.17.0"}
    whole = plan(transports=(GRPC, old))
    assert [cell.name for cell in whole.cells] == ["w/grpc", "w/old"] and not whole.not_run
    here = on_this_machine(whole)
    assert [cell.name for cell in here.cells] == ["w/grpc"]
    [left] = here.not_run
    assert (left.cell, left.workload, left.transport) == ("w/old", "w", "old")
    assert left.reason == (
        "grpcio 1.17.0 is not set up: no Python 3.7 on this machine; see ./dev grpc-releases 1.17.0"
    )
    assert f"not run     w/old: {left.reason}" in describe(here)
    assert describe(here)[-1].startswith("takes about ")
    assert describe(on_this_machine(plan(transports=(old,))))[-1] == "no cell can be run here"


def test_a_release_that_nobody_studied_is_told_before_it_is_run() -> None:
    new = {**GRPC, "name": "new", "sender_release": "1.62.3", "receiver_release": "1.62.3"}
    mixed = {**GRPC, "name": "mixed", "receiver": "h2", "sender_release": "1.80.0"}
    said = [line for line in describe(plan(transports=(GRPC, new, mixed))) if "not studied" in line]
    assert said == [
        "not studied new: grpcio 1.62.3 is not studied: nearest is grpcio 1.59.5;"
        " no rule of it is taken for known",
        "not studied mixed: grpcio 1.80.0 is not studied: nearest is grpcio 1.85.1;"
        " no rule of it is taken for known",
    ]
    with pytest.raises(ScenarioError, match=r"nothing is known of releases before 1\.13"):
        plan(transports=({**GRPC, "sender_release": "1.12.0"},))


def test_the_installed_release_counts_where_none_is_named() -> None:
    """Only the newest studied one goes unnamed; any other one is what it is, studied or not."""
    scenario = plan(transports=(GRPC, H2)).scenario
    for installed, named in (("1.85.1", None), ("1.86.0", "1.86.0"), ("1.80.0", "1.80.0")):
        made = make_plan(scenario, installed)
        grpc, h2 = (cell.transport for cell in made.cells)
        assert (grpc.sender_release, grpc.receiver_release) == (named, named)
        assert (h2.sender_release, h2.receiver_release) == (None, None)
        assert made.scenario.transport == (grpc, h2)
        assert any("not studied" in line for line in describe(made)) == (named is not None)
    old = {**GRPC, "sender_release": "1.39.0"}
    [cell] = make_plan(plan(transports=(old,)).scenario, "1.86.0").cells
    assert (cell.transport.sender_release, cell.transport.receiver_release) == ("1.39.0", "1.86.0")


@pytest.mark.parametrize(
    ("direction", "ends"),
    [("pull", ("s0", "w0")), ("pull-back", ("w0", "s0")), ("push", ("w0", "s0"))],
)
def test_who_sends(direction: str, ends: tuple[str, str]) -> None:
    made = plan(direction=direction)
    (connection,) = made.connections(made.cells[0])
    assert (connection.source, connection.destination) == ends
    assert (connection.server, connection.worker) == ("s0", "w0")


def test_every_worker_meets_every_server_that_holds_a_tensor() -> None:
    made = plan(topology="star", servers=4, workers=2)  # three tensors: one server holds none
    connections = made.connections(made.cells[0])
    assert [c.index for c in connections] == list(range(6))
    assert len({(c.server, c.worker) for c in connections}) == 6
    for worker in ("w0", "w1"):
        messages = [m.tensor for c in connections if c.worker == worker for m in c.messages]
        assert sorted(messages) == ["t0", "t1", "t2"]


@pytest.mark.parametrize(
    ("cluster", "bits"),
    [
        ({}, 8e6),
        ({"topology": "star", "workers": 3}, 24e6),  # all of it crosses the server's link
        ({"topology": "star", "servers": 2}, 8e6),  # all of it crosses the worker's link
        ({"topology": "racks", "servers": 2, "workers": 3}, 24e6),  # ... and the uplink
    ],
)
def test_a_burst_takes_as_long_as_its_busiest_link(cluster: dict[str, Any], bits: float) -> None:
    made = plan(**cluster)
    assert made.burst_seconds(made.cells[0]) == pytest.approx(bits / (100e6 * GOODPUT_SHARE))
    assert expected_seconds(made) > made.burst_seconds(made.cells[0])


def test_the_slow_link_of_unequal_workers_counts() -> None:
    made = plan(topology="star", workers=2, links={"w1": {"rate": "10mbit"}})
    assert made.burst_seconds(made.cells[0]) == pytest.approx(8e6 / (10e6 * GOODPUT_SHARE))


def test_a_burst_lasts_beyond_the_last_hand_over():
    at_once, spaced = plan(), plan(spacing="40s")
    later_s = spaced.burst_seconds(spaced.cells[0]) - at_once.burst_seconds(at_once.cells[0])
    assert later_s == pytest.approx(2 * 40)
    assert describe(spaced)[-1].endswith("; needs root")
    assert "min); needs root" in describe(plan(spacing="400s"))[-1]


def test_a_message_that_no_endpoint_holds_is_refused():
    assert plan(sizes=("2GB",)).cells
    with pytest.raises(
        ScenarioError, match=r"workload\[w\]: size of t0: \"2001MB\": must be <= 2GB"
    ):
        plan(sizes=("2001MB",))


@pytest.mark.parametrize("direction", ["pull", "pull-back", "push"])
@pytest.mark.parametrize(
    ("cluster", "shares"),
    [
        ({}, {1.0}),
        ({"topology": "star", "workers": 4}, {0.25}),
        ({"topology": "star", "servers": 2, "workers": 3}, {1 / 3}),
        ({"topology": "star", "servers": 3, "workers": 2}, {1 / 3}),
        ({"topology": "racks", "servers": 2, "workers": 2}, {0.25}),  # four cross the uplink
        # The slow worker fills its own link; the fast one gets what is left of the server's.
        ({"topology": "star", "workers": 2, "links": {"w1": {"rate": "20mbit"}}}, {0.8, 1.0}),
    ],
)
def test_shares_are_max_min_fair(cluster, shares, direction) -> None:
    made = plan(direction=direction, **cluster)
    connections = made.connections(made.cells[0])
    links = shared_links(measured(("s0", "w0")).paths, connections, made.net)
    together = links(frozenset(range(len(connections))))
    found = {round(rate / links(frozenset({i}))[i], 6) for i, rate in together.items()}
    assert found == {round(share, 6) for share in shares}


def measured(*pairs: tuple[str, str]) -> Measured:
    paths = [
        replace(PATH, server=server, worker=worker, links=(), round_trip_median_ns=60_000,
                queued_bytes=70_000, down_bps=95_000_000 + i, up_bps=94_000_000 + i)
        for i, (server, worker) in enumerate(pairs)
    ]  # fmt: skip
    return Measured(paths=tuple(paths), shares=(), steal=0.0, idle=1.0)


@pytest.mark.parametrize(
    ("direction", "rate_bps"), [("pull", 95e6), ("pull-back", 94e6), ("push", 94e6)]
)
def test_the_models_link_is_the_measured_one_of_the_datas_direction(direction, rate_bps) -> None:
    made = plan(direction=direction, transports=[GRPC, H2])
    for cell, past_bytes in zip(made.cells, (70_000, None), strict=True):
        connections = made.connections(cell)
        tcp = TcpSpec.model_construct(send_buffer=100_000)
        link = link_model(
            *(measured(("s0", "w0")), cell, connections[0], connections, made.net, tcp),
            bucket_bytes=25_000,
        )
        assert link.rate_bps == rate_bps
        assert (link.delay_ns, link.credit_latency_ns) == (30_000, 30_000 + REAL.handling_ns)
        assert link.bucket_bytes == 25_000
        if past_bytes is None:  # our own sender keeps to its bound, whatever TCP would take
            assert 0 < link.past_bytes <= 100_000
        else:
            assert link.past_bytes == past_bytes


def test_a_pair_that_was_not_measured_takes_the_path_of_its_worker_or_else_its_server() -> None:
    made = plan(topology="star", servers=2, workers=2)
    known = measured(("s0", "w0"), ("s1", "w1"))
    found = {
        (c.server, c.worker): (path_of(known.paths, c).server, path_of(known.paths, c).worker)
        for c in made.connections(made.cells[0])
    }
    assert found == {
        ("s0", "w0"): ("s0", "w0"),
        ("s1", "w0"): ("s0", "w0"),
        ("s0", "w1"): ("s1", "w1"),
        ("s1", "w1"): ("s1", "w1"),
    }


def test_a_send_buffer_that_was_given_is_kept() -> None:
    made = plan(tcp={"send_buffer": "77kB"})
    assert resolved_tcp(made).send_buffer == 77_000
    chosen = resolved_tcp(plan()).send_buffer
    assert chosen is not None
    assert chosen > 0


def test_the_description_names_everything() -> None:
    text = "\n".join(describe(plan(topology="star", workers=2, transports=[H2, GRPC])))
    for word in ("planned", "star", "2 worker(s)", "w/h2", "w/grpc", "100mbit", "fair", "1MB"):
        assert word in text
    assert text.splitlines()[-1].startswith("takes about ")


def test_the_description_has_all_properties_of_a_link() -> None:
    far = {"rate": "50mbit", "delay": "10ms", "jitter": "1ms", "loss": 0.001, "queue": "90kB"}
    lines = describe(plan(topology="star", links={"w0": {**far, "model": "fifo"}}))
    told = [line.split(": ", 1)[1] for line in lines if line.startswith("  link")]
    assert told == [
        "s0 - b0, 100mbit, fair",
        "w0 - b0, 50mbit, fifo, delay 10ms, jitter 1ms, loss 0.001, queue 90kB",
    ]


@pytest.mark.parametrize(
    ("transport", "message"),
    [
        ({**H2, "discipline": "lifo"}, 'transport[h2].discipline: unknown discipline "lifo"'),
        ({**GRPC, "credit": "half"}, 'transport[grpc].credit: "half": grpc sender and grpc'),
        ({**GRPC, "sender": "quic"}, 'transport[grpc].sender: "quic": unknown; allowed: grpc, h2'),
    ],
)
def test_names_and_settings_are_checked(transport: dict[str, Any], message: str) -> None:
    assert refusal(plan, transports=[transport]).startswith(message)


def test_the_scenarios_of_these_tests_can_be_planned() -> None:
    for path in (Path(__file__).parent / "run" / "scenarios").glob("*.toml"):
        scenario = read_scenario(path)
        if is_training(scenario):
            assert job_cells(scenario)
            continue
        made = make_plan(scenario)
        slow = path.stem == "slow"
        assert all(made.burst_seconds(cell) < (3 if slow else 0.5) for cell in made.cells)


def test_what_a_run_takes_follows_from_its_plan() -> None:
    def takes(**wishes: Any) -> float:
        return expected_seconds(plan(**wishes))

    usual = takes()
    assert takes(topology="star", workers=60) > usual + 20
    # Seven bursts of eight messages, each of a second, tell when a server reads pushed calls.
    slow = {"link": {"rate": "1mbit"}, "transports": [GRPC]}
    assert takes(**slow, direction="push") > takes(**slow, direction="pull") + 60


@pytest.mark.parametrize(("direction", "rates"), [("pull", [95, 91, 92]), ("push", [94, 92, 91])])
def test_workers_that_were_measured_with_each_other_tell_of_their_own_links(
    direction: str, rates: list[int]
) -> None:
    made = plan(topology="star", workers=3, direction=direction)
    paths = measured(("s0", "w0"), ("w2", "w1"), ("w1", "w2")).paths
    links, rates_bps = [("s0", "w0"), ("w1",), ("w2",)], [(95, 94), (91, 92), (92, 91)]
    paths = tuple(
        replace(path, links=links[i], down_bps=down * 10**6, up_bps=up * 10**6)
        for i, (path, (down, up)) in enumerate(zip(paths, rates_bps, strict=True))
    )
    connections = made.connections(made.cells[0])
    share = shared_links(paths, connections, made.net)
    alone = [share(frozenset({i}))[i] / 1e6 for i in range(3)]
    assert alone == pytest.approx(rates)
    assert [path_of(paths, each).worker for each in connections] == ["w0", "w1", "w2"]
