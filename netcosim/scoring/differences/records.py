"""Records of a comparison of two results folders, A and B; as JSON what ``--json`` prints."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from netcosim.intervals import Method, difference

World = Literal["emu", "sim"]


class _Record(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", json_schema_serialization_defaults_required=True
    )


class Change(_Record):
    """A figure in A and in B, and the 95 % interval of the difference."""

    a: float = Field(description="mean over the runs or bursts of A")
    b: float = Field(description="of B")
    difference: float = Field(description="B less A")
    half_width: float | None = Field(
        description="half of the 95 % interval of the difference; null where one has a single value"
    )
    share: float | None = Field(description="difference over A's mean; null where that is 0")
    share_half_width: float | None = Field(description="half_width over A's mean; null likewise")
    method: Method = Field(
        description="paired: Student's t of the differences run by run, which drew the same random"
        " numbers; welch: Welch's t of independent values; none: no interval"
    )
    beyond: bool = Field(
        description="whether the interval excludes 0; without one whether there is a difference"
    )

    @classmethod
    def between(cls, a: Sequence[float], b: Sequence[float], *, paired: bool = False) -> Self:
        """Compare two samples, at least one value of each; see `difference`.

        Raises
        ------
        ValueError
            There is no value, or one is not finite.
        """
        if not all(map(math.isfinite, (*a, *b))):
            raise ValueError("a value is not finite")
        found = difference(a, b, paired=paired)
        base, half = abs(mean(a)), found.half_width
        return cls(
            a=mean(a),
            b=mean(b),
            difference=found.mean,
            half_width=half,
            share=found.mean / base if base else None,
            share_half_width=half / base if base and half is not None else None,
            method=found.method,
            beyond=found.beyond,
        )


class FieldChange(_Record):
    """A field with unequal values."""

    field: str = Field(description="where it stands, such as transport[h2].window")
    a: str | None = Field(description="its value in A as text; null: not set")
    b: str | None = Field(description="in B")


class Side(_Record):
    """One of the two folders."""

    path: str = Field(description="as given")
    world: World
    scenario: str = Field(description="its name")
    seed: int
    complete: bool = Field(description="false: the run did not come to its end")
    trusted: bool = Field(description="false: do not use its figures")
    engine: str | None = Field(description="hash of the simulator's source; null of an emulation")


class PointChange(_Record):
    """One number of workers of a cell that both simulations have."""

    workers: int
    runs_a: int
    runs_b: int
    examples_per_s: Change
    bottleneck_a: str = Field(description="its name, such as server 0 down")
    bottleneck_b: str
    steady_a: bool = Field(description="false: some run had not settled by half of its time")
    steady_b: bool


class SeriesChange(_Record):
    """One cell that both simulations have."""

    cell: str = Field(description="workload/transport")
    points: tuple[PointChange, ...] = Field(description="numbers of workers in both, rising")
    workers_only_a: tuple[int, ...]
    workers_only_b: tuple[int, ...]
    saturation_a: int | None = Field(
        description="number of workers from which on more are of little use; null: not reached"
    )
    saturation_b: int | None


class TrainingChanges(_Record):
    """Two simulations."""

    series: tuple[SeriesChange, ...]


class FigureChange(_Record):
    """A figure of a cell, from its values burst by burst."""

    figure: Literal["order error", "time error", "burst length", "goodput"]
    model: str | None = Field(description="whose error it is; null for what is measured")
    unit: Literal["share", "ns", "bps"]
    change: Change


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many of some figures differ.

    Attributes
    ----------
    compared : all of them
    beyond : those that are beyond their intervals
    without_interval : those that have none, as A or B has a single value
    unequal : of these, those that differ
    """

    compared: int
    beyond: int
    without_interval: int
    unequal: int

    @classmethod
    def of(cls, changes: Sequence[Change]) -> Self:
        """Count some changes."""
        single = [change for change in changes if change.half_width is None]
        unequal = sum(change.beyond for change in single)
        return cls(
            compared=len(changes),
            beyond=sum(change.beyond for change in changes) - unequal,
            without_interval=len(single),
            unequal=unequal,
        )


class EndChange(_Record):
    """A stream's wire end, over the bursts."""

    source: str
    destination: str
    connection: int = Field(description="its number in A")
    tensor: str
    end_ns: Change


class Ends(_Record):
    """The streams' ends of one cell."""

    streams: tuple[EndChange, ...] = Field(description="those that both have, in the order of A")
    only_a: int = Field(description="how many streams only A has")
    only_b: int

    @property
    def found(self) -> "Counts":
        """Number of ends that differ."""
        return Counts.of([stream.end_ns for stream in self.streams])


class CellChange(_Record):
    """One cell that both emulations have."""

    cell: str = Field(description="workload/transport")
    answer_a: str = Field(description="which rule its streams follow, in a few words")
    answer_b: str
    other_rule: bool = Field(description="whether no rule is possible by both verdicts")
    grade_a: str | None = Field(description="A, B or C by the time that the link lost")
    grade_b: str | None
    bursts_a: int = Field(description="judged bursts; of these are all figures")
    bursts_b: int
    figures: tuple[FigureChange, ...]
    ends: Ends


class LinkChange(_Record):
    """What a path delivered before the run, by measurement."""

    path: str = Field(description="such as s0 - w0")
    direction: Literal["down", "up"] = Field(description="down: from server to worker")
    a_bps: int
    b_bps: int


class EmulationChanges(_Record):
    """Two emulations."""

    cells: tuple[CellChange, ...]
    links: tuple[LinkChange, ...] = Field(description="paths that both have")


class WorldsCell(_Record):
    """Streams of one cell that a simulation and an emulation have."""

    cell: str = Field(description="workload/transport")
    bursts: int = Field(description="bursts that both have, and that were judged")
    order_mean: float = Field(
        description="|simulated - measured| position of a stream's end in its connection's bytes"
    )
    order_max: float
    orders_equal: int = Field(description="bursts served in exactly the same order")
    time_mean: float = Field(
        description="|simulated - measured| wire end over the measured burst's length"
    )
    time_max: float
    length_ns: Change = Field(description="from a burst's first hand-over to its last wire end")
    ends: Ends


class WorldsChanges(_Record):
    """A simulation and an emulation: streams only."""

    cells: tuple[WorldsCell, ...]
    not_compared: str = Field(description="what can't be, and why")


class Comparison(_Record):
    """Two results folders compared; one of `training`, `emulation` and `worlds` is not null."""

    format: Literal["netcosim-comparison"] = "netcosim-comparison"
    version: Literal[1] = 1
    a: Side
    b: Side
    scenario: tuple[FieldChange, ...] = Field(
        description="fields of scenario.toml that differ, its description apart"
    )
    versions: tuple[FieldChange, ...] = Field(description="of run.json that differ")
    cells_only_a: tuple[str, ...]
    cells_only_b: tuple[str, ...]
    training: TrainingChanges | None = None
    emulation: EmulationChanges | None = None
    worlds: WorldsChanges | None = None
    compared: int = Field(description="figures that both have, streams' ends left out")
    beyond: int = Field(description="how many of these are beyond their intervals")
    without_interval: int = Field(
        description="how many have no interval, as one folder has a single value"
    )
    unequal: int = Field(description="how many of those without an interval differ")
    differs: bool = Field(
        description="whether a figure is beyond its interval, or differs and has none, two verdicts"
        " exclude each other, or a cell or a number of workers is in one only"
    )
