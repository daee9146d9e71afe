"""Copies of logs that are being moved into a log directory (KIP-113), each in a directory with a name of its own."""

from __future__ import annotations

from tidelog.model.ids import TopicPartition, Uuid
from tidelog.storage.directories.disk_health import DiskGuard
from tidelog.storage.directories.new_logs import create_log_directory
from tidelog.storage.directories.removal import DirectoryRemoval
from tidelog.storage.files.file_names import DELETE_DIRECTORY_SUFFIX, FUTURE_DIRECTORY_SUFFIX, partition_directory
from tidelog.storage.log.config import LogConfig
from tidelog.storage.log.environment import LogEnvironment
from tidelog.storage.log.log import Log
from tidelog.storage.recovery.load_request import LoadRequest
from tidelog.storage.recovery.recovery import load_log


class FutureLogs:
    """`create` and `name` may run in any thread. All methods but `take` raise StorageFailure."""

    def __init__(self, environment: LogEnvironment, guard: DiskGuard) -> None:
        self._environment = environment
        self._filesystem = environment.filesystem
        self._guard = guard
        self._logs: dict[TopicPartition, Log] = {}

    def create(self, topic_partition: TopicPartition, topic_id: Uuid, config: LogConfig, now_ms: int) -> Log:
        """An empty copy, to be filled."""
        directory = self._environment.marked_path(topic_partition, FUTURE_DIRECTORY_SUFFIX)
        with self._guard:
            create_log_directory(self._filesystem, directory, topic_id, now_ms)
            self._filesystem.sync_directory(self._environment.path)
        request = LoadRequest(clean=True)
        log = load_log(self._environment, topic_partition, config, request, now_ms, directory=directory)
        self._logs[topic_partition] = log
        return log

    def name(self, topic_partition: TopicPartition, config: LogConfig, now_ms: int) -> Log:
        """Close the copy and open it again under the name of the partition."""
        future = self._logs[topic_partition]
        high_watermark = future.high_watermark
        future.close(now_ms)
        self._rename(future, f"{self._environment.path}/{partition_directory(topic_partition)}")
        request = LoadRequest(clean=True, recovery_point=future.log_end_offset)
        log = load_log(self._environment, topic_partition, config, request, now_ms)
        log.update_high_watermark(high_watermark)
        self._logs[topic_partition] = log
        return log

    def take(self, topic_partition: TopicPartition) -> Log:
        """The copy, which now is the log."""
        return self._logs.pop(topic_partition)

    def drop(self, topic_partition: TopicPartition, now_ms: int) -> DirectoryRemoval:
        """The copy is no longer needed."""
        future = self._logs.pop(topic_partition)
        future.abandon()
        path = self._environment.marked_path(topic_partition, DELETE_DIRECTORY_SUFFIX)
        self._rename(future, path)
        return DirectoryRemoval(path=path, due_ms=now_ms)

    def _rename(self, log: Log, directory: str) -> None:
        with self._guard:
            self._filesystem.rename(log.directory, directory)
            self._filesystem.sync_directory(self._environment.path)
