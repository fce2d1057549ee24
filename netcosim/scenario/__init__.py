"""Scenarios: the model, its file format, and the profiles that its workloads name."""

from netcosim.scenario.changes import with_values
from netcosim.scenario.coordination import CoordinationSpec, CurveSpec
from netcosim.scenario.model import (
    CLOCKS,
    ClusterSpec,
    Direction,
    Exchange,
    LinkSpec,
    PolicySpec,
    ProcessorSpec,
    Scenario,
    TcpSpec,
    TensorSpec,
    TransportSpec,
    WorkloadSpec,
)
from netcosim.scenario.named import builtin_scenarios, named_scenario
from netcosim.scenario.profile import load_workload
from netcosim.scenario.toml import build_scenario, dump_scenario, parse_scenario, read_scenario
from netcosim.scenario.training import (
    MOST_SERVERS,
    MOST_WORKERS,
    MessageCostSpec,
    StragglerSpec,
    TrainingSpec,
)

__all__ = [
    "CLOCKS",
    "MOST_SERVERS",
    "MOST_WORKERS",
    "ClusterSpec",
    "CoordinationSpec",
    "CurveSpec",
    "Direction",
    "Exchange",
    "LinkSpec",
    "MessageCostSpec",
    "PolicySpec",
    "ProcessorSpec",
    "Scenario",
    "StragglerSpec",
    "TcpSpec",
    "TensorSpec",
    "TrainingSpec",
    "TransportSpec",
    "WorkloadSpec",
    "build_scenario",
    "builtin_scenarios",
    "dump_scenario",
    "load_workload",
    "named_scenario",
    "parse_scenario",
    "read_scenario",
    "with_values",
]
