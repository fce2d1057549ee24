"""``python -m bench.door.api``: a hundred simulations through `sim.simulate`; prints JSON.

Ten rates times ten numbers of workers of the built-in default's first job, 200 steps, one run each,
one after the other, as a loop in a notebook would.
"""

import json
import sys
import time
from typing import Final

import sim

RATES: Final = (
    *("100mbit", "250mbit", "500mbit", "1gbit", "2500mbit"),
    *("5gbit", "10gbit", "25gbit", "40gbit", "100gbit"),
)
WORKERS: Final = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)
STEPS: Final = 200


def main() -> None:
    """Simulate everything; print processor time since the process began, and how much it was."""
    done = 0
    for rate in RATES:
        for workers in WORKERS:
            changes: dict[str, object] = {
                "cluster.link.rate": rate,
                "training.workers": [workers],
                "training.steps": STEPS,
                "transport": [{"name": "grpc", "sender": "grpc", "receiver": "grpc"}],
                "repetitions": 1,
            }
            done += sim.simulate("default", changes).points.num_rows
    json.dump({"configurations": done, "processor_s": time.process_time()}, sys.stdout)


if __name__ == "__main__":
    main()
