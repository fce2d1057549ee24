"""Model to measure: from the user's own function, or a network of torchvision by name."""

import difflib
import importlib
import inspect
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Final

from netcosim.errors import NetcosimError, ScenarioError
from sim.profiling.library import load_torchvision
from sim.profiling.loss import SomeLoss
from sim.profiling.tensors import tensors_in

DEFAULT_BATCH: Final = 8
_IMAGE: Final = (3, 224, 224)
_IMAGES: Final = {"inception_v3": (3, 299, 299)}
_RETURNS: Final = "must return a torch.nn.Module, (module, example) or (module, example, loss)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Model to measure, with one batch of examples and its loss.

    `loss` makes a scalar of the model's output.
    """

    name: str
    model: Any
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)
    loss: Callable[[Any], Any]
    batch: int


def users_own(
    torch: ModuleType, where: str, batch: int | None, shape: Sequence[int] | None
) -> Target:
    """Target that the function `MODULE:FUNCTION` returns; it is called, so it is trusted.

    Parameters
    ----------
    batch : examples of a step; None: as many as the example has, else 8
    shape : of one example, for functions that return none

    Raises
    ------
    ScenarioError
        There is no such function, it fails, or what it returns can't be measured.
    """
    function = _find(where)
    wanted = DEFAULT_BATCH if batch is None else batch
    takes_batch = "batch" in _parameters(function, where)
    made = calling(where, lambda: function(batch=wanted) if takes_batch else function())
    parts = made if isinstance(made, tuple) else (made,)
    if not 1 <= len(parts) <= 3 or not isinstance(parts[0], torch.nn.Module):
        raise ScenarioError(f"{where}: returned {_kind(made)}; {_RETURNS}")
    if len(parts) == 3 and not callable(parts[2]):
        raise ScenarioError(f"{where}: loss: {_kind(parts[2])}; must be a function of the output")
    model = parts[0]
    if len(parts) == 1:
        example = _random(torch, wanted, _shape(where, shape))
    else:
        example = parts[1]
        wanted = _examples(torch, example, where, wanted if takes_batch else batch)
    positional, keywords = _arguments(_moved(torch, example, _device(model)))
    return Target(
        name=where.rpartition(":")[2],
        model=model,
        arguments=positional,
        keywords=keywords,
        loss=parts[2] if len(parts) == 3 else SomeLoss(torch),
        batch=wanted,
    )


def torchvisions(
    torch: ModuleType, name: str, batch: int | None, shape: Sequence[int] | None
) -> Target:
    """Target of a classification network of torchvision, with random weights and images.

    Raises
    ------
    ScenarioError
        It has no network of this name.
    EnvironmentRefusedError
        It is not installed.
    """
    models = load_torchvision().models
    known = models.list_models(module=models)
    if name not in known:
        near = difflib.get_close_matches(name, known, n=5) or known[:5]
        allowed = f"torchvision has no such network; near it: {', '.join(near)}"
        raise ScenarioError.at("--torchvision", name, allowed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of how weights are drawn, which does not matter here
        model = models.get_model(name, weights=None)
    wanted = DEFAULT_BATCH if batch is None else batch
    images = _random(torch, wanted, tuple(shape or _IMAGES.get(name, _IMAGE)))
    return Target(name=name, model=model, arguments=(images,), loss=SomeLoss(torch), batch=wanted)


def calling(where: str, call: Callable[[], Any]) -> Any:
    """Call the user's code; report what it raises in one line, with its place.

    Raises
    ------
    ScenarioError
        It raised something.
    """
    try:
        return call()
    except NetcosimError:
        raise
    except (Exception, SystemExit) as problem:  # noqa: BLE001 - anybody's code, anything
        frames = traceback.extract_tb(problem.__traceback__)
        places = [f" (at {f.filename}:{f.lineno})" for f in frames if _is_users(f.filename)]
        text = f"{type(problem).__name__}: {problem}"
        raise ScenarioError(f"{where}: raised {text[:500]}{''.join(places[-1:])}") from None


def _is_users(filename: str) -> bool:
    own = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - of a frame
    return not any(part in filename for part in ("site-packages", own, "importlib"))


def _find(where: str) -> Callable[..., Any]:
    module_name, _, function_name = where.partition(":")
    if not module_name or not function_name.isidentifier():
        raise ScenarioError.at("model", where, "must be MODULE:FUNCTION, such as mymodel:build")
    if os.getcwd() not in sys.path:  # noqa: PTH109 - sys.path holds texts
        sys.path.insert(0, os.getcwd())  # noqa: PTH109
    module = calling(where, lambda: importlib.import_module(module_name))
    function = getattr(module, function_name, None)
    if not callable(function):
        found = "is no function" if function is not None else "has no such function"
        raise ScenarioError(f"{where}: {module_name} {found}: {function_name}")
    return function  # type: ignore[no-any-return]


def _parameters(function: Callable[..., Any], where: str) -> Sequence[str]:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # made in C
        return ()
    free = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    for name, parameter in parameters.items():
        needed = parameter.default is inspect.Parameter.empty and parameter.kind not in free
        if needed and name != "batch":
            raise ScenarioError(
                f"{where}: parameter {name}: must have a default; only batch is given"
            )
    return tuple(parameters)


def _shape(where: str, shape: Sequence[int] | None) -> tuple[int, ...]:
    if shape is None:
        raise ScenarioError(
            f"{where}: returned a model without an example: give --input SHAPE, such as 3,32,32"
        )
    return tuple(shape)


def _random(torch: ModuleType, batch: int, shape: Sequence[int]) -> Any:
    return torch.randn(batch, *shape)


def _examples(torch: ModuleType, example: Any, where: str, batch: int | None) -> int:
    """The batch, which is the example's first dimension."""
    tensors = tensors_in(torch, example)
    if not tensors or tensors[0].dim() == 0:
        raise ScenarioError(f"{where}: example: {_kind(example)}; must hold a tensor with a batch")
    found = int(tensors[0].shape[0])
    if found < 1:
        raise ScenarioError(f"{where}: example: has no examples; must be at least one")
    if batch is not None and batch != found:
        raise ScenarioError(
            f"{where}: --batch: {batch}: the example has {found}; make it of that size,"
            " or let the function take batch"
        )
    return found


def _arguments(example: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(example, dict):
        return (), example
    return (tuple(example), {}) if isinstance(example, tuple | list) else ((example,), {})


def _device(model: Any) -> Any:
    return next((parameter.device for parameter in model.parameters()), None)


def _moved(torch: ModuleType, example: Any, device: Any) -> Any:
    if isinstance(example, torch.Tensor):
        return example if device is None else example.to(device)
    if isinstance(example, dict):
        return {key: _moved(torch, value, device) for key, value in example.items()}
    if isinstance(example, tuple | list):
        return tuple(_moved(torch, value, device) for value in example)
    return example


def _kind(value: object) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(type(v).__name__ for v in value)})"
    return type(value).__name__
