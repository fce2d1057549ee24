"""Positions in a connection's bytes, by hand and against a naive twin that counts byte by byte."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.service_positions import byte_positions
from netcosim.trace import Service, StreamRow
from tests.netcosim.rows import stream_row


def rows_of(served: list[tuple[int, int, int]]) -> list[StreamRow]:
    """Rows of (connection, stream, bytes), served in this order; what is in between is idle."""
    services: dict[tuple[int, int], list[Service]] = {}
    placed: dict[int, int] = {}
    for turn, (connection, stream, size_bytes) in enumerate(served):
        position = placed[connection] = placed.get(connection, -1) + 1
        services.setdefault((connection, stream), []).append(
            Service(
                start_ns=100 * turn, end_ns=100 * turn + 7, size_bytes=size_bytes, position=position
            )
        )
    return [
        stream_row(
            connection=connection,
            stream=stream,
            tensor=f"t{stream}",
            size_bytes=sum(s.size_bytes for s in mine),
            wire_bytes=sum(s.size_bytes for s in mine),
            start_ns=mine[0].start_ns,
            wire_end_ns=mine[-1].end_ns,
            services=tuple(mine),
        )
        for (connection, stream), mine in services.items()
    ]


@pytest.mark.parametrize(
    ("served", "positions"),
    [
        ([(0, 1, 70)], {(0, 1): 1.0}),
        ([(0, 1, 25), (0, 3, 75)], {(0, 1): 0.25, (0, 3): 1.0}),
        ([(0, 1, 10), (0, 3, 20), (0, 1, 10)], {(0, 1): 1.0, (0, 3): 0.75}),
        (
            [(0, 1, 10), (1, 1, 1000), (0, 3, 10), (1, 3, 3000)],  # each its own connection's
            {(0, 1): 0.5, (0, 3): 1.0, (1, 1): 0.25, (1, 3): 1.0},
        ),
    ],
)
def test_by_hand(
    served: list[tuple[int, int, int]], positions: dict[tuple[int, int], float]
) -> None:
    assert byte_positions(rows_of(served)) == positions


def test_streams_that_share_a_packet_end_in_their_order_of_service() -> None:
    """Their times are equal; only their positions tell them apart."""
    rows = [
        replace(row, services=tuple(replace(s, start_ns=5, end_ns=5) for s in row.services))
        for row in rows_of([(0, 5, 30), (0, 1, 30), (0, 3, 40)])
    ]
    assert byte_positions(rows) == {(0, 5): 0.3, (0, 1): 0.6, (0, 3): 1.0}


SERVED = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from([1, 3, 5, 7]), st.integers(1, 50)),
    min_size=1,
    max_size=25,
)


@given(SERVED)
def test_positions_equal_those_of_a_twin_that_counts_byte_by_byte(
    served: list[tuple[int, int, int]],
) -> None:
    found = byte_positions(rows_of(served))
    for connection in {c for c, _, _ in served}:
        carried = [stream for c, stream, size in served if c == connection for _ in range(size)]
        for stream in set(carried):
            last = max(place for place, each in enumerate(carried) if each == stream)
            assert found[connection, stream] == (last + 1) / len(carried)
    assert found.keys() == {(c, stream) for c, stream, _ in served}


@given(SERVED, st.integers(0, 2000), st.integers(1, 10**9), st.randoms(use_true_random=False))
def test_neither_a_pause_nor_the_order_of_the_rows_moves_them(
    served: list[tuple[int, int, int]], since_ns: int, length_ns: int, shuffle: Any
) -> None:
    rows = rows_of(served)
    held = [
        replace(
            row,
            services=tuple(
                replace(
                    s,
                    start_ns=s.start_ns + (length_ns if s.start_ns > since_ns else 0),
                    end_ns=s.end_ns + (length_ns if s.end_ns > since_ns else 0),
                )
                for s in row.services
            ),
        )
        for row in rows
    ]
    shuffle.shuffle(held)
    assert byte_positions(held) == byte_positions(rows)


@given(SERVED)
def test_the_last_stream_of_each_connection_ends_at_one(served: list[tuple[int, int, int]]) -> None:
    found = byte_positions(rows_of(served))
    for connection in {c for c, _ in found}:
        mine = [position for (c, _), position in found.items() if c == connection]
        assert sorted(mine)[-1] == 1.0
        assert len(set(mine)) == len(mine)
        assert min(mine) > 0
