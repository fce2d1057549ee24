"""`seal.json`: predictions of a training scenario, made before it is run, known by their hash."""

import hashlib
import json
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from netcosim.errors import StorageError
from netcosim.results.json_files import from_json, to_json
from netcosim.results.training.job_summary import MessageTimes

SEAL_FORMAT: Final = "netcosim-seal"


class _Record(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        json_schema_serialization_defaults_required=True,
    )


class Range(_Record):
    """95 % range of a figure of one more run like those that were made, by Student's t."""

    low: float
    high: float


class Spread(_Record):
    """Throughput and steps of runs of the same job with everybody's time changed a little.

    Computations vary, and each worker's path is longer by up to the time in which a server's port
    carries a frame of every worker.
    """

    runs: int
    perturbation: float = Field(description="standard deviation of the factor of each computation")
    sd: float = Field(description="standard deviation of the throughput over its mean")
    low: float = Field(description="one more of them is not lower in 97.5 % of cases, examples/s")
    high: float = Field(description="nor higher; by Student's t")
    bimodal: bool = Field(description="they are in two groups: a small cause may decide which")
    step_median_ns: Range | None = Field(
        default=None,
        description="of the median time between two ends of a worker's steps; missing in seals of"
        " earlier releases",
    )
    step_p95_ns: Range | None = Field(default=None, description="the same of their p95")

    @model_serializer(mode="wrap")
    def _without_nothing(self, rest: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what earlier seals never had."""
        return _without(rest(self), "step_median_ns", "step_p95_ns")


class StepTimes(_Record):
    """Times between two ends of a worker's steps, over its counted steps, ns."""

    median: float = Field(gt=0)
    p95: float = Field(gt=0)


class SealedPoint(_Record):
    """Prediction for so many workers."""

    workers: int = Field(ge=1)
    examples_per_s: float = Field(gt=0)
    step_ns: StepTimes
    spread: Spread
    models: float | None = Field(
        description="examples/s of the job over models of its connections; null: gradients are"
        " pushed, the sender's rule is not known, the models come to a standstill, or the record is"
        " by the machine's clock"
    )
    simulated: float | None = Field(
        default=None,
        description="examples/s by one simulation; missing where that is the prediction. Else it is"
        " the mean of runs: over TCP, packet by packet, where links of one queue drop packets, of"
        " perturbed simulations where their `sd` is above 0.005; other disciplines and orders are"
        " off from it by what they are in single simulations",
    )
    mean_of: Literal["packets", "simulations"] | None = Field(
        default=None,
        description="what the prediction is the mean of: runs over TCP, packet by packet, or"
        " perturbed simulations; missing where it is one simulation, and in seals of earlier"
        " releases",
    )
    linear: float = Field(
        description="baseline, examples/s: as many times one worker as there are workers"
    )
    bound: float = Field(
        description="baseline, examples/s: the same, or what the busiest port carries if less"
    )
    disciplines: dict[str, float] = Field(
        description="examples/s if connections had these disciplines instead"
    )
    orders: dict[str, float] = Field(
        description="examples/s if tensors were released in these orders instead"
    )

    @model_serializer(mode="wrap")
    def _without_nothing(self, rest: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what seals of other jobs never had."""
        return _without(rest(self), "simulated", "mean_of")


class SealedCell(_Record):
    """Predictions for one workload on one transport."""

    cell: str = Field(description="workload/transport")
    job_sha256: str = Field(description="of the job's file that both worlds read")
    discipline: str = Field(description="of connections, as simulated")
    order: str = Field(description="in which tensors are released")
    batch: int = Field(ge=1)
    recorded_steps: int = Field(description="steps of the record")
    recorded_examples_per_s: float = Field(description="throughput of the one worker measured")
    messages: MessageTimes | None = Field(
        default=None,
        description="what messages take by the machine's clock, as counted; missing where nothing"
        " is counted",
    )
    points: tuple[SealedPoint, ...] = Field(
        description="by number of workers, rising", min_length=1
    )

    @model_serializer(mode="wrap")
    def _without_nothing(self, rest: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what seals of jobs in virtual time never had."""
        return _without(rest(self), "messages")


def _without(fields: dict[str, Any], *names: str) -> dict[str, Any]:
    """Fields without those of some names that are null."""
    return {key: value for key, value in fields.items() if key not in names or value is not None}


class Seal(_Record):
    """Predictions, and what they were made from."""

    format: Literal["netcosim-seal"] = "netcosim-seal"
    version: Literal[1] = 1
    scenario: str = Field(description="the scenario as resolved, TOML")
    record_sha256: dict[str, str] = Field(description="files of the record, by name")
    simulator: str = Field(description="hash of the simulator's sources")
    cells: tuple[SealedCell, ...] = Field(min_length=1)
    sha256: str = Field(description="of this file without this field")


def sealed(
    *, scenario: str, record_sha256: dict[str, str], simulator: str, cells: tuple[SealedCell, ...]
) -> Seal:
    """Seal predictions."""
    open_seal = Seal(
        scenario=scenario,
        record_sha256=record_sha256,
        simulator=simulator,
        cells=cells,
        sha256="",
    )
    return open_seal.model_copy(update={"sha256": _hash(open_seal)})


def dump_seal(seal: Seal) -> bytes:
    """A seal as its file has it."""
    return to_json(seal).encode()


def load_seal(data: bytes, source: str | Path) -> Seal:
    """Read a seal; `source` names it in errors.

    Raises
    ------
    StorageError
        Not a seal's file, or one that was changed after it was sealed.
    """
    seal = from_json(Seal, data, str(source))
    if _hash(seal) != seal.sha256:
        raise StorageError(f"{source}: sha256: is not the hash of the rest: the file was changed")
    if dump_seal(seal) != data:
        raise StorageError(
            f"{source}: says the same as when it was sealed, in other words: changed"
        )
    return seal


def _hash(seal: Seal) -> str:
    data = json.loads(to_json(seal))
    del data["sha256"]
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
