#!/usr/bin/env python3
"""The simulator against all bursts of the emulator that are kept in this repository.

Needs no root, no network and no Mininet. From the top of a checkout:

    python examples/crosscheck.py --cells --out results/crosscheck
"""

import os
import sys
from pathlib import Path

from ray_sweeps.crosscheck import main

BENCH = Path(os.path.relpath(Path(__file__).resolve().parent.parent / "bench"))
OBSERVATIONS = BENCH / "fidelity" / "observations"

if __name__ == "__main__":
    collections = sorted(str(table.parent) for table in OBSERVATIONS.glob("*/runs.parquet"))
    scores = ["--scores", str(BENCH / "results" / "fidelity.json")]
    sys.exit(main([*collections, *scores, *sys.argv[1:]]))
