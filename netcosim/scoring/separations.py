"""Separations of models: mean distances of their predictions of the same bursts."""

import itertools
from collections.abc import Iterable, Mapping

import numpy as np

from netcosim.service_positions import byte_positions
from netcosim.trace import PREDICT, StreamRow, bursts

Separations = Mapping[frozenset[str], float]
"""Mean distance, as a share of the connection's bytes, of each pair of models."""

Ends = dict[tuple[int, int, int], float]
"""Position of a stream's end, by burst, connection and stream."""


def model_separations(
    measured: Iterable[StreamRow], predicted: Iterable[StreamRow]
) -> dict[frozenset[str], float]:
    """Mean distance between two models' predicted positions of stream ends, for each pair."""
    there = bursts(measured)
    predictions: dict[tuple[str, str, int], list[StreamRow]] = {}
    for row in predicted:
        if row.level == PREDICT and (row.cell, row.burst) in there:
            predictions.setdefault((row.model, row.cell, row.burst), []).append(row)
    ends: dict[str, Ends] = {}
    for (model, _, burst), rows in predictions.items():
        for (connection, stream), position in byte_positions(rows).items():
            ends.setdefault(model, {})[burst, connection, stream] = position
    return {
        frozenset((one, other)): _distance(ends[one], ends[other])
        for one, other in itertools.combinations(ends, 2)
    }


def _distance(one: Ends, other: Ends) -> float:
    found = [abs(end - other[key]) for key, end in one.items() if key in other]
    return float(np.mean(found)) if found else 0.0
