"""Parquet tables of flat rows: one dataclass, one column a field."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Generic, TypeVar

Row = TypeVar("Row")

_TYPES: Final[Mapping[Any, str]] = {str: "string", int: "int64", bool: "bool_"}
_SHORT: Final = frozenset({"burst", "connection"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatTable(Generic[Row]):
    """A kind of table: its rows' dataclass, and the name that stands in its file.

    Fields are text, whole numbers or flags, and none is ever null.
    """

    row: type[Row]
    name: str

    @property
    def schema(self) -> Any:
        """The Arrow schema, with name and version."""
        import pyarrow as pa

        columns = [
            pa.field(
                f.name,
                getattr(pa, "int32" if f.name in _SHORT else _TYPES[f.type])(),
                nullable=False,
            )
            for f in fields(self.row)  # type: ignore[arg-type]
        ]
        return pa.schema(columns, metadata={"format": self.name, "version": "1"})

    def table(self, rows: Iterable[Row]) -> Any:
        """The rows as an Arrow table."""
        import pyarrow as pa

        kept = list(rows)
        arrays = [
            pa.array([getattr(row, column.name) for row in kept], type=column.type)
            for column in self.schema
        ]
        return pa.Table.from_arrays(arrays, schema=self.schema)

    def rows(self, table: Any) -> tuple[Row, ...]:
        """The rows of an Arrow table: the inverse of `table`.

        Raises
        ------
        ValueError
            Not a table of this kind and version.
        """
        metadata = table.schema.metadata or {}
        if (metadata.get(b"format"), metadata.get(b"version")) != (self.name.encode(), b"1"):
            raise ValueError(f"is not a {self.name} table of version 1")
        names = self.schema.names
        for name in names:
            if name not in table.schema.names:
                raise ValueError(f'lacks the column "{name}"')
        columns = [table[name].to_pylist() for name in names]
        return tuple(
            self.row(**dict(zip(names, values, strict=True)))
            for values in zip(*columns, strict=True)
        )
