"""Read-back of tc's settings, compared with what was asked for.

``tc -j`` prints qdiscs as JSON, but classes as text in the releases of Debian 12; text it is.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from emu.network.tc import HtbClass, Netem, Shape

# tc prints rates with four digits or more, and times in whole microseconds, rounded down.
_RELATIVE: Final = 1e-3
_PRINTED_NS: Final = 1100
_UNITS: Final = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_CLASS = re.compile(r"^class htb (\S+) .*?\brate (\d+)([KMGT]?)bit ceil (\d+)([KMGT]?)bit")

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadBack:
    """Settings read from an interface: qdiscs by handle as tc's JSON, classes' rate and ceiling."""

    qdiscs: dict[str, Json]
    classes: dict[str, tuple[int, int]]


def parse_qdiscs(text: str) -> dict[str, dict[str, Json]]:
    """Read ``tc -j -s qdisc show``: interface, then handle."""
    found: dict[str, dict[str, Json]] = {}
    for qdisc in json.loads(text or "[]"):
        if "dev" in qdisc and qdisc.get("handle", "0:") != "0:":
            found.setdefault(qdisc["dev"], {})[qdisc["handle"]] = qdisc
    return found


def parse_classes(text: str) -> dict[str, tuple[int, int]]:
    """Read ``tc class show dev X``: rate and ceiling in bits per second by class."""
    found = {}
    for line in text.splitlines():
        match = _CLASS.match(line)
        if match:
            name, rate, unit, ceil, ceil_unit = match.groups()
            found[name] = (int(rate) * _UNITS[unit], int(ceil) * _UNITS[ceil_unit])
    return found


def mismatch(shape: Shape, interface: str, found: ReadBack) -> str | None:
    """The first setting that is not as asked for, with its tc command if there is one; or None."""
    if shape.netem is not None:
        problem = _netem_mismatch(shape.netem, found.qdiscs.get("1:"))
        if problem:
            return f"tc {' '.join(shape.netem.argv(interface))}: {problem}"
    htb = found.qdiscs.get("2:")
    if htb is None or htb["kind"] != "htb":
        return f"{interface}: htb is not there"
    for each in shape.classes:
        problem = _class_mismatch(each, found.classes.get(each.classid))
        if problem:
            return f"tc {' '.join(each.argv(interface))}: {problem}"
        if each.queue_bytes is not None:
            problem = _queue_mismatch(each, found.qdiscs.get(each.queue_handle))
            if problem:
                return f"tc {' '.join(each.queue_argv(interface))}: {problem}"
    return None


def _class_mismatch(asked: HtbClass, found: tuple[int, int] | None) -> str | None:
    if found is None:
        return "the class is not there"
    for name, want, got in (("rate", asked.rate_bps, found[0]), ("ceil", asked.ceil_bps, found[1])):
        if abs(got - want) > max(8, _RELATIVE * want):
            return f"{name} is {got} bit/s, asked for {want}"
    return None


def _queue_mismatch(asked: HtbClass, found: Json | None) -> str | None:
    if found is None or found["kind"] != "bfifo":
        return "the queue is not there"
    limit = found["options"]["limit"]
    if limit != asked.queue_bytes:
        return f"limit is {limit} bytes, asked for {asked.queue_bytes}"
    return None


def _netem_mismatch(asked: Netem, found: Json | None) -> str | None:
    if found is None or found["kind"] != "netem":
        return "netem is not there"
    options = found["options"]
    times = options.get("delay", {})
    for name, want in (("delay", asked.delay_ns), ("jitter", asked.jitter_ns)):
        got = round(times.get(name, 0) * 1e9)
        if abs(got - want) > max(_PRINTED_NS, _RELATIVE * want):
            return f"{name} is {got} ns, asked for {want}"
    loss = options.get("loss-random", {}).get("loss", 0.0)
    if abs(loss - asked.loss) > max(1e-7, _RELATIVE * asked.loss):
        return f"loss is {loss}, asked for {asked.loss}"
    return None
