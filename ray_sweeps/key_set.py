"""A set of keys in little memory: sorted arrays of a few lengths, as many bytes as keys have."""

import numpy as np
from numpy.typing import NDArray

from ray_sweeps.keys import KEY_DIGITS

Keys = NDArray[np.bytes_]
"""(n,) keys as bytes, of one length each."""

KEY_BYTES = KEY_DIGITS // 2
RUN_BYTES = KEY_BYTES + 4


class KeySet:
    """Keys of one length; a million of 20 bytes need 20 MB."""

    def __init__(self, key_bytes: int) -> None:
        self._kind = f"S{key_bytes}"
        self._levels: list[Keys] = []

    def __len__(self) -> int:
        return sum(map(len, self._levels))

    def add(self, keys: Keys) -> NDArray[np.bool_]:
        """Add keys; return which of them, (n,), were not in the set nor before in the array."""
        found = np.asarray(keys, dtype=self._kind)
        distinct, first = np.unique(found, return_index=True)
        known = self.has(distinct)
        new = np.zeros(len(found), dtype=bool)
        new[first[~known]] = True
        if not known.all():
            self._keep(distinct[~known])
        return new

    def has(self, keys: Keys) -> NDArray[np.bool_]:
        """Find which of these keys, (n,), are in the set."""
        found = np.asarray(keys, dtype=self._kind)
        known = np.zeros(len(found), dtype=bool)
        for level in self._levels:
            place = np.minimum(np.searchsorted(level, found), len(level) - 1)
            known |= level[place] == found
        return known

    def _keep(self, keys: Keys) -> None:
        """Keep sorted keys; levels at least halve in length, so each key is merged rarely."""
        while self._levels and len(self._levels[-1]) < 2 * len(keys):
            keys = np.sort(np.concatenate([self._levels.pop(), keys]), kind="stable")
        self._levels.append(keys)


def keys_of(texts: list[str]) -> Keys:
    """Keys as bytes from their hexadecimal digits."""
    joined = bytes.fromhex("".join(texts))
    return np.frombuffer(joined, dtype=f"S{KEY_BYTES}").copy()


def texts_of(keys: Keys) -> list[str]:
    """Hexadecimal digits of keys of points."""
    digits = np.asarray(keys, f"S{KEY_BYTES}").tobytes().hex()
    return [digits[i : i + KEY_DIGITS] for i in range(0, len(digits), KEY_DIGITS)]


def runs_of(keys: Keys, runs: NDArray[np.integer]) -> Keys:
    """Keys of single runs, (n,), from those of points and the numbers of runs, (n,) each."""
    joined = np.empty((len(keys), RUN_BYTES), dtype=np.uint8)
    joined[:, :KEY_BYTES] = np.asarray(keys, f"S{KEY_BYTES}").view(np.uint8).reshape(-1, KEY_BYTES)
    joined[:, KEY_BYTES:] = runs.astype(">u4").view(np.uint8).reshape(-1, 4)
    return joined.reshape(-1).view(f"S{RUN_BYTES}")
