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
from netcosim.formatting import one_line
from netcosim.results.streams.identification import DisciplineVerdict, Identification

MOST_SETTINGS = 8
MOST_CONNECTIONS = 100
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
    console.print(_ranking(found.discipline))
    for missing in found.missing:
        console.print(_text(f"not run: {missing}", "yellow"))
    console.print(_text(found.statement, "bold"), soft_wrap=True)


def _ranking(verdict: DisciplineVerdict) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("discipline replayed")
    for heading in ("order error", "bytes out of place", "turns off, octaves", "score"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for each in verdict.candidates:
        table.add_row(
            each.name,
            f"{100 * each.order_error:.2f} %",
            f"{100 * each.misplaced:.2f} %",
            f"{each.turns:.2f}",
            f"{each.score:.4f}",
            "excluded" if each.excluded else "",
        )
    return table


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
    console.print(_table(direction.streams[:most_streams]))
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


def _table(streams: Sequence[StreamRecord]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("stream", justify="right")
    table.add_column("path", overflow="ellipsis", no_wrap=True, max_width=40)
    for heading in (
        "request\nms", "response\nms", "first DATA\nms", "last DATA\nms", "bytes", "visits",
        "credit\nstops", "stalls", "first\nwindow", "granted",
    ):  # fmt: skip
        table.add_column(heading, justify="right")
    table.add_column("end")
    for s in streams:
        times = (s.request_ns, s.response_ns, s.first_data_ns, s.last_data_ns)
        counts = (s.data_bytes, s.visits, s.credit_stops, s.stalls, s.window_bytes, s.granted_bytes)
        table.add_row(
            str(s.stream),
            _text(s.path or "-"),
            *("-" if time_ns is None else _ms(time_ns) for time_ns in times),
            *("-" if count is None else str(count) for count in counts),
            s.end,
        )
    return table


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
