"""Shares of links, plainly: one class for each strategy of the page."""

from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple, Protocol

from sim.plan import Network

NS_BITS_PER_BYTE = 8_000_000_000  # nanoseconds a second times bits a byte


class Key(NamedTuple):
    """A connection: of whom, with whom, which way."""

    worker: int
    channel: int
    server: int
    direction: int


class Share(Protocol):
    """Interface of a strategy to the event loop."""

    def change(
        self,
        now: float,
        leaving: Iterable[Key],
        joining: Iterable[tuple[Key, int]],
        going_on: Iterable[tuple[Key, int]],
    ) -> None:
        """At one time some leave their link, some join with a chunk, some go on with a new one."""

    def end_ns(self, key: Key, now: float) -> float:
        """Time at which the chunk of this connection ends if nothing changes."""

    def rank(self, key: Key) -> float:
        """Of chunks that end on one link at one time, the lowest goes first."""


def other(direction: int) -> int:
    return 1 - direction


# Equal shares: a clock for each link.


class Clock:
    """A link on which everyone gets 1/n."""

    def __init__(self, rate_bps: int, bucket_bytes: int) -> None:
        self.ns_per_byte = NS_BITS_PER_BYTE / rate_bps
        self.bucket_ns = bucket_bytes * self.ns_per_byte
        self.virtual_ns = 0.0
        self.last_ns = -self.bucket_ns  # it rests since
        self.speed = 1.0
        self.joined_at: dict[Key, float] = {}
        self.bytes_since: dict[Key, int] = {}

    @property
    def connections(self) -> int:
        return len(self.joined_at)

    def catch_up(self, now: float) -> None:
        if self.connections:
            self.virtual_ns += (now - self.last_ns) * self.speed / self.connections
            self.last_ns = now

    def join(self, key: Key, size_bytes: int, now: float) -> None:
        saved_ns = 0.0 if self.connections else min(self.bucket_ns, now - self.last_ns)
        self.joined_at[key] = self.virtual_ns
        self.bytes_since[key] = size_bytes
        self.virtual_ns += saved_ns
        self.last_ns = now

    def go_on(self, key: Key, size_bytes: int) -> None:
        self.bytes_since[key] += size_bytes

    def leave(self, key: Key) -> None:
        del self.joined_at[key], self.bytes_since[key]

    def target_ns(self, key: Key) -> float:
        return self.joined_at[key] + self.bytes_since[key] * self.ns_per_byte

    def end_ns(self, key: Key, now: float) -> float:
        ahead = (self.target_ns(key) - self.virtual_ns) * self.connections / self.speed
        return max(now, self.last_ns + ahead)


class EqualShare:
    """Every server's port, each direction apart, is shared equally by its connections."""

    def __init__(self, network: Network) -> None:
        self.both_busy = network.both_busy
        self.clocks = {
            (server, direction): Clock(int(rate_bps), network.bucket_bytes)
            for server, rate_bps in enumerate(network.server_bps)
            for direction in (0, 1)
        }

    def clock(self, key: Key) -> Clock:
        return self.clocks[key.server, key.direction]

    def change(
        self,
        now: float,
        leaving: Iterable[Key],
        joining: Iterable[tuple[Key, int]],
        going_on: Iterable[tuple[Key, int]],
    ) -> None:
        leaving, joining = list(leaving), list(joining)
        for key in leaving + [key for key, _ in joining]:
            self.clock(key).catch_up(now)  # a second time at one time changes nothing
        for key in leaving:
            self.clock(key).leave(key)
        for key, size_bytes in joining:
            self.clock(key).join(key, size_bytes, now)
        for key, size_bytes in going_on:
            self.clock(key).go_on(key, size_bytes)
        self.set_speeds(now)

    def set_speeds(self, now: float) -> None:
        for (server, direction), clock in self.clocks.items():
            opposite = self.clocks[server, other(direction)]
            speed = self.both_busy if opposite.connections else 1.0
            if speed != clock.speed:
                clock.catch_up(now)
                clock.speed = speed

    def end_ns(self, key: Key, now: float) -> float:
        return self.clock(key).end_ns(key, now)

    def rank(self, key: Key) -> float:
        return self.clock(key).target_ns(key)


# Strategies that give each connection a rate of its own.


class RatedShare:
    """Each connection has a rate, which is found anew whenever one joins or leaves anywhere."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.left_bytes: dict[Key, float] = {}
        self.since_ns: dict[Key, float] = {}
        self.rate: dict[Key, float] = {}  # bytes a nanosecond
        self.rests_since: dict[tuple[int, int], float] = {}

    def rates_bps(self, active: list[Key]) -> dict[Key, Fraction]:
        raise NotImplementedError

    def change(
        self,
        now: float,
        leaving: Iterable[Key],
        joining: Iterable[tuple[Key, int]],
        going_on: Iterable[tuple[Key, int]],
    ) -> None:
        leaving, joining = list(leaving), list(joining)
        for key in leaving:
            del self.left_bytes[key], self.since_ns[key], self.rate[key]
            if not self.is_busy(key):
                self.rests_since[key.server, key.direction] = now
        for key, size_bytes in going_on:
            self.left_bytes[key] = size_bytes
            self.since_ns[key] = now
        if leaving or joining:
            self.bring_up_to_date(now)
            for key, size_bytes in joining:
                saved_bytes = 0.0 if self.is_busy(key) else self.saved_bytes(key, now)
                self.left_bytes[key] = size_bytes - saved_bytes
                self.since_ns[key] = now
            rates_bps = self.rates_bps(sorted(self.left_bytes))
            self.rate = {key: float(bps / NS_BITS_PER_BYTE) for key, bps in rates_bps.items()}

    def is_busy(self, key: Key) -> bool:
        """True if the server's port carries anything in the key's direction."""
        link = (key.server, key.direction)
        return any((k.server, k.direction) == link for k in self.left_bytes)

    def saved_bytes(self, key: Key, now: float) -> float:
        """Bytes that the bucket of a port that rests lets pass at once."""
        bucket = self.network.bucket_bytes
        since = self.rests_since.get((key.server, key.direction))
        if since is None:
            return bucket
        return min(bucket, (now - since) * self.network.server_bps[key.server] / NS_BITS_PER_BYTE)

    def bring_up_to_date(self, now: float) -> None:
        for key in self.left_bytes:
            self.left_bytes[key] -= self.rate[key] * (now - self.since_ns[key])
            self.since_ns[key] = now

    def end_ns(self, key: Key, now: float) -> float:
        return self.since_ns[key] + max(0.0, self.left_bytes[key]) / self.rate[key]

    def rank(self, key: Key) -> float:
        return 0.0

    def port_bps(self, bps: int, busy_the_other_way: bool) -> Fraction:
        return int(bps) * (Fraction(self.network.both_busy) if busy_the_other_way else Fraction(1))


class TwoServersShare(RatedShare):
    """Li, section 5: a worker has one port for two servers; what one needs, the other misses."""

    def __init__(self, network: Network) -> None:
        super().__init__(network)
        if len(network.server_bps) > 2:
            raise ValueError(f"two_servers: {len(network.server_bps)} servers: must be 1 or 2")

    def rates_bps(self, active: list[Key]) -> dict[Key, Fraction]:
        return {key: self.part(key, active) * self.server_bps(key, active) for key in active}

    def server_bps(self, key: Key, active: list[Key]) -> Fraction:
        other_way = any(
            k.server == key.server and k.direction == other(key.direction) for k in active
        )
        return self.port_bps(self.network.server_bps[key.server], other_way)

    def part(self, key: Key, active: list[Key]) -> Fraction:
        same_way = [k for k in active if k.direction == key.direction]
        here = [k for k in same_way if k.server == key.server]
        there = [k for k in same_way if k.server != key.server]
        also_there = any(k.worker == key.worker for k in there)
        if len(here) > 1 or not also_there:
            return Fraction(1, len(here))
        if len(there) > 1:
            return 1 - Fraction(1, len(there))
        return Fraction(1, 2)


class MaxMinShare(RatedShare):
    """Max-min fair over the ports of servers and workers."""

    def rates_bps(self, active: list[Key]) -> dict[Key, Fraction]:
        crossed = {
            key: (("server", key.server, key.direction), ("worker", key.worker, key.direction))
            for key in active
        }
        ports = {port for pair in crossed.values() for port in pair}
        left = {
            (kind, host, way): self.port_bps(
                (self.network.server_bps if kind == "server" else self.network.worker_bps)[host],
                (kind, host, other(way)) in ports,
            )
            for kind, host, way in sorted(ports)
        }
        return fill(crossed, left)


Port = tuple[str, int, int]


def fill(crossed: dict[Key, tuple[Port, Port]], left: dict[Port, Fraction]) -> dict[Key, Fraction]:
    """Progressive filling: all rates grow alike; who is stopped by a full port stays."""
    rates: dict[Key, Fraction] = {}
    left = dict(left)
    while len(rates) < len(crossed):
        growing: dict[Port, list[Key]] = {}
        for key, ports in crossed.items():
            if key not in rates:
                for port in ports:
                    growing.setdefault(port, []).append(key)
        tightest = min(growing, key=lambda port: (left[port] / len(growing[port]), port))
        level = left[tightest] / len(growing[tightest])
        for key in growing[tightest]:
            rates[key] = level
            for port in crossed[key]:
                left[port] -= level
    return rates


def share(network: Network) -> Share:
    """The strategy that the network names."""
    strategies: dict[str, type[EqualShare] | type[RatedShare]] = {
        "equal": EqualShare,
        "two_servers": TwoServersShare,
        "max_min": MaxMinShare,
    }
    if network.share not in strategies:
        raise ValueError(f"share: {network.share}: must be one of: {', '.join(strategies)}")
    return strategies[network.share](network)
