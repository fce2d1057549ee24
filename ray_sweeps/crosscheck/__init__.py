"""Cross-check of the simulator against packets: ``python -m ray_sweeps.crosscheck FOLDER...``.

Bursts that the emulator measured are simulated as steps; the ends of streams are compared.
"""

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Cross-check results folders of the emulator; return the exit code."""
    from netcosim.entry import leaving_at_once
    from ray_sweeps.threads import start_no_threads

    start_no_threads()
    with leaving_at_once("ray_sweeps.crosscheck"):
        from ray_sweeps.crosscheck import command
    return command.run(list(sys.argv[1:] if arguments is None else arguments))


def start(arguments: Sequence[str]) -> int:
    """Cross-check results folders of the emulator against the simulator; return the exit code."""
    from ray_sweeps.threads import start_again_if_threaded

    start_again_if_threaded("ray_sweeps.crosscheck", arguments)
    return main(arguments)
