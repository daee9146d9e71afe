"""The columns of a DataFrame that make a record: which are there, and whether their types can be written.

As in Spark's own Kafka sink: `value` is needed, `key`, `headers`, `topic` and `partition` may be there, and columns
with other names are left alone. `timestamp` is taken only where the option includeTimestamp asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelog.spark.sink.errors import InvalidColumns
from tidelog.spark.sink.options import SinkOptions

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

# The types that each column may have, as Spark writes them.
_TYPES = {
    "value": ("string", "binary"),
    "key": ("string", "binary"),
    "headers": ("array<struct<key:string,value:binary>>",),
    "topic": ("string",),
    "partition": ("int",),
    "timestamp": ("timestamp",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkColumns:
    """Where in a row each part of a record is; None where there is no such column."""

    value: int
    key: int | None = None
    headers: int | None = None
    topic: int | None = None
    partition: int | None = None
    timestamp: int | None = None


def sink_columns(schema: StructType, options: SinkOptions) -> SinkColumns:
    """Raises InvalidColumns with all problems at once."""
    problems: list[str] = []
    found: dict[str, int] = {}
    wanted = ["value", "key", "headers", "partition"]
    # Spark's sink lets the option win over the column, too.
    if options.topic is None:
        wanted.append("topic")
    if options.include_timestamp:
        wanted.append("timestamp")
    for index, column in enumerate(schema.fields):
        name = column.name.lower()
        if name not in wanted:
            continue
        if name in found:
            problems.append(f"there are two columns named {column.name!r}")
        found[name] = index
        written = column.dataType.simpleString()
        if written not in _TYPES[name]:
            problems.append(f"column {column.name!r} is {written}, and must be {' or '.join(_TYPES[name])}")
    if "value" not in found:
        names = ", ".join(field.name for field in schema.fields) or "none"
        problems.append(
            f"there is no column `value` (the columns are: {names}); a record needs one, such as from "
            "selectExpr('to_json(struct(*)) AS value')"
        )
    if options.topic is None and "topic" not in found:
        problems.append("there is neither the option `topic` nor a column `topic` that says where rows go")
    if options.include_timestamp and "timestamp" not in found:
        problems.append("includeTimestamp=true needs a column `timestamp`")
    if problems:
        raise InvalidColumns("; ".join(problems))
    return SinkColumns(**found)
