"""The checkpoint files of a log directory: the offsets of all its logs that the next start needs.

The format of the files is in `tidelog.storage.directories.checkpoints`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager

from tidelog.model.ids import TopicPartition
from tidelog.model.topics import CLUSTER_METADATA_TOPIC
from tidelog.storage.directories.checkpoints import write_offset_checkpoint
from tidelog.storage.directories.directory_record import DirectoryRecord
from tidelog.storage.directories.disk_health import DiskGuard
from tidelog.storage.files.file_names import (
    CLEANER_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
)
from tidelog.storage.log.environment import LogEnvironment
from tidelog.storage.log.log import Log
from tidelog.storage.recovery.evidence import Evidence


class DirectoryCheckpoints:
    """The `write_*` methods may be called in any thread: they only read numbers of the logs. They raise
    StorageFailure.

    Entries of logs that are not loaded are kept as the last run left them.
    """

    def __init__(
        self,
        environment: LogEnvironment,
        guard: DiskGuard,
        logs: Mapping[TopicPartition, Log],
        record: DirectoryRecord,
        evidence: Evidence,
    ) -> None:
        self._environment = environment
        self._guard = guard
        self._logs = logs
        self._record = record
        self._lock = threading.Lock()
        # By file name; an idle broker does not rewrite unchanged files.
        self._written: dict[str, dict[TopicPartition, int]] = {}
        # Of logs that are being truncated: where, and what is sure to be left.
        self._limits: dict[TopicPartition, tuple[int, int]] = {}
        self._last_high_watermarks = evidence.high_watermarks
        self.recovery_points = dict(evidence.recovery_points)
        self.high_watermarks = dict(evidence.high_watermarks)
        self.log_starts = dict(evidence.log_starts)
        self.cleaned = dict(evidence.cleaned)

    def keep(self, log: Log) -> None:
        """The log is about to be closed, but its entries stay."""
        self.recovery_points[log.topic_partition] = log.recovery_point
        self.high_watermarks[log.topic_partition] = log.high_watermark
        self.log_starts[log.topic_partition] = log.log_start_offset

    def forget(self, topic_partition: TopicPartition) -> None:
        """The log is loaded and has the offsets now."""
        for kept in self._kept:
            kept.pop(topic_partition, None)

    def keep_only(self, unusable: Collection[TopicPartition]) -> None:
        """All logs are loaded. What is left belongs to logs that cannot be, or to the metadata log, which may be loaded
        later. A deleted topic must not leave its offsets to the next one of the same name."""
        for kept in self._kept:
            for topic_partition in list(kept):
                if topic_partition not in unusable and topic_partition.topic != CLUSTER_METADATA_TOPIC:
                    del kept[topic_partition]

    @property
    def _kept(self) -> tuple[dict[TopicPartition, int], ...]:
        return self.recovery_points, self.high_watermarks, self.log_starts, self.cleaned

    @contextmanager
    def limited(self, log: Log, offset: int, *, stored: int) -> Iterator[None]:
        """While the log is truncated at `offset`, even if its start is still above that. Only what is below `stored`
        is sure to be left.

        Everything below the recovery point and the watermark counts as stored, and no log ends below its start.
        """
        self._limits[log.topic_partition] = (offset, stored)
        try:
            self.write_recovery_points()
            written = self._written.get(HIGH_WATERMARK_CHECKPOINT, self._last_high_watermarks)
            if written.get(log.topic_partition, 0) > stored:
                self.write_high_watermarks()
            if log.log_start_offset > offset:
                self.write_log_starts()
            yield
        finally:
            del self._limits[log.topic_partition]

    def lower_high_watermarks(self) -> None:
        """After all logs were loaded: recovery may have cut off more than the checkpoint knows."""
        logs = list(self._logs.items())
        if any(self._last_high_watermarks.get(each, 0) > log.stored_end_offset for each, log in logs):
            self.write_high_watermarks()

    def forget_stored(self, topic_partition: TopicPartition) -> None:
        """Nothing of the log counts as stored any more."""
        for kept in (self.recovery_points, self.high_watermarks):
            kept.pop(topic_partition, None)
        self.write_recovery_points()
        self.write_high_watermarks()

    def write_recovery_points(self) -> None:
        self._write(
            RECOVERY_POINT_CHECKPOINT,
            self.recovery_points,
            lambda log: min(log.recovery_point, self._stored(log)),
        )

    def write_high_watermarks(self) -> None:
        self._write(
            HIGH_WATERMARK_CHECKPOINT,
            self.high_watermarks,
            # The quorum may have committed more than this node has flushed.
            lambda log: (
                min(log.high_watermark, log.recovery_point, self._stored(log))
                if log.topic_partition.topic == CLUSTER_METADATA_TOPIC
                else min(log.high_watermark, self._stored(log))
            ),
        )

    def write_log_starts(self) -> None:
        """Only of logs whose start is not simply their first segment."""
        self._write(LOG_START_CHECKPOINT, self.log_starts, self._start_to_write)
        with self._lock, self._guard:
            self._record.log_starts_written(self._written[LOG_START_CHECKPOINT])

    def _start_to_write(self, log: Log) -> int | None:
        limit = self._limits.get(log.topic_partition)
        start = log.log_start_offset if limit is None else min(log.log_start_offset, limit[0])
        return start if start > log.segments.first.base_offset else None

    def _stored(self, log: Log) -> int:
        """Below this everything is on the disk, and stays there."""
        limit = self._limits.get(log.topic_partition)
        return log.stored_end_offset if limit is None else min(log.stored_end_offset, limit[1])

    def write_cleaned(self) -> None:
        """Up to where the cleaner has come, for logs that it has compacted."""
        self._write(CLEANER_CHECKPOINT, self.cleaned, lambda log: log.cleaned_up_to)

    def write_all(self) -> None:
        self.write_recovery_points()
        self.write_log_starts()
        self.write_high_watermarks()
        self.write_cleaned()

    def _write(self, name: str, kept: Mapping[TopicPartition, int], value_of: Callable[[Log], int | None]) -> None:
        # Values are read inside the lock: the last writer also writes the latest.
        with self._lock, self._guard:
            offsets = dict(kept)
            # A copy, made in one step: the server may add logs while a thread is here.
            for topic_partition, log in list(self._logs.items()):
                value = value_of(log)
                if value is not None:
                    offsets[topic_partition] = value
            if self._written.get(name) != offsets:
                write_offset_checkpoint(self._environment.filesystem, f"{self._environment.path}/{name}", offsets)
                self._written[name] = offsets
