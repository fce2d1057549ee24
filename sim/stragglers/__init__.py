"""Stragglers: workers that are slower, or come and go, from a scenario's entries."""

from sim.stragglers.conditions import Change, Conditions, check_stragglers, conditions
from sim.stragglers.effect import Use
from sim.stragglers.machine_use import use_texts
from sim.stragglers.presets import named, named_stragglers
from sim.stragglers.registry import changes_course, kind_names, resolved_options
from sim.stragglers.text import straggler_text

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
    "resolved_options",
    "straggler_text",
    "use_texts",
]
