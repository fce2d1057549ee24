"""Print all names that a scenario can use, for ``--list``."""

from collections.abc import Sequence

from rich.console import Console

from h2model import credit, disciplines
from netcosim.policies import order_needs_step, order_sentences, placement_sentences
from netcosim.tensors import set_names, tensor_set
from netcosim.units import format_size
from topo.catalogue import topologies


def print_names(console: Console, scenarios: Sequence[str]) -> None:
    """Print every name that a scenario can use."""
    console.print("[bold]scenarios[/bold]   ", ", ".join(scenarios), highlight=False)
    for name, text in topologies().items():
        console.print(f"[bold]topology[/bold]     {name}: {text}", highlight=False)
    for name in set_names():
        tensors = tensor_set(name)
        console.print(
            f"[bold]tensor set[/bold]   {name}: {len(tensors.tensors)} tensors,"
            f" {format_size(tensors.total_bytes)}; {tensors.source}",
            highlight=False,
        )
    bursts_orders = {n: text for n, text in order_sentences().items() if not order_needs_step(n)}
    for title, sentences in (("order", bursts_orders), ("placement", placement_sentences())):
        for name, text in sentences.items():
            console.print(f"[bold]{title:12}[/bold] {name}: {text}", highlight=False)
    for title, names in (
        ("disciplines", disciplines.names()),
        ("credit rules", credit.names()),
    ):
        console.print(f"[bold]{title:12}[/bold] {', '.join(names)}", highlight=False)
