"""`./dev bench delay`: bursts over round trips of 1, 5 and 20 ms, measured and predicted.

On a kernel without netem the bursts run in a guest that has it (`tests.emu.netem.guest`): slow,
with coarse timers, and hence a check of shape, not of figures.
"""

import os
import sys
from typing import Any, Final

from bench.common.record import Figure, record
from emu.network.kernel import probe_kernel
from netcosim.cli import run_main
from tests.emu.netem import guest
from tests.emu.netem.delays import SET, Compared, compare
from tests.inside import inside

TARGET: Final = "tests.emu.netem.delays:observe"
TIMEOUT_S: Final = 900.0


def main() -> int:
    """Run every transport at every delay, print the table, write the figures."""
    if probe_kernel().has("netem"):
        where, answer = "this kernel", inside(TARGET, timeout_s=TIMEOUT_S, scenario=SET)
    else:
        where, answer = "a guest that has netem", _in_a_guest()
    found = compare(SET, answer)
    notes = [f"on {where}, {answer['kernel']}; this machine runs {os.uname().release}"]
    return record("delay", [figure for each in found for figure in _figures(each)], notes)


def _in_a_guest() -> Any:
    lacking = guest.missing()
    if lacking:
        sys.exit(f"bench delay: {lacking}")
    ordered = guest.order(TARGET, modules=(*guest.SHAPING, *guest.NETEM), scenario=SET)
    return guest.answers([ordered], timeout_s=TIMEOUT_S)[0]


def _figures(one: Compared) -> list[Figure]:
    name = f"{one.transport}, round trip {one.round_trip_ns / 1e6:g} ms"
    same = "as predicted" if one.order == one.predicted_order else "other than predicted"
    return [
        Figure(
            name=f"{name}: length of the burst",
            value=one.length_ns / 1e6,
            unit="ms",
            note=f"predicted {one.predicted_length_ns / 1e6:.1f}; order {same}",
        ),
        Figure(
            name=f"{name}: stalls of the link",
            value=one.stalls,
            unit="",
            note=f"predicted {one.predicted_stalls}",
        ),
    ]


if __name__ == "__main__":
    sys.exit(run_main(lambda _: main(), "bench delay"))
