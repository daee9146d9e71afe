"""Keeps `.tidelog-state` up to date while a log directory is in use. Its content is defined in `directory_state`."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tidelog.model.ids import TopicPartition
from tidelog.storage.directories.directory_state import (
    DirectoryState,
    RecordedLog,
    record_files,
    record_small_files,
    write_directory_state,
)
from tidelog.storage.files.file_names import META_PROPERTIES
from tidelog.storage.files.filesystem import FileSystem
from tidelog.storage.log.log import Log
from tidelog.storage.recovery.clean_shutdown import take_clean_shutdown, write_clean_shutdown
from tidelog.storage.recovery.evidence import OFFSET_CHECKPOINTS, Evidence


class DirectoryRecord:
    """Failures are OSError: the directory knows what they mean."""

    def __init__(self, filesystem: FileSystem, path: str, evidence: Evidence) -> None:
        self._filesystem = filesystem
        self._path = path
        self._evidence = evidence
        self._taken = False
        self._all_loaded = False
        # What is known of logs that are not loaded, or cannot be: the next start has to know it, too.
        self._kept: dict[TopicPartition, RecordedLog] = {}
        self._log_starts: Mapping[TopicPartition, int] = evidence.log_starts

    def take(self, loaded: Collection[TopicPartition]) -> None:
        """The directory is in use from now on: a crash must not look like a clean shutdown.

        What was recorded of a log that is already in use, the metadata log, is out of date from now on.
        """
        if self._taken:
            return
        records = self._evidence.records.items()
        self._kept = {topic_partition: record for topic_partition, record in records if topic_partition not in loaded}
        self._write({}, closed_epoch=None)
        take_clean_shutdown(self._filesystem, self._path)
        self._taken = True

    def loaded(self, failed: Collection[TopicPartition]) -> None:
        """All logs were loaded but these."""
        self._all_loaded = True
        records = self._evidence.records.items()
        self._kept = {topic_partition: record for topic_partition, record in records if topic_partition in failed}
        self._write({}, closed_epoch=None)

    def forget(self, topic_partition: TopicPartition) -> None:
        """The log is about to be truncated, and will no longer be as recorded."""
        if self._kept.pop(topic_partition, None) is not None:
            self._write({}, closed_epoch=None)

    def log_starts_written(self, log_starts: Mapping[TopicPartition, int]) -> None:
        """The checkpoint says this now."""
        if self._taken and log_starts != self._log_starts:
            self._log_starts = dict(log_starts)
            self._write({}, closed_epoch=None)

    def close(self, logs: Mapping[TopicPartition, Log], broker_epoch: int) -> None:
        """All of these logs are closed: write the list of what the next start must find, and the clean mark."""
        self._write(logs, closed_epoch=broker_epoch)
        write_clean_shutdown(self._filesystem, self._path, broker_epoch)

    def _write(self, closed: Mapping[TopicPartition, Log], *, closed_epoch: int | None) -> None:
        records = dict(self._kept)
        for topic_partition, log in closed.items():
            records[topic_partition] = RecordedLog(
                topic_id=log.topic_id,
                log_start_offset=log.log_start_offset,
                log_end_offset=log.stored_end_offset,
                high_watermark=log.high_watermark,
                cleaned_up_to=log.cleaned_up_to,
                files=record_files(self._filesystem, log.directory),
            )
        small = [META_PROPERTIES, *(OFFSET_CHECKPOINTS if closed_epoch is not None else ())]
        # Until all logs have been loaded, there may be holes from a power failure.
        is_whole = self._all_loaded or self._evidence.same_boot or self._evidence.clean_epoch is not None
        state = DirectoryState(
            boot_id=self._filesystem.boot_id() if is_whole else "",
            closed_epoch=closed_epoch,
            logs=records,
            files=record_small_files(self._filesystem, self._path, small),
            log_starts=self._log_starts,
        )
        write_directory_state(self._filesystem, self._path, state)
