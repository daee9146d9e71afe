"""`spark.read.format("tidelog-log")`: the classes that Spark calls.

What paths mean is in `tidelog.spark.log_files.segments`, what a task does in `tidelog.spark.log_files.reading`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelog.spark.log_files.columns import spark_columns
from tidelog.spark.log_files.reading import read_segment
from tidelog.spark.log_files.segments import (
    InvalidLogFiles,
    LogFilesOptions,
    SegmentFile,
    find_segments,
    log_files_options,
)
from tidelog.spark.versions.data_sources import DataSourceReader, InputPartition
from tidelog.spark.workers.errors import spoken

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType


def log_files_reader(options: Mapping[str, str], schema: StructType) -> DataSourceReader:
    return LogFilesReader(log_files_options(options), _wanted_columns(schema))


def _wanted_columns(schema: StructType) -> tuple[str, ...]:
    """A schema that is given with `.schema(...)` chooses columns: what is not wanted is not made."""
    known = {field.name: field.dataType for field in spark_columns()}
    problems = []
    for field in schema:
        if field.name not in known:
            problems.append(f"{field.name} is not a column of tidelog-log, which has {', '.join(known)}")
        elif field.dataType != known[field.name]:
            given, right = field.dataType.simpleString(), known[field.name].simpleString()
            problems.append(f"column {field.name} is {right}, not {given}")
    if problems:
        raise InvalidLogFiles("; ".join(problems))
    return tuple(field.name for field in schema)


@dataclass
class SegmentPartition(InputPartition):
    """One segment for one task."""

    place: SegmentFile


@spoken
class LogFilesReader(DataSourceReader):
    def __init__(self, options: LogFilesOptions, wanted: tuple[str, ...]) -> None:
        self._options = options
        self._wanted = wanted

    def partitions(self) -> Sequence[InputPartition]:
        return [
            SegmentPartition(place)
            for place in find_segments(self._options)
            if place.size > 0 or place.problem is not None
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Where there is nothing to read, Spark makes up a partition of its own.
        if isinstance(partition, SegmentPartition):
            yield from read_segment(partition.place, self._wanted, self._options.max_batch_bytes)
