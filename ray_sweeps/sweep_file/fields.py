"""Pydantic fields of sweep files."""

import math
import re
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator

Kind = Literal["whole", "number", "text", "flag"]
"""Kind of a factor's values."""

MOST_VALUES: Final = 100_000
"""Most values of one factor."""

_VALUE: Final = r"""(?:[\w.+-]++|"[^"\\\n]*+"|'[^'\n]*+'|\[[^][{}"'#]*+\]|\{[^][{}"'#]*+\})"""
_TOO_LONG: Final = re.compile(rf"\[(?:\s*+{_VALUE}\s*+,){{{MOST_VALUES}}}\s*+{_VALUE}")
"""A list of more values than a factor may have, as far as no comment or odd text is among them."""

_LARGEST: Final = 10**18
_LONGEST: Final = 200


def _finite(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a number")
    if not math.isfinite(value) or abs(value) > _LARGEST:
        raise ValueError("must be a finite number up to 1e18")
    return value


def _end(value: Any) -> Any:
    return value if isinstance(value, str) else _finite(value)


def line(value: str) -> str:
    """Check a text that is shown to people."""
    if len(value) <= _LONGEST and value.isprintable():
        return value
    raise ValueError(f"must be one line of at most {_LONGEST} characters")


def filled(value: Any) -> Any:
    """Check that a list or a table is not empty, nor too long to look at what is in it."""
    if not value:
        raise ValueError("must not be empty")
    if isinstance(value, list) and len(value) > MOST_VALUES:
        raise ValueError(f"{len(value)} values; must have at most {MOST_VALUES}")
    return value


def check_lists(text: str) -> None:
    """Refuse a list of too many values in a file's text: reading it would take far longer.

    Raises
    ------
    ValueError
        It says in which line the list begins.
    """
    if found := _TOO_LONG.search(text):
        line_number = text.count("\n", 0, found.start()) + 1
        raise ValueError(
            f"line {line_number}: a list of more than {MOST_VALUES} values; must have at most"
            f" {MOST_VALUES}"
        )


Finite = Annotated[int | float, BeforeValidator(_finite)]
End = Annotated[int | float | str, BeforeValidator(_end)]
"""A number, or a quantity with its unit."""


def scalar(value: Any) -> Any:
    """Check a value that a factor may have: true, false, a number or text."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return line(value)
    if isinstance(value, int | float):
        return _finite(value)
    raise ValueError("must be true, false, a number or text")


Scalar = Annotated[bool | int | float | str, BeforeValidator(scalar)]
