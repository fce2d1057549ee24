"""Gates of a worker's connections: a schedule decides when each gradient goes."""

from collections.abc import Iterator

from netcosim.policies import load_schedule
from netcosim.policies.gate.machine import Gate
from netcosim.training.executor.messages import messages_of
from netcosim.training.job import TrainingJob


class Gates:
    """All gates of a worker; there may be none.

    Parameters
    ----------
    job : with the plan's gates, and the rates that their connections are expected to carry
    worker : number
    """

    def __init__(self, job: TrainingJob, worker: int) -> None:
        self._gate_of: dict[int, Gate] = {}
        self._held = {message.sent: message.held for message in messages_of(job.plan)}
        self._asked: list[Gate] = []
        for number, gate in enumerate(job.plan.gates):
            assert job.schedule is not None
            made = Gate(
                load_schedule(job.schedule),
                gate.operations,
                gate.size_bytes,
                gate.generated_ns,
                job.schedule_options,
                job.gate_bps[worker][number],
            )
            self._gate_of |= dict.fromkeys(gate.operations, made)

    def hold(self, op: int) -> bool:
        """True if an operation waits at a gate."""
        return op in self._gate_of

    def enter(self, op: int, now_ns: float) -> None:
        """An operation is ready; `let_through` says when it may go."""
        gate = self._gate_of[op]
        gate.enqueue(op, round(now_ns))
        self._ask(gate)

    def arrived(self, sent: int, now_ns: float) -> None:
        """The worker has heard that a message has arrived."""
        held = self._held[sent]
        if held in self._gate_of:
            gate = self._gate_of[held]
            gate.ended(held, round(now_ns))
            self._ask(gate)

    def let_through(self, now_ns: float) -> Iterator[int]:
        """Operations that go now, by gate in the order in which something has happened there."""
        while self._asked:
            gate = self._asked.pop(0)
            while (op := gate.next(round(now_ns))) is not None:
                assert isinstance(op, int)
                yield op

    def _ask(self, gate: Gate) -> None:
        if gate not in self._asked:
            self._asked.append(gate)
