"""Asynchronous: every worker goes on at once, with its batch as it was."""

from netcosim.policies.coordination.observed import Begin, Ended, UseOf


class Asynchronous:
    """Coordinator that lets every worker go on."""

    def begin(self, batches: list[int]) -> list[Begin]:
        """Begin all."""
        return [Begin(worker, batch) for worker, batch in enumerate(batches)]

    def ended(self, ended: Ended, use: UseOf) -> list[Begin]:
        """Let the worker go on."""
        return [Begin(ended.worker, ended.batch)]
