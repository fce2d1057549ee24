"""Option of a coordinator or predictor: its default, and what is allowed."""

from collections.abc import Mapping
from typing import NamedTuple


class Option(NamedTuple):
    """An option.

    Attributes
    ----------
    default : where it is not given; it need not lie within what is allowed
    least, most : allowed values
    whole : True for whole numbers only
    """

    default: float
    least: float
    most: float
    whole: bool = True

    def allows(self, value: float) -> bool:
        """True if the value may be given."""
        return self.least <= value <= self.most and (not self.whole or value == int(value))

    @property
    def allowed(self) -> str:
        """Allowed values, for an error message."""
        kind = "a whole number from " if self.whole else ""
        return f"must be {kind}{self.least:g} to {self.most:g}"


Options = Mapping[str, Option]
"""By name."""
