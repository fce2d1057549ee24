"""Text that describes a simulation without running it, for ``--plan``."""

from collections.abc import Mapping, Sequence

from netcosim.formatting import one_line
from netcosim.policies import synchronisation_joins
from netcosim.policies.coordinators import DEFAULT_PREDICTOR, predicts
from netcosim.scenario import CurveSpec, Scenario, TrainingSpec
from netcosim.training.prepare.build import tensors_of
from netcosim.training.stragglers import straggler_text, use_texts
from netcosim.units import format_duration, format_rate, format_size
from sim.experiment.axes import at_each_rate, simulated_counts, worker_counts
from sim.experiment.cell import TrainingCell
from sim.experiment.checks import conditions_before, notes
from sim.experiment.one_step_more import steps_more
from sim.settings import release_notes, schedule_text, sender_text, windows_text


def describe(
    scenario: Scenario, cells: Sequence[TrainingCell], *, recommending: bool = False
) -> list[str]:
    """Describe a simulation without running it, line by line."""
    training, counts = scenario.training, worker_counts(scenario)
    lines = [
        f"scenario    {scenario.name}: {one_line(scenario.description)}".rstrip(": "),
        f"network     {scenario.cluster.topology}, {scenario.cluster.servers} server(s),"
        f" {', '.join(map(format_rate, at_each_rate(scenario)))}, links shared {training.share}",
        f"workers     {', '.join(map(str, counts))}",
        f"training    {_coordinated_text(scenario)}, {training.steps} steps of each worker,"
        f" {training.warmup} of them warm-up, {scenario.repetitions} run(s) of each number",
    ]
    if training.measured is not None:
        first, last = training.measured
        lines += [f"measured    steps {first} to {last} behind the common start"]
    lines += _cores_text(training)
    policy = scenario.policy
    lines += [f"policies    order {policy.order}, placement {policy.placement}"]
    if text := schedule_text(cells[0].sending):
        lines += [f"schedule    {text}{_released_text(training)}"]
    lines += [f"straggler   {one_line(straggler_text(spec))}" for spec in scenario.straggler]
    under = conditions_before(scenario)
    lines += [f"use         {text}" for text in use_texts(under.use)]
    for cell in cells:
        engine = cell.why_generic(counts[-1]) or under.why_generic
        lines += [
            f"cell        {cell.name}: {cell.profile.name}, batch {cell.batch},"
            f" {len(cell.profile.step.operations)} operations,"
            f" {format_size(sum(tensors_of(cell.profile).values()))}",
            f"  sender    {sender_text(cell.sending)}",
            *(f"  release   {text}" for text in release_notes(cell.transport)),
            f"  windows   {windows_text(cell.sending, cell.profile.window_bytes)}",
            f"  engine    {'generic, as ' + engine if engine else 'fast path'}",
        ]
    lines += [f"note        {note}" for note in notes(scenario, cells)]
    each = simulated_counts(scenario)
    runs = len(cells) * len(each) * scenario.repetitions
    steps = len(cells) * sum(each) * scenario.repetitions * training.steps
    return [
        *lines,
        f"in all      {runs} runs, {steps:,} worker-steps{_besides(cells, recommending)}",
    ]


def _coordinated_text(scenario: Scenario) -> str:
    """A coordinator with its settings in a few words; without one, the synchronisation."""
    spec = scenario.coordination
    if spec is None:
        return synchronisation_text(scenario.training)
    parts = [f"coordinator {spec.kind}", _options_text(spec.options)]
    if predicts(spec.kind):
        parts.append(f"predictor {spec.predictor or DEFAULT_PREDICTOR}")
        parts.append(_options_text(spec.predictor_options))
    if spec.decision:
        parts.append(f"{format_duration(spec.decision)} a decision")
    parts += [_curve_text(curve) for curve in spec.curve]
    return ", ".join(part for part in parts if part)


def _options_text(options: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in options.items())


def _curve_text(curve: CurveSpec) -> str:
    """A curve of time by batch in a few words: its workers, its shape, its largest batch."""
    whose = (
        "all workers" if curve.workers == "all" else f"workers {', '.join(map(str, curve.workers))}"
    )
    shape = "in proportion"
    if curve.saturated is not None:
        shape = f"flat up to {curve.saturated}"
    if curve.points is not None:
        shape = f"{len(curve.points)} points"
    most = "" if curve.most is None else f" to {curve.most}"
    return f"curve of {whose}: {shape}{most}"


def synchronisation_text(training: TrainingSpec) -> str:
    """A synchronisation with what is set of it and of overlapping steps, in a few words."""
    text = training.synchronisation
    if synchronisation_joins(training.synchronisation):
        count = "all" if training.first is None else f"the first {training.first}"
        text += f" by {training.join or 'step'}, of {count}"
    return f"{text}, steps overlap" if training.overlap else text


def _cores_text(training: TrainingSpec) -> list[str]:
    """Cores and costs of messages that are given, if any are."""
    parts = [
        f"{cores} core(s) of each {who}{what}"
        for who, cores, what in (
            ("server", training.server_cores, " for all workers"),
            ("worker", training.worker_cores, ""),
        )
        if cores is not None
    ]
    parts += [
        f"a message costs a {who} {format_duration(cost.message)} + {cost.ns_per_byte} ns a byte"
        for who, cost in (
            ("server", training.server_messages),
            ("worker", training.worker_messages),
        )
        if cost is not None
    ]
    return [f"processors  {', '.join(parts)}"] if parts else []


def _released_text(training: TrainingSpec) -> str:
    """Blocks of gradients, and what each costs its sender, where they are given."""
    cost, block = training.sent_messages, training.gradient_blocks
    text = "" if block is None else f", gradients released in blocks of {format_size(block)}"
    if cost is not None:
        text += f"; each costs {format_duration(cost.message)} + {cost.ns_per_byte} ns a byte"
    return text


def _besides(cells: Sequence[TrainingCell], recommending: bool) -> str:
    """Runs for the recommendation, as they will be if it is the most workers."""
    scenario = cells[0].scenario
    most = worker_counts(scenario)[-1]
    changes = sum(len(steps_more(cell, most)) for cell in cells) if recommending else 0
    if not changes:
        return ""
    return f"; {changes * scenario.repetitions} runs more for the recommendation"
