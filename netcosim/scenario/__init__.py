"""Scenarios: the model, its file format, the cells it comes to."""

from netcosim.scenario.model import (
    ClusterSpec,
    Direction,
    Exchange,
    LinkSpec,
    PolicySpec,
    Scenario,
    TcpSpec,
    TensorSpec,
    TransportSpec,
    WorkloadSpec,
)
from netcosim.scenario.toml import build_scenario, dump_scenario, parse_scenario, read_scenario

__all__ = [
    "ClusterSpec",
    "Direction",
    "Exchange",
    "LinkSpec",
    "PolicySpec",
    "Scenario",
    "TcpSpec",
    "TensorSpec",
    "TransportSpec",
    "WorkloadSpec",
    "build_scenario",
    "dump_scenario",
    "parse_scenario",
    "read_scenario",
]
