"""Registry of straggler kinds by name, and the check of their options."""

import functools
import importlib
import pkgutil
from collections.abc import Callable
from typing import Any, Protocol, cast

from pydantic import ValidationError

from netcosim.errors import ScenarioError
from netcosim.nearest import unknown
from netcosim.scenario import StragglerSpec
from netcosim.scenario.fields import Record
from netcosim.scenario.toml import validation_message
from netcosim.training.stragglers import kinds
from netcosim.training.stragglers.effect import Bound


class _Kind(Protocol):
    """Interface of the modules in `netcosim.training.stragglers.kinds`.

    One may say `CHANGING = True`: the end of a run differs from its beginning.
    """

    Options: type[Record]
    bind: Callable[[Record], Bound]


@functools.cache
def kind_names() -> tuple[str, ...]:
    """The names of all kinds, sorted."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(kinds.__path__)))


def changes_course(kind: str) -> bool:
    """True if a run with this kind has no steady state."""
    return bool(getattr(_load(kind), "CHANGING", False))


def option_names(kind: str) -> tuple[str, ...]:
    """The names of a kind's options."""
    return tuple(_load(kind).Options.model_fields)


def bind(spec: StragglerSpec, where: str) -> Bound:
    """Bind the kind of an entry to its options; `where` names the entry in errors.

    Raises
    ------
    ScenarioError
        An unknown kind or option, a wrong value, or a file that can't be read.
    """
    options = _options(spec, where)
    try:
        return _load(spec.kind).bind(options)
    except ScenarioError as problem:
        if not str(problem).startswith("options."):
            raise
        raise ScenarioError(f"{where}.{problem}") from None


def resolved_options(spec: StragglerSpec, where: str) -> dict[str, Any]:
    """The options of an entry as plain data, with all defaults; errors as of `bind`."""
    return _options(spec, where).model_dump(mode="json")


def _options(spec: StragglerSpec, where: str) -> Record:
    if spec.kind not in kind_names():
        raise ScenarioError.at(f"{where}.kind", spec.kind, unknown(spec.kind, kind_names()))
    kind = _load(spec.kind)
    try:
        return kind.Options.model_validate(spec.options)
    except ValidationError as problem:
        said = validation_message(problem, kind.Options, {}, within=f"{where}.options")
        raise ScenarioError(said) from None


def _load(kind: str) -> _Kind:
    return cast("_Kind", importlib.import_module(f"{kinds.__name__}.{kind}"))
