"""What a log directory shows of the previous run: how it ended, and what must be there.

Read when the directory is opened, before anything is changed in it. A start that is refused therefore finds the same
at the next attempt.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import field

from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.topics import CLUSTER_METADATA_TOPIC
from tidelog.storage.directories.checkpoints import CorruptCheckpoint, read_offset_checkpoint
from tidelog.storage.directories.directory_state import (
    DirectoryState,
    RecordedLog,
    find_differences,
    read_directory_state,
)
from tidelog.storage.directories.partition_metadata import read_partition_metadata, write_partition_metadata
from tidelog.storage.files.file_names import (
    CLEANER_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_CHECKPOINT,
    META_PROPERTIES,
    PARTITION_METADATA,
    RECOVERY_POINT_CHECKPOINT,
    STATE_FILE,
)
from tidelog.storage.files.filesystem import FileSystem
from tidelog.storage.log.config import MAX_LONG
from tidelog.storage.recovery.clean_shutdown import read_clean_shutdown

logger = logging.getLogger(__name__)

OFFSET_CHECKPOINTS = (
    RECOVERY_POINT_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_CHECKPOINT,
    CLEANER_CHECKPOINT,
)

Offsets = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    # The broker epoch of a run that ended cleanly (-1: unknown); None after a crash.
    clean_epoch: int | None = None
    # Whether the machine has not been restarted since: then everything that was written is there.
    same_boot: bool = False
    recovery_points: Offsets = field(default_factory=dict)
    high_watermarks: Offsets = field(default_factory=dict)
    log_starts: Offsets = field(default_factory=dict)
    cleaned: Offsets = field(default_factory=dict)
    # Logs as they were closed: all of them after a clean shutdown, else those that could not be loaded since.
    records: Mapping[TopicPartition, RecordedLog] = field(default_factory=dict)

    @property
    def expected_logs(self) -> set[TopicPartition]:
        """Those that hold records."""
        stored = {*self.recovery_points, *self.high_watermarks}
        return {each for each in {*self.records, *stored} if 0 < self.committed(each) < MAX_LONG}

    def committed(self, topic_partition: TopicPartition) -> int:
        """Everything below it must be in the log. MAX_LONG: everything that is there, since it was closed cleanly.

        What was synced, always. What was committed, unless the machine has lost power: then less may be left, and the
        other replicas have it. In the metadata log, only what is synced here counts as committed.
        """
        record = self.records.get(topic_partition)
        if record is not None:
            return record.log_end_offset
        stored = self.recovery_points.get(topic_partition, 0)
        if self.same_boot or self.clean_epoch is not None or topic_partition.topic == CLUSTER_METADATA_TOPIC:
            stored = max(stored, self.high_watermarks.get(topic_partition, 0))
        return MAX_LONG if self.clean_epoch is not None and not stored else stored

    def closed_end(self, topic_partition: TopicPartition) -> int | None:
        """Where the log ended when it was closed; None if something may have been appended since."""
        record = self.records.get(topic_partition)
        return None if record is None else record.log_end_offset

    def settle_small_files(
        self, filesystem: FileSystem, directory: str, topic_partition: TopicPartition
    ) -> dict[str, str]:
        """What is wrong with which file of a log. The topic id is rewritten if it is known."""
        record = self.records.get(topic_partition)
        if record is None:
            return {}
        differences = find_differences(filesystem, directory, record.files)
        if PARTITION_METADATA in differences and record.topic_id is not None:
            logger.warning("rewriting %s/%s: %s", directory, PARTITION_METADATA, differences[PARTITION_METADATA])
            write_partition_metadata(filesystem, directory, record.topic_id)
            read_partition_metadata(filesystem, directory)
        return differences


def read_evidence(filesystem: FileSystem, path: str) -> Evidence:
    """Raises CorruptCheckpoint if meta.properties is not what it was, and OSError."""
    clean_epoch = read_clean_shutdown(filesystem, path)
    state = read_directory_state(filesystem, path)
    if state.closed_epoch is not None and state.closed_epoch != clean_epoch:
        # Somebody else has used the directory since: what we have recorded says nothing about it.
        state = DirectoryState()
    same_boot = state.boot_id == filesystem.boot_id() != ""
    differences = find_differences(filesystem, path, state.files)
    if META_PROPERTIES in differences:
        raise CorruptCheckpoint(
            f"{path}/{META_PROPERTIES}",
            f"{differences[META_PROPERTIES]}; restore it from a copy, or, if it was changed on purpose, "
            f"delete {path}/{STATE_FILE}",
        )
    if clean_epoch is not None and state.closed_epoch == clean_epoch:
        for name, problem in differences.items():
            logger.warning("rewriting %s/%s from other files: %s", path, name, problem)
        logs = state.logs
        return Evidence(
            clean_epoch=clean_epoch,
            same_boot=same_boot,
            recovery_points={each: log.log_end_offset for each, log in logs.items()},
            high_watermarks={each: log.high_watermark for each, log in logs.items()},
            log_starts={each: log.log_start_offset for each, log in logs.items() if log.log_start_offset},
            cleaned={each: log.cleaned_up_to for each, log in logs.items() if log.cleaned_up_to is not None},
            records=logs,
        )
    offsets = {name: _read_checkpoint(filesystem, f"{path}/{name}") for name in OFFSET_CHECKPOINTS}
    return Evidence(
        clean_epoch=clean_epoch,
        same_boot=same_boot,
        recovery_points=offsets[RECOVERY_POINT_CHECKPOINT],
        high_watermarks=offsets[HIGH_WATERMARK_CHECKPOINT],
        log_starts=_checked_log_starts(path, offsets[LOG_START_CHECKPOINT], state),
        cleaned=offsets[CLEANER_CHECKPOINT],
        records=state.logs,
    )


def _checked_log_starts(path: str, read: Offsets, state: DirectoryState) -> Offsets:
    """Those of the checkpoint, unless our own record, which has a checksum, says otherwise."""
    if not state.boot_id or read == state.log_starts:
        return read
    logger.warning("%s/%s differs from what was last written; using the recorded offsets", path, LOG_START_CHECKPOINT)
    return state.log_starts


def _read_checkpoint(filesystem: FileSystem, path: str) -> dict[TopicPartition, int]:
    """All of them may be lost: recovery and cleaner then read everything, and the rest comes from the leader."""
    try:
        return read_offset_checkpoint(filesystem, path)
    except CorruptCheckpoint as problem:
        logger.warning("ignoring %s", problem)
        return {}
