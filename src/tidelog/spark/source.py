"""The source: topics as a DataFrame, for `spark.read` and `spark.readStream`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tidelog.spark.schema import source_columns

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader
    from pyspark.sql.types import StructType


def source_schema(options: Mapping[str, str]) -> StructType:
    return source_columns(include_headers=options.get("includeHeaders", "false").lower() == "true")


def batch_reader(options: Mapping[str, str], schema: StructType) -> DataSourceReader:
    raise NotImplementedError


def stream_reader(options: Mapping[str, str], schema: StructType) -> DataSourceStreamReader:
    raise NotImplementedError
