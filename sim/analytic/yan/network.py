"""A network as Yan et al. split it: layers of neurons in rows, cut into stripes of whole rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from netcosim.errors import ScenarioError

Numbers: TypeAlias = npt.NDArray[np.float64]
Counts: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A layer: `rows` rows of `depth` neurons, each connected to rows of the layer below.

    Row i sees rows ``[i stride - padding, i stride - padding + window)``, as far as they exist.

    Attributes
    ----------
    window : rows of the layer below that a row sees; None: all, as of a fully connected layer
    fan : connections of a neuron to each row that it sees; None: to all neurons of it. Together the
        neurons of a row are taken to see each neuron of these rows, at least once
    weights : stored weights that all rows share, as of a convolution; None: each connection has its
        own, as of a fully or locally connected layer; 0: none, as of a pooling layer
    """

    name: str
    rows: int
    depth: int
    window: int | None = None
    stride: int = 1
    padding: int = 0
    fan: int | None = None
    weights: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The input, which nobody computes, and the layers above it from the first to the last."""

    input: Layer
    layers: tuple[Layer, ...]

    def below(self, number: int) -> Layer:
        """Layer below the one of this number, from 0; the input is below the first."""
        return self.layers[number - 1] if number else self.input

    def check(self) -> None:
        """Refuse a network of which a row sees nothing, or more than there is.

        Raises
        ------
        ScenarioError
            Names the layer and the field.
        """
        for number, layer in enumerate(self.layers):
            below = self.below(number)
            if layer.fan is not None and layer.fan > below.depth:
                allowed = f"at most {below.depth}, the neurons of a row of {below.name}"
                raise ScenarioError.at(f"layer {layer.name}: fan", layer.fan, allowed)
            first, last = _seen(below, layer)
            if (first >= last).any():
                row = int(np.argmax(first >= last))
                allowed = f"row {row} would see no row of {below.name}, which has {below.rows}"
                raise ScenarioError.at(f"layer {layer.name}: rows", layer.rows, allowed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Connections between the stripes of a layer and of the one below.

    Attributes
    ----------
    activations : (parts, parts below) neurons of the stripe below that the stripe sees
    errors : (parts, parts below) neurons of the stripe that see the stripe below
    connections : (parts, parts below) connections between the two
    """

    activations: Numbers
    errors: Numbers
    connections: Numbers


def stripes(rows: int, parts: int) -> Counts:
    """First rows of so many stripes, and the end: ``floor(p rows / parts)``, p = 0 .. parts."""
    return np.arange(parts + 1, dtype=np.int64) * rows // parts


@lru_cache(maxsize=20_000)
def links(below: Layer, layer: Layer, parts_below: int, parts: int) -> Links:
    """Neurons and connections that stripes share; W(l, p) is a row's sum of `connections`.

    W'(l - 1, p) is the sum of a column.
    """
    mine, theirs = stripes(layer.rows, parts), stripes(below.rows, parts_below)
    fan = below.depth if layer.fan is None else layer.fan
    if layer.window is None:
        heights, widths = np.diff(mine), np.diff(theirs)
        seen = np.tile(widths, (parts, 1))
        seeing = np.tile(heights[:, None], (1, parts_below))
        pairs = np.outer(heights, widths)
    else:
        seen, pairs = (np.diff(sums[:, theirs]) for sums in _rows_seen(below, layer, parts))
        seeing = np.diff(_rows_seeing(below, layer, parts_below)[:, mine]).T
    return Links(
        activations=(seen * below.depth).astype(np.float64),
        errors=(seeing * layer.depth).astype(np.float64),
        connections=(pairs * (fan * layer.depth)).astype(np.float64),
    )


def neurons(layer: Layer, parts: int) -> Numbers:
    """N_neuron(l, p): (parts,) neurons of each stripe."""
    return (np.diff(stripes(layer.rows, parts)) * layer.depth).astype(np.float64)


def stored(layer: Layer, connections: Sequence[float] | Numbers) -> float:
    """Weights of one copy that its stripes read, all together: a shared kernel once a stripe.

    `connections` are those of each stripe, W(l, p).
    """
    if layer.weights is None:
        return float(np.sum(connections))
    return float(layer.weights * len(connections))


def _seen(below: Layer, layer: Layer) -> tuple[Counts, Counts]:
    """First and last row, exclusive, of what each row sees."""
    if layer.window is None:
        return np.zeros(layer.rows, np.int64), np.full(layer.rows, below.rows)
    begin = np.arange(layer.rows, dtype=np.int64) * layer.stride - layer.padding
    return np.maximum(begin, 0), np.minimum(begin + layer.window, below.rows)


@lru_cache(maxsize=2_000)
def _rows_seen(below: Layer, layer: Layer, parts: int) -> tuple[Counts, Counts]:
    """Running sums over the rows below: rows that a stripe sees, and how often it does.

    Both (parts, rows below + 1).
    """
    first, last = _seen(below, layer)
    changes = np.zeros((parts, below.rows + 1), np.int64)
    stripe = np.repeat(np.arange(parts), np.diff(stripes(layer.rows, parts)))
    np.add.at(changes, (stripe, first), 1)
    np.add.at(changes, (stripe, last), -1)
    times = np.cumsum(changes, axis=1)[:, :-1]
    return _running(times > 0), _running(times)


@lru_cache(maxsize=2_000)
def _rows_seeing(below: Layer, layer: Layer, parts_below: int) -> Counts:
    """Running sums over the rows of the layer of those that see a stripe below."""
    first, last = _seen(below, layer)
    bounds = stripes(below.rows, parts_below)
    return _running((first < bounds[1:, None]) & (last > bounds[:-1, None]))


def _running(values: npt.NDArray[np.bool_] | Counts) -> Counts:
    sums = np.cumsum(values, axis=1, dtype=np.int64)
    return np.concatenate([np.zeros((len(sums), 1), np.int64), sums], axis=1)
