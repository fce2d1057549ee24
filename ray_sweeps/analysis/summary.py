"""`summary.json` of a sweep: best points, Pareto fronts, main effects, stragglers, failures.

No clock times, no host: the same bytes for the same dataset.
"""

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

SWEEP_FORMAT: Final = "netcosim-sweep-summary"

FactorValue = bool | int | float | str | None


class _Record(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", json_schema_serialization_defaults_required=True
    )


class FactorRange(_Record):
    """A factor and its values at the points that there are."""

    name: str
    values: tuple[str, ...] = Field(
        description="in their order; of more than 20 the first and the last"
    )
    count: int = Field(description="how many there are, `not varied` (null) included")


class Configuration(_Record):
    """A point and its throughput."""

    key: str
    factors: dict[str, FactorValue] = Field(
        description="of the factors with several values in the sweep; null: not varied there"
    )
    examples_per_s: float
    half_width: float | None = Field(
        description="half of its 95 % interval by Student's t over the runs; null of a single run"
    )
    runs: int


class BestConfiguration(_Record):
    """The best point by a score, and those within noise of it."""

    prices: str | None = Field(
        description="price list by whose cost throughput is divided; null: throughput alone"
    )
    condition: dict[str, str] = Field(
        description="values of factors that are no choice of the user, such as stragglers, among"
        " whose points it is the best; empty: among all"
    )
    cost: float | None
    unit: str | None = Field(description="of the cost")
    best: Configuration
    compared: int = Field(description="other points that share at least two runs with it")
    equal_count: int = Field(
        description="how many of them can't be told from it: the 95 % interval of the difference,"
        " paired run by run, has 0 in it. One comparison at a time; of many points that are truly"
        " worse by little some are found equal, and the best of many equal ones is best by chance"
    )
    equal: tuple[Configuration, ...] = Field(description="the first of these, the best first")


class FrontPoint(_Record):
    """A point of a Pareto front."""

    cost: float
    configuration: Configuration
    same: int = Field(description="other points with just this cost and throughput")
    beyond: bool = Field(
        description="whether it is faster than the one before it beyond the 95 % interval of the"
        " paired difference; the first one is"
    )


class Front(_Record):
    """Points that no other beats in both throughput and cost."""

    prices: str
    unit: str
    condition: dict[str, str] = Field(
        description="values of the factors that are given; empty: the front of all points"
    )
    points: tuple[FrontPoint, ...] = Field(description="by rising cost")
    knee: int | None = Field(
        description="place among them of the one furthest above the line from first to last, both"
        " axes scaled to the front; null: none is above it by 5 % of the front, or there are two"
    )


class EffectLevel(_Record):
    """Effect of one level of a factor."""

    value: str
    points: int
    effect: float = Field(description="above the mean over the levels, as a share of grand_mean")
    half_width: float | None = Field(
        description="half of its 95 % interval over the runs; null of a single run. It says what"
        " chance in the runs does, not what other values of the other factors would"
    )


class FactorEffect(_Record):
    """Main effect of a factor, or of several that always vary together."""

    factors: tuple[str, ...]
    method: Literal["means", "least squares", "confounded"] = Field(
        description="means over all other factors, where each combination of levels is there"
        " equally often; else least squares of an additive model of all factors; confounded: the"
        " points can't tell the factor from others, and bare means hold the others' effects, too"
    )
    drawn: bool = Field(description="whether the levels are bins of drawn numbers")
    spread: float = Field(description="largest less smallest effect")
    rank_correlation: float | None = Field(
        description="Spearman's, of throughput with the numbers; null: not drawn"
    )
    levels: tuple[EffectLevel, ...]


class MainEffects(_Record):
    """Main effects of the factors on throughput."""

    grand_mean: float = Field(description="mean throughput of the points, examples a second")
    balanced: bool
    explained: float | None = Field(
        description="share of the variance among points that the effects add up to; the rest is"
        " what factors do together, and chance"
    )
    points: int
    left_out: int = Field(description="points that lack one of the runs that most points have")
    factors: tuple[FactorEffect, ...] = Field(
        description="the largest spread first, confounded ones last"
    )


class StragglerImpact(_Record):
    """Throughput with stragglers over that of the same points without, paired run by run."""

    synchronisation: str
    factors: dict[str, FactorValue] = Field(description="those of the stragglers")
    points: int = Field(description="over how many, which differ in the other factors, it is mean")
    runs: int
    ratio: float
    half_width: float | None


class Failure(_Record):
    """An error, and at how many points runs ended with it."""

    error: str
    points: int
    runs: int = Field(description="failed runs of these points")


class SweepSummary(_Record):
    """A sweep in figures, as far as its dataset goes."""

    format: Literal["netcosim-sweep-summary"] = SWEEP_FORMAT
    version: Literal[1] = 1
    sweep: str
    description: str
    trusted: bool = Field(description="false: runs of several simulators are mixed")
    complete: bool = Field(description="false: parts of the dataset can't be read")
    reasons: tuple[str, ...] = Field(description="why not, and what else the figures lack")
    engines: tuple[str, ...] = Field(description="hashes of the simulators' sources")
    points: int
    finished_points: int = Field(description="points with at least one run that went well")
    runs: int = Field(description="finished and failed ones")
    failed_runs: int
    factors: tuple[FactorRange, ...]
    given: tuple[str, ...] = Field(
        description="factors that the sweep says are given, not chosen: best configurations and"
        " fronts are told for each combination of their values"
    )
    findings: tuple[str, ...] = Field(description="the answer in sentences")
    best: tuple[BestConfiguration, ...] = Field(
        description="by throughput among all, then by each price list, then for each condition;"
        " where factors are given, by price lists for each condition only; empty: no run went well"
    )
    fronts: tuple[Front, ...]
    effects: MainEffects | None
    straggler_impact: tuple[StragglerImpact, ...]
    straggler_unmatched: int = Field(
        description="points with stragglers without a partner that differs in nothing else"
    )
    failures: tuple[Failure, ...] = Field(description="the most frequent errors, ten at most")
