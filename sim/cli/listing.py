"""Printed list of the names that a scenario or an option accepts."""

from collections.abc import Sequence

from rich.console import Console

from h2model import disciplines
from netcosim.policies import (
    order_sentences,
    placement_sentences,
    schedule_sentences,
    synchronisation_sentences,
)
from netcosim.policies.coordinators import coordinator_sentences, predictor_sentences
from netcosim.training.prepare.build import tensors_of
from netcosim.training.stragglers import (
    kind_names,
    named_stragglers,
)
from netcosim.units import format_size
from netcosim.workload.catalogue import load_profile, profile_names
from sim.analytic import names as baseline_names
from sim.settings.named_transports import usual_transports
from sim.shares import share_names
from topo.catalogue import topologies


def print_names(console: Console, scenarios: Sequence[str]) -> None:
    """Print the names that a scenario or an option accepts."""
    console.print("[bold]scenarios[/bold]   ", ", ".join(scenarios), highlight=False)
    for name in profile_names():
        profile = load_profile(name)
        console.print(
            f"[bold]workload[/bold]     {name}: batch {profile.batch},"
            f" {len(profile.step.operations)} operations,"
            f" {format_size(sum(tensors_of(profile).values()))}",
            highlight=False,
        )
    for name, text in topologies().items():
        console.print(f"[bold]topology[/bold]     {name}: {text}", highlight=False)
    for name, text in usual_transports().items():
        console.print(f"[bold]transport[/bold]    {name}: {text}", highlight=False)
    for name, text in named_stragglers().items():
        console.print(f"[bold]straggler[/bold]    {name}: {text}", highlight=False)
    for title, sentences in (
        ("order", order_sentences()),
        ("placement", placement_sentences()),
        ("schedule", schedule_sentences()),
        ("synchronisation", synchronisation_sentences()),
        ("coordinator", coordinator_sentences()),
        ("predictor", predictor_sentences()),
    ):
        for name, text in sentences.items():
            console.print(f"[bold]{title:12}[/bold] {name}: {text}", highlight=False)
    for title, names in (
        ("kinds", kind_names()),
        ("shares", share_names()),
        ("disciplines", disciplines.names()),
        ("formulas", baseline_names()),
    ):
        console.print(f"[bold]{title:12}[/bold] {', '.join(names)}", highlight=False)
