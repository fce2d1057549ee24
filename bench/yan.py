"""`./dev bench yan`: the optimizer of Yan et al. against brute force, and the paper's own results.

What the paper does not print is drawn: a share of draws is told under both readings of an epoch's
reads, A (reads=per_replica) and B (reads=total). `--spaces`, `--draws` and `--configurations` say
how much is done. The terms are held against a reference by tests (`./dev test-shared`).
"""

import argparse
import itertools
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any, Final

from bench.common.record import Figure, at_least, at_most, record
from bench.common.transports import WHOLE_MESSAGES
from bench.peers.yan_brute import brute, random_problem, random_resources
from netcosim.units import parse_rate_bps
from sim.analytic.yan.model import (
    Configuration,
    Machine,
    Problem,
    Split,
    Terms,
    cells,
    computing,
    read_as,
    read_s,
    reads,
    terms,
)
from sim.analytic.yan.network import Layer, Network
from sim.analytic.yan.search import front, greedy, optimize, placed, point
from sim.analytic.yan.spec import named_spec, problem_of

READINGS: Final = {"A": "reads=per_replica", "B": "reads=total"}
RATIO_PRINTED: Final = 218.08 / 11.88
"""Fig. 15: the slowest configuration over the fastest."""

WORKERS: Final = (1, 2, 4)
PROFILES: Final = ("alexnet", "resnet50")
RATES: Final = ("1gbit", "10gbit")
JOBS: Final = ((1, 1), (1, 4), (2, 4))
"""Servers and replicas that are simulated."""

EQUAL: Final = 1e-12
NEAR: Final = 1e-9
Triple = tuple[int, int, int]
"""Workers of a replica, replicas, servers, as the paper writes them."""


def main(arguments: list[str]) -> int:
    """Do all of it, print the table, write the figures."""
    parser = argparse.ArgumentParser(prog="bench.yan")
    parser.add_argument("--spaces", type=int, default=500, help="random spaces (default: 500)")
    parser.add_argument("--draws", type=int, default=300, help="of constants (default: 300)")
    parser.add_argument("--configurations", type=int, default=10**6, help="(default: 1,000,000)")
    asked = parser.parse_args(arguments)
    rows: list[dict[str, Any]] = []
    figures = [
        *_against_brute(asked.spaces, rows),
        _boundaries(asked.spaces),
        *_speed(asked.configurations),
        *_draws(asked.draws, rows),
        *_moved(rows),
        *_simulated(rows),
    ]
    notes = [
        f"{asked.spaces} spaces and {asked.draws} draws of constants",
        "layers of MNIST and ImageNet-22K are assumed, as the specs say: shares of draws hold for"
        " these networks",
        "Table 1 and Fig. 15: all layers are in as many stripes as a replica has workers",
    ]
    return record("yan", figures, notes, rows)


def _against_brute(spaces: int, rows: list[dict[str, Any]]) -> Iterator[Figure]:
    """Spaces in which the recurrence finds the optimum, and what the greedy mapping misses."""
    random = Random(20151)
    equal, alone, gaps = 0, 0, []
    for _ in range(spaces):
        machines = random.randint(2, 6)
        problem = random_problem(random, machines=machines)
        given = random_resources(random, machines)
        least_s = brute(problem, given).epoch_s
        best_s = optimize(problem, given=given)[0].terms.epoch_s
        (paper,) = optimize(problem, mapping="greedy", given=given)
        gaps.append(paper.terms.epoch_s / least_s - 1)
        equal += abs(best_s / least_s - 1) <= NEAR
        plain = replace(
            problem,
            machine=replace(problem.machine, cache=1.0),
            job=replace(problem.job, read="best"),
            reading=read_as([READINGS["A"]]),
        )
        best = optimize(plain)[0].configuration
        alone += (best.servers, best.workers) == (1, 1)
    missed = [gap for gap in gaps if gap > NEAR]
    rows.append({"spaces": spaces, "greedy_gaps": sorted(missed)})
    yield at_least("spaces where the best mapping finds the optimum", equal / spaces, "", 1.0)
    name = "A without cache: the best is a worker a replica and one server"
    yield Figure(name=name, value=100 * alone / spaces, unit="%")
    yield Figure(name="spaces that the greedy mapping misses", value=len(missed) / spaces, unit="")
    yield Figure(name="its largest gap", value=100 * max(gaps), unit="%")
    yield Figure(
        name="its median gap where it misses",
        unit="%",
        value=100 * statistics.median(missed or [0.0]),
    )


def _boundaries(count: int) -> Figure:
    """Share of random boundaries whose greedy mapping is beaten by another one."""
    random = Random(20152)
    beaten = 0
    for _ in range(count):
        problem = random_problem(random, machines=9)
        upper = random.randrange(1, len(problem.network.layers))
        splits = []
        for layer in problem.network.layers[upper - 1 : upper + 1]:
            parts = random.randint(1, min(layer.rows, 8))
            copies = random.randint(1, 8 // parts)
            splits.append(Split(parts=parts, threads=1, copies=copies))
        between = cells(problem, upper, *splits)
        here = point(between, greedy(between))
        beaten += any(
            max(p[0] - here[0], p[1] - here[1]) <= NEAR < sum(here) - sum(p)
            for p, _ in front(between)
        )
    return Figure(
        name="random boundaries where another mapping beats the greedy one",
        value=100 * beaten / count,
        unit="%",
    )


def five_layers() -> Problem:
    """A network of five layers on 20 machines of 16 cores: the paper's own MNIST is none larger."""
    layers = (
        Layer(name="conv", rows=60, depth=600, window=5, fan=25, weights=500),
        Layer(name="pool", rows=30, depth=300, window=2, stride=2, fan=2, weights=0),
        Layer(name="linear1", rows=1000, depth=1),
        Layer(name="linear2", rows=777, depth=1),
        Layer(name="output", rows=100, depth=1),
    )
    mnist = problem_of(named_spec("mnist"), read_as([READINGS["B"]]))
    machine = replace(mnist.machine, interference=tuple(1 + 0.02 * h for h in range(16)))
    network = Network(input=Layer(name="input", rows=64, depth=64), layers=layers)
    return replace(mnist, network=network, machine=machine, most_parts=None)


def _speed(configurations: int) -> Iterator[Figure]:
    problem = five_layers()
    seconds, _ = _timed(lambda: optimize(problem))
    yield at_most("20 machines, 5 layers, the best", seconds, "s", 1.0, "processor time")
    few = replace(problem, network=replace(problem.network, layers=problem.network.layers[:3]))
    cores = 1
    while True:  # 14 parts and copies of 6 workers, three layers
        machine = replace(
            few.machine,
            count=7,
            interference=few.machine.interference[:cores],
            latency_s=few.machine.latency_s[:cores],
        )
        one = replace(few, machine=machine)
        if (14 * cores) ** 3 >= configurations or cores == len(few.machine.interference):
            break
        cores += 1
    seconds, found = _timed(lambda: brute(one))
    note = f"{found.size:,} configurations, processor time"
    yield at_most("brute force", seconds, "s", 60.0, note)
    best_s = optimize(one)[0].terms.epoch_s
    yield at_most("optimum against it", abs(best_s / found.epoch_s - 1), "", NEAR)


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.process_time()
    found = work()
    return time.process_time() - begin, found


def uniform(problem: Problem, triple: Triple) -> Configuration:
    """All layers in as many stripes as there are workers, with a thread a core."""
    workers, replicas, servers = triple
    cores = len(problem.machine.interference)
    splits = tuple(
        Split(parts=min(workers, layer.rows), threads=cores, copies=1)
        for layer in problem.network.layers
    )
    return Configuration(
        servers=servers,
        replicas=replicas,
        workers=workers,
        splits=splits,
        maps=placed(problem, splits, workers),
    )


def table(problem: Problem) -> dict[Triple, float]:
    """Epochs of all triples that the machines allow, up to four workers a replica.

    Replicas divide all of an epoch but its reads: terms are found once for each number of workers.
    """
    found = {}
    worst = problem.job.read == "worst"
    for workers in WORKERS:
        one = terms(problem, uniform(problem, (workers, 1, 1)))
        alone_s = one.compute_s + one.update_s + one.messages_s
        for replicas in range(1, (problem.machine.count - 1) // workers + 1):
            for servers in range(1, problem.machine.count - replicas * workers + 1):
                each_s = read_s(problem, one.read_bits, servers, replicas, workers)[worst]
                waits_s = reads(problem, servers, replicas) * each_s
                found[workers, replicas, servers] = alone_s / replicas + waits_s
    return found


def _draws(draws: int, rows: list[dict[str, Any]]) -> Iterator[Figure]:
    for name, option in READINGS.items():
        random = Random(7)
        kept = [_drawn(random, option) for _ in range(draws)]
        for key in kept[0]:
            values = [float(one[key]) for one in kept]
            if key.startswith("ratio"):
                yield Figure(
                    name=f"{name}: Fig. 15, slowest over fastest, median",
                    value=statistics.median(values),
                    unit="",
                    note=f"printed: {RATIO_PRINTED:.2f}",
                )
            else:
                yield Figure(name=f"{name}: {key}", value=100 * sum(values) / draws, unit="%")
        rows.append({"reading": name, "draws": kept})


def _drawn(random: Random, option: str) -> dict[str, float]:
    """Which of the paper's results hold with constants that are drawn."""
    machine = _drawn_machine(random)
    mnist, imagenet = (
        replace(problem_of(named_spec(name), read_as([option])), machine=machine)
        for name in ("mnist", "imagenet22k")
    )
    small, large = table(mnist), table(imagenet)
    best = [_first(found) for found in (small, large)]
    epochs = list(large.values())
    # "degrades by increasing the number of parameter servers at the expense of replicas"
    hurts = all(
        small[1, replicas, 20 - replicas] < small[1, replicas - 2, 22 - replicas]
        for replicas in (18, 16, 14)
    )
    before = small[2, 9, 2] < small[1, 18, 2] * (1 - EQUAL)
    return {
        "Table 1, MNIST's best is <2, 9, 2>": best[0] == (2, 9, 2),
        "Table 1, ImageNet-22K's best is <4, 4, 4>": best[1] == (4, 4, 4),
        "<2, 9, 2> before <1, 18, 2>": before,
        "more servers hurt replicas of one worker": hurts,
        "Figs. 8 and 9, replicas scale within 5 %": _linear(small) and _linear(large),
        "Fig. 12, less reading is faster": _less_reading(imagenet),
        "Fig. 13, factors of 2": _factors(),
        "Fig. 14, the copied output is faster": _copied(imagenet),
        "Fig. 14, if copies are read once": _copied(_read_once(imagenet)),
        "ratio of Fig. 15": max(epochs) / min(epochs),
    }


def _drawn_machine(random: Random) -> Machine:
    """The printed machines, with constants that are not printed drawn from wide ranges."""
    given = problem_of(named_spec("mnist"), read_as([])).machine
    muladd_s = 2 / 16.8e9 / random.uniform(0.05, 0.8)
    slope = random.uniform(0, 0.05)
    wait_s = 10 ** random.uniform(-5, -3)
    cores = range(len(given.interference))
    return replace(
        given,
        muladd_s=muladd_s,
        act_s=muladd_s * random.uniform(1, 50),
        err_s=muladd_s * random.uniform(1, 50),
        latency_s=tuple(wait_s for _ in cores),
        interference=tuple(1 + slope * h for h in cores),
        cache=random.uniform(1.0, 1.3),
    )


def _first(found: dict[Triple, float]) -> Triple:
    """The fastest; of equal ones that with the fewest machines."""
    least = min(found.values())
    return min(
        (each for each, epoch_s in found.items() if epoch_s <= least * (1 + EQUAL)),
        key=lambda each: each[0] * each[1] + each[2],
    )


def _linear(found: dict[Triple, float]) -> bool:
    alone_s = found[4, 1, 4]
    return all(alone_s / found[4, n, 4] >= 0.95 * n for n in (2, 4))


def _less_reading(problem: Problem) -> bool:
    rates = ((20, 35), (40, 70), (80, 150))
    epochs = [
        terms(
            replace(problem, job=replace(problem.job, write_every=w, read_every=r)),
            uniform(problem, (4, 4, 4)),
        ).epoch_s
        for w, r in rates
    ]
    return epochs == sorted(epochs, reverse=True)


def _factors() -> bool:
    """Activations and weights of a partitioned output against a copied one, two workers."""
    imagenet = problem_of(named_spec("imagenet22k"), read_as([]))
    last = len(imagenet.network.layers) - 1
    parted, copied = (_output(imagenet, 2, copies=copies).layers[last] for copies in (1, 2))
    for_each_sample = [one.activations / one.concurrency for one in (parted, copied)]
    read = [computing(imagenet, last, 2).read_bits, 2 * computing(imagenet, last, 1).read_bits]
    return for_each_sample[0] == 2 * for_each_sample[1] and read[1] == 2 * read[0]


def _output(problem: Problem, workers: int, *, copies: int) -> Terms:
    """Terms with four replicas and servers, the output in stripes or copied to all workers."""
    shape = uniform(problem, (workers, 4, 4))
    output = shape.splits[-1] if copies == 1 else replace(shape.splits[-1], parts=1, copies=copies)
    splits = (*shape.splits[:-1], output)
    return terms(problem, replace(shape, splits=splits, maps=placed(problem, splits, workers)))


def _copied(problem: Problem) -> bool:
    return _output(problem, 4, copies=4).epoch_s < _output(problem, 4, copies=1).epoch_s


def _read_once(problem: Problem) -> Problem:
    return replace(problem, reading=replace(problem.reading, copies="once"))


def _moved(rows: list[dict[str, Any]]) -> Iterator[Figure]:
    """Winners of both networks when each constant of the specs moves by 30 %."""
    for name, option in READINGS.items():
        for network, printed in (("mnist", (2, 9, 2)), ("imagenet22k", (4, 4, 4))):
            given = problem_of(named_spec(network), read_as([option]))
            winners = {"as given": _first(table(given))}
            for field, change in _CHANGES.items():
                for factor in (0.7, 1.3):
                    machine = replace(given.machine, **change(given.machine, factor))
                    winners[f"{field} x {factor}"] = _first(table(replace(given, machine=machine)))
            rows.append(
                {
                    "reading": name,
                    "network": network,
                    "winners": {key: list(value) for key, value in winners.items()},
                }
            )
            kept = sum(winner == printed for winner in winners.values())
            note = f"as given: {winners['as given']}, printed: {printed}"
            yield Figure(
                name=f"{name}: {network}'s printed winner, each constant moved by 30 %",
                value=kept,
                unit=f"of {len(winners)}",
                note=note,
            )


def _simulated(rows: list[dict[str, Any]]) -> Iterator[Figure]:
    """Reads and rates of the same jobs in the simulator: a worker a replica, whole layer stacks."""
    for profile, rate in itertools.product(PROFILES, RATES):
        for servers, replicas in JOBS:
            found = against_simulator(profile, rate, servers, replicas)
            rows.append(found)
            where = f"{profile}, {rate}, <1, {replicas}, {servers}>"
            note = f"best {found['best_s']:.4g} s, worst {found['worst_s']:.4g} s"
            inside = found["best_s"] <= found["read_s"] <= found["worst_s"]
            yield Figure(
                name=f"simulated read, {where}",
                value=found["read_s"],
                unit="s",
                note=f"{note}: {'inside' if inside else 'outside'}",
            )
            yield Figure(
                name=f"simulated epoch over Yan's, {where}",
                value=found["simulated_s"] / found["epoch_s"],
                unit="",
                note=f"at worst {found['epoch_worst_s'] / found['epoch_s']:.3g}",
            )


def against_simulator(profile: str, rate: str, servers: int, replicas: int) -> dict[str, Any]:
    """An epoch of a profile's job by the model and by the simulator, with the mean read of each.

    A read is from the first pull of a step that could begin to the last one's end, without the
    first step, whose pulls all workers begin at once.
    """
    from sim import simulate

    spec = named_spec(f"profile:{profile}")
    problem = problem_of(spec, read_as([]))
    machine = replace(problem.machine, count=servers + replicas, rate_bps=parse_rate_bps(rate))
    problem = replace(problem, machine=machine)
    model = terms(problem, uniform(problem, (1, replicas, servers)))
    result = simulate(
        {
            "name": "yan",
            "repetitions": 1,
            "cluster": {"topology": "star", "link": {"rate": rate}, "servers": servers},
            "training": {"steps": 60, "warmup": 10, "workers": [replicas], "trace_steps": 40},
            "workload": [{"name": profile, "profile": profile}],
            "transport": [WHOLE_MESSAGES],
        },
        trace=[replicas],
    )
    pulls: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for row in result.operations.to_pylist():
        if row["kind"] == "transfer" and row["place"].endswith("down") and row["step"]:
            pulls.setdefault((row["worker"], row["step"]), []).append(
                (row["ready_ns"], row["end_ns"])
            )
    spent = [max(e for _, e in each) - min(b for b, _ in each) for each in pulls.values()]
    (point,) = result.points.to_pylist()
    return {
        "profile": profile,
        "rate": rate,
        "servers": servers,
        "replicas": replicas,
        "read_s": statistics.mean(spent) / 1e9,
        "best_s": model.read_best_s,
        "worst_s": model.read_worst_s,
        "simulated_s": problem.job.samples / point["examples_per_s"],
        "epoch_s": model.epoch_s,
        "epoch_worst_s": model.epoch_worst_s,
        "bounded_s": model.bounded_s,
    }


def _scaled(field: str) -> Callable[[Machine, float], dict[str, Any]]:
    def change(machine: Machine, factor: float) -> dict[str, Any]:
        value = getattr(machine, field)
        if isinstance(value, tuple):
            return {field: tuple(factor * one for one in value)}
        return {field: round(factor * value) if isinstance(value, int) else factor * value}

    return change


def _cache(machine: Machine, factor: float) -> dict[str, Any]:
    return {"cache": 1 + factor * (machine.cache - 1)}


_CHANGES: Final = {
    **{field: _scaled(field) for field in ("muladd_s", "act_s", "err_s", "rate_bps", "latency_s")},
    "cache": _cache,
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
