"""Cells of the cross-check: one network, transport, cluster and rule each, as a scenario."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from netcosim.scenario import Scenario, build_scenario

RATE_BPS: Final = 100_000_000
TOTAL_BYTES: Final = 2_000_000
"""A network is scaled to it; a step pulls and returns as much, 4 MB."""

STEPS: Final = 24
WARMUP: Final = 4
RECORDED: Final = 12
_GAP: Final = 2
_LONGEST_NAME: Final = 60

NETWORKS: Final = (
    *("alexnet", "alexnet_b4", "googlenet", "inception_v3", "resnet50", "resnet50_b4", "vgg11"),
)
TRANSPORTS: Final[Mapping[str, dict[str, Any]]] = MappingProxyType(
    {
        "grpc": {"sender": "grpc", "receiver": "grpc"},
        "whole": {
            **{"sender": "grpc", "receiver": "grpc"},
            **{"flow_control": False, "whole_messages": True},
        },
        **{
            name: {"sender": "h2", "receiver": "h2", "discipline": name, "flow_control": False}
            for name in ("two_visit", "fifo", "priority")
        },
    }
)
RULES: Final = ("bsp", "asp", "ssp", "join")
SCHEDULES: Final[Mapping[str, dict[str, int]]] = MappingProxyType(
    {
        "p3": {"partition_bytes": 250_000},
        "bytescheduler": {"partition_bytes": 250_000, "credit_bytes": 500_000},
        "prophet": {"partition_bytes": 250_000},
    }
)
ORDERS: Final = ("as_listed", "reverse", "smallest_first", "random")
RATIOS: Final = (0.5, 1.0, 2.0)
COUNTS: Final = ((1, 4), (2, 4), (2,), (3,), (8,))
STRAGGLERS: Final[Mapping[str, dict[str, Any]]] = MappingProxyType(
    {
        "slow": {"kind": "slow", "workers": [0], "options": {"factor": 1.5}},
        "transient": {
            "kind": "transient",
            "workers": "all",
            "options": {"every": "4s", "lasting": "1s", "factor": 2.0},
        },
        "slow_link": {"kind": "link", "workers": [0], "options": {"part": 0.5}},
    }
)
COSTS: Final[Mapping[str, dict[str, Any]]] = MappingProxyType(
    {
        "parsing": {"message": "20us", "ns_per_byte": 1.0},
        "processor": {"message": "200us", "ns_per_byte": 100.0},
        "bound": {"message": "200us", "ns_per_byte": 400.0},
    }
)
"""Costs of a message at its server, whose processors are busier than its link with `bound`.

A byte takes 80 ns of a link, one way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell.

    Attributes
    ----------
    ratio : time that a step's bytes take one way and back over time that it computes
    workers : the numbers of workers that are predicted and run
    delay : one way, of each link; a round trip takes four of it
    costs : name in `COSTS` of what a message costs at the server; None: as the profile has it
    schedule : name in `SCHEDULES`, by which gradients are pushed; None: they are pulled
    clock : ``real``: by the machine's own clock
    """

    network: str
    transport: str
    rule: str
    ratio: float = 1.0
    workers: tuple[int, ...] = (2, 4)
    model: str = "fair"
    delay: str = "0ms"
    servers: int = 1
    order: str = "as_listed"
    straggler: str | None = None
    costs: str | None = None
    schedule: str | None = None
    clock: str = "virtual"
    drawn: bool = False

    @property
    def name(self) -> str:
        """Name that no other cell has."""
        path = "" if self.stratum_link == "fair" else f"-{self.model}-{self.delay}"
        more = [path, f"-{self.servers}s" * (self.servers > 1)]
        more += [f"-{word}" for word in (self.straggler, self.costs, self.schedule) if word]
        more += [f"-{self.order}" * (self.order != "as_listed")]
        counts = "_".join(map(str, self.workers))
        base = f"{self.network}-{self.transport}-{self.rule}-{self.ratio:g}-w{counts}"
        return base + "".join(more) + "-real" * self.is_real + "-drawn" * self.drawn

    @property
    def is_real(self) -> bool:
        """True if it is measured by the machine's own clock."""
        return self.clock == "real"

    @property
    def stratum_link(self) -> str:
        """``fair``: equal shares, no delay; ``fifo``: all else."""
        return "fair" if self.model == "fair" and self.delay == "0ms" else "fifo"

    @property
    def megabytes(self) -> float:
        """Payload of its record and its runs."""
        steps = RECORDED + STEPS * sum(self.workers)
        return 2 * TOTAL_BYTES * steps / 1e6

    def scenario(self) -> Scenario:
        """The scenario that is run."""
        compute_ns = round(2 * TOTAL_BYTES * 8e9 / RATE_BPS / self.ratio)
        most = max(self.workers)
        training: dict[str, Any] = {
            "steps": STEPS,
            "warmup": WARMUP,
            "recorded": RECORDED,
            "workers": sorted(self.workers),
            "synchronisation": self.rule,
            "trace_steps": 3,
        }
        if self.rule == "ssp":
            training["gap"] = _GAP
        if self.costs:
            training["server_messages"] = COSTS[self.costs]
        return build_scenario(
            {
                "name": self.name[:_LONGEST_NAME],
                "description": self.name,
                "clock": self.clock,
                "cluster": {
                    "topology": "star",
                    "servers": self.servers,
                    "workers": most,
                    "link": {"rate": "100mbit", "model": self.model, "delay": self.delay},
                },
                "workload": [
                    {
                        "name": self.network,
                        "profile": self.network,
                        "total": f"{TOTAL_BYTES}B",
                        "computation": f"{compute_ns}ns",
                    }
                ],
                "transport": [{"name": self.transport, **TRANSPORTS[self.transport]}],
                "policy": self._policy(),
                "training": training,
                "straggler": [STRAGGLERS[self.straggler]] if self.straggler else [],
            },
            self.name,
        )

    def _policy(self) -> dict[str, Any]:
        if self.schedule is None:
            return {"order": self.order}
        options = dict(SCHEDULES[self.schedule])
        return {"order": self.order, "schedule": self.schedule, "schedule_options": options}
