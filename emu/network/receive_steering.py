"""Receive packet steering: every interface of a run hands what it receives to one processor.

A veth pair puts each packet into the backlog of a processor, by default the sender's own. A
sender that moves between processors thus fills two backlogs, and when one of these processors is
taken away (by the hypervisor, or a task of higher priority) the packets of the other overtake: TCP
sees a reordering on a link that has none, and sends again what was never lost. With one backlog
there is one order.

It is set on every interface end, for ``net.core.rps_default_mask`` exists since Linux 6.2 only,
and holds for the one namespace in which it is written. The host's own settings stay.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from netcosim.errors import NetworkError

_BITS_PER_WORD: Final = 32


@dataclass(frozen=True, kw_only=True, slots=True)
class Steering:
    """The processor that receives for all interfaces, and the mask that says so.

    `mask` is None where the kernel is made for one processor: it has no steering and needs none.
    """

    processor: int
    mask: str | None


def steering_mask(processor: int) -> str:
    """Return the mask of one processor as the kernel reads it: words of 32 bits, highest first."""
    words = [f"{1 << processor % _BITS_PER_WORD:x}"]
    words += ["0" * 8] * (processor // _BITS_PER_WORD)
    return ",".join(words)


def steer_interfaces(ends: Sequence[tuple[int, str]]) -> Steering:
    """Steer what all of these interfaces receive to one processor, and read it back.

    It is the first that this process, its cpuset included, may run on and that the kernel takes
    (not those that are kept out of the scheduler: ``isolcpus``).

    Parameters
    ----------
    ends
        Of each interface a process in its namespaces, whose sysfs shows it, and its name.

    Raises
    ------
    NetworkError
        The kernel has no receive steering, takes no processor, or reads back another.
    """
    if os.cpu_count() == 1 and not _has_steering(ends):
        return Steering(processor=0, mask=None)
    files = [file for pid, interface in ends for file in _mask_files(pid, interface)]
    refused = "no processor is allowed to this process"
    for processor in sorted(os.sched_getaffinity(0)):
        try:
            for file in files:
                file.write_text(steering_mask(processor))
        except OSError as problem:
            refused = f"{steering_mask(processor)}: {problem.strerror}"
            continue
        check_steering(ends, processor)
        return Steering(processor=processor, mask=steering_mask(processor))
    raise NetworkError(f"receive steering: rps_cpus = {refused}")


def check_steering(ends: Sequence[tuple[int, str]], processor: int) -> None:
    """Check that interfaces steer what they receive to one processor.

    Raises
    ------
    NetworkError
        Not to this processor alone: names the interface.
    """
    wanted = steering_mask(processor)
    for pid, interface in ends:
        for file in _mask_files(pid, interface):
            found = file.read_text().strip()
            if int(found.replace(",", ""), 16) != 1 << processor:
                raise NetworkError(
                    f"receive steering of {interface}: is {found}, asked for {wanted}"
                )


def _has_steering(ends: Sequence[tuple[int, str]]) -> bool:
    try:
        return bool([_mask_files(pid, interface) for pid, interface in ends])
    except NetworkError:
        return False


def _mask_files(pid: int, interface: str) -> list[Path]:
    queues = Path(f"/proc/{pid}/root/sys/class/net/{interface}/queues")
    files = sorted(queues.glob("rx-*/rps_cpus"))
    if not files:
        raise NetworkError(
            f"receive steering of {interface}: this kernel has none (CONFIG_RPS): no rps_cpus"
        )
    return files
