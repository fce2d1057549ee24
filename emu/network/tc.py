"""Traffic shaping of one direction of a link: plans the tc commands, without running them.

On the interface through which a direction of a link is entered stands::

    netem 1:                      if the link has delay, jitter or loss
      htb 2:                      the rate
        class 2:1                 the link's whole rate
          class 2:10, 2:11, ..    model fair: one per worker, each with a bfifo, or
            class 2:100, ..       where several servers meet here, with one class for each
          class 2:e               model fair: bare acknowledgements, ahead of data
          class 2:f               all else (model fair), or all (model fifo), with a bfifo

netem comes first: its queue is the wire in flight and never full, so that the bfifo behind it is
the bottleneck's queue, bounded in bytes.

In the model ``fair`` every class may borrow up to the whole rate, which is dealt out a frame at a
time (quantum 1514). A leaf is guaranteed next to nothing: what is guaranteed HTB sends at once,
whatever others have sent, so that classes with tokens left send together at line speed and the link
makes up for it later. Among the servers of several workers HTB's turns would go to who has more of
them; there every class is guaranteed its part. HTB counts frames of 1514 bytes. Without
the class for acknowledgements, those of one direction would wait behind the data of the other, and
two busy directions would halve each other. A bare acknowledgement is 52 bytes of IP (TCP with
timestamps), no flag but ACK; it has no payload that could overtake an earlier one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from emu.network.buckets import bucket_bytes, part_bps
from emu.network.punctuality import MACHINE, Punctuality
from netcosim.scenario import LinkSpec
from topo.queues import queue_bytes
from topo.spec import FRAME_BYTES

_LEAST_BUCKET_BYTES: Final = 2 * FRAME_BYTES
# A frame a minute: HTB has no rate of nothing, and remembers no longer debt.
_LEAST_RATE_BPS: Final = 8
_LEAST_BURST_BYTES: Final = 100

_NETEM_PACKETS: Final = 1_000_000
_REST: Final = "2:f"
_ACKS: Final = "2:e"
_WORKERS: Final = 0x10
_PEERS: Final = 0x100
_ACK_MATCH: Final = (
    *("u32", "match", "ip", "protocol", "6", "0xff"),
    *("match", "u16", "52", "0xffff", "at", "2"),
    *("match", "u8", "0x10", "0xff", "at", "33"),
)

Side = Literal["src", "dst"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Match:
    """The packets of one worker: its address, as source or as destination.

    `peers` are the servers that it meets here, if there are several.
    """

    address: str
    side: Side
    peers: tuple[str, ...] = ()

    def words(self) -> list[str]:
        """Return the classifier's part of a tc filter, for one peer at most."""
        words = ["u32", "match", "ip", self.side, f"{self.address}/32"]
        for peer in self.peers:
            words += ["match", "ip", "src" if self.side == "dst" else "dst", f"{peer}/32"]
        return words

    def apart(self) -> "list[Match]":
        """Return one match for the packets of each peer."""
        return [replace(self, peers=(peer,)) for peer in self.peers]


@dataclass(frozen=True, kw_only=True, slots=True)
class Netem:
    """Delay, jitter and loss; `loss` is a probability."""

    delay_ns: int
    jitter_ns: int
    loss: float

    def argv(self, interface: str) -> list[str]:
        """Return tc's arguments that make the netem qdisc."""
        words = ["qdisc", "add", "dev", interface, "root", "handle", "1:", "netem"]
        words += ["limit", str(_NETEM_PACKETS)]
        if self.delay_ns or self.jitter_ns:
            words += ["delay", _microseconds(self.delay_ns)]
        if self.jitter_ns:
            words += [_microseconds(self.jitter_ns)]
        if self.loss:
            words += ["loss", "random", f"{self.loss * 100:.7f}%"]
        return words


@dataclass(frozen=True, kw_only=True, slots=True)
class HtbClass:
    """A class with its guaranteed rate and its ceiling, and a bfifo if it is a leaf."""

    classid: str
    parent: str
    rate_bps: int
    ceil_bps: int
    burst_bytes: int
    cburst_bytes: int
    queue_bytes: int | None = None
    priority: int = 1

    @property
    def queue_handle(self) -> str:
        """The handle of its bfifo."""
        return f"{0x100 + int(self.classid.partition(':')[2], 16):x}:"

    def argv(self, interface: str) -> list[str]:
        """Return tc's arguments that make the class."""
        words = ["class", "add", "dev", interface, "parent", self.parent]
        words += ["classid", self.classid, "htb"]
        words += ["rate", f"{self.rate_bps}bit", "ceil", f"{self.ceil_bps}bit"]
        words += ["burst", str(self.burst_bytes), "cburst", str(self.cburst_bytes)]
        return [*words, "prio", str(self.priority), "quantum", str(FRAME_BYTES)]

    def queue_argv(self, interface: str) -> list[str]:
        """Return tc's arguments that make its queue."""
        words = ["qdisc", "add", "dev", interface, "parent", self.classid]
        return [*words, "handle", self.queue_handle, "bfifo", "limit", str(self.queue_bytes)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """Planned shaping of one interface: netem, HTB classes and filters."""

    netem: Netem | None
    classes: tuple[HtbClass, ...]
    matches: dict[str, Match] = field(default_factory=dict)

    @property
    def bucket_bytes(self) -> int:
        """Size of the token bucket: the bytes that leave at line speed after a pause."""
        return self.classes[0].burst_bytes

    def commands(self, interface: str) -> list[list[str]]:
        """Return tc's arguments, one list a command, in order."""
        where = ["root"] if self.netem is None else ["parent", "1:1"]
        htb = ["qdisc", "add", "dev", interface, *where, "handle", "2:", "htb", "default", "f"]
        leaves = [leaf for leaf in self.classes if leaf.queue_bytes is not None]
        return [
            *([self.netem.argv(interface)] if self.netem else []),
            htb,
            *(each.argv(interface) for each in self.classes),
            *(leaf.queue_argv(interface) for leaf in leaves),
            *([_filter(interface, 1, _ACK_MATCH, _ACKS)] if self.matches else []),
            *(_filter(interface, 2, m.words(), classid) for classid, m in self.matches.items()),
        ]


def plan_shape(
    link: LinkSpec, workers: Sequence[Match], punctuality: Punctuality = MACHINE
) -> Shape:
    """Plan one direction of a link.

    Parameters
    ----------
    link
        Its properties.
    workers
        The workers whose traffic crosses it in this direction, for the model ``fair``.
    punctuality
        Of the kernel that shapes.
    """
    bucket = punctuality.bucket_bytes(link.rate)
    netem = (
        Netem(delay_ns=link.delay, jitter_ns=link.jitter, loss=link.loss)
        if link.needs_netem
        else None
    )
    whole = HtbClass(
        classid="2:1",
        parent="2:",
        rate_bps=link.rate,
        ceil_bps=link.rate,
        burst_bytes=bucket,
        cburst_bytes=bucket,
    )
    leaf = replace(whole, parent="2:1", queue_bytes=queue_bytes(link))
    if link.model == "fifo":
        return Shape(netem=netem, classes=(whole, replace(leaf, classid=_REST)))
    part = _part(leaf, workers)
    classes = [whole, replace(part, classid=_ACKS, priority=0)]
    matches: dict[str, Match] = {}
    for i, worker in enumerate(workers):
        own = replace(part, classid=f"2:{_WORKERS + i:x}")
        if worker.peers:
            classes.append(replace(own, queue_bytes=None))
            classes += (leaves := _for_each_peer(own, len(worker.peers), _PEERS * (i + 1)))
            matches |= {e.classid: m for e, m in zip(leaves, worker.apart(), strict=True)}
        else:
            classes.append(own)
            matches[own.classid] = worker
    classes.append(replace(part, classid=_REST))
    return Shape(netem=netem, classes=tuple(classes), matches=matches)


def _part(leaf: HtbClass, workers: Sequence[Match]) -> HtbClass:
    """Give a leaf what is guaranteed to it on a link that these workers share."""
    if not any(worker.peers for worker in workers):
        return replace(leaf, rate_bps=_LEAST_RATE_BPS, burst_bytes=_LEAST_BURST_BYTES)
    return _guaranteed(leaf, len(workers) + 2)


def _for_each_peer(worker: HtbClass, count: int, first: int) -> list[HtbClass]:
    """Split a worker's class into equal classes for the servers that it exchanges with."""
    return [
        replace(
            _guaranteed(worker, count),
            parent=worker.classid,
            classid=f"2:{first + i:x}",
        )
        for i in range(count)
    ]


def _guaranteed(whole: HtbClass, parts: int) -> HtbClass:
    """Give a class one of so many equal parts of what another is guaranteed."""
    rate_bps = part_bps(whole.rate_bps, parts)
    size = bucket_bytes(max(_LEAST_BUCKET_BYTES, whole.burst_bytes // parts), rate_bps)
    return replace(whole, rate_bps=rate_bps, burst_bytes=size)


def _filter(interface: str, order: int, match: Sequence[str], classid: str) -> list[str]:
    words = ["filter", "add", "dev", interface, "parent", "2:", "protocol", "ip"]
    return [*words, "prio", str(order), *match, "flowid", classid]


def _microseconds(duration_ns: int) -> str:
    return f"{duration_ns / 1000:.3f}us"
