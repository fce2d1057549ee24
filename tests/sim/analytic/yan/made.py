"""Problems of tests, and the reference's cases as problems."""

from collections.abc import Mapping
from typing import Any

from sim.analytic.yan.model import Configuration, Job, Machine, Problem, Reading, Split
from sim.analytic.yan.network import Layer, Network


def full(rows: int, depth: int = 1, name: str = "full") -> Layer:
    return Layer(name=name, rows=rows, depth=depth)


def network(rows: int, depth: int, *layers: Layer) -> Network:
    return Network(input=Layer(name="input", rows=rows, depth=depth), layers=layers)


def machine(**changes: Any) -> Machine:
    given: dict[str, Any] = {
        "count": 20,
        "muladd_s": 1e-9,
        "act_s": 1e-8,
        "err_s": 2e-8,
        "value_bits": 32,
        "rate_bps": 10**9,
        "latency_s": (1e-6,),
        "interference": (1.0,),
        "update_s": 1e-9,
    }
    return Machine(**(given | changes))


def shape(
    servers: int, replicas: int, workers: int, *splits: tuple[int, int, int], maps: Any = None
) -> Configuration:
    """A configuration; cell c is at worker c unless `maps` says otherwise."""
    placed = [range(parts * copies) for parts, _, copies in splits] if maps is None else maps
    return Configuration(
        servers=servers,
        replicas=replicas,
        workers=workers,
        splits=tuple(Split(parts=p, threads=h, copies=r) for p, h, r in splits),
        maps=tuple(tuple(each) for each in placed),
    )


def case_problem(case: Mapping[str, Any], reading: Reading) -> Problem:
    hw, net = case["hw"], case["net"]
    found = []
    for number, layer in enumerate(net["layers"]):
        local = (
            {}
            if layer["kind"] == "full"
            else {
                "window": layer["k"],
                "stride": layer["stride"],
                "padding": layer["pad"],
                "fan": layer.get("fan"),
                "weights": layer.get("kernel"),
            }
        )
        found.append(Layer(name=f"{number}", rows=layer["rows"], depth=layer["depth"], **local))
    return Problem(
        network=network(net["input"]["rows"], net["input"]["depth"], *found),
        machine=Machine(
            count=max(ps + mr * wr for ps, mr, wr in case["resources"]),
            muladd_s=hw["muladd"],
            act_s=hw["act"],
            err_s=hw["err"],
            value_bits=hw["bits"],
            rate_bps=hw["nbw"],
            latency_s=tuple(hw["ncost"]),
            interference=tuple(hw["interf"]),
            update_s=hw["update"],
        ),
        job=Job(
            samples=case["job"]["samples"],
            read_every=case["job"]["n_read"],
            write_every=case["job"]["n_write"],
            read=case["read"],
        ),
        reading=reading,
        most_parts=case.get("max_parts"),
    )
