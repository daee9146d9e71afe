"""Columns of rows as the codec wants them; without an object per row."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidelog.records.columns import BinaryColumn, HeadersColumn
from tidelog.spark.sink.errors import InvalidColumns

_NULL = -1


def binary_column(column: pa.Array) -> BinaryColumn:
    """Of text and bytes, with small or large offsets."""
    if column.type != pa.binary():
        # A copy of a slice, which large offsets make necessary, begins at its own first row.
        column = column.cast(pa.binary())
    validity, offsets, data = column.buffers()
    return BinaryColumn(
        None if column.null_count == 0 else validity,
        _given_offsets(offsets),
        b"" if data is None else data,
        column.offset,
        column.null_count,
    )


def headers_column(column: pa.Array) -> HeadersColumn:
    """Of array<struct<key, value>>. A header without a key cannot be written."""
    entries = column.values
    keys, values = entries.field(0), entries.field(1)
    if keys.null_count or entries.null_count:
        raise InvalidColumns("the column `headers` holds a header whose key is null; every header needs a name")
    validity, offsets = column.buffers()[:2]
    return HeadersColumn(
        None if column.null_count == 0 else validity,
        _given_offsets(offsets),
        binary_column(keys),
        binary_column(values),
        column.offset,
    )


def _given_offsets(offsets: pa.Buffer | None) -> pa.Buffer | bytes:
    """An empty column may come without its one offset: Spark 4.0 and older write it so, and Arrow allows it."""
    return b"\x00" * 4 if offsets is None or offsets.size == 0 else offsets


def milliseconds(column: pa.Array, now_ms: int) -> bytes:
    """Times as int64, `now_ms` for null."""
    in_milliseconds = column.cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
    filled = pc.fill_null(in_milliseconds, now_ms).to_numpy(zero_copy_only=False)
    return np.asarray(filled, dtype=np.int64).tobytes()


def integers(column: pa.Array, kind: Any = np.int64) -> npt.NDArray[Any]:
    """The numbers, -1 for null."""
    return np.asarray(pc.fill_null(column, _NULL).to_numpy(zero_copy_only=False), dtype=kind)
