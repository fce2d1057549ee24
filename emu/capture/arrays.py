"""NumPy array types of the capture analysis, and a conversion to int64."""

from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]


def ints(values: Any = ()) -> Ints:
    """Convert any sequence of integers to an int64 array."""
    return np.asarray(values, dtype=np.int64)
