"""A training job's run by its step executors over models of its connections.

What lies between the simulator, which knows links and chunks, and real packets: the same executors
as the nodes over real flows have, and of each connection the model of its sender's writes, its
receiver's credit, the kernel's buffer and the segments on the link.
"""

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from h2model.asking import CALL_NS, Asking, spacing_ns
from h2model.call_headers import CallsOf
from h2model.connection import Connection
from h2model.event_loop import EventLoop, Shares
from h2model.records import LinkModel, StreamPlan
from h2model.sender import Sender
from h2model.standstill import StandstillError
from h2model.tcp.frames import TcpQueue
from h2model.tcp.network import PacketNetwork
from netcosim.training.call_path import path_of
from netcosim.training.coordination import Begun, JobCoordination
from netcosim.training.executor import (
    Acknowledgement,
    Answer,
    Done,
    Ended,
    Over,
    Push,
    Request,
    Server,
    Worker,
)
from netcosim.training.job import TrainingJob
from netcosim.training.plan import DOWN, UP

Kind = Literal["pull", "gradient", "ask for pulls", "ask for gradients"]
PULL: Final[Kind] = "pull"
GRADIENT: Final[Kind] = "gradient"
ASK_PULLS: Final[Kind] = "ask for pulls"
"""From a worker to a server, by the connection whose other direction brings parameters."""
ASK_GRADIENTS: Final[Kind] = "ask for gradients"
"""From a server to a worker, by the connection whose other direction brings gradients."""

_ASKED: Final[Mapping[Kind, Kind]] = {ASK_PULLS: PULL, ASK_GRADIENTS: GRADIENT}
_BACK: Final[Mapping[Kind, Kind]] = {**_ASKED, **{to: by for by, to in _ASKED.items()}}
_FOR_EVER_NS: Final = 2**62
Key = tuple[int, int, int]
"""Worker, step, operation."""


class Way(NamedTuple):
    """One way of a connection of a job: what goes it, and between whom.

    The kind of one that brings messages is the first part of their calls' paths.
    """

    kind: Kind
    worker: int
    server: int

    @property
    def back(self) -> "Way":
        """The other way of the connection."""
        return Way(_BACK[self.kind], self.worker, self.server)


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """Connections of a job's run.

    Attributes
    ----------
    connections : of those ways that bring messages
    links : the path of every way, in the order of their positions
    shares : how they share the links, by position
    message_bytes : flow-controlled bytes of each transfer, by operation
    calls : of each connection, by the way that brings messages
    whole_with_trailers : True if a message counts as delivered when what is behind it has come
    writes_each : True if a sender writes each call of a moment, and the first message of one before
        it knows of others
    probed : True if receivers send PINGs, whose answers move what senders write at once
    packets, queues : of ways that go through TCP packet by packet, their network, which tells of
        their positions, and each one's queue; None and empty where links are shared at rates
    drops : True if queues may drop packets: what follows hangs on microseconds
    """

    connections: Mapping[Way, Connection]
    links: Mapping[Way, LinkModel]
    shares: Shares
    message_bytes: Mapping[int, int]
    calls: Mapping[Way, CallsOf]
    whole_with_trailers: bool
    writes_each: bool
    probed: bool = False
    packets: PacketNetwork | None = None
    queues: Mapping[Way, TcpQueue] = field(default_factory=dict)
    drops: bool = False


@dataclass(slots=True)
class _Step:
    """A step's messages on one connection, by operation."""

    sender: Sender
    stream_of: Mapping[int, int]


@dataclass(slots=True)
class JobOverModels:
    """A run of a job whose gradients are pulled; `run` carries it out.

    Attributes
    ----------
    coordination : who begins each step when, with which batch; None: each by itself
    begins : order of workers that begin at one moment, as their processes run one after the other;
        empty: by their numbers
    requested_ns : when each worker requested each step, and ended its part of the last one
    handed_ns, delivered_ns : of each transfer
    """

    job: TrainingJob
    models: Models
    coordination: JobCoordination | None = None
    begins: Sequence[int] = ()
    requested_ns: dict[tuple[int, int], float] = field(default_factory=dict)
    handed_ns: dict[Key, float] = field(default_factory=dict)
    delivered_ns: dict[Key, float] = field(default_factory=dict)
    _loop: EventLoop = field(init=False)
    _workers: list[Worker] = field(init=False)
    _servers: list[Server] = field(init=False)
    _position: dict[Way, int] = field(init=False)
    _asking: dict[Way, Asking] = field(default_factory=dict)
    _asked_for: dict[Way, dict[int, Key]] = field(default_factory=dict)
    _asked: set[Key] = field(default_factory=set)
    _ready: set[Key] = field(default_factory=set)
    _steps: dict[Way, _Step] = field(default_factory=dict)
    _numbers: dict[Way, int] = field(default_factory=dict)
    _begun: dict[Way, int] = field(default_factory=dict)
    _called: dict[Way, Mapping[int, int]] = field(default_factory=dict)
    _expected: dict[tuple[int, int], int] = field(default_factory=dict)
    _events: list[tuple[float, int, Callable[[float], None]]] = field(default_factory=list)
    _count: int = 0

    def __post_init__(self) -> None:
        """Make the machines; nothing has begun."""
        if self.job.pushed:
            raise ValueError("pushed: must be a job whose gradients are pulled")
        packets = self.models.packets
        self._loop = EventLoop(self.models.shares if packets is None else None)
        if packets is not None:
            packets.moved = self._loop.moved
        coordinated = self.coordination is not None
        if coordinated:
            self.job = self.job.with_factors_apart()
        self._workers = [
            Worker(self.job, number, coordinated=coordinated) for number in range(self.job.workers)
        ]
        self._servers = [Server(self.job, number) for number in range(self.job.plan.servers)]
        self._position = {way: position for position, way in enumerate(self.models.links)}
        for way, link in self.models.links.items():
            if way not in self.models.connections:
                self._open_calls(way, link)

    def _open_calls(self, way: Way, link: LinkModel) -> None:
        calls = Asking(
            link,
            writes_each=self.models.writes_each,
            came=lambda number, arrives_ns: self._at(arrives_ns, self._call_came(way, number)),
            queue=self.models.queues.get(way),
        )
        self._asking[way], self._asked_for[way] = calls, {}
        self._loop.begin(self._position[way], calls)

    def run(self) -> None:
        """Carry out the job.

        Raises
        ------
        StandstillError
            Nothing goes on any more before all steps are over.
        """
        if self.coordination is not None:
            self._let_begin(self.coordination.begin(), 0.0)
        else:
            for number, worker in enumerate(self._workers):
                self._take(number, worker.begin(self._turn(number)))
        machines: list[Worker | Server] = [*self._workers, *self._servers]
        packets = self.models.packets or PacketNetwork()
        while True:
            computed_ns = min(machine.next_ns for machine in machines)
            told_ns = self._events[0][0] if self._events else math.inf
            known_ns = min(computed_ns, told_ns)
            while packets.next_ns < min(known_ns, self._loop.next_ns):
                packets.step()
            now_ns = min(known_ns, self._loop.next_ns)
            if now_ns == math.inf:
                break
            if told_ns == now_ns:
                heapq.heappop(self._events)[2](now_ns)
            elif computed_ns == now_ns:
                self._compute(now_ns)
            else:
                self._loop.step()
        if not all(server.over for server in self._servers):
            raise StandstillError("the job stands still")

    def _turn(self, worker: int) -> float:
        """Time for which the calls of workers keep one waiting that begins at their moment."""
        place = self.begins.index(worker) if self.begins else worker
        calls = sum(self._is(op, DOWN) for op in range(self.job.plan.operations))
        return place * calls * CALL_NS

    @property
    def computed(self) -> list[tuple[int, int, Ended[int]]]:
        """Computations of servers, with worker and step; joined updates' worker is behind all."""
        return [each for server in self._servers for each in server.computed]

    def _compute(self, now_ns: float) -> None:
        for number, worker in enumerate(self._workers):
            if worker.next_ns <= now_ns:
                self._take(number, worker.advance(now_ns))
        for server in self._servers:
            if server.next_ns <= now_ns:
                self._answer(server.advance(now_ns))

    def _let_begin(self, begins: Sequence[Begun], now_ns: float) -> None:
        for worker, step, _, factor in begins:
            self.job.draws.factor[worker, step] *= factor
            begin_ns = now_ns + (self._turn(worker) if len(begins) > 1 else 0.0)
            self._take(worker, self._workers[worker].begin_step(step, begin_ns))

    def _take(self, number: int, out: Sequence[Done | Over | Push | Request]) -> None:
        for each in out:
            if isinstance(each, Push):
                way = Way(GRADIENT, number, self._server_of(each.operation))
                self._hand_over(way, (number, each.step, each.operation), each.time_ns)
            elif isinstance(each, Request):
                self._request(number, each.step, each.time_ns)
            elif isinstance(each, Done):
                self._over(number, each.time_ns)
            else:
                self.requested_ns[number, self.job.steps] = each.time_ns

    def _over(self, worker: int, at_ns: float) -> None:
        """A node's part of a worker's step is over."""
        if self.coordination is not None:
            self._let_begin(self.coordination.over(worker, at_ns), at_ns)

    def _request(self, worker: int, step: int, now_ns: float) -> None:
        """Ask every server for its parameters."""
        self.requested_ns[worker, step] = now_ns
        recorded = self.job.recorded_step(worker, step)
        pulls = [op for op in self.job.plan.sources[recorded].tolist() if self._is(op, DOWN)]
        for server in range(self.job.plan.servers):
            mine = [op for op in pulls if self._server_of(op) == server]
            if mine:
                way = Way(PULL, worker, server)
                calls = self._calls(way, mine, step)
                self._begin(way, calls, (worker, step), now_ns)
                self._ask(way.back, calls, (worker, step), now_ns)

    def _calls(self, way: Way, ops: Sequence[int], step: int) -> Mapping[int, int]:
        """Bytes of the HEADERS of calls that ask for messages, by operation."""
        calls = self.models.calls[way]
        return {op: calls.call_bytes(path_of(way.kind, way.worker, step, op)) for op in ops}

    def _ask(self, way: Way, calls: Mapping[int, int], of: tuple[int, int], now_ns: float) -> None:
        """Make the calls that ask for messages, beside what other connections send."""
        beside_bytes = self.models.calls[way.back].beside_bytes
        numbers = self._asking[way].ask([each + beside_bytes for each in calls.values()], now_ns)
        for number, op in zip(numbers, calls, strict=True):
            self._asked_for[way][number] = (*of, op)

    def _call_came(self, way: Way, number: int) -> Callable[[float], None]:
        """Take a call: it begins a step at the server, or lets go what was ready for it."""

        def act(now_ns: float) -> None:
            key = self._asked_for[way].pop(number)
            self._asked.add(key)
            worker, step, _ = key
            if way.kind == ASK_PULLS and self._begun.get(way) != step:
                self._begun[way] = step
                self._requested(worker, way.server, step, now_ns)
            if key in self._ready:
                self._ready.remove(key)
                self._hand_over(Way(_ASKED[way.kind], worker, way.server), key, now_ns)

        return act

    def _requested(self, worker: int, server: int, step: int, now_ns: float) -> None:
        """Let a server take a worker's request; it asks for the step's gradients at once."""
        pushes = self._pushes(server)
        if pushes:
            way = Way(GRADIENT, worker, server)
            calls = self._called[way] = self._calls(way, pushes, step)
            self._ask(way.back, calls, (worker, step), now_ns)
        self._answer(self._servers[server].requested(worker, step, now_ns))

    def _answer(self, out: Sequence[Answer | Acknowledgement]) -> None:
        for machine in self._servers:
            ended, machine.ended = machine.ended, []
            for worker, _, at_ns in ended:
                self._over(worker, at_ns)
        for each in out:
            server, of = self._server_of(each.operation), (each.worker, each.step)
            if self._expected.get((each.worker, server)) != each.step:
                self._expect(each.worker, server, each.step, each.time_ns)
            self._hand_over(Way(PULL, each.worker, server), (*of, each.operation), each.time_ns)

    def _expect(self, worker: int, server: int, step: int, now_ns: float) -> None:
        """Begin a step's gradients: those of the step before have all come by now."""
        self._expected[worker, server] = step
        way = Way(GRADIENT, worker, server)
        if way in self._called:
            self._begin(way, self._called[way], (worker, step), now_ns)

    def _pushes(self, server: int) -> list[int]:
        """Gradients that a server asks for in each step."""
        return [
            op
            for op in range(self.job.plan.operations)
            if self._is(op, UP) and self._server_of(op) == server
        ]

    def _begin(
        self, way: Way, calls: Mapping[int, int], of: tuple[int, int], now_ns: float
    ) -> None:
        """Begin a step on a connection."""
        first = self._numbers.get(way, 0)
        self._numbers[way] = first + len(calls)
        streams = {op: 1 + 2 * (first + number) for number, op in enumerate(calls)}
        keys = {stream: (*of, op) for op, stream in streams.items()}
        apart_ns = spacing_ns(writes_each=self.models.writes_each)
        sender = self.models.connections[way].begin(
            [
                StreamPlan(
                    stream=stream,
                    size_bytes=self.models.message_bytes[op],
                    ready_ns=None,
                    asked_ns=round(now_ns) + place * apart_ns,
                    call_bytes=calls[op],
                    is_answer=True,
                )
                for place, (op, stream) in enumerate(streams.items())
            ],
            next_ns=_FOR_EVER_NS,
            writes_each=self.models.writes_each,
            told=lambda stream, whole, behind: self._told(keys[stream], whole, behind),
            queue=self.models.queues.get(way),
            back=self.models.queues.get(way.back),
        )
        self._loop.begin(self._position[way], sender)
        self._steps[way] = _Step(sender, streams)

    def _hand_over(self, way: Way, key: Key, time_ns: float) -> None:
        """Hand a message over, or keep it until it has been asked for."""
        if key not in self._asked:
            self._ready.add(key)
            return
        self._asked.remove(key)
        step, op = self._steps[way], key[2]
        self.handed_ns[key] = time_ns
        step.sender.hand_over(
            step.stream_of[op],
            int(self.job.plan.priority[op]),
            time_ns,
            self.models.calls[way].answer_bytes(self.models.message_bytes[op]),
        )

    def _told(self, key: Key, whole_ns: float, behind_ns: float) -> None:
        delivered_ns = behind_ns if self.models.whole_with_trailers else whole_ns
        self._at(delivered_ns, lambda now_ns: self._delivered(key, now_ns))

    def _delivered(self, key: Key, now_ns: float) -> None:
        worker, _, op = key
        self.delivered_ns[key] = now_ns
        if self._is(op, DOWN):
            self._take(worker, self._workers[worker].delivered(op, now_ns))
        else:
            self._answer(self._servers[self._server_of(op)].delivered(worker, op, now_ns))

    def _at(self, time_ns: float, act: Callable[[float], None]) -> None:
        heapq.heappush(self._events, (time_ns, self._count, act))
        self._count += 1

    def _is(self, op: int, direction: int) -> bool:
        """True for a transfer in this direction."""
        place, channels = int(self.job.plan.place[op]), self.job.plan.channels
        return place < len(channels) and channels[place].direction == direction

    def _server_of(self, op: int) -> int:
        return self.job.plan.channels[int(self.job.plan.place[op])].server
