"""The columns of the source, which are those of Spark's own Kafka connector.

The same as Arrow's types are in `tidelog.client.arrow`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tidelog.spark.source.options import check_options

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def source_schema(options: Mapping[str, str]) -> StructType:
    """Spark asks for it at `load()`, which is the first moment at which options can be refused."""
    return source_columns(include_headers=check_options(options).include_headers)


def source_columns(*, include_headers: bool) -> StructType:
    """What a row of the source looks like to Spark."""
    from pyspark.sql.types import ArrayType, StructType

    columns = (
        StructType()
        .add("key", "binary")
        .add("value", "binary")
        .add("topic", "string")
        .add("partition", "integer")
        .add("offset", "long")
        .add("timestamp", "timestamp")
        .add("timestampType", "integer")
    )
    if include_headers:
        columns.add("headers", ArrayType(StructType().add("key", "string").add("value", "binary")))
    return columns
