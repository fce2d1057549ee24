"""LB-BSP beside ASP and BSP, by how computations grow with batches and how free the network is."""

from collections.abc import Iterator
from typing import Any, Final

from bench.balance.jobs import examples_per_s, job
from bench.common.record import Figure, at_most

SLOW: Final = (1.0, 1.5, 3.0, 6.0)
RATES: Final = ("100gbit", "40gbit", "20gbit", "10gbit", "5gbit", "2.5gbit")
STEPS: Final = 300
SATURATED: Final = (96, 48, 8, 2)
"""Batches that fill each worker's GPU: the fast ones are not full with 32 examples."""

Json = dict[str, Any]


def asp_figures(rows: list[Json], *, quick: bool) -> Iterator[Figure]:
    """Throughput of LB-BSP over ASP's."""
    for curve in ("proportional", "saturating"):
        over = {}
        for rate in RATES[:1] if quick else RATES:
            found = {kind: _throughput(kind, curve, rate) for kind in ("asp", "bsp", "lb_bsp")}
            rows.append({"part": "asp", "curve": curve, "rate": rate, **found})
            over[rate] = found["lb_bsp"] / found["asp"]
        free = over[RATES[0]]
        name = f"{curve} curves, {RATES[0]}: LB-BSP over ASP"
        if curve == "proportional":
            yield at_most(name, free, "", 1)
        else:
            yield Figure(name=name, value=free, unit="", target="> 1", met=free > 1)
        better = [rate for rate, value in over.items() if value > 1]
        note = ", ".join(f"{rate} {value:.3f}" for rate, value in over.items())
        yield Figure(
            name=f"{curve} curves: rates at which LB-BSP is faster",
            value=len(better),
            unit="",
            note=note,
        )


def _throughput(kind: str, curve: str, rate: str) -> float:
    saturating = curve == "saturating"
    curves = [{"workers": [w], "saturated": batch} for w, batch in enumerate(SATURATED)]
    coordination: Json = {"kind": kind, "curve": curves if saturating else []}
    if kind == "lb_bsp" and saturating:
        coordination["kind"] = "lb_bsp_gpu"
    elif kind == "lb_bsp":
        coordination["predictor"] = "average"
    stragglers = [
        {"kind": "slow", "workers": [w], "options": {"factor": f}}
        for w, f in enumerate(SLOW)
        if f > 1
    ]
    return examples_per_s(
        job(coordination, workers=4, steps=STEPS, rate=rate, stragglers=stragglers)
    )
