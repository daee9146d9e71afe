"""One log directory (an entry of `log.dirs`): its logs, its checkpoints, its lock and whether it can be used.

Several directories are composed by the server. A directory whose disk fails is offline from then on, with all of
its logs, until the broker is restarted; the others are not affected.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field

from tidelog.model.ids import TopicPartition, Uuid, format_uuid
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.ports import Randomness
from tidelog.model.topics import CLUSTER_METADATA_TOPIC
from tidelog.storage.directories.checkpoints import CorruptCheckpoint
from tidelog.storage.directories.directory_checkpoints import DirectoryCheckpoints
from tidelog.storage.directories.directory_record import DirectoryRecord
from tidelog.storage.directories.disk_health import DiskGuard, DiskHealth
from tidelog.storage.directories.future_logs import FutureLogs
from tidelog.storage.directories.meta_properties import MetaProperties, read_meta_properties, write_meta_properties
from tidelog.storage.directories.new_logs import NewLog, create_log_directory
from tidelog.storage.directories.partition_metadata import write_partition_metadata
from tidelog.storage.directories.removal import DirectoryRemoval, FileRemoval
from tidelog.storage.files.file_names import (
    DELETE_DIRECTORY_SUFFIX,
    FUTURE_DIRECTORY_SUFFIX,
    LOCK_FILE,
    STRAY_DIRECTORY_SUFFIX,
    directory_mark,
    parse_partition_directory,
    partition_directory,
)
from tidelog.storage.files.filesystem import DiskFull, FileSystem, Lock, StorageFailure
from tidelog.storage.log.config import LogConfig
from tidelog.storage.log.environment import LogEnvironment
from tidelog.storage.log.log import Log
from tidelog.storage.log.truncation import truncate_fully_and_start_at, truncate_to
from tidelog.storage.recovery.damage import DamagedLog
from tidelog.storage.recovery.evidence import Evidence, read_evidence
from tidelog.storage.recovery.load_request import LoadRequest, RecoveryProgress
from tidelog.storage.recovery.recovery import load_log
from tidelog.storage.segments.batch_scan import UnsupportedFormat

logger = logging.getLogger(__name__)


class DirectoryInUse(Exception):
    """Another process uses the directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadReport:
    """What loading found apart from the logs."""

    # Partitions that were being deleted when the broker stopped.
    removals: list[DirectoryRemoval] = field(default_factory=list)
    # Partitions that exist but cannot be used, and why.
    failures: dict[TopicPartition, Exception] = field(default_factory=dict)
    # Partitions that were being moved here.
    moving: list[TopicPartition] = field(default_factory=list)
    # Partitions that can be used, but cannot be read completely, and why.
    damaged: dict[TopicPartition, str] = field(default_factory=dict)


class _NoLock:
    def release(self) -> None:
        pass


def _is_retired(names: Iterable[str], topic_partition: TopicPartition) -> bool:
    """Whether a crash came after the directory was renamed and before the checkpoints were written."""
    prefix = f"{partition_directory(topic_partition)}."
    return any(name.startswith(prefix) and directory_mark(name) is not None for name in names)


class LogDirectory:
    """Used by one thread at a time, except for `checkpoints`, and for `create_logs`, which is about logs that nobody
    uses yet and which several threads may call at the same time, each for other logs."""

    def __init__(
        self, environment: LogEnvironment, lock: Lock, meta: MetaProperties | None, evidence: Evidence | None = None
    ) -> None:
        self.path = environment.path
        self.meta = meta
        self.logs: dict[TopicPartition, Log] = {}
        self._evidence = evidence or Evidence()
        self._environment = environment
        self._filesystem = environment.filesystem
        self._guard = DiskGuard(environment.health, f"log directory {environment.path}")
        self._growth_guard = DiskGuard(environment.health, f"log directory {environment.path}", growing=True)
        # Copies of logs that are being moved here.
        self.futures = FutureLogs(environment, self._guard)
        self._lock = lock
        self._loaded = False
        self._record = DirectoryRecord(environment.filesystem, environment.path, self._evidence)
        # Logs whose directories have been created, and that nobody has opened since.
        self._fresh: set[TopicPartition] = set()
        self.checkpoints = DirectoryCheckpoints(
            environment, self._growth_guard, self.logs, self._record, self._evidence
        )

    @classmethod
    def open(cls, path: str, filesystem: FileSystem, randomness: Randomness) -> LogDirectory:
        """Lock the directory, which is created if it is missing. `meta` is None until it is formatted.

        Raises DirectoryInUse, CorruptCheckpoint, and OSError if the directory cannot be used at all. Changes nothing
        but the lock: what the last run has left is read now and consumed by the first log that is loaded.
        """
        filesystem.make_directory(path)
        lock = filesystem.lock(f"{path}/{LOCK_FILE}")
        if lock is None:
            raise DirectoryInUse(
                f"the log directory {path} is in use by another broker; stop it, or give this one another log.dirs"
            )
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(lock.release)
            meta = read_meta_properties(filesystem, path)
            evidence = read_evidence(filesystem, path)
            on_failure.pop_all()
        environment = LogEnvironment(filesystem=filesystem, randomness=randomness, health=DiskHealth(), path=path)
        return cls(environment, lock, meta, evidence)

    @classmethod
    def offline(cls, path: str, filesystem: FileSystem, randomness: Randomness, cause: OSError) -> LogDirectory:
        """One that could not even be opened: it has no logs and accepts none."""
        health = DiskHealth()
        health.fail(f"opening the log directory {path}", cause)
        environment = LogEnvironment(filesystem=filesystem, randomness=randomness, health=health, path=path)
        return cls(environment, _NoLock(), None)

    @property
    def clean_broker_epoch(self) -> int | None:
        """None after a crash; else the broker epoch of the run that ended cleanly (-1: unknown)."""
        return self._evidence.clean_epoch

    @property
    def holds_topics(self) -> bool:
        """Whether there are partitions of topics on the disk. Raises StorageFailure."""
        return any(each.topic != CLUSTER_METADATA_TOPIC for each in self._partitions_on_disk())

    @property
    def holds_metadata(self) -> bool:
        """Whether the metadata log is on the disk. Raises StorageFailure."""
        return any(each.topic == CLUSTER_METADATA_TOPIC for each in self._partitions_on_disk())

    def _partitions_on_disk(self) -> list[TopicPartition]:
        with self._guard:
            names = self._filesystem.list_names(self.path)
        return [each for name in names if (each := parse_partition_directory(name)) is not None]

    @property
    def failure(self) -> StorageFailure | None:
        """Why the directory is offline; None while it is online."""
        return self._environment.health.failure

    def format(self, meta: MetaProperties) -> None:
        with self._guard:
            write_meta_properties(self._filesystem, self.path, meta)
        self.meta = meta

    # Loading

    def load(
        self,
        config_of: Callable[[str], LogConfig],
        now_ms: int,
        progress: Callable[[RecoveryProgress], None] | None = None,
    ) -> LoadReport:
        """Open the logs of all partitions, with recovery if the last run did not end cleanly.

        The metadata log is left out: `open_log` opens it. Raises StorageFailure.
        """
        try:
            return self._load_all(config_of, now_ms, progress)
        except DiskFull as full:
            # Logs that are not loaded must not seem to be missing.
            raise self._environment.health.fail(full.action, full.cause) from full

    def _load_all(
        self,
        config_of: Callable[[str], LogConfig],
        now_ms: int,
        progress: Callable[[RecoveryProgress], None] | None,
    ) -> LoadReport:
        report = LoadReport()
        self._take()
        with self._guard:
            names = self._filesystem.list_names(self.path)
        for name in names:
            if directory_mark(name) == DELETE_DIRECTORY_SUFFIX:
                report.removals.append(DirectoryRemoval(path=f"{self.path}/{name}", due_ms=now_ms))
            if directory_mark(name) == FUTURE_DIRECTORY_SUFFIX:
                # The copy is recreated: nobody knows how much of it had reached the device.
                report.removals.append(DirectoryRemoval(path=f"{self.path}/{name}", due_ms=now_ms))
                moving = parse_partition_directory(name.rpartition(".")[0])
                if moving is not None:
                    report.moving.append(moving)
            topic_partition = parse_partition_directory(name)
            if topic_partition is None or topic_partition.topic == CLUSTER_METADATA_TOPIC:
                continue
            if not self._filesystem.is_directory(f"{self.path}/{name}"):
                continue
            try:
                log = self._load(topic_partition, config_of(topic_partition.topic), now_ms, progress)
                if log.damage:
                    report.damaged[topic_partition] = "; ".join(log.damage)
            except (CorruptCheckpoint, UnsupportedFormat, DamagedLog) as problem:
                report.failures[topic_partition] = problem
        for topic_partition in self._evidence.expected_logs - {*self.logs, *report.failures}:
            if topic_partition.topic != CLUSTER_METADATA_TOPIC and not _is_retired(names, topic_partition):
                directory = f"{self.path}/{partition_directory(topic_partition)}"
                report.failures[topic_partition] = DamagedLog(directory, "it held records, and is missing")
        self.checkpoints.keep_only(report.failures)
        self._loaded = True
        # First: what a power failure has taken from a log counts as stored as soon as the directory counts as whole.
        self.checkpoints.lower_high_watermarks()
        with self._guard:
            self._record.loaded(report.failures)
        return report

    def load_again(self, topic_partition: TopicPartition, config: LogConfig, now_ms: int) -> Log:
        """Load a damaged log up to the first damage, and truncate the rest; only if other replicas have all of it.

        If its directory is gone, it begins empty. Raises StorageFailure, CorruptCheckpoint, UnsupportedFormat.
        """
        damaged = self.logs.pop(topic_partition, None)
        if damaged is not None:
            damaged.abandon()
        # What is known of it must be gone before the log is changed: the next start would ask for it after a crash.
        with self._guard:
            self._record.forget(topic_partition)
        self.checkpoints.forget_stored(topic_partition)
        with self._guard:
            exists = self._filesystem.exists(f"{self.path}/{partition_directory(topic_partition)}")
        if not exists:
            return self.open_log(topic_partition, None, config, now_ms)
        request = LoadRequest(
            clean=False,
            thorough=True,
            log_start_offset=self.checkpoints.log_starts.get(topic_partition, 0),
            cleaned_up_to=self.checkpoints.cleaned.get(topic_partition),
        )
        return self._loaded_log(topic_partition, config, request, now_ms)

    def open_log(self, topic_partition: TopicPartition, topic_id: Uuid | None, config: LogConfig, now_ms: int) -> Log:
        """The log of a partition: the one that is open, the one on disk, or a new one. `load` must have been called.

        Raises StorageFailure, DamagedLog; CorruptCheckpoint if it exists with another topic's id.
        """
        log = self.logs.get(topic_partition)
        if log is None:
            is_metadata = topic_partition.topic == CLUSTER_METADATA_TOPIC
            if is_metadata:
                self._require_metadata()
            if topic_partition not in self._fresh:
                with self._growth_guard:
                    if self._create_directory(topic_partition, topic_id, now_ms):
                        self._filesystem.sync_directory(self.path)
            log = self._load(topic_partition, config, now_ms)
            if is_metadata:
                # From here on it is written to. What is known about the other logs is kept until they are loaded.
                self._take()
        if topic_id is not None and log.topic_id is None:
            with self._guard:
                write_partition_metadata(self._filesystem, log.directory, topic_id)
            log.topic_id = topic_id
        if topic_id is not None and log.topic_id is not None and log.topic_id != topic_id:
            raise CorruptCheckpoint(
                log.directory, f"topic id {format_uuid(log.topic_id)} instead of {format_uuid(topic_id)}"
            )
        return log

    def create_logs(self, wanted: Sequence[NewLog], now_ms: int) -> None:
        """Create and open new logs, so that `open_log` has nothing to wait for.

        In any thread, as long as nobody opens these logs meanwhile. Raises StorageFailure, CorruptCheckpoint.
        """
        with self._growth_guard:
            for new in wanted:
                self._create_directory(new.topic_partition, new.topic_id, now_ms)
            self._filesystem.sync_directory(self.path)
        for new in wanted:
            self.open_log(new.topic_partition, new.topic_id, new.config, now_ms)

    def _create_directory(self, topic_partition: TopicPartition, topic_id: Uuid | None, now_ms: int) -> bool:
        """Unless it exists. Whether it was created; then its parent directory must be synced as well."""
        directory = f"{self.path}/{partition_directory(topic_partition)}"
        if self._filesystem.exists(directory):
            return False
        self._fresh.add(topic_partition)
        create_log_directory(self._filesystem, directory, topic_id, now_ms)
        return True

    def _take(self) -> None:
        with self._guard:
            self._record.take(self.logs)

    def _require_metadata(self) -> None:
        """Raises DamagedLog if the metadata log existed before: an empty one would turn all other logs into strays."""
        with self._guard:
            names = self._filesystem.list_names(self.path)
        expected = [each for each in self._evidence.expected_logs if each.topic == CLUSTER_METADATA_TOPIC]
        for topic_partition in expected:
            if partition_directory(topic_partition) not in names:
                path = f"{self.path}/{partition_directory(topic_partition)}"
                raise DamagedLog(path, "it held the cluster's metadata, and is missing")

    def _load(
        self,
        topic_partition: TopicPartition,
        config: LogConfig,
        now_ms: int,
        progress: Callable[[RecoveryProgress], None] | None = None,
    ) -> Log:
        if topic_partition in self._fresh:
            # In what has just been created there is nothing to recover.
            request = LoadRequest(clean=True, cleaned_up_to=self.checkpoints.cleaned.get(topic_partition))
            return self._loaded_log(topic_partition, config, request, now_ms)
        directory = f"{self.path}/{partition_directory(topic_partition)}"
        with self._guard:
            differences = self._evidence.settle_small_files(self._filesystem, directory, topic_partition)
        is_metadata = topic_partition.topic == CLUSTER_METADATA_TOPIC
        request = LoadRequest(
            clean=self.clean_broker_epoch is not None and not is_metadata,
            recovery_point=self.checkpoints.recovery_points.get(topic_partition, 0),
            log_start_offset=self.checkpoints.log_starts.get(topic_partition, 0),
            cleaned_up_to=self.checkpoints.cleaned.get(topic_partition),
            committed=self._evidence.committed(topic_partition),
            closed_end=self._evidence.closed_end(topic_partition),
            same_boot=self._evidence.same_boot,
            # It is small, and everything depends on it.
            thorough=is_metadata,
            differences=differences,
            progress=progress,
        )
        return self._loaded_log(topic_partition, config, request, now_ms)

    def _loaded_log(self, topic_partition: TopicPartition, config: LogConfig, request: LoadRequest, now_ms: int) -> Log:
        log = load_log(self._environment, topic_partition, config, request, now_ms)
        log.update_high_watermark(self.checkpoints.high_watermarks.get(topic_partition, 0))
        self.checkpoints.forget(topic_partition)
        self.logs[topic_partition] = log
        self._fresh.discard(topic_partition)
        return log

    # Changing logs

    def truncate(self, topic_partition: TopicPartition, offset: int, *, now_ms: int) -> list[FileRemoval]:
        """Truncate a log. The lower recovery point is written first, so that recovery after a crash, also one after the
        next append, checks everything from there on. Raises StorageFailure, CorruptBatch."""
        log = self.logs[topic_partition]
        if offset >= log.log_end_offset:
            return truncate_to(log, offset, now_ms=now_ms)
        log.flusher.forget_from(offset)
        log.update_high_watermark(min(log.high_watermark, offset))
        with self.checkpoints.limited(log, offset, stored=log.sure_below(offset)):
            removals = truncate_to(log, offset, now_ms=now_ms)
        self.checkpoints.write_cleaned()
        return removals

    def truncate_fully(self, topic_partition: TopicPartition, offset: int, *, now_ms: int) -> list[FileRemoval]:
        """Drop all records of a log, which continues at `offset`."""
        log = self.logs[topic_partition]
        log.flusher.forget_from(0)
        log.update_high_watermark(log.log_start_offset)
        # Until the new segment is there, the log may begin, and end, where its start is.
        least = min(offset, log.log_start_offset)
        with self.checkpoints.limited(log, least, stored=least):
            removals = truncate_fully_and_start_at(log, offset, now_ms=now_ms)
        self.checkpoints.write_recovery_points()
        self.checkpoints.write_cleaned()
        return removals

    def adopt_future(self, topic_partition: TopicPartition) -> None:
        """The copy is the log of the partition from now on."""
        self.logs[topic_partition] = self.futures.take(topic_partition)
        self.checkpoints.write_all()

    def delete_logs(self, topic_partitions: Iterable[TopicPartition], now_ms: int) -> list[DirectoryRemoval]:
        """Take logs out of use. Their directories are renamed, so that the same names can be used again at once."""
        removals = []
        for topic_partition in topic_partitions:
            delay_ms = self.logs[topic_partition].config.file_delete_delay_ms
            path = self._retire(topic_partition, DELETE_DIRECTORY_SUFFIX)
            removals.append(DirectoryRemoval(path=path, due_ms=now_ms + delay_ms))
        self._retired()
        return removals

    def mark_stray(self, topic_partition: TopicPartition) -> str:
        """Set a log aside that belongs to no topic of this cluster. Returns the new path; nothing is removed."""
        path = self._retire(topic_partition, STRAY_DIRECTORY_SUFFIX)
        self._retired()
        return path

    def release(self, topic_partition: TopicPartition) -> None:
        """Close a log that cannot be used. It stays as it is, and its entries stay in the checkpoints."""
        log = self.logs.pop(topic_partition)
        self.checkpoints.keep(log)
        log.abandon()

    def _retire(self, topic_partition: TopicPartition, suffix: str) -> str:
        log = self.logs.pop(topic_partition)
        log.abandon()
        path = self._environment.marked_path(topic_partition, suffix)
        with self._guard:
            self._filesystem.rename(log.directory, path)
        return path

    def _retired(self) -> None:
        with self._guard:
            self._filesystem.sync_directory(self.path)
        try:
            self.checkpoints.write_all()
        except DiskFull as full:
            # Entries of removed logs do no harm, and deleting is what frees space.
            logger.warning("the checkpoints will be written when there is free space: %s", full)

    # Closing

    def close(self, now_ms: int, *, broker_epoch: int = -1) -> None:
        """Close all logs cleanly and leave the mark that they need no recovery. A failed disk gets no mark."""
        try:
            if self.failure is None:
                self._close_in_order(now_ms, broker_epoch=broker_epoch)
        except StorageFailure as failure:
            logger.error("the next start will recover the logs of %s: %s", self.path, failure)
        finally:
            for log in self.logs.values():
                log.abandon()
            self._lock.release()

    def _close_in_order(self, now_ms: int, *, broker_epoch: int) -> None:
        for log in self.logs.values():
            log.close(now_ms)
        self.checkpoints.write_all()
        # Unless all logs were loaded, it is unknown whether the others need recovery, except after a clean shutdown:
        # what was not loaded is as it was then.
        epoch = broker_epoch if self._loaded or broker_epoch >= 0 else self.clean_broker_epoch
        if epoch is not None and (self._loaded or self.clean_broker_epoch is not None):
            with self._guard:
                self._record.close(self.logs, epoch)

    def abandon(self) -> None:
        """Release everything without another write, as a crash would; for tests and for a failed start."""
        for log in self.logs.values():
            log.abandon()
        self._lock.release()
