"""Sets of keys, against Python's own."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ray_sweeps.key_set import KEY_BYTES, RUN_BYTES, KeySet, keys_of, runs_of

KEYS = st.integers(0, 255).map(lambda n: bytes(KEY_BYTES - 1) + bytes([n]))


@pytest.mark.oracle
@given(st.lists(st.lists(KEYS, max_size=20), max_size=12))
def test_as_a_set_of_python(batches: list[list[bytes]]) -> None:
    """Keys that end in zero bytes included, which numpy does not show."""
    found, wanted = KeySet(KEY_BYTES), set[bytes]()
    for batch in batches:
        new = found.add(np.array(batch, dtype=f"S{KEY_BYTES}"))
        expected = [key not in wanted and key not in batch[:i] for i, key in enumerate(batch)]
        assert new.tolist() == expected
        wanted |= set(batch)
        assert len(found) == len(wanted)


def test_keys_of_runs_are_those_of_points_with_the_number() -> None:
    keys = keys_of(["00" * 16, "ff" * 15 + "00", "0123456789abcdef" * 2])
    ids = runs_of(np.repeat(keys, 2), np.array([0, 256] * 3))
    assert ids.dtype == f"S{RUN_BYTES}"
    assert len(set(as_bytes(ids))) == 6
    assert as_bytes(ids)[3] == b"\xff" * 15 + b"\0" + (256).to_bytes(4, "big")


def as_bytes(ids: np.ndarray) -> list[bytes]:
    return [bytes(row) for row in ids.view(np.uint8).reshape(-1, RUN_BYTES)]


@pytest.mark.oracle
def test_a_million_keys_take_twenty_megabytes() -> None:
    rng = np.random.default_rng(1)
    found = KeySet(RUN_BYTES)
    tracemalloc.start()
    for _ in range(100):
        found.add(rng.integers(0, 256, (10_000, RUN_BYTES), np.uint8).view(f"S{RUN_BYTES}")[:, 0])
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found) == 1_000_000
    assert kept < 1.1 * 1_000_000 * RUN_BYTES
