"""Options and settings that would do nothing: an option is refused, a file's setting is noted."""

import argparse
from typing import Final

from netcosim.errors import ScenarioError
from netcosim.policies import load_synchronisation, synchronisation_names
from netcosim.policies.coordinators import moves_batches
from netcosim.scenario import Scenario, TrainingSpec
from sim.experiment.axes import worker_counts
from topo.catalogue import build_spec

_REQUEUE: Final = "requeue_at_completion"


def refuse_options_without_effect(found: argparse.Namespace, scenario: Scenario) -> None:
    """Refuse options of the command line that change nothing in this scenario.

    Parameters
    ----------
    found : the options
    scenario : with the options applied

    Raises
    ------
    ScenarioError
        Names the option, its value, why it does nothing and what to do instead.
    """
    training = scenario.training
    if found.gap is not None and not _has_gap(training.synchronisation):
        why = f"has no effect with synchronisation {training.synchronisation}; {_with_gap()}"
        raise ScenarioError.at("--gap", found.gap, why)
    if found.trace is not None and training.trace_steps == 0:
        why = "keeps nothing with 'trace_steps' 0; give --trace-steps 1 or more"
        raise ScenarioError.at("--trace", found.trace, why)
    if found.trace_steps and found.trace_steps > training.steps:
        why = f"must be <= {training.steps}, the steps of each worker"
        raise ScenarioError.at("--trace-steps", found.trace_steps, why)
    if found.rate is not None and _every_link_has_its_own(scenario):
        why = "has no effect, as every link has a rate of its own under [cluster.links]"
        raise ScenarioError.at("--rate", found.rate, why)


def notes_without_effect(found: argparse.Namespace, scenario: Scenario) -> list[str]:
    """What is set and does nothing, though it may be meant for a variation of the scenario."""
    training, notes = scenario.training, []
    default = TrainingSpec.model_fields["gap"].default
    if training.gap != default and not _has_gap(training.synchronisation):
        why = f"has no effect with synchronisation {training.synchronisation}; {_with_gap()}"
        notes.append(f"training.gap {training.gap} {why}")
    if training.socket_buffer is None:
        notes += [
            f"transport[{transport.name}].options.{_REQUEUE} has no effect without"
            " training.socket_buffer: a visit is one chunk"
            for transport in scenario.transport
            if transport.options.get(_REQUEUE)
        ]
    most = worker_counts(scenario)[-1]
    if training.first is not None and training.first >= most:
        notes.append(f"training.first {training.first} has no effect with {most} workers at most")
    spec = scenario.coordination
    if spec is not None and spec.curve and not moves_batches(spec.kind):
        notes.append(f"coordination.curve has no effect with {spec.kind}, which moves no batches")
    if spec is not None and spec.options.get("first", 0) >= most:
        first = f"coordination.options.first {spec.options['first']:g}"
        notes.append(f"{first} has no effect with {most} workers at most")
    if found.placement is not None and scenario.cluster.servers == 1:
        notes.append(f"--placement {found.placement} has no effect with one server")
    return notes


def _has_gap(synchronisation: str) -> bool:
    bound = load_synchronisation(synchronisation)
    return bound(1) != bound(2)


def _with_gap() -> str:
    return f"it is of {' or '.join(name for name in synchronisation_names() if _has_gap(name))}"


def _every_link_has_its_own(scenario: Scenario) -> bool:
    cluster = scenario.cluster
    if len(cluster.links) < cluster.servers + cluster.workers:
        return False
    return all(link.name in cluster.links for link in build_spec(cluster).links)
