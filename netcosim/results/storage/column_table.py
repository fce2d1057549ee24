"""Parquet tables as NumPy columns: a million rows are read and written without a loop over them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.int64]
Record = TypeVar("Record")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Words:
    """A column of text: row i holds ``values[codes[i]]``."""

    values: tuple[str, ...]
    codes: Ints

    @classmethod
    def repeated(cls, word: str, count: int) -> Self:
        """The same word in every row."""
        return cls(values=(word,), codes=np.zeros(count, dtype=np.int64))

    @classmethod
    def chosen(cls, words: Sequence[str], which: Ints) -> Self:
        """``words[which[i]]`` in row i; equal words become one value."""
        values = tuple(dict.fromkeys(words))
        number = {word: code for code, word in enumerate(values)}
        codes = np.array([number[word] for word in words], dtype=np.int64)
        return cls(values=values, codes=codes[which])

    def __len__(self) -> int:
        return len(self.codes)

    def texts(self) -> list[str]:
        """All rows as text."""
        return [self.values[code] for code in self.codes.tolist()]

    def are(self, word: str) -> NDArray[np.bool_]:
        """Mask of the rows that hold this word."""
        return np.isin(self.codes, [code for code, v in enumerate(self.values) if v == word])


def whole_ns(times: ArrayLike) -> Ints:
    """Times rounded to whole nanoseconds."""
    return np.rint(np.asarray(times, dtype=np.float64)).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnTable(Generic[Record]):
    """A kind of table: a dataclass of equally long columns, and the name that stands in its file.

    Columns are `Words` or arrays of whole numbers, and nothing is ever null.
    """

    record: type[Record]
    name: str

    @property
    def schema(self) -> Any:
        """The Arrow schema, with name and version."""
        import pyarrow as pa

        words = pa.dictionary(pa.int32(), pa.string())
        columns = [
            pa.field(name, words if text else pa.int64(), nullable=False)
            for name, text in self._columns()
        ]
        return pa.schema(columns, metadata={"format": self.name, "version": "1"})

    def table(self, record: Record) -> Any:
        """The columns as an Arrow table."""
        import pyarrow as pa

        arrays = [_arrow(getattr(record, name)) for name, _ in self._columns()]
        return pa.Table.from_arrays(arrays, schema=self.schema)

    def read(self, table: Any) -> Record:
        """The columns of an Arrow table: the inverse of `table`.

        Raises
        ------
        ValueError
            Not a table of this kind and version.
        """
        metadata = table.schema.metadata or {}
        if (metadata.get(b"format"), metadata.get(b"version")) != (self.name.encode(), b"1"):
            raise ValueError(f"is not a {self.name} table of version 1")
        columns: dict[str, Words | Ints] = {}
        for field in self.schema:
            if field.name not in table.schema.names:
                raise ValueError(f'lacks the column "{field.name}"')
            column = table[field.name]
            if column.type != field.type or column.null_count:
                raise ValueError(f'the column "{field.name}" is not {field.type} without nulls')
            columns[field.name] = _column(column)
        return self.record(**columns)

    def empty(self) -> Record:
        """Columns without rows."""
        return self.joined(())

    def joined(self, parts: Iterable[Record]) -> Record:
        """The rows of all parts, one after the other."""
        kept = list(parts)
        columns = {
            name: _joined_words([getattr(part, name) for part in kept])
            if text
            else _joined_ints([getattr(part, name) for part in kept])
            for name, text in self._columns()
        }
        return self.record(**columns)

    def where(self, record: Record, which: NDArray[Any]) -> Record:
        """The rows that a mask or indices choose."""
        columns: dict[str, Words | Ints] = {}
        for name, text in self._columns():
            whole = getattr(record, name)
            columns[name] = (
                Words(values=whole.values, codes=whole.codes[which]) if text else whole[which]
            )
        return self.record(**columns)

    def _columns(self) -> list[tuple[str, bool]]:
        """Each column's name, and whether it is of text."""
        return [(f.name, f.type is Words) for f in fields(self.record)]  # type: ignore[arg-type]


def _arrow(column: Words | Ints) -> Any:
    import pyarrow as pa

    if isinstance(column, Words):
        codes = pa.array(column.codes.astype(np.int32))
        return pa.DictionaryArray.from_arrays(codes, pa.array(column.values, type=pa.string()))
    return pa.array(column, type=pa.int64())


def _column(column: Any) -> Words | Ints:
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return _joined_ints([_numbers(chunk) for chunk in column.chunks])
    chunks = []
    for chunk in column.chunks:
        chunk.validate(full=True)
        values = tuple(chunk.dictionary.to_pylist())
        chunks.append(Words(values=values, codes=_numbers(chunk.indices)))
    return _joined_words(chunks)


def _numbers(array: Any) -> Ints:
    """Whole numbers of an array without nulls.

    By its buffer: Arrow's own way imports pandas where it is installed, and an interruption that
    comes during that import is lost.
    """
    import pyarrow as pa

    if not pa.types.is_integer(array.type) or array.null_count:
        raise ValueError(f"must be whole numbers without nulls, not {array.type}")
    if not len(array):
        return np.empty(0, dtype=np.int64)
    kind = f"{'u' if pa.types.is_unsigned_integer(array.type) else 'i'}{array.type.bit_width // 8}"
    every = np.frombuffer(array.buffers()[1], dtype=kind, count=array.offset + len(array))
    return every[array.offset :].astype(np.int64)


def _joined_ints(parts: Sequence[Ints]) -> Ints:
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])


def _joined_words(parts: Sequence[Words]) -> Words:
    values = tuple(dict.fromkeys(value for part in parts for value in part.values))
    number = {value: code for code, value in enumerate(values)}
    codes = [
        np.array([number[value] for value in part.values], dtype=np.int64)[part.codes]
        for part in parts
    ]
    return Words(values=values, codes=_joined_ints(codes))
