"""Store of observations: the small files of each cell's results folder, together by family.

``python -m emu.predict FAMILY#CELL`` takes one of them like a run's own folder.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.fidelity.listing import Listed
from emu.plan import receiver_key
from netcosim.job import resolve_cells
from netcosim.results.collection import Collection
from netcosim.results.folder import (
    GRANTS,
    LOST,
    RUN,
    SCENARIO,
    TRACE,
    ResultsFolder,
    grants_file,
    lost_file,
    trace_file,
)
from netcosim.results.json_files import to_json
from netcosim.scenario import dump_scenario, parse_scenario

OBSERVATIONS: Final = Path(__file__).with_name("observations")
_NOT_RUN: Final = "not-run.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """The folder with one collection a family, in which each cell is a run."""

    path: Path = OBSERVATIONS

    def collection(self, cell: Listed) -> Collection:
        """Collection that holds a cell's observation, or will."""
        return Collection(path=self.path / re.sub(r"\W+", "-", cell.family).strip("-"))

    def has(self, cell: Listed) -> bool:
        """True if the cell was observed as it is listed now."""
        collection = self.collection(cell)
        text = collection.text(cell.key, SCENARIO)
        # As a job, not as text: fields that came later have their defaults in both.
        return text is not None and parse_scenario(text, str(collection.path)) == cell.scenario

    def open(self, cell: Listed) -> AbstractContextManager[ResultsFolder]:
        """An observed cell as a results folder."""
        return self.collection(cell).open(cell.key)

    def knows_lost_time(self, cell: Listed) -> bool:
        """True if an observed cell has its links' lost time; older releases did not look at it."""
        return LOST in self.collection(cell).tables(cell.key)

    def valid_bursts(self, cell: Listed) -> int:
        """The number of bursts of an observed cell that are evidence, judged or not."""
        with self.open(cell) as folder:
            record = folder.read_run()
        return 0 if record is None else sum(v.valid for v in record.validity)

    def keep(self, cell: Listed, run: ResultsFolder) -> bool:
        """Take a cell's rows out of a run's folder; False if the run did not end with it."""
        record, summary = run.read_run(), run.read_summary()
        name = f"{cell.workload}/{cell.transport}"
        measured = [row for row in run.read_trace() if row.cell == name]
        if record is None or not measured:
            return False
        valid = sum(v.valid for v in record.validity if v.cell == name)
        if valid < cell.repetitions and (summary is None or not summary.complete):
            return False
        predicted = trace_file(row for row in run.read_predictions() if row.cell == name)
        receiver = receiver_key(resolve_cells(cell.scenario)[0])
        mine = record.model_copy(
            update={
                "phases_s": {k: v for k, v in record.phases_s.items() if k == name},
                "models": {k: v for k, v in record.models.items() if _is_of(k, name)},
                "peers": {k: v for k, v in record.peers.items() if _is_of(k, name)},
                "overheads": {k: v for k, v in record.overheads.items() if k == receiver},
                "acceptances": {k: v for k, v in record.acceptances.items() if k == receiver},
                "predictions_sha256": hashlib.sha256(predicted).hexdigest(),
                "validity": tuple(v for v in record.validity if v.cell == name),
                "captures": {},
                "problems": tuple(p for p in record.problems if _is_of(p, name)),
            }
        )
        files = {
            SCENARIO: dump_scenario(cell.scenario).encode(),
            TRACE: trace_file(measured),
            GRANTS: grants_file(row for row in run.read_grants() if row.cell == name),
            RUN: to_json(mine).encode(),
        }
        if run.has(LOST):
            files[LOST] = lost_file(row for row in run.read_lost() if row.cell == name)
        self.collection(cell).put(cell.key, files)
        return True

    def note_not_run(self, reasons: Mapping[str, str]) -> None:
        """Keep the reasons why cells could not be run, by key; an empty one takes one back."""
        kept = {key: why for key, why in {**self.not_run(), **reasons}.items() if why}
        self.path.mkdir(parents=True, exist_ok=True)
        partial = self.path / f".{_NOT_RUN}.part"
        partial.write_text(json.dumps(kept, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        partial.replace(self.path / _NOT_RUN)

    def not_run(self) -> dict[str, str]:
        """Reasons why cells could not be run, by their keys."""
        try:
            found: dict[str, str] = json.loads((self.path / _NOT_RUN).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        return found


def _is_of(text: str, cell: str) -> bool:
    """True if a key or a line of a run's record is about this cell."""
    return text == cell or text.startswith((f"{cell} ", f"{cell},", f"{cell}:"))
