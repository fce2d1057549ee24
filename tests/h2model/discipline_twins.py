"""The disciplines once more, written from their rules with lists and dicts, for comparison.

A twin is slow and plain. It keeps its own accounts; nothing of h2model is used here.
"""

BLOCKED = (-1, 0)


class Twin:
    """Accounts that every rule needs; `order` methods are the rule's own."""

    def __init__(self, window, connection, **options):
        self.window = window
        self.connection = connection
        self.options = options
        self.credit_of, self.early = {}, {}
        self.left, self.decided = {}, {}
        self.priority, self.dead = {}, set()
        self.waiting = []  # streams in the order in which the rule looks at them
        self.begin()

    def enqueue(self, stream, size, now, priority=0):
        if stream not in self.left:
            self.left[stream] = self.decided[stream] = 0
            self.credit_of[stream] = self.window + self.early.pop(stream, 0)
            self.priority[stream] = priority
        new_message = self.left[stream] == 0
        self.left[stream] += size
        if new_message:
            self.arrived(stream)

    def credit(self, stream, size, now):
        if stream == 0:
            self.connection += size
        elif stream not in self.left:
            self.early[stream] = self.early.get(stream, 0) + size
        else:
            self.credit_of[stream] += size
            if self.credit_of[stream] > 0 and self.is_stalled(stream):
                self.returned(stream)

    def resize_windows(self, window, now):
        for stream in list(self.left):
            self.credit(stream, window - self.window, now)
        self.window = window

    def next(self, budget, now):
        stream, size = self.choose(budget, now)
        if size:
            self.decided[stream] += size
        return stream, size

    def sent(self, stream, size, now):
        self.decided[stream] -= size
        self.taken(size, now)

    def cancel(self, stream, now):
        if stream not in self.left:
            self.early.pop(stream, None)
            return
        self.dropped(stream)
        self.left[stream] = 0

    # What most rules do.

    def begin(self):
        pass

    def is_stalled(self, stream):
        return self.left[stream] > 0 and stream not in self.waiting

    def arrived(self, stream):
        self.waiting.append(stream)

    def returned(self, stream):
        self.waiting.append(stream)

    def taken(self, size, now):
        pass

    def dropped(self, stream):
        if stream in self.waiting:
            self.waiting.remove(stream)

    def may(self, stream, *bounds):
        return min(self.left[stream], self.credit_of[stream], self.connection, *bounds)

    def pay(self, stream, size):
        self.left[stream] -= size
        self.credit_of[stream] -= size
        self.connection -= size


class Fifo(Twin):
    """Of all that could send, the one that came first: no list at all."""

    def begin(self):
        self.came = {}
        self.clock = 0

    def is_stalled(self, stream):
        return False

    def arrived(self, stream):
        self.clock += 1
        self.came[stream] = self.clock

    def rank(self, stream):
        return self.came[stream]

    def choose(self, budget, now):
        able = [s for s in self.left if self.may(s, budget) > 0]
        if not able:
            return BLOCKED
        first = min(able, key=self.rank)
        size = self.may(first, budget)
        self.pay(first, size)
        return first, size


class Priority(Fifo):
    """As first in, first out, the urgent ones before all others."""

    def rank(self, stream):
        return (-self.priority[stream], self.came[stream])


class ProcessorSharing(Twin):
    """The smallest tag first; of equals, the one that joined first."""

    def begin(self):
        self.virtual = 0
        self.tag = {}
        self.joined = {}
        self.clock = 0

    def join(self, stream):
        self.clock += 1
        self.joined[stream] = self.clock
        self.waiting.append(stream)

    def arrived(self, stream):
        self.tag[stream] = max(self.tag.get(stream, 0), self.virtual)
        self.join(stream)

    returned = arrived

    def choose(self, budget, now):
        while self.waiting:
            stream = min(self.waiting, key=lambda s: (self.tag[s], self.joined[s]))
            if self.credit_of[stream] <= 0:
                self.waiting.remove(stream)
                continue
            size = self.may(stream, budget, self.options["grain"])
            if size <= 0:
                return BLOCKED
            self.virtual = self.tag[stream]
            self.tag[stream] += size
            self.pay(stream, size)
            self.waiting.remove(stream)
            if self.left[stream]:
                self.join(stream)
            return stream, size
        return BLOCKED


class RoundRobin(Twin):
    """The turn is the head's; it goes to the tail when the quantum is used up."""

    def begin(self):
        self.turn = self.options["quantum"]

    def dropped(self, stream):
        if self.waiting[:1] == [stream]:
            self.turn = self.options["quantum"]
        super().dropped(stream)

    def end_turn(self):
        self.turn = self.options["quantum"]
        return self.waiting.pop(0)

    def choose(self, budget, now):
        while self.waiting:
            head = self.waiting[0]
            if self.credit_of[head] <= 0:
                self.end_turn()
                continue
            size = self.may(head, budget, self.turn)
            if size <= 0:
                return BLOCKED
            self.pay(head, size)
            self.turn -= size
            if self.left[head] == 0:
                self.end_turn()
            elif self.turn == 0:
                self.waiting.append(self.end_turn())
            return head, size
        return BLOCKED


class TwoVisit(Twin):
    """First what the credit allows at that moment, then, after the others, all the rest."""

    def begin(self):
        self.visiting = None
        self.visit = 0
        self.visited = set()

    def is_stalled(self, stream):
        return super().is_stalled(stream) and stream != self.visiting

    def arrived(self, stream):
        self.visited.discard(stream)
        if stream != self.visiting:
            self.waiting.append(stream)

    def dropped(self, stream):
        super().dropped(stream)
        if self.visiting == stream:
            self.visiting = None

    def open_visit(self):
        self.visiting = self.waiting.pop(0)
        if self.visiting in self.visited:
            self.visit = self.left[self.visiting]
            return
        self.visited.add(self.visiting)
        self.visit = min(self.left[self.visiting], self.credit_of[self.visiting])
        unfinished = self.visit < self.left[self.visiting]
        if unfinished and not self.options["requeue_at_completion"]:
            self.waiting.append(self.visiting)

    def choose(self, budget, now):
        while self.visiting is not None or self.waiting:
            if self.visiting is None:
                if self.credit_of[self.waiting[0]] <= 0:
                    self.waiting.pop(0)
                    continue
                if self.connection <= 0:
                    return BLOCKED
                self.open_visit()
            stream = self.visiting
            if self.credit_of[stream] <= 0:
                self.visiting = None
                continue
            size = self.may(stream, budget, self.visit)
            if size <= 0:
                return BLOCKED
            self.pay(stream, size)
            self.visit -= size
            if self.left[stream] == 0:
                self.visiting = None
                super().dropped(stream)
            elif self.visit == 0:
                self.visiting = None
                if stream not in self.waiting:
                    self.waiting.append(stream)
            return stream, size
        return BLOCKED


class WriteCycle(Twin):
    """Frame by frame into a write, until it is full; the kernel's pace moves the target."""

    def begin(self):
        self.target = self.options["target"]
        self.streak = 0
        self.write = []  # [stream, bytes] gathered and not yet emitted
        self.outstanding = 0  # bytes of the write that the kernel has not taken
        self.began = None
        self.parked = []  # came to the head when the connection had no credit
        self.headed = set()  # have sent their HEADERS
        self.connections_first = True
        self.tailed = False

    def rejoin(self, stream):
        if self.options["finish_first"]:
            self.waiting.insert(0, stream)
        else:
            self.waiting.append(stream)

    returned = rejoin

    def is_stalled(self, stream):
        return super().is_stalled(stream) and stream not in self.parked

    def head(self, stream):
        if stream in self.headed:
            return 0
        self.headed.add(stream)
        first, self.connections_first = self.connections_first, False
        return self.options["head_first"] if first else self.options["head"]

    def dropped(self, stream):
        super().dropped(stream)
        if stream in self.parked:
            self.parked.remove(stream)
        for piece in [p for p in self.write if p[0] == stream]:
            self.write.remove(piece)
            self.outstanding -= piece[1]
            self.connection += piece[1]

    def gather(self, now):
        self.began = None
        out = 0
        if self.connection > 0:
            back, self.parked = self.parked, []
            for stream in back:
                self.rejoin(stream)
        while out < self.target and self.waiting:
            stream = self.waiting.pop(0)
            out += self.head(stream)
            if self.connection <= 0:
                self.parked.append(stream)
                continue
            if self.credit_of[stream] <= 0:
                continue
            if out >= self.target and self.write:
                self.waiting.append(stream)
                break
            turn = 0
            first = True  # HEADERS may have filled the write: one byte goes all the same
            while (first or out < self.target) and self.may(stream) > 0:
                first = False
                frame = self.may(stream, self.options["frame"], max(1, self.target - out))
                self.pay(stream, frame)
                turn += frame
                out += frame + 9
            self.write.append([stream, turn])
            self.outstanding += turn
            if self.left[stream]:
                self.rejoin(stream)
            else:
                out += self.options["tail" if self.tailed else "tail_first"]
                self.tailed = True
        self.judge(out, now)

    def judge(self, out, now):
        if not self.write:
            return
        if out >= self.target * 7 // 10:
            self.began = now
        elif self.streak < 0:
            self.streak = 0

    def choose(self, budget, now):
        if not self.write:
            if self.outstanding:
                return BLOCKED
            self.gather(now)
            if not self.write:
                return BLOCKED
        piece = self.write[0]
        size = min(budget, piece[1])
        piece[1] -= size
        if piece[1] == 0:
            self.write.pop(0)
        return piece[0], size

    def taken(self, size, now):
        self.outstanding -= size
        if self.outstanding or self.began is None:
            return
        took = now - self.began
        self.began = None
        if took < self.options["fast_ns"]:
            self.streak -= 1
        elif took > self.options["slow_ns"]:
            self.streak += 1
        else:
            self.streak = 0
        if self.streak == -2:
            self.streak = 0
            self.target = min(self.target * 3 // 2, self.options["target_max"])
        if self.streak == 2:
            self.streak = 0
            self.target = max(self.target // 3, self.options["target_min"])


class GatheredVisits(WriteCycle):
    """Whole visits into a write, until it is past its target."""

    def __init__(self, window, connection, **options):
        first, largest = options["write"], max(options["write"], options["write_max"])
        more = {
            "target": first,
            "target_min": 32768 if largest > first else first,
            "target_max": largest,
            "fast_ns": 10**8,
            "slow_ns": 10**9,
            "finish_first": 0,
        }
        super().__init__(window, connection, **options, **more)

    def gather(self, now):
        self.began = None
        out = 0
        if self.connection > 0:
            self.waiting += self.parked
            self.parked = []
        while out < self.target and self.waiting:
            stream = self.waiting.pop(0)
            if self.connection <= 0:
                self.parked.append(stream)
            elif self.credit_of[stream] > 0:
                turn = self.may(stream)
                self.pay(stream, turn)
                full, rest = divmod(turn, self.options["frame"])
                out += turn + 9 * (full + (rest > 0))
                self.write.append([stream, turn])
                self.outstanding += turn
                if self.left[stream]:
                    self.waiting.append(stream)
        self.judge(out, now)


def two_visit(window, connection, **options):
    rule = GatheredVisits if options["write"] else TwoVisit
    return rule(window, connection, **options)


TWINS = {
    "fifo": Fifo,
    "priority": Priority,
    "processor_sharing": ProcessorSharing,
    "round_robin": RoundRobin,
    "two_visit": two_visit,
    "write_cycle": WriteCycle,
}
