"""Specs of an epoch: TOML files that people write, those that come along, and built-in profiles."""

from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, ValidationError

from netcosim.errors import ScenarioError
from netcosim.nearest import question
from netcosim.scenario.fields import BaseUnits, Fraction, Name, RateBps, Record, Whole
from netcosim.scenario.named import builtin_scenarios
from netcosim.scenario.toml import parse_toml, validation_message
from netcosim.user_files import SCENARIO, read_text
from netcosim.workload import Profile
from netcosim.workload.catalogue import load_profile, profile_names
from sim.analytic.yan.model import Configuration, Job, Machine, Problem, Reading, Split, check
from sim.analytic.yan.network import Layer, Network
from sim.analytic.yan.search import placed

PROFILE: Final = "profile:"
_PROFILE_RATE: Final = BaseUnits(10**10)
_PROFILE_MACHINES: Final = 8

Count = Annotated[Whole, Field(ge=1, le=10**9)]
Rows = Annotated[Whole, Field(ge=1, le=100_000)]
Seconds = Annotated[Fraction, Field(ge=0, le=1e6, allow_inf_nan=False)]
Factor = Annotated[Fraction, Field(ge=1, le=1e6, allow_inf_nan=False)]


def _listed(value: Any) -> Any:
    return (value,) if isinstance(value, int | float) else value


class InputSpec(Record):
    """Rows of the samples, and the values of each."""

    rows: Rows
    depth: Count = 1


class LayerSpec(Record):
    """A layer: a fully connected one sees all rows below, any other one a window of them."""

    name: Name
    kind: Literal["full", "local", "convolutional", "pooling"]
    rows: Rows
    depth: Count = 1
    window: Count | None = None
    stride: Count = 1
    padding: Annotated[Whole, Field(ge=0, le=10**6)] = 0
    fan: Count | None = None
    weights: Count | None = None


class MachinesSpec(Record):
    """The machines' number and constants; those that threads share are lists, or one for all."""

    count: Annotated[Whole, Field(ge=1, le=64)]
    cores: Annotated[Whole, Field(ge=1, le=128)] = 1
    muladd_s: Seconds
    act_s: Seconds
    err_s: Seconds
    update_s: Seconds = 0.0
    value_bits: Annotated[Whole, Field(ge=1, le=1024)] = 32
    rate: Annotated[RateBps, Field(ge=1)]
    latency_s: Annotated[tuple[Seconds, ...], BeforeValidator(_listed)] = (0.0,)
    interference: Annotated[tuple[Factor, ...], BeforeValidator(_listed)] = (1.0,)
    cache: Factor = 1.0


class JobSpec(Record):
    """Samples of an epoch, and after how many a replica reads and writes parameters."""

    samples: Count
    read_every: Count
    write_every: Count
    read: Literal["best", "worst"] = "best"
    most_parts: Count | None = None


class ConfigurationSpec(Record):
    """A configuration: of each layer its stripes, threads and copies, and if wanted its workers."""

    servers: Annotated[Whole, Field(ge=0, le=64)]
    replicas: Annotated[Whole, Field(ge=1, le=64)]
    workers: Annotated[Whole, Field(ge=1, le=64)]
    layers: tuple[tuple[Count, Count, Count], ...]
    maps: tuple[tuple[Whole, ...], ...] | None = None


class EpochSpec(Record):
    """A spec: the network, the machines, the job; a configuration of it; what was assumed."""

    name: Name
    about: str = ""
    assumed: tuple[str, ...] = ()
    input: InputSpec
    layer: Annotated[tuple[LayerSpec, ...], Field(min_length=1, max_length=100)]
    machines: MachinesSpec
    job: JobSpec
    configuration: ConfigurationSpec | None = None


_TABLES: Final[dict[str, type[Record]]] = {
    "input": InputSpec,
    "layer": LayerSpec,
    "machines": MachinesSpec,
    "job": JobSpec,
    "configuration": ConfigurationSpec,
}


def names() -> list[str]:
    """Names of the specs that come along, and those of the built-in profiles."""
    folder = resources.files("sim.analytic.yan") / "specs"
    return [*builtin_scenarios(folder), *(f"{PROFILE}{name}" for name in profile_names())]


def named_spec(name: str) -> EpochSpec:
    """Read a spec: what has a slash or ends in ``.toml`` is a file, anything else built in.

    Raises
    ------
    ScenarioError
        No such file or name, or it is not a valid spec.
    """
    builtin = builtin_scenarios(resources.files("sim.analytic.yan") / "specs")
    if name.startswith(PROFILE):
        return _of_profile(load_profile(name.removeprefix(PROFILE)))
    if "/" in name or name.endswith(".toml"):
        try:
            text = read_text(Path(name), SCENARIO)
        except OSError as problem:
            raise ScenarioError(f"{name}: can't be read: {problem.strerror}") from None
    elif name in builtin:
        text = builtin[name].read_text("utf-8")
    else:
        allowed = f"must be a file or one of: {', '.join(names())}{question(name, names())}"
        raise ScenarioError.at("SPEC", name, allowed)
    data = parse_toml(text, name)
    try:
        return EpochSpec.model_validate(data)
    except ValidationError as problem:
        raise ScenarioError(f"{name}: {validation_message(problem, EpochSpec, _TABLES)}") from None


def problem_of(spec: EpochSpec, reading: Reading) -> Problem:
    """The problem that a spec poses, as equations are read.

    Raises
    ------
    ScenarioError
        Names the table, the field and its value.
    """
    job = spec.job.model_dump(exclude={"most_parts"})
    network = Network(
        input=Layer(name="input", rows=spec.input.rows, depth=spec.input.depth),
        layers=tuple(map(_layer, spec.layer)),
    )
    network.check()
    return Problem(
        network=network,
        machine=_machine(spec.machines),
        job=Job(**job),
        reading=reading,
        most_parts=spec.job.most_parts,
    )


def configuration_of(spec: EpochSpec, problem: Problem) -> Configuration | None:
    """The spec's configuration, without `maps` mapped greedily; None if it has none.

    Raises
    ------
    ScenarioError
        These machines can't have it.
    """
    given = spec.configuration
    if given is None:
        return None
    splits = tuple(Split(parts=p, threads=h, copies=r) for p, h, r in given.layers)
    unmapped = Configuration(
        servers=given.servers,
        replicas=given.replicas,
        workers=given.workers,
        splits=splits,
        maps=given.maps or tuple(tuple(range(s.parts * s.copies)) for s in splits),
    )
    check(problem, unmapped)
    if given.maps is not None:
        return unmapped
    maps = placed(problem, splits, given.workers)
    return Configuration(
        servers=given.servers,
        replicas=given.replicas,
        workers=given.workers,
        splits=splits,
        maps=maps,
    )


def _layer(spec: LayerSpec) -> Layer:
    """A layer of the model; what its kind has no use for is refused, what it needs is demanded."""
    where = f"layer {spec.name}"
    full, shared = spec.kind == "full", spec.kind == "convolutional"
    for field, needed, allowed in (
        ("window", not full, not full),
        ("weights", shared, shared),
        ("fan", False, not full),
    ):
        value = getattr(spec, field)
        if needed and value is None:
            raise ScenarioError(f"{where}: {field}: is required, as it is {spec.kind}")
        if value is not None and not allowed:
            raise ScenarioError.at(f"{where}: {field}", value, f"no {spec.kind} layer has any")
    return Layer(
        name=spec.name,
        rows=spec.rows,
        depth=spec.depth,
        window=spec.window,
        stride=spec.stride,
        padding=spec.padding,
        fan=spec.fan,
        weights=0 if spec.kind == "pooling" else spec.weights,
    )


def _machine(spec: MachinesSpec) -> Machine:
    by_threads: dict[str, Any] = {}
    for field in ("latency_s", "interference"):
        listed = getattr(spec, field)
        listed = listed * spec.cores if len(listed) == 1 else listed
        if len(listed) != spec.cores:
            allowed = f"{len(listed)} values: must be one, or one for each of {spec.cores} cores"
            raise ScenarioError(f"machines.{field}: {allowed}")
        by_threads[field] = listed
    other: dict[str, Any] = spec.model_dump(exclude={"cores", "rate", *by_threads})
    return Machine(rate_bps=spec.rate, **other, **by_threads)


def _of_profile(profile: Profile) -> EpochSpec:
    """A profile as one layer in one stripe: the weights of the whole stack, its times per example.

    C_act and C_err are the medians of the recorded passes, spread over the weights, so that U_f and
    U_b are the passes' times; C_muladd is 0, as servers update weights, not workers.
    """
    weights = sum(op.size_bytes for op in profile.step.transfers if op.source == "server") // 4
    spent = {"forward": 0.0, "backward": 0.0, "update": 0.0}
    for number, operation in enumerate(profile.step.computes):
        median = sorted(row[number] for row in profile.duration_ns)[len(profile.duration_ns) // 2]
        kind = operation.name.rpartition("/")[2]
        spent[kind if kind in spent else "forward"] += median / 1e9
    assumed = (
        "machines and links: the profile has none; 32-bit weights",
        "all layers are one that can't be split, and whose constants are the profile's medians",
    )
    return EpochSpec(
        name=profile.name,
        about=profile.provenance,
        assumed=assumed,
        input=InputSpec(rows=1),
        layer=(LayerSpec(name="stack", kind="full", rows=1, depth=weights),),
        machines=MachinesSpec(
            count=_PROFILE_MACHINES,
            muladd_s=0.0,
            act_s=spent["forward"] / profile.batch / weights,
            err_s=spent["backward"] / profile.batch / weights,
            update_s=spent["update"] / weights,
            rate=_PROFILE_RATE,
        ),
        job=JobSpec(samples=60_000, read_every=profile.batch, write_every=profile.batch),
        configuration=ConfigurationSpec(servers=1, replicas=4, workers=1, layers=((1, 1, 1),)),
    )
