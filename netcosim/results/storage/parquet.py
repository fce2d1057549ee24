"""Tables as Parquet files, the same bytes for the same table."""

import io
from collections.abc import Iterator
from typing import Any, Final

MOST_VALUES: Final = 200_000_000
"""Most values of a table that is read: equal ones take no room in a file, and 8 bytes in memory."""


def parquet_bytes(table: Any) -> bytes:
    """A table as a file's content.

    Times and sizes go in as differences, which takes about a third off a trace; all else by value.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    leaves = [path for field in table.schema for path in _leaves(field.name, field.type)]
    numbers = {
        path: "DELTA_BINARY_PACKED"
        for path, kind in leaves
        if pa.types.is_int64(kind) or (pa.types.is_int32(kind) and "." in path)
    }
    pq.write_table(
        table,
        sink,
        compression="zstd",
        column_encoding=numbers,
        use_dictionary=[path for path, _ in leaves if path not in numbers],
    )
    return sink.getvalue()


def _leaves(path: str, kind: Any) -> Iterator[tuple[str, Any]]:
    """The columns below a field as Parquet names them, with their types."""
    import pyarrow as pa

    if pa.types.is_list(kind):
        yield from _leaves(f"{path}.list.element", kind.value_type)
    elif pa.types.is_struct(kind):
        for field in kind:
            yield from _leaves(f"{path}.{field.name}", field.type)
    else:
        yield path, kind


def read_parquet(content: bytes) -> Any:
    """The table in a file's content.

    Without Arrow's threads: a program that ends soon after they were started can abort.

    Raises
    ------
    ValueError
        It can't be read as Parquet, or has more values than `MOST_VALUES`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(io.BytesIO(content))
        groups = range(file.metadata.num_row_groups)
        rows = sum(file.metadata.row_group(group).num_rows for group in groups)
        values = rows * file.metadata.num_columns
        if values > MOST_VALUES:
            raise ValueError(f"{values} values: a table may have {MOST_VALUES}")
        return file.read(use_threads=False)
    except (OSError, pa.ArrowException) as problem:
        raise ValueError(f"can't be read as Parquet: {problem}") from None
