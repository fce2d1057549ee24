"""The table ``[fixed]``: changes to the base scenario that every point has."""

from collections.abc import Mapping
from typing import Any

from netcosim.errors import ScenarioError
from netcosim.formatting import quoted
from netcosim.scenario import Scenario
from ray_sweeps.sweep_file.changes import change_of
from ray_sweeps.sweep_file.ensembles import Ensemble, draws_of
from ray_sweeps.sweep_file.names import WARMUP, checked_name, path_of
from sim.settings.choices import with_choices


def with_fixed(
    base: Scenario, fixed: Mapping[str, Any], ensembles: Mapping[str, Ensemble], seed: int
) -> Scenario:
    """The base scenario with the values of ``[fixed]``, by short name or dotted path.

    Parameters
    ----------
    ensembles : of the sweep
    seed : of their draws

    Raises
    ------
    ScenarioError
        One line that names the field, its value and what is allowed.
    """
    changes: dict[str, object] = {}
    for name, value in fixed.items():
        field = f"fixed.{name}"
        checked_name(name, field, value)
        path = path_of(name, None, field)
        if isinstance(value, dict | list):  # as the scenario has it
            if "." not in name:
                raise ScenarioError(f"{field}: must be one value")
            changes[name] = value
            continue
        if path == "straggler" and draws_of(str(value), ensembles) > 1:
            allowed = f"has several draws; make it a factor: straggler = [{quoted(value)}]"
            raise ScenarioError(f"{field}: {quoted(value)}: {allowed}")
        change = change_of(path, field, (value,), base, ensembles, seed, WARMUP in fixed)
        changes.update(change(value, 0))
    shallow_first = dict(sorted(changes.items(), key=lambda change: change[0].count(".")))
    return with_choices(base, shallow_first, "fixed")[0]
