"""Runs over TCP, packet by packet, against what the kernel's TCP did: kept records of jobs."""

import numpy as np
import pytest

from bench.crosscheck.records import RECORD, RECORDS, RUN
from netcosim.results.folder import ResultsFolder
from sim.sealing import over_packets
from sim.sealing.connection_models import models_of
from sim.sealing.ensemble import RUNS
from sim.sealing.over_models import run_over_models
from sim.sealing.over_packets import run_over_packets
from sim.sealing.predict import predict, simulate
from sim.sealing.record import read_record

STEP_BY_STEP = "alexnet-fifo-bsp-1-w2-fifo-2.5ms"
FAR_AT_EQUAL_RATES = {
    "alexnet-grpc-asp-1-w1_4-fifo-5ms-2s": 1,
    "resnet50_b4-whole-bsp-1-w3-fifo-2.5ms-2s": 3,
}


def cell(name):
    ((_, assumed),) = read_record(RECORDS / name / RECORD).cells
    return assumed


def measured(name, workers, part=RUN):
    with ResultsFolder.open(RECORDS / name / part) as folder:
        summary = folder.read_job_summary()
        (rate,) = [
            point.examples_per_s
            for series in summary.series
            for point in series.points
            if point.workers == workers
        ]
        return rate, folder.read_operations()


@pytest.mark.oracle
def test_pulls_through_slow_start_and_its_losses_come_when_they_came():
    """Two windows that double fill the queue of 150 kB, and are repaired, within 360 ms."""
    assumed = cell(STEP_BY_STEP)
    found = run_over_models(assumed, 2)
    assert found.drops
    _, ops = measured(STEP_BY_STEP, 2)
    names = assumed.as_recorded.plan.names
    first = ops.kind.are("transfer") & (ops.workers == 2) & (ops.step == 0)
    off_ms = []
    for i in np.flatnonzero(first):
        name = ops.operation.texts()[i]
        if name.endswith("/pull"):
            key = (int(ops.worker[i]), 0, names.index(name))
            off_ms.append(abs(found.delivered_ns[key] - float(ops.end_ns[i])) / 1e6)
    assert len(off_ms) == 32
    assert max(off_ms) < 1.5


@pytest.mark.oracle
@pytest.mark.parametrize(("name", "workers"), FAR_AT_EQUAL_RATES.items())
def test_throughput_is_what_tcp_leaves_and_links_at_equal_rates_are_far_from_it(name, workers):
    assumed = cell(name)
    rate, _ = measured(name, workers)
    over = run_over_models(assumed, workers).examples_per_s
    alone = simulate(assumed, assumed.job.first(workers), compiled=False).examples_per_s
    assert abs(over / rate - 1) < abs(alone / rate - 1) / 2


@pytest.mark.oracle
def test_a_prediction_is_the_mean_of_runs_whose_range_has_what_was_measured():
    name = "alexnet-grpc-asp-1-w1_4-fifo-5ms-2s"
    rate, _ = measured(name, 1)
    told: list[int] = []
    found = run_over_packets(cell(name), 1, told.append)
    assert told == list(range(1, RUNS + 1))
    assert found.spread.runs == RUNS
    assert found.spread.low < found.examples_per_s < found.spread.high
    assert found.examples_per_s == pytest.approx(rate, rel=0.02)
    assert len(found.lengths_ns) % RUNS == 0


OF_TWO_SERVERS = "alexnet_b4-priority-bsp-2-w2-2s-random-drawn"
TAKING_TURNS = {
    "alexnet-grpc-bsp-0.5-w1_4": 4,
    "alexnet_b4-fifo-asp-2-w3-smallest_first-drawn": 3,
    OF_TWO_SERVERS: 2,
}


@pytest.mark.oracle
@pytest.mark.parametrize(("name", "workers"), TAKING_TURNS.items())
def test_streams_end_when_they_did_where_workers_take_turns(name, workers):
    """By 0.04, 0.02 and 0.04 % of a step; 0.21, 0.1 and 0.16 where links are shared at rates."""
    assumed = cell(name)
    found = run_over_models(assumed, workers)
    assert found.by_packet
    assert not found.drops
    _, ops = measured(name, workers)
    names = assumed.as_recorded.plan.names
    mine = np.flatnonzero(ops.kind.are("transfer") & (ops.workers == workers))
    texts = ops.operation.texts()
    off_ns = [
        abs(found.delivered_ns[key] - float(ops.end_ns[i]))
        for i in mine
        if (key := (int(ops.worker[i]), int(ops.step[i]), names.index(texts[i])))
        in found.delivered_ns
    ]
    assert len(off_ns) >= 3 * workers * 32
    assert np.mean(off_ns) < 0.001 * np.mean(found.lengths_ns)


@pytest.mark.parametrize(("topology", "followed"), [("star", True), ("racks", False)])
def test_turns_are_not_known_where_several_workers_meet_several_servers(topology, followed):
    """In racks all exchange through one link between two switches."""
    record = read_record(RECORDS / OF_TWO_SERVERS / RECORD)
    ((series, assumed),) = record.cells
    cluster = record.scenario.cluster.model_copy(update={"topology": topology})
    scenario = record.scenario.model_copy(update={"cluster": cluster})
    found = models_of(scenario, scenario.transport[0], series.path, assumed.as_recorded)
    assert (found.packets is not None) == followed


@pytest.mark.oracle
def test_where_chance_decides_a_prediction_is_the_mean_of_runs_that_follow_packets(monkeypatch):
    """Of as many as there are; the simulation stands beside it."""
    assumed = cell("alexnet_b4-fifo-asp-2-w3-smallest_first-drawn")
    monkeypatch.setattr(over_packets, "RUNS", 2)
    found = predict(assumed, 3)
    runs = run_over_packets(assumed, 3)
    assert found.spread.runs == 2
    assert found.examples_per_s == runs.examples_per_s
    assert found.simulated != found.examples_per_s
    assert found.mean_of == "packets"
    steady = predict(assumed, 1)
    assert steady.spread.runs == RUNS
    assert (steady.simulated, steady.mean_of) == (None, None)
