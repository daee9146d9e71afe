"""The door through which Spark finds tidelog: `spark.read.format("tidelog")` works without any registration.

Spark looks through all top-level modules named `pyspark_*` for a class called `DefaultSource`, and imports them
whenever any Python data source is used. So this module imports hardly more than Spark's own interface; the reading side
lives in `tidelog.spark.source.readers`, the writing side in `tidelog.spark.sink.writers`, and each is imported when it
is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from tidelog.spark.workers.errors import spoken

if TYPE_CHECKING:
    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType

__all__ = ["DefaultSource"]


@spoken
class DefaultSource(DataSource):
    """Topics of a Kafka cluster as a source and a sink. Options are read once it is known which of the two it is."""

    @classmethod
    def name(cls) -> str:
        return "tidelog"

    def schema(self) -> StructType:
        from tidelog.spark.source.schema import source_schema

        return source_schema(self.options)

    def reader(self, schema: StructType) -> DataSourceReader:
        from tidelog.spark.source.readers import batch_reader

        return batch_reader(self.options, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        from tidelog.spark.source.readers import stream_reader

        return stream_reader(self.options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from tidelog.spark.sink.writers import batch_writer

        return batch_writer(self.options, schema, overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        from tidelog.spark.sink.writers import stream_writer

        return stream_writer(self.options, schema, overwrite=overwrite)
