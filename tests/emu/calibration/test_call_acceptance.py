"""Calibration of the time that a pushed call is unread: its messages, its reading of a capture."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from emu.calibration.call_acceptance import (
    AcceptanceFound,
    Unread,
    acceptance_messages,
    evaluate,
    is_needed,
    unread_calls,
)
from emu.plan import Plan, make_plan
from emu.prediction.run_inputs import acceptance_of
from h2model.overhead import Acceptance
from h2model.protocol import DEFAULT_WINDOW_BYTES
from netcosim.errors import CaptureError
from netcosim.results.json_files import as_stored
from netcosim.scenario import read_scenario
from tests.emu.run.running import scenario

MS = 1_000_000


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(read_scenario(Path(scenario("directions"))))


def seen(calls: list[tuple[int, int, int]], given: list[tuple[int, int, int]]) -> Any:
    """A burst: calls as (stream, HEADERS, first DATA), WINDOW_UPDATEs as (time, stream, bytes)."""
    time_ns, stream, amount = np.array(given, dtype=np.int64).reshape(-1, 3).T
    grants = SimpleNamespace(time_ns=time_ns, stream=stream, amount=amount)
    streams = {
        place: SimpleNamespace(
            stream=stream, client=SimpleNamespace(headers_ns=headers, first_data_ns=data)
        )
        for place, (stream, headers, data) in enumerate(calls)
    }
    return SimpleNamespace(
        burst=0, streams=streams, carried=SimpleNamespace(feedback=SimpleNamespace(grants=grants))
    )


def test_a_call_is_unread_until_its_streams_first_credit() -> None:
    burst = seen(
        [(1, 0, 10), (3, 5 * MS, 5 * MS + 10)],
        [(MS, 0, 65_535), (2 * MS, 1, 400_000), (4 * MS, 1, 30_000), (6 * MS, 3, 400_000)],
    )
    assert unread_calls([burst]) == [
        Unread(burst=0, first=True, unread_ns=2 * MS),
        Unread(burst=0, first=False, unread_ns=MS),
    ]


def test_calls_that_may_have_been_read_without_a_sign_tell_nothing() -> None:
    """DATA that came late, the five bytes that a reader asks for first, no credit at all."""
    silent = [(5, 5 * MS, 7 * MS), (7, 5 * MS, 5 * MS), (9, 5 * MS, 5 * MS)]
    burst = seen(
        [(1, 0, 10), (3, 5 * MS, 5 * MS + 10), *silent],
        [(2 * MS, 1, 400_000), (6 * MS, 3, 400_000), (8 * MS, 5, 400_000), (6 * MS, 7, 5)],
    )
    assert [sample.unread_ns for sample in unread_calls([burst])] == [2 * MS, MS]


def test_without_a_first_or_a_later_call_nothing_is_known() -> None:
    for burst in (seen([(1, 0, 0)], [(MS, 1, 400_000)]), seen([(1, 0, 0)], [(MS, 0, 400_000)])):
        with pytest.raises(CaptureError):
            unread_calls([burst])


def test_medians_of_the_first_calls_and_of_the_others_survive_their_file() -> None:
    first = [Unread(burst=i, first=True, unread_ns=n) for i, n in enumerate((3, 1, 90))]
    later = [Unread(burst=0, first=False, unread_ns=n) for n in (4, 6)]
    found = evaluate([*later, *first])
    assert found == Acceptance(first_ns=3, later_ns=5)
    record = as_stored(AcceptanceFound(acceptance=found, samples=tuple(first)).record())
    assert acceptance_of(record) == found


@pytest.mark.parametrize("rate_bps", [1e6, 20e6, 95e6, 950e6, 10e9])
def test_each_message_exceeds_the_window_and_comes_after_the_one_before_it(rate_bps: float) -> None:
    messages = acceptance_messages(rate_bps)
    assert len({m.index for m in messages}) == len(messages)
    for one, following in pairwise(messages):
        assert one.size_bytes > 1.5 * DEFAULT_WINDOW_BYTES
        assert following.ready_ns - one.ready_ns > one.size_bytes * 8e9 / rate_bps
    assert sum(m.size_bytes for m in messages) <= 3_200_000


def test_only_pushes_whose_credit_hangs_on_the_reader_need_it(plan: Plan) -> None:
    needing = [cell.name for cell in plan.cells if is_needed(cell)]
    assert needing == ["push/grpc"]
    cell = next(cell for cell in plan.cells if cell.name == "push/grpc")
    old = cell.transport.model_copy(update={"receiver_release": "1.39.0"})
    off = cell.transport.model_copy(update={"flow_control": False})
    assert not is_needed(replace(cell, transport=old))
    assert not is_needed(replace(cell, transport=off))
