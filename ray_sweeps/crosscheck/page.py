"""HTML page of a cross-check, on the template and style of all reports."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from jinja2 import ChoiceLoader, PackageLoader

from netcosim.formatting import percent
from netcosim.report.page_parts import Banner, environment
from ray_sweeps.crosscheck.record import Cell, Crosscheck
from ray_sweeps.crosscheck.summary import GROUPS
from ray_sweeps.crosscheck.terminal import HEADINGS, figures
from ray_sweeps.crosscheck.wording import beside_text, counted, headline, signed_percent

Picture = tuple[str, str, bytes]
"""Title, a sentence on how to read it, PNG."""

FILES: Final = (
    ("crosscheck.json", "the figures of this page; schemas/crosscheck.schema.json"),
    ("streams.parquet", "each simulated stream, one row each; schemas/streams.columns.json"),
    ("pictures", "the pictures of this page"),
)


def render_crosscheck(found: Crosscheck, name: str, pictures: Sequence[Picture]) -> str:
    """The whole page as HTML; `name` is that of its folder."""
    filled = environment()
    filled.loader = ChoiceLoader(
        [PackageLoader("ray_sweeps.crosscheck"), PackageLoader("netcosim.report")]
    )
    groups = [
        (by, [(g.value, figures(g.errors)) for g in found.groups if g.by == by]) for by in GROUPS
    ]
    if found.errors is not None:
        groups.insert(0, ("all", [("", figures(found.errors))]))
    return filled.get_template("crosscheck.html.j2").render(
        data={"name": name},
        heading=f"Simulator against packets: {counted(len(found.cells), 'cell')}",
        lead=None,
        banners=_banners(found),
        headline=headline(found),
        beside=None if found.beside is None else beside_text(found.beside),
        pictures=pictures,
        headings=HEADINGS,
        groups=[(by, rows) for by, rows in groups if rows],
        found=found,
        cells=[_cell(cell) for cell in found.cells],
        machine=[("simulator's source", found.engine)],
        files=FILES,
    )


def _banners(found: Crosscheck) -> Iterable[Banner]:
    if not found.complete:
        yield "incomplete", "This cross-check was interrupted: cells are missing", ()
    if found.lines:
        yield "incomplete", "Left out, or not whole", found.lines


def _cell(cell: Cell) -> dict[str, Any]:
    errors, stored = cell.errors, cell.stored
    mine = ["-"] * 4
    if errors is not None:
        mine = [
            *(percent(errors.time.mean), signed_percent(errors.bias)),
            *(percent(errors.order.mean), percent(errors.end.mean)),
        ]
    theirs = ["-"] * 2 if stored is None else [percent(stored.time), percent(stored.order)]
    compared = sum(burst.compared for burst in cell.bursts)
    return {
        "run": Path(cell.run).name,
        "cell": cell.cell,
        "rule": cell.discipline or "-",
        "figures": [f"{compared} of {len(cell.bursts)}", *mine, *theirs],
    }
