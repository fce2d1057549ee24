"""Names of factors, and the places in a scenario that they stand for."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from netcosim.errors import ScenarioError
from netcosim.formatting import quoted
from netcosim.nearest import unknown

SHORT_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "workers": "training.workers",
        "servers": "cluster.servers",
        "rate": "cluster.link.rate",
        "delay": "cluster.link.delay",
        "topology": "cluster.topology",
        "workload": "workload",
        "transport": "transport",
        "batch": "training.batch",
        "steps": "training.steps",
        "synchronisation": "training.synchronisation",
        "gap": "training.gap",
        "order": "policy.order",
        "placement": "policy.placement",
        "straggler": "straggler",
        "seed": "seed",
    }
)
"""Places in a scenario that have a short name."""

WARMUP: Final = "training.warmup"
"""Place that ``steps`` sets too, unless something else does."""

_SHORT_OF: Final = {**{path: name for name, path in SHORT_NAMES.items()}, "training.rates": "rate"}
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)
_DOTTED: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z0-9_+-][A-Za-z0-9_.+-]*)+", re.ASCII)
_LONGEST: Final = 60
_TABLES: Final = ("cluster", "training", "policy", "transport", "workload", "straggler")
_KEYS: Final = ("values", "from", "to", "distribution", "path")
_ONCE: Final = ("name", "description", "repetitions")
"""Fields of a scenario that do not vary from point to point."""


def checked_name(name: str, field: str, entry: object) -> None:
    """Refuse what can't be a factor's name.

    Raises
    ------
    ScenarioError
        It says what a name may be.
    """
    if name in _TABLES and isinstance(entry, dict) and not any(key in entry for key in _KEYS):
        whole = _joined(name, entry)
        raise ScenarioError(f'{field}: a dotted path must stand in quotes: "{whole}" = ...')
    fits = _WORD.fullmatch(name) or _DOTTED.fullmatch(name)
    if not fits or len(name) > _LONGEST:
        allowed = (
            "must be a word of letters, digits and _, or a dotted path such as"
            f' "cluster.link.delay"; at most {_LONGEST} characters'
        )
        raise ScenarioError(f"{field}: {quoted(name)}: {allowed}")


def _joined(name: str, entry: Mapping[str, object]) -> str:
    """The dotted path of which TOML makes such a table if it does not stand in quotes."""
    for key, inner in entry.items():
        if isinstance(inner, dict) and not any(known in inner for known in _KEYS):
            return _joined(f"{name}.{key}", inner)
        return f"{name}.{key}"
    return name


def path_of(name: str, path: str | None, field: str) -> str:
    """Place that a factor changes: a short name, or a dotted path that has none.

    Raises
    ------
    ScenarioError
        There is no such place, or it does not vary from point to point.
    """
    given = name if path is None else path
    found = _SHORT_OF.get(given, given)
    if path is not None and name in SHORT_NAMES and found != name:
        said = f"is the short name of {SHORT_NAMES[name]}; choose another"
        raise ScenarioError(f"{field}: {quoted(name)}: {said}")
    if found in SHORT_NAMES or (_DOTTED.fullmatch(found) and len(found) <= 200):
        return found
    where = field if path is None else f"{field}.path"
    if found in _ONCE:
        more = "; 'replications' of the sweep are its runs" if found == "repetitions" else ""
        raise ScenarioError(f"{where}: {quoted(given)}: does not vary from point to point{more}")
    said = unknown(given, SHORT_NAMES, "is no short name and no dotted path")
    raise ScenarioError(f"{where}: {quoted(given)}: {said}")
