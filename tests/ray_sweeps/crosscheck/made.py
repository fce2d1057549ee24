"""Results folders whose measured streams are the simulator's own: MADE, not measured.

Each burst is a step of one simulation of the same job, so a cross-check has to find no error.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import sim
from netcosim.results.folder import ResultsFolder
from netcosim.results.run_record import RunRecord, Validity
from netcosim.results.streams.lost import LostRow
from netcosim.results.streams.summary import Summary
from netcosim.scenario import Scenario, build_scenario, with_values
from netcosim.trace import StreamRow, trace_rows
from topo.spec import GOODPUT_SHARE

SIZES = (40_000, 1_500_000, 9_000, 700_000, 250_000)
READY_MS = (0, 3, 3, 5, 40)
FIFO = {"name": "h2-fifo", "sender": "h2", "receiver": "h2", "discipline": "fifo"}
CYCLE = {**FIFO, "name": "h2-cycle", "discipline": "write_cycle"}
CELL = "five/h2-fifo"

Change = Callable[[StreamRow], StreamRow]


def scenario(transports: Iterable[Mapping[str, Any]] = (FIFO,), **changes: object) -> Scenario:
    """Five tensors at 100 Mbit/s; `changes` are by dotted path, dots as two underscores."""
    tensors = [
        {"name": f"t{i}", "size": f"{size}B", "ready": f"{ready}ms"}
        for i, (size, ready) in enumerate(zip(SIZES, READY_MS, strict=True))
    ]
    plain = build_scenario(
        {
            "name": "made",
            "cluster": {"link": {"rate": "100mbit"}},
            "workload": [{"name": "five", "tensors": tensors}],
            "transport": [{"flow_control": False, **each} for each in transports],
        }
    )
    return with_values(plain, {path.replace("__", "."): v for path, v in changes.items()})


def simulated(
    asked: Scenario, bursts: int = 3, rate_share: float = 1.0, **training: object
) -> list[StreamRow]:
    """Rows as the emulator would leave them, of as many steps; links have a share of their rate."""
    link = asked.cluster.link.model_copy(
        update={"rate": round(asked.cluster.link.rate * rate_share)}
    )
    result = sim.simulate(
        asked.model_copy(
            update={"cluster": asked.cluster.model_copy(update={"link": link}), "repetitions": 1}
        ),
        {
            "training.steps": bursts,
            "training.warmup": 0,
            "training.trace_steps": bursts,
            "training.synchronisation": "bsp",
            **{f"training.{key}": value for key, value in training.items()},
        },
        trace=[asked.cluster.workers],
    )
    starts_ns = {
        (row["cell"], row["step"]): row["start_ns"]
        for row in result.steps.to_pylist()
        if row["workers"] == asked.cluster.workers
    }
    rows = trace_rows(result.transfers)
    return [as_measured(row, starts_ns[row.cell, row.burst], rows) for row in rows]


def as_measured(row: StreamRow, start_ns: int, rows: Iterable[StreamRow]) -> StreamRow:
    """A simulated row on its burst's clock; services have their place in the connection's order."""
    order = sorted(
        (s.start_ns, r.stream)
        for r in rows
        if (r.cell, r.burst, r.connection) == (row.cell, row.burst, row.connection)
        for s in r.services
    )
    return replace(
        shifted(row, -start_ns),
        world="emu",
        model="",
        delivered_ns=None,
        services=tuple(
            replace(
                s,
                start_ns=s.start_ns - start_ns,
                end_ns=s.end_ns - start_ns,
                position=order.index((s.start_ns, row.stream)),
            )
            for s in row.services
        ),
    )


def shifted(row: StreamRow, by_ns: int) -> StreamRow:
    """The row with its times moved; services stay."""
    return replace(
        row,
        ready_ns=row.ready_ns + by_ns,
        start_ns=row.start_ns + by_ns,
        wire_end_ns=row.wire_end_ns + by_ns,
    )


def validity(cell: str, burst: int, **values: Any) -> Validity:
    """A burst that was found valid and judged."""
    fine: dict[str, Any] = {
        **dict.fromkeys(("attempt", "throttled_ns", "retransmissions"), 0),
        **dict.fromkeys(("drops", "capture_drops", "late_ns"), 0),
        **{"valid": True, "reasons": (), "steal": 0.0, "past_scheduler_bytes": None},
    }
    return Validity(cell=cell, burst=burst, **(fine | values))


def record(
    validities: Iterable[Validity], rate_share: float = 1.0, models: Mapping[str, Any] = {}
) -> RunRecord:
    """A run record whose links delivered a share of what 100 Mbit/s allows."""
    goodput_bps = 100e6 * GOODPUT_SHARE * rate_share
    names = ("down_bps", "up_bps", "both_down_bps", "both_up_bps")
    return RunRecord(
        command=("emu.run",),
        started="2026-01-02T03:04:05Z",
        finished=None,
        duration_s=1.0,
        phases_s={},
        host={},
        versions={"netcosim": "0.1.0"},
        network={},
        links=[{"rate_bps": 100_000_000, **dict.fromkeys(names, goodput_bps)}],
        shares=[],
        models=dict(models),
        predictions_sha256=None,
        bounds={},
        validity=tuple(validities),
        captures={},
        problems=(),
    )


def write_run(
    path: Path,
    asked: Scenario,
    rows: Iterable[StreamRow],
    *,
    validities: Iterable[Validity] | None = None,
    rate_share: float = 1.0,
    models: Mapping[str, Any] = {},
    lost: Iterable[LostRow] | None = None,
    summary: Summary | None = None,
) -> Path:
    """A results folder of these rows; all bursts are valid unless it is said."""
    kept = list(rows)
    bursts = sorted({(row.cell, row.burst) for row in kept})
    with ResultsFolder.create(path, asked) as folder:
        folder.write_trace(kept)
        found = [validity(*burst) for burst in bursts] if validities is None else validities
        folder.write_run(record(found, rate_share, models))
        if lost is not None:
            folder.write_lost(lost)
        if summary is not None:
            folder.write_summary(summary)
    return path


def stored_summary(*, complete: bool = True, reasons: tuple[str, ...] = ()) -> Summary:
    """A summary without cells."""
    return Summary(
        scenario="made",
        world="emu",
        seed=1,
        complete=complete,
        trusted=True,
        reasons=reasons,
        cells=(),
    )
