"""HTML page of a streams report: the values that its template is filled with."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from netcosim.report.heading import heading, lead
from netcosim.report.page_parts import banners, environment, machine
from netcosim.report.streams.data import CellData, ReportData
from netcosim.results.run_record import RunRecord, Validity
from netcosim.results.streams.summary import CellSummary, Errors
from netcosim.units import format_size

_UNITS: Final = (("_bps", "Mbit/s", 1e6), ("_ns", "ms", 1e6), ("_bytes", "MB", 1e6), ("_s", "s", 1))

_WINDOWS_SHOWN: Final = 4
_SIDE_BY_SIDE: Final = 4

Pictures = Mapping[str, Sequence[tuple[str, bytes]]]


def render_page(data: ReportData, pictures: Pictures, files: Iterable[tuple[str, str]]) -> str:
    """The whole page as HTML; `pictures` holds (title, PNG) for each cell."""
    validity = () if data.run is None else data.run.validity
    return (
        environment()
        .get_template("streams.html.j2")
        .render(
            data=data,
            heading=heading(data.scenario),
            lead=lead(data.scenario),
            summary=data.summary,
            run=data.run,
            banners=banners(data.summary),
            cells=data.cells,
            not_run=() if data.summary is None else data.summary.not_run,
            anchors={cell.name: f"cell-{i}" for i, cell in enumerate(data.cells)},
            tables=_error_tables(data.cells),
            validity=validity,
            invalid=sum(not v.valid for v in validity),
            shown=sum(v.valid and not v.judged for v in validity),
            past_scheduler=_past_scheduler(validity),
            links=_tables([] if data.run is None else data.run.links),
            receivers=_receivers(data.run),
            peers=_peers(data.run),
            machine=machine(data.run),
            pictures=pictures,
            files=list(files),
            unjudged={cell.name: _without_evidence(cell.summary) for cell in data.cells},
            ratios={cell.name: _ratios(cell.summary) for cell in data.cells},
        )
    )


def _error_tables(cells: Iterable[CellData]) -> list[dict[str, Any]]:
    summaries = [cell.summary for cell in cells if cell.summary is not None]
    if not any(summary.models for summary in summaries):
        return []
    return [
        {
            "title": "Order",
            "folded": False,
            "text": "where in its connection's bytes a stream ends: |predicted - measured| over"
            " these bytes",
            "cells": [_rows(s, "order") for s in summaries],
        },
        {
            "title": "Shares of links",
            "folded": False,
            "text": "where in the DATA of all connections over its bottleneck a stream ends: what"
            " TCP makes of the links' max-min shares shows here",
            "cells": [_rows(s, "share") for s in summaries if any(m.share for m in s.models)],
        },
        {
            "title": "Wire ends",
            "folded": False,
            "text": "last DATA byte at the receiver, on the clock of link work: |predicted -"
            " measured| over the burst's length",
            "cells": [_rows(s, "wire") for s in summaries],
        },
        {
            "title": "Wire ends, wall clock",
            "folded": True,
            "text": "the same where the measured ends are on the wall clock, pauses and all",
            "cells": [_rows(s, "wall") for s in summaries],
        },
        {
            "title": "Wire ends, relative",
            "folded": True,
            "text": "the secondary error: over the stream's own end, for streams that end after"
            " the first tenth of the burst",
            "cells": [_rows(s, "wire_secondary") for s in summaries],
        },
        {
            "title": "Delivered ends",
            "folded": False,
            "text": "the whole message in the receiving application: predicted wire end and the"
            " receiver's overhead, which was calibrated before the run; |predicted - measured| over"
            " the burst's length",
            "cells": [_rows(s, "delivered") for s in summaries],
        },
        {
            "title": "Delivered ends, relative",
            "folded": True,
            "text": "the secondary error: over the stream's own delivered end, for streams that are"
            " delivered after the first tenth of the burst",
            "cells": [_rows(s, "delivered_secondary") for s in summaries],
        },
    ]


def _rows(summary: CellSummary, kind: str) -> dict[str, Any]:
    rows: list[tuple[Any, Errors | None]] = [(m, getattr(m, kind)) for m in summary.models]
    return {"summary": summary, "rows": rows, "unjudged": _without_evidence(summary)}


def _without_evidence(summary: CellSummary | None) -> str:
    """Why no figure of a cell counts; empty where one does."""
    if summary is None or summary.judged_bursts:
        return ""
    if summary.shown_bursts:
        return "No burst was judged: in each a pause delayed an input of the models"
    return "No burst was valid" if summary.invalid_bursts else "No burst was measured"


def _receivers(run: RunRecord | None) -> list[dict[str, Any]]:
    """Calibrated receivers: overhead in the first burst and later, residuals of the fit."""
    records = {} if run is None else run.overheads
    return [
        {
            "name": name,
            "first": record["overhead"]["first"],
            "later": record["overhead"]["later"],
            "stretch": record["overhead"]["stretch"],
            "samples": len(record["samples"]),
            "reasons": record["reasons"],
            "residuals": [record[f"residual_{kind}_ns"] for kind in ("median", "p95", "max")],
        }
        for name, record in records.items()
    ]


def _ratios(summary: CellSummary | None) -> list[str]:
    """A cell's ratios in words, as far as they are known."""
    if summary is None:
        return []
    found = (
        (summary.ratios.window_to_message, "window", "the largest message"),
        (summary.ratios.turn_to_message, "turn", "the largest message"),
        (summary.ratios.buffer_to_message, "buffer", "the largest message"),
        (summary.ratios.bdp_to_window, "bandwidth-delay product", "the window"),
    )
    return [f"{what} / {of}: {value:.2g}" for value, what, of in found if value is not None]


def _past_scheduler(validity: Iterable[Validity]) -> dict[str, int]:
    """Most unacknowledged bytes seen behind the scheduler, by cell."""
    most: dict[str, int] = {}
    for one in validity:
        if one.past_scheduler_bytes is not None:
            most[one.cell] = max(most.get(one.cell, 0), one.past_scheduler_bytes)
    return most


def _tables(records: Sequence[Mapping[str, Any]]) -> list[list[list[str]]]:
    """Records of any fields as tables, a column for each record, at most `_SIDE_BY_SIDE` in each.

    A row is a field, whose last part names its unit; rows of text come first, measured ones after.
    """
    found = dict.fromkeys(name for record in records for name in record)
    names = sorted(found, key=lambda n: not any(isinstance(r.get(n), str) for r in records))
    parts = [records[i : i + _SIDE_BY_SIDE] for i in range(0, len(records), _SIDE_BY_SIDE)]
    return [
        [[_heading(name), *(_cell_text(name, one.get(name)) for one in part)] for name in names]
        for part in parts
    ]


def _heading(name: str) -> str:
    for suffix, unit, _ in _UNITS:
        if name.endswith(suffix):
            return f"{name.removesuffix(suffix).replace('_', ' ')}, {unit}"
    return name.replace("_", " ")


def _cell_text(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        factor = next((f for suffix, _, f in _UNITS if name.endswith(suffix)), 1)
        return f"{value / factor:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{_heading(key)} {_cell_text(key, item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_cell_text(name, item) for item in value)
    return str(value)


def _peers(run: RunRecord | None) -> list[tuple[str, str, str, str]]:
    """Connection, the releases of sender and receiver, the windows that the receiver announced."""
    return [] if run is None else [(name, *_ends(found)) for name, found in run.peers.items()]


def _ends(found: Mapping[str, Any]) -> tuple[str, str, str]:
    windows = found["receiver"]["settings"].get("initial_window_size", [])
    shown = [format_size(window) for window in windows[:_WINDOWS_SHOWN]]
    more = ["..."] if len(windows) > _WINDOWS_SHOWN else []
    sender, receiver = (found[end]["release"] or "-" for end in ("sender", "receiver"))
    return sender, receiver, ", then ".join([*shown, *more]) or "-"
