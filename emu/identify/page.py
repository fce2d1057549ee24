"""Terminal output of an analysis and of an identification."""

from collections.abc import Iterator, Sequence

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from emu.identify.analysis_record import (
    Analysis,
    ConnectionRecord,
    DirectionRecord,
    SideRecord,
    StreamRecord,
)
from netcosim.cli.columns import Column, print_columns
from netcosim.formatting import one_line
from netcosim.results.streams.identification import DisciplineVerdict, Identification

MOST_SETTINGS = 8
MOST_CONNECTIONS = 100
_PATH = 40
_SMALL = 1000
"""A direction with so many times fewer bytes than the other one is only named."""


def print_analysis(
    analysis: Analysis, console: Console, *, most_streams: int, most_turns: int
) -> None:
    """Print all connections; long tables are cut, and say so."""
    console.print(
        _text(
            f"{analysis.file}: {analysis.packets} packets, {analysis.size_bytes} bytes,"
            f" {len(analysis.connections)} TCP connection(s)"
        )
    )
    for number, connection in enumerate(analysis.connections[:MOST_CONNECTIONS], 1):
        console.print()
        _connection(connection, console, number, most_streams, most_turns)
    if len(analysis.connections) > MOST_CONNECTIONS:
        left = len(analysis.connections) - MOST_CONNECTIONS
        console.print(_text(f"... {left} more connections; --json has them, --port chooses"))


def print_identification(found: Identification, console: Console) -> None:
    """Print the table of evidence, and the statement last."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("cell", "shows", "verdict and evidence"):
        table.add_column(heading, overflow="fold")
    for cell in found.cells:
        lines = "\n".join([cell.verdict, *(f"- {line}" for line in cell.evidence)])
        table.add_row(cell.cell, cell.shows, Text(lines))
    console.print(table)
    for title, verdict in (("discipline", found.discipline), ("credit rule", found.credit)):
        console.print(_text(f"{title}, all cells: {verdict.statement}"), soft_wrap=True)
    for each in found.settings:
        console.print(_text(f"{each.setting}: {each.discipline.statement}"), soft_wrap=True)
    _print_ranking(found.discipline, console)
    for missing in found.missing:
        console.print(_text(f"not run: {missing}", "yellow"))
    console.print(_text(found.statement, "bold"), soft_wrap=True)


def _print_ranking(verdict: DisciplineVerdict, console: Console) -> None:
    tried = verdict.candidates
    print_columns(
        [
            Column(heading="discipline replayed", cells=[t.name for t in tried], justify="left"),
            Column(heading="order error", cells=[f"{100 * t.order_error:.2f} %" for t in tried]),
            Column(
                heading="bytes out of place",
                cells=[f"{100 * t.misplaced:.2f} %" for t in tried],
                rank=2,
            ),
            Column(heading="turns off, octaves", cells=[f"{t.turns:.2f}" for t in tried], rank=3),
            Column(heading="score", cells=[f"{t.score:.4f}" for t in tried], rank=1),
            Column(
                heading="",
                cells=["excluded" if t.excluded else "" for t in tried],
                justify="left",
            ),
        ],
        console,
    )


def _connection(
    connection: ConnectionRecord, console: Console, number: int, most_streams: int, most_turns: int
) -> None:
    console.print(
        _text(
            f"connection {number}: client {connection.client}, server {connection.server},"
            f" {connection.duration_ns / 1e9:.3f} s",
            "bold",
        )
    )
    for problem in connection.problems:
        console.print(_text(f"  not complete: {problem}", "yellow"))
    for name, side in (("client", connection.client_side), ("server", connection.server_side)):
        for line in _side(side):
            console.print(_text(f"  {name} {line}"))
    most = max((each.data_bytes for each in connection.directions), default=0)
    for direction in connection.directions:
        if direction.data_bytes * _SMALL < most:
            console.print(
                _text(
                    f"  to the {direction.to}: {direction.data_bytes} bytes of DATA on"
                    f" {len(direction.streams)} stream(s); --json has them"
                )
            )
            continue
        _direction(direction, console, most_streams, most_turns)


def _side(side: SideRecord) -> Iterator[str]:
    settings = [f"{each.name} {each.value} at {_ms(each.time_ns)} ms" for each in side.settings]
    if settings:
        more = f" and {len(settings) - MOST_SETTINGS} more" if len(settings) > MOST_SETTINGS else ""
        yield "announces " + ", ".join(settings[:MOST_SETTINGS]) + more
    if side.pings_ns or side.ping_acks_ns:
        yield f"sends {len(side.pings_ns)} PINGs, answers {len(side.ping_acks_ns)}"
    if side.retransmitted_segments or side.reordered_segments:
        yield (
            f"TCP: {side.segments} segments, {side.retransmitted_segments} sent again,"
            f" {side.reordered_segments} out of order"
        )


def _direction(
    direction: DirectionRecord, console: Console, most_streams: int, most_turns: int
) -> None:
    console.print(
        _text(
            f"  to the {direction.to}: {direction.data_bytes} bytes of DATA on"
            f" {len(direction.streams)} stream(s) in {direction.bursts} burst(s)"
        )
    )
    idle = [
        f"{cause} {each.count} time(s), {_ms(each.total_ns)} ms"
        for cause, each in direction.idle.items()
        if each.count
    ]
    if idle:
        console.print(_text("  idle with data left: " + "; ".join(idle)))
    _print_streams(direction.streams[:most_streams], console)
    if len(direction.streams) > most_streams:
        console.print(_text(f"  ... {len(direction.streams) - most_streams} more (--streams)"))
    ranked = ", ".join(
        f"{each.name} {100 * each.misplaced:.2f} %{'' if each.excluded else ' *'}"
        for each in direction.discipline.candidates
    )
    replayed = [f"bytes out of place by replay (* not excluded): {ranked}"] if ranked else []
    none: list[str] = []
    verdicts = (
        ("discipline", direction.discipline.statement, direction.discipline.evidence, replayed),
        ("credit rule", direction.credit.statement, direction.credit.evidence, none),
    )
    for line in (_served(direction, most_turns), *_credit(direction)):
        console.print(_text("  " + line), soft_wrap=True)
    for title, statement, evidence, more in verdicts:
        console.print(_text(f"  {title}: {statement}", "bold"), soft_wrap=True)
        for line in (*evidence, *more):
            console.print(_text(f"    - {line}"), soft_wrap=True)


def _print_streams(streams: Sequence[StreamRecord], console: Console) -> None:
    """Print a row for each stream; in a narrow terminal without some columns."""

    def column(heading: str, values: Sequence[int | None], rank: int) -> Column:
        cells = ["-" if value is None else str(value) for value in values]
        return Column(heading=heading, cells=cells, rank=rank)

    def times(heading: str, values_ns: Sequence[int | None], rank: int) -> Column:
        cells = ["-" if value is None else _ms(value) for value in values_ns]
        return Column(heading=heading, cells=cells, rank=rank)

    paths = [_short(s.path or "-") for s in streams]
    print_columns(
        [
            column("stream", [s.stream for s in streams], 0),
            Column(heading="path", cells=paths, rank=4, justify="left"),
            times("request\nms", [s.request_ns for s in streams], 2),
            times("response\nms", [s.response_ns for s in streams], 5),
            times("first DATA\nms", [s.first_data_ns for s in streams], 1),
            times("last DATA\nms", [s.last_data_ns for s in streams], 0),
            column("bytes", [s.data_bytes for s in streams], 0),
            column("visits", [s.visits for s in streams], 1),
            column("credit\nstops", [s.credit_stops for s in streams], 2),
            column("stalls", [s.stalls for s in streams], 2),
            column("first\nwindow", [s.window_bytes for s in streams], 3),
            column("granted", [s.granted_bytes for s in streams], 3),
            Column(heading="end", cells=[s.end for s in streams], rank=1, justify="left"),
        ],
        console,
    )


def _short(path: str) -> str:
    """A path as far as it has room beside the figures; the JSON file has all of it."""
    text = one_line(path)
    return text if len(text) <= _PATH else f"{text[: _PATH - 1]}\N{HORIZONTAL ELLIPSIS}"


def _served(direction: DirectionRecord, most: int) -> str:
    turns = " ".join(f"{turn.stream}:{turn.size_bytes}" for turn in direction.turns[:most])
    left = direction.turns_count - min(most, len(direction.turns))
    return f"served (stream:bytes): {turns}" + (f" ... {left} more (--turns)" if left > 0 else "")


def _credit(direction: DirectionRecord) -> Iterator[str]:
    for name, amounts in (
        ("the connection", [g.amount for g in direction.grants if g.stream == 0]),
        ("single streams", [g.amount for g in direction.grants if g.stream > 0]),
        ("all streams, by SETTINGS", [g.amount for g in direction.grants if g.stream < 0]),
    ):
        if amounts:
            yield (
                f"credit to {name}: {len(amounts)} grant(s), {min(amounts)} to {max(amounts)}"
                f" bytes, median {int(np.median(amounts))}"
            )
    if direction.grants_count > len(direction.grants):
        yield f"(the first {len(direction.grants)} of {direction.grants_count} grants)"


def _ms(time_ns: int) -> str:
    return f"{time_ns / 1e6:.3f}"


def _text(line: str, style: str = "") -> Text:
    indent = len(line) - len(line.lstrip())
    return Text(" " * indent + one_line(line), style=style)
