"""Stragglers: workers that are slower, or come and go, from a scenario's entries."""

from netcosim.training.stragglers.conditions import Change, Conditions, check_stragglers, conditions
from netcosim.training.stragglers.effect import Use
from netcosim.training.stragglers.machine_use import use_texts
from netcosim.training.stragglers.presets import named, named_stragglers
from netcosim.training.stragglers.registry import (
    changes_course,
    kind_names,
    option_names,
    resolved_options,
)
from netcosim.training.stragglers.text import straggler_text

__all__ = [
    "Change",
    "Conditions",
    "Use",
    "changes_course",
    "check_stragglers",
    "conditions",
    "kind_names",
    "named",
    "named_stragglers",
    "option_names",
    "resolved_options",
    "straggler_text",
    "use_texts",
]
