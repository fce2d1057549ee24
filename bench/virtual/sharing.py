"""Shares of a queue that TCP gives, beside max-min's, without noise; networks of many hosts."""

import random
import statistics
from collections.abc import Iterator
from typing import Final

from bench.common.record import Figure, at_least
from bench.virtual.running import Json, Ran, run
from netcosim.metrics import jain_index
from netcosim.results.folder import ResultsFolder

CONTROLS: Final = ("cubic", "reno", "bbr")
WORKERS: Final = 8
SEEDS: Final = 30
_MESSAGE: Final = "1500kB"
_MOST_OFFSET_US: Final = 20_000
_PLAIN: Final = {
    **{"name": "h2", "sender": "h2", "receiver": "h2", "discipline": "fifo"},
    "flow_control": False,
}


def sharing_figures(rows: list[Json], *, quick: bool) -> Iterator[Figure]:
    """Shares by congestion control; then networks of 64 hosts, of racks, of two servers."""
    for control in CONTROLS[:1] if quick else CONTROLS:
        ran = run(_eight(control, 2 if quick else SEEDS), f"sharing-{control}")
        jains, errors = _shares(ran)
        rows += [
            {"part": "sharing", "control": control, "jain": j, "error": e}
            for j, e in zip(jains, errors, strict=True)
        ]
        yield from _spread(f"{control}: Jain's index of {WORKERS} workers' goodput", jains, "")
        yield from _spread(
            f"{control}: end of a worker's message, off max-min's", [100 * e for e in errors], "%"
        )
    for name, cluster in {} if quick else _LARGE.items():
        ran = run(_large(cluster), f"large-{name}")
        ends = sum(1 for _ in ResultsFolder.open(ran.folder).read_trace())
        yield at_least(f"{name}: messages received", ends, "", _messages(cluster), _took(ran))


_LARGE: Final[dict[str, Json]] = {
    "star-of-64-hosts": {"topology": "star", "workers": 63},
    "racks": {"topology": "racks", "workers": 8},
    "two-servers": {"topology": "star", "servers": 2, "workers": 4},
}


def _eight(control: str, seeds: int) -> Json:
    """Eight workers pull a message each through one queue; they start one after the other."""
    offsets = [random.Random(seed).randrange(_MOST_OFFSET_US) for seed in range(seeds)]
    return {
        "repetitions": 1,
        "cluster": {
            **{"topology": "star", "workers": WORKERS, "tcp": {"congestion_control": control}},
            **{"link": {"rate": "100mbit", "model": "fifo"}},
        },
        "workload": [
            {
                **{"name": f"seed-{seed}", "stagger": f"{offset}us"},
                "tensors": [{"name": "t", "size": _MESSAGE}],
            }
            for seed, offset in enumerate(offsets)
        ],
        "transport": [_PLAIN],
    }


def _shares(ran: Ran) -> tuple[list[float], list[float]]:
    """Of each cell Jain's index of goodput, and the mean error of max-min's ends."""
    folder = ResultsFolder.open(ran.folder)
    trace, predicted = folder.read_trace(), folder.read_predictions()
    jains, errors = [], []
    for cell in dict.fromkeys(row.cell for row in trace):
        mine = {row.connection: row for row in trace if row.cell == cell}
        model = {
            row.connection: row.wire_end_ns
            for row in predicted
            if (row.cell, row.model, row.level) == (cell, "fifo", "PREDICT")
        }
        length_ns = max(row.wire_end_ns for row in mine.values())
        jains.append(
            jain_index([r.wire_bytes / (r.wire_end_ns - r.start_ns) for r in mine.values()])
        )
        off_ns = [abs(row.wire_end_ns - model[c]) for c, row in mine.items()]
        errors.append(statistics.mean(off_ns) / length_ns)
    return jains, errors


def _spread(name: str, values: list[float], unit: str) -> Iterator[Figure]:
    if values:
        low, high = min(values), max(values)
        deviation = statistics.stdev(values) if len(values) > 1 else 0.0
        yield Figure(
            name=name,
            value=statistics.mean(values),
            unit=unit,
            note=f"of {len(values)} offsets: {low:.3g} to {high:.3g}, deviation {deviation:.2g}",
        )


def _large(cluster: Json) -> Json:
    return {
        "repetitions": 1,
        "cluster": {**cluster, "link": {"rate": "100mbit"}},
        "workload": [
            {
                "name": "small",
                "tensors": [{"name": f"t{i}", "size": "50kB"} for i in range(2)],
            }
        ],
        "transport": [_PLAIN],
    }


def _messages(cluster: Json) -> int:
    return 2 * int(cluster["workers"])


def _took(ran: Ran) -> str:
    return f"{ran.seconds:.0f} s" + ("" if ran.code == 0 else f"; {ran.said}")
