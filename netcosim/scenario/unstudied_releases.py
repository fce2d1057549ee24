"""Ends of a connection whose gRPC release was not studied, as a record and in words."""

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class NotStudied(BaseModel):
    """One end whose release has no parameters of its own."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", json_schema_serialization_defaults_required=True
    )

    end: Literal["sender", "receiver"]
    release: str = Field(description="of grpcio, as it is installed")
    nearest: str = Field(description="the studied release nearest to it")


def not_studied_text(ends: Sequence[NotStudied]) -> str | None:
    """Name each release that was not studied and the nearest one; None if there is none.

    Both ends of one release are one clause: ``grpcio 1.62.3 is not studied: nearest is grpcio
    1.59.5``, or ``..., as a receiver 1.85.1``, where that is another one.
    """
    by_release: dict[str, list[NotStudied]] = {}
    for each in ends:
        by_release.setdefault(each.release, []).append(each)
    return "; ".join(_clause(release, same) for release, same in by_release.items()) or None


def _clause(release: str, ends: Sequence[NotStudied]) -> str:
    first, *others = ends
    differing = [f", as a {o.end} {o.nearest}" for o in others if o.nearest != first.nearest]
    nearest = f"nearest is grpcio {first.nearest}{''.join(differing)}"
    return f"grpcio {release} is not studied: {nearest}"
