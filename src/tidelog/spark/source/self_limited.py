"""Read limits on Spark 4.0 and 4.1, which ask a source only for its end: `latestOffset()` without start and limit.

The reader inside is one for Spark 4.2. This one remembers where the next batch begins, as Spark tells it: after a
restart Spark begins with `partitions(offset, offset)`, where the offset is the end of the last batch in its log, and it
plans every batch with `partitions(start, end)` before it asks for the end of the next one. Answers alone move nothing,
since Spark may ask twice.

What cannot be adapted: Spark 4.0 and 4.1 run trigger(availableNow=True) as a single batch for such sources, and do not
say so. With a limit that batch is limited as every other, and the query ends after it; so this is logged.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyspark

from tidelog.spark.versions.data_sources import (
    HAS_READ_LIMITS,
    DataSourceStreamReader,
    InputPartition,
    ReadAllAvailable,
    ReadLimit,
)
from tidelog.spark.versions.refusals import StartUnknown, limit_without_start
from tidelog.spark.workers.errors import spoken

if TYPE_CHECKING:
    import pyarrow as pa

logger = logging.getLogger(__name__)

SparkOffset = dict[str, Any]


def for_this_spark(reader: DataSourceStreamReader) -> DataSourceStreamReader:
    """The reader itself where Spark knows limits."""
    return reader if HAS_READ_LIMITS else SelfLimitedReader(reader)


@spoken
class SelfLimitedReader(DataSourceStreamReader):
    def __init__(self, reader: DataSourceStreamReader) -> None:
        self._reader = reader
        # Where the next batch begins; None until Spark has planned one.
        self._start: SparkOffset | None = None
        # Where it was taken to begin when the first question came before that.
        self._assumed: SparkOffset | None = None
        self._answered = False

    def initialOffset(self) -> SparkOffset:
        return self._reader.initialOffset()

    def latestOffset(self) -> SparkOffset:  # type: ignore[override]
        if self._start is None and self._assumed is None:
            self._assumed = self._reader.initialOffset()
        start = self._start if self._start is not None else self._assumed
        assert start is not None
        limit = self._reader.getDefaultReadLimit()
        end = self._reader.latestOffset(start, limit)
        if not self._answered:
            self._answered = True
            self._warn_of_a_single_batch(end, limit)
        return end

    def partitions(self, start: SparkOffset, end: SparkOffset) -> Sequence[InputPartition]:
        learned_late = self._start is None and self._assumed is not None and start == end != self._assumed
        if learned_late and not isinstance(self._reader.getDefaultReadLimit(), ReadAllAvailable):
            # The answer was made for a query that begins, and lies before where this one is.
            raise StartUnknown(limit_without_start(pyspark.__version__))
        self._start = end
        return self._reader.partitions(start, end)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._reader.read(partition)

    def commit(self, end: SparkOffset) -> None:
        self._reader.commit(end)

    def stop(self) -> None:
        self._reader.stop()

    def _warn_of_a_single_batch(self, end: SparkOffset, limit: ReadLimit) -> None:
        report = getattr(self._reader, "reportLatestOffset", lambda: None)
        latest = report()
        if not isinstance(limit, ReadAllAvailable) and latest is not None and latest != end:
            logger.warning(
                "the first batch is limited by %s, and there is more to read. If the query has "
                "trigger(availableNow=True) or trigger(once=True), it ends after this batch, because Spark %s does not "
                "tell sources in Python which trigger a query has. Leave out the limit with these triggers",
                limit,
                pyspark.__version__,
            )
