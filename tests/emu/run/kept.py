"""Finished bursts of a cell that did not come to its end: kept as if nothing had happened."""

import gzip
import io
from collections.abc import Sequence

from emu.capture import CaptureReport, analyse_capture
from emu.capture.pcap import read_records
from emu.remote.endpoint_common import TENSOR_PATH
from netcosim.results.folder import ResultsFolder
from tests.emu.run.running import WORK, results
from tests.emu.run.world import World


def assert_kept_as_undisturbed(world: World, cell: str, bursts: Sequence[int]) -> None:
    """These bursts of a cell are valid and scored; nothing that came later shows in them.

    What is told of them is what a capture shows that ends right behind the last one.
    """
    with results(world) as folder:
        summary, record = folder.read_summary(), folder.read_run()
        assert summary is not None
        assert record is not None
        mine = [v for v in record.validity if v.cell == cell]
        assert [(v.burst, v.valid, v.reasons) for v in mine] == [(b, True, ()) for b in bursts]
        (scored,) = [each for each in summary.cells if each.cell == cell]
        assert scored.judged_bursts + scored.shown_bursts == len(bursts)
        assert scored.invalid_bursts == 0
        assert {r.burst for r in folder.read_predictions() if r.cell == cell} == set(bursts)
        zero_ns = {v.burst: v.zero_ns or 0 for v in mine}
        rows = [row for row in folder.read_trace() if row.cell == cell]
        told = [
            (r.burst, r.start_ns + zero_ns[r.burst], r.wire_end_ns + zero_ns[r.burst], r.wire_bytes)
            for r in rows
        ]
        end_ns = max(zero_ns[v.burst] + v.length_ns for v in mine)
        (name,) = {file for key, file in record.captures.items() if key.startswith(cell)}
        seen = _undisturbed(world, folder, name, end_ns)
    assert seen.problems == ()
    shown = []
    for stream in seen.connections[0].streams:
        match = TENSOR_PATH.fullmatch(stream.path or "")
        assert match is not None
        half = stream.server
        shown.append((int(match[1]), half.first_data_ns, half.last_data_ns, half.data_bytes))
    assert sorted(told) == sorted(shown)


def _undisturbed(world: World, folder: ResultsFolder, name: str, end_ns: int) -> CaptureReport:
    """What a capture shows that ends with the packets of this time."""
    path = world.at(f"{WORK}/up-to-the-burst.pcap")
    path.write_bytes(gzip.GzipFile(fileobj=io.BytesIO(folder.read(name))).read())
    records = read_records(path)
    last = int((records.time_ns <= end_ns).sum()) - 1
    with path.open("r+b") as file:
        file.truncate(int(records.at[last] + records.captured[last]))
    try:
        return analyse_capture(path)
    finally:
        path.unlink()
