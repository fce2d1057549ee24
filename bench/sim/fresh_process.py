"""Measurements in a fresh process: ``python -m bench.sim.fresh_process WHAT ...`` prints JSON.

memory WORKERS STEPS RATE_BPS   the fast path's run, then its table of steps
first-step ENGINE RATE_BPS      up to the first step's end, on the fast path or the generic engine
compile KERNEL                  one of `sim.precompile.usual`
"""

import json
import sys
from typing import Any

from bench.common.memory import peak_bytes
from bench.sim.reference_job import FAST, Job


def memory(workers: int, steps: int, rate_bps: int) -> dict[str, Any]:
    """Peaks after the run and after the steps were put into one table."""
    job = Job(rate_bps=rate_bps, workers=workers)
    engine = job.fast(job.draws(steps))
    loaded = peak_bytes()
    engine.run()
    ran = peak_bytes()
    done = len(engine.steps().worker)
    return {"loaded": loaded, "ran": ran, "listed": peak_bytes(), "steps": done}


def first_step(engine: str, rate_bps: int) -> dict[str, Any]:
    """Run one worker until its first step ends."""
    job = Job(rate_bps=rate_bps, workers=1)
    make = job.fast if engine == FAST else job.generic
    running = make(job.draws(1))
    running.run()
    return {"end_ns": float(running.steps().end_ns[0])}


def compile_kernel(kernel: str) -> dict[str, Any]:
    """Compile a kernel, or take it from the cache."""
    from sim.compiling.kernel import Kernel
    from sim.compiling.one import warm

    return {"seconds": warm(Kernel.named(kernel))}


def main(arguments: list[str]) -> None:
    """Make one measurement, and print it as JSON."""
    match arguments:
        case ["memory", workers, steps, rate_bps]:
            found = memory(int(workers), int(steps), int(rate_bps))
        case ["first-step", engine, rate_bps]:
            found = first_step(engine, int(rate_bps))
        case ["compile", kernel]:
            found = compile_kernel(kernel)
        case _:
            raise SystemExit(__doc__)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
