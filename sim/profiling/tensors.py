"""Tensors in the nested inputs and outputs of models."""

import dataclasses
from collections.abc import Mapping
from types import ModuleType
from typing import Any


def tensors_in(torch: ModuleType, value: Any) -> list[Any]:
    """All tensors in nested tuples, lists, mappings and dataclasses, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, Mapping):
        parts = list(value.values())
    elif isinstance(value, tuple | list):
        parts = list(value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = [getattr(value, field.name) for field in dataclasses.fields(value)]
    else:
        return []
    return [tensor for part in parts for tensor in tensors_in(torch, part)]
