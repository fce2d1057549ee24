"""The simulator once more, written from docs/background/simulator.md, for comparison.

It is slow and plain: after every event it looks at everything. Nothing of the engine is used here
but the shapes of what goes in. What the page leaves open is decided so:

- Of chunks that end on one link at one time, that of the lowest target goes first, then the lowest
  worker and channel; of operations that end on one processor, the one that began first.
- The pulls of a step that wait for nothing arrive as one request, in one event.
- What joins and leaves at one event counts as one change of a link.
- Updates that are made once for all belong to a worker of their own, `JOB` behind all others.
- What an update sets free goes on at once, lowest worker first, in the order of hand-over.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from netcosim.training.plan import DOWN, NONE, WORKER, Draws, StepPlan
from netcosim.training.synchronisation import Join
from sim.plan import Network, Sending
from tests.sim.naive.disciplines import twin_scheduler
from tests.sim.naive.gates import NaiveGate, twin_gate
from tests.sim.naive.joining import Joining
from tests.sim.naive.records import ChunkRow, OperationRow, Run, StepRow
from tests.sim.naive.shares import Key, Share, share
from tests.sim.naive.state import Chunk, Connection, Event, Job, Processor

# The order of events at one time.
DOWNLINK, AT_WORKER, UPLINK, AT_SERVER, ARRIVAL, ACKNOWLEDGEMENT = range(6)


class Simulation:
    """Everything at one point of time."""

    def __init__(
        self,
        plan: StepPlan,
        network: Network,
        sending: Sending,
        draws: Draws,
        staleness: int | None,
        join: Join | None,
    ) -> None:
        self.plan = plan
        self.network = network
        self.chunk_bytes = sending.chunk_bytes
        self.buffer_bytes = sending.buffer_bytes
        self.writes_each = sending.writes_each
        self.draws = draws
        self.staleness = staleness
        self.now = 0.0
        self.run = Run()
        self.workers, self.steps = draws.step.shape
        self.joining = None if join is None else Joining(plan, join, self.workers, self.steps)
        self.own = [
            op for op in range(plan.operations) if self.joining is None or not self.is_update(op)
        ]
        self.next_step = [0] * self.workers  # or the one under way
        self.under_way = [False] * self.workers
        self.began_ns = [0.0] * self.workers
        self.jobs: list[dict[int, Job]] = [{} for _ in range(self.workers)]  # by operation
        self.unended = [0] * self.workers  # operations of the step under way
        self.share: Share = share(network)
        self.connections = {
            (w, c): Connection(
                Key(w, c, channel.server, channel.direction), twin_scheduler(sending)
            )
            for w in range(self.workers)
            for c, channel in enumerate(plan.channels)
        }
        self.processors = {
            (w, p): Processor(processor.capacity)
            for p, processor in enumerate(plan.processors)
            for w in ([self.workers] if processor.shared else range(self.workers))
        }
        self.gates = self.make_gates(sending)
        self.held_at = {
            op: (g, m) for g, gate in enumerate(plan.gates) for m, op in enumerate(gate.operations)
        }
        self.brought_by = {
            op: (g, m) for g, gate in enumerate(plan.gates) for m, op in enumerate(gate.ended_by)
        }
        self.acknowledgements: list[tuple[float, int, int, int]] = []  # worker, gate, message
        self.travelling: list[tuple[float, Job]] = []  # transfers, in order of their last bytes
        self.requested: list[tuple[float, int, list[Job]]] = []  # pulls that wait for nothing

    def is_update(self, operation: int) -> bool:
        """Whether it is done once for all workers."""
        return self.plan.once is not None and bool(self.plan.once[operation])

    def make_gates(self, sending: Sending) -> dict[tuple[int, int], NaiveGate]:
        found = {}
        for w in range(self.workers):
            for g, gate in enumerate(self.plan.gates):
                server = self.plan.channels[gate.channel].server
                ports = self.network.server_bps[server], self.network.worker_bps[w]
                found[w, g] = twin_gate(gate, sending, int(min(ports)))
        return found

    # The loop.

    def go(self, stop_after_ns: float | None) -> Run:
        self.begin_steps()
        self.start_what_can_start()
        while True:
            event = min(self.events(), default=None, key=lambda e: (e.at_ns, e.order))
            if event is None or (stop_after_ns is not None and event.at_ns > stop_after_ns):
                return self.run
            assert event.at_ns >= self.now
            self.now = event.at_ns
            event.happen()
            self.start_what_can_start()

    def events(self) -> Iterator[Event]:
        """Everything that will happen if nothing else does before."""
        yield from self.ends_of_chunks()
        yield from self.ends_of_computations()
        for at_ns, job in self.travelling:
            channel = int(self.plan.place[job.operation])
            yield Event(at_ns, (ARRIVAL, job.worker, channel), partial(self.transfer_arrives, job))
        for request in self.requested:
            at_ns, worker, _ = request
            yield Event(at_ns, (ARRIVAL, worker, -1), partial(self.request_arrives, request))
        for acknowledgement in self.acknowledgements:
            at_ns, worker, gate, _ = acknowledgement
            order = (ACKNOWLEDGEMENT, worker, gate)
            yield Event(at_ns, order, partial(self.acknowledgement_arrives, acknowledgement))

    def ends_of_chunks(self) -> Iterator[Event]:
        for connection in self.connections.values():
            if connection.chunk is not None:
                key = connection.key
                kind = DOWNLINK if key.direction == DOWN else UPLINK
                order = (kind, key.server, self.share.rank(key), key.worker, key.channel)
                yield Event(
                    self.share.end_ns(key, self.now), order, partial(self.chunk_ends, connection)
                )

    def ends_of_computations(self) -> Iterator[Event]:
        for (w, p), processor in self.processors.items():
            kind = AT_WORKER if self.plan.processors[p].node == WORKER else AT_SERVER
            for place, (_, end_ns) in processor.running.items():
                yield Event(
                    end_ns, (kind, w, p, place), partial(self.computation_ends, processor, place)
                )

    # What happens.

    def chunk_ends(self, connection: Connection) -> None:
        chunk = connection.chunk
        assert chunk is not None
        connection.chunk = None
        job = connection.jobs[chunk.stream]
        self.run.chunks.append(
            ChunkRow(
                job.worker,
                connection.key.channel,
                job.step,
                job.operation,
                chunk.size_bytes,
                chunk.start_ns,
                self.now,
            )
        )
        now = round(self.now)
        if not self.buffer_bytes:
            connection.scheduler.sent(chunk.stream, chunk.size_bytes, now)
        connection.scheduler.credit(chunk.stream, chunk.size_bytes, now)
        connection.scheduler.credit(0, chunk.size_bytes, now)
        job.unsent_bytes -= chunk.size_bytes
        if job.unsent_bytes == 0:
            del connection.jobs[chunk.stream]
            self.transfer_is_sent(job)

    def transfer_is_sent(self, job: Job) -> None:
        delay_ns = int(self.network.delay_ns[job.worker])
        if delay_ns > 0:
            self.travelling.append((self.now + delay_ns, job))
        else:
            self.operation_ends(job)

    def transfer_arrives(self, job: Job) -> None:
        self.travelling = [one for one in self.travelling if one[1] is not job]
        self.operation_ends(job)

    def request_arrives(self, request: tuple[float, int, list[Job]]) -> None:
        self.requested.remove(request)
        for job in request[2]:
            self.one_less(job)

    def message_arrives(self, worker: int, gate: int, message: int) -> None:
        """Its sender hears of it when word has travelled back."""
        delay_ns = int(self.network.delay_ns[worker])
        if delay_ns > 0:
            self.acknowledgements.append((self.now + delay_ns, worker, gate, message))
        else:
            self.gates[worker, gate].acknowledge(message, round(self.now))

    def acknowledgement_arrives(self, acknowledgement: tuple[float, int, int, int]) -> None:
        self.acknowledgements.remove(acknowledgement)
        _, worker, gate, message = acknowledgement
        self.gates[worker, gate].acknowledge(message, round(self.now))

    def computation_ends(self, processor: Processor, place: int) -> None:
        job, _ = processor.running.pop(place)
        self.operation_ends(job)

    def operation_ends(self, job: Job) -> None:
        self.run.operations.append(
            OperationRow(job.worker, job.step, job.operation, job.ready_ns, job.start_ns, self.now)
        )
        if job.worker == self.workers:
            self.update_ends(job)
            return
        if job.operation in self.brought_by:
            self.message_arrives(job.worker, *self.brought_by[job.operation])
        self.let_go_on(job.worker, self.behind(job.operation))
        self.unended[job.worker] -= 1
        if self.unended[job.worker] == 0:
            self.step_ends(job.worker)

    def behind(self, operation: int) -> list[int]:
        first, end = self.plan.after_start[operation : operation + 2]
        return [int(op) for op in self.plan.after[first:end]]

    def one_less(self, waiting: Job) -> None:
        """Something that this job waited for has happened."""
        waiting.waits_for -= 1
        if waiting.waits_for > 0:
            return
        if self.joining is None or not self.is_update(waiting.operation):
            self.hand_over(waiting)
            return
        self.gradient_arrives(waiting)

    def step_ends(self, worker: int) -> None:
        step = self.next_step[worker]
        self.run.steps.append(StepRow(worker, step, self.began_ns[worker], self.now))
        if self.joining is not None:
            self.run.weights[worker, step] = self.joining.weight(worker, step)
        done = 0 if self.joining is None else self.joining.complete
        self.next_step[worker] = max(step + 1, done)
        self.under_way[worker] = False
        self.begin_steps()

    # Updates that are made once for all workers.

    def gradient_arrives(self, waiting: Job) -> None:
        """All that an update waits for at a worker is there; maybe the update was made long ago."""
        assert self.joining is not None
        worker, step, update = waiting.worker, waiting.step, waiting.operation
        self.joining.gradient_arrives(worker, step, update)
        for at, each in self.joining.next_updates():
            self.hand_over(Job(self.workers, at, each, 0))
        if self.joining.available(update) > step:
            self.let_go_on(worker, self.behind(update))

    def update_ends(self, job: Job) -> None:
        """What waits for the result of this update goes on."""
        assert self.joining is not None
        available = self.joining.update_ends(job.operation)
        for worker in range(self.workers):
            if self.under_way[worker] and available:
                behind = self.next_step[worker] - job.step
                if behind == 0:
                    self.let_go_on(worker, self.freed_in_step(worker, available))
                elif behind == 1:
                    pulls = np.flatnonzero(np.isin(self.joining.pulled_after, available))
                    self.let_go_on(worker, pulls.tolist())
        self.begin_steps()

    def freed_in_step(self, worker: int, available: list[int]) -> list[int]:
        """Operations behind these updates, once for each whose gradients the worker has sent."""
        assert self.joining is not None
        step = self.next_step[worker]
        sent = [u for u in available if (worker, step, u) in self.joining.arrived]
        if self.joining.rule.by == "tensor":
            return [op for update in sent for op in self.behind(update)]
        assert self.plan.released is not None
        order = self.plan.released[self.draws.step[worker, step]]
        return [int(op) for op in order for u in sent for behind in self.behind(u) if behind == op]

    def let_go_on(self, worker: int, operations: list[int]) -> None:
        for operation in operations:
            self.one_less(self.jobs[worker][operation])

    # Steps.

    def begin_steps(self) -> None:
        """All who may begin their next step do, lowest number first."""
        for worker in range(self.workers):
            if not self.under_way[worker] and self.may_begin(worker):
                self.begin_step(worker)

    def may_begin(self, worker: int) -> bool:
        step = self.next_step[worker]
        if step >= self.steps:
            return False
        if self.joining is not None and self.joining.rule.by == "step" and self.begins_with_pulls:
            return step <= self.joining.complete
        return self.staleness is None or step - min(self.next_step) <= self.staleness

    @property
    def begins_with_pulls(self) -> bool:
        """Whether the pulls of a step are behind the updates of the step before."""
        assert self.joining is not None
        return any(after != NONE for after in self.joining.pulled_after)

    def begin_step(self, worker: int) -> None:
        step = self.next_step[worker]
        self.under_way[worker] = True
        self.began_ns[worker] = self.now
        self.unended[worker] = len(self.own)
        self.jobs[worker] = {
            operation: Job(worker, step, operation, self.waits_for(operation, step))
            for operation in range(self.plan.operations)
        }
        sources = self.plan.sources[self.draws.step[worker, step]]
        self.hand_over_sources(worker, [self.jobs[worker][operation] for operation in sources])

    def waits_for(self, operation: int, step: int) -> int:
        """For how much an operation waits as its step begins; sources for their hand-over, too."""
        before = max(int(self.plan.waits[operation]), 1)
        if self.joining is None:
            return before
        return before + self.joining.pull_is_held(operation, step)

    def hand_over_sources(self, worker: int, sources: list[Job]) -> None:
        """In the gate's order; what the worker pulls has to be asked for, and that travels."""
        delay_ns = int(self.network.delay_ns[worker])
        pulls = [job for job in sources if delay_ns > 0 and self.flows_down(job)]
        for job in sources:
            if job not in pulls:
                self.one_less(job)
        if pulls:
            self.requested.append((self.now + delay_ns, worker, pulls))

    def flows_down(self, job: Job) -> bool:
        place = int(self.plan.place[job.operation])
        return place < len(self.plan.channels) and self.plan.channels[place].direction == DOWN

    def hand_over(self, job: Job) -> None:
        """Nothing holds this operation up any more: to its connection or its processor's queue."""
        job.ready_ns = self.now
        if job.operation in self.held_at:
            gate, message = self.held_at[job.operation]
            self.gates[job.worker, gate].enqueue(message, round(self.now))
        else:
            self.hand_on(job)

    def hand_on(self, job: Job) -> None:
        """To its connection or its processor's queue, past any gate."""
        place = int(self.plan.place[job.operation])
        if place >= len(self.plan.channels):
            p = place - len(self.plan.channels)
            owner = self.workers if self.plan.processors[p].shared else job.worker
            self.processors[owner, p].queue.append(job)
            return
        connection = self.connections[job.worker, place]
        stream = 2 * (job.step * self.plan.operations + job.operation) + 1
        job.unsent_bytes = int(self.plan.size_bytes[job.operation])
        connection.jobs[stream] = job
        connection.scheduler.enqueue(
            stream,
            job.unsent_bytes,
            round(self.now),
            priority=int(self.plan.priority[job.operation]),
        )
        if self.writes_each:
            self.fill_buffer(connection)

    # What begins at once when it can.

    def start_what_can_start(self) -> None:
        for (worker, g), gate in self.gates.items():
            while (message := gate.next(round(self.now))) is not None:
                self.hand_on(self.jobs[worker][self.plan.gates[g].operations[message]])
        self.ask_disciplines()
        for (_, p), processor in self.processors.items():
            while processor.queue and len(processor.running) < processor.capacity:
                job = processor.queue.popleft()
                job.start_ns = self.now
                free = min(set(range(processor.capacity)) - set(processor.running))
                processor.running[free] = (job, self.now + self.duration_ns(p, job))

    def duration_ns(self, p: int, job: Job) -> float:
        worker = job.worker
        if worker == self.workers:
            assert self.joining is not None
            worker = self.joining.last_counted(job.step, job.operation)
        recorded = self.draws.step[worker, job.step]
        duration_ns = float(self.plan.duration_ns[recorded, job.operation])
        if self.plan.processors[p].node == WORKER:
            return duration_ns * float(self.draws.factor[job.worker, job.step])
        return duration_ns

    def ask_disciplines(self) -> None:
        """Every connection without a chunk asks for one; who has none any more leaves the link."""
        leaving: list[Key] = []
        joining: list[tuple[Key, int]] = []
        going_on: list[tuple[Key, int]] = []
        for connection in self.connections.values():
            self.fill_buffer(connection)
            if connection.chunk is not None:
                continue
            self.ask(connection)
            if connection.chunk is not None:
                with_size = (connection.key, connection.chunk.size_bytes)
                (going_on if connection.on_link else joining).append(with_size)
                connection.on_link = True
            elif connection.on_link:
                leaving.append(connection.key)
                connection.on_link = False
        if leaving or joining or going_on:
            self.share.change(self.now, leaving, joining, going_on)

    def fill_buffer(self, connection: Connection) -> None:
        """The kernel takes chunks while a whole one fits, or nothing else is in the buffer."""
        now = round(self.now)
        while self.buffer_bytes:
            used = sum(size_bytes for _, size_bytes in connection.ahead)
            used += 0 if connection.chunk is None else connection.chunk.size_bytes
            if used and used + self.chunk_bytes > self.buffer_bytes:
                return
            stream, size_bytes = connection.scheduler.next(self.chunk_bytes, now)
            if size_bytes == 0:
                return
            connection.scheduler.sent(stream, size_bytes, now)
            connection.ahead.append((stream, size_bytes))

    def ask(self, connection: Connection) -> None:
        if not self.buffer_bytes:
            stream, size_bytes = connection.scheduler.next(self.chunk_bytes, round(self.now))
        else:
            stream, size_bytes = connection.ahead.popleft() if connection.ahead else (0, 0)
        if size_bytes == 0:
            assert not connection.jobs  # all credit is back, so nothing can be held up
            return
        job = connection.jobs[stream]
        if job.start_ns < 0:
            job.start_ns = self.now
        connection.chunk = Chunk(stream, size_bytes, self.now)


def simulate(
    plan: StepPlan,
    network: Network,
    sending: Sending,
    draws: Draws,
    staleness: int | None,
    *,
    join: Join | None = None,
    stop_after_ns: float | None = None,
) -> Run:
    """Run every worker through its steps.

    Parameters
    ----------
    staleness
        By how many steps a worker may be ahead of the slowest; None: as many as it likes.
    join
        How gradients are joined; None: every worker's gradients are updates of their own.
    stop_after_ns
        What ends later is left out.

    Raises
    ------
    ValueError
        The share is unknown, or does not know that many servers.
    """
    return Simulation(plan, network, sending, draws, staleness, join).go(stop_after_ns)
