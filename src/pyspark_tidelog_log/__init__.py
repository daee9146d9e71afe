"""The door through which Spark finds `spark.read.format("tidelog-log")`, as `pyspark_tidelog` is for "tidelog".

Spark takes one data source from each top-level module named `pyspark_*`. What it does is in `tidelog.spark.log_files`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from tidelog.spark.workers.errors import spoken

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceReader
    from pyspark.sql.types import StructType

__all__ = ["DefaultSource"]


@spoken
class DefaultSource(DataSource):
    """Records of log directories, of tidelog and of Apache Kafka, read from their files."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        from tidelog.spark.log_files.segments import find_segments, log_files_options

        # Spark calls this in `load()`; what is wrong is said there, and not when the first row is wanted.
        find_segments(log_files_options(options))

    @classmethod
    def name(cls) -> str:
        return "tidelog-log"

    def schema(self) -> StructType:
        from tidelog.spark.log_files.columns import spark_columns

        return spark_columns()

    def reader(self, schema: StructType) -> DataSourceReader:
        from tidelog.spark.log_files.source import log_files_reader

        return log_files_reader(self.options, schema)
