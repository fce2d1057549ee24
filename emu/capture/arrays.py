"""Names of the array types that the capture analysis hands around."""

from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]


def ints(values: Any = ()) -> Ints:
    """Any sequence of integers as an int64 array."""
    return np.asarray(values, dtype=np.int64)
