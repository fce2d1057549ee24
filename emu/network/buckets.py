"""Sizes of token buckets that every release of tc tells the kernel alike.

The kernel is told the time that a bucket takes at its rate, in ticks of 64 ns. iproute2 6.1 rounds
that down to whole microseconds before it counts ticks, 6.15 rounds ticks up: of 3028 bytes at
100 Mbit/s the one makes 3781 ticks, the other 3785, and a link's frames go 256 ns sooner. Multiples
of 8 us are whole ticks, and the same for both.
"""

import math
from typing import Final

_BITS_A_SECOND_TO_BYTES_IN_8_US: Final = 10**6
_DIGITS: Final = 3


def bucket_bytes(most_bytes: int, rate_bps: int) -> int:
    """Size of a bucket: a multiple of 8 us of its rate, not above `most_bytes` if that holds one.

    A rate with so many digits that neither that nor 8 us are whole bytes gets `most_bytes`.
    """
    step = rate_bps // math.gcd(rate_bps, _BITS_A_SECOND_TO_BYTES_IN_8_US)
    if step > max(most_bytes, rate_bps // _BITS_A_SECOND_TO_BYTES_IN_8_US):
        return most_bytes
    return max(step, most_bytes // step * step)


def part_bps(rate_bps: int, parts: int) -> int:
    """One of so many equal parts of a rate, rounded down to three digits, as buckets need it."""
    part = rate_bps // parts
    unit = int(10 ** max(0, len(str(part)) - _DIGITS))
    return max(1, part // unit * unit)
