"""A whole log directory, or the directory of one partition: reads everything, changes nothing."""

from __future__ import annotations

import posixpath

from tidelog.model.ids import TopicPartition
from tidelog.model.topics import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from tidelog.storage.directories.checkpoints import CorruptCheckpoint, read_offset_checkpoint
from tidelog.storage.directories.directory_state import find_differences
from tidelog.storage.directories.meta_properties import read_meta_properties
from tidelog.storage.files.file_names import (
    CLEAN_SHUTDOWN_FILE,
    CLEANER_CHECKPOINT,
    LOG_SUFFIX,
    META_PROPERTIES,
    METADATA_SNAPSHOT_SUFFIX,
    PARTITION_METADATA,
    RECOVERY_POINT_CHECKPOINT,
    SEGMENT_SUFFIXES,
    parse_partition_directory,
    partition_directory,
)
from tidelog.storage.files.filesystem import FileSystem
from tidelog.storage.recovery.evidence import OFFSET_CHECKPOINTS, Evidence, read_evidence
from tidelog.storage.verification.findings import Report
from tidelog.storage.verification.partition import Expectations, PartitionCheck

_ALWAYS_COMPACTED = (CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC)
_SEGMENT_ENDINGS = (*SEGMENT_SUFFIXES, METADATA_SNAPSHOT_SUFFIX)


class NothingToVerify(Exception):
    """The path is neither a log directory nor the directory of a partition."""


def partition_directories(filesystem: FileSystem, path: str) -> list[str]:
    """Those in a log directory, or the path itself. Raises NothingToVerify."""
    if not filesystem.is_directory(path):
        raise NothingToVerify(f"{path} is not a directory")
    names = filesystem.list_names(path)
    if PARTITION_METADATA in names or any(name.endswith(LOG_SUFFIX) for name in names):
        return [path]
    found = [
        f"{path}/{name}"
        for name in names
        if parse_partition_directory(name) is not None and filesystem.is_directory(f"{path}/{name}")
    ]
    if not found and META_PROPERTIES not in names:
        raise NothingToVerify(f"{path} is neither a log directory nor the directory of a partition")
    return found


def total_bytes(filesystem: FileSystem, directories: list[str]) -> int:
    """As many as `verify` will read, for a progress bar."""
    return sum(
        filesystem.size(f"{directory}/{name}")
        for directory in directories
        for name in filesystem.list_names(directory)
        if name.endswith(_SEGMENT_ENDINGS)
    )


def verify(filesystem: FileSystem, path: str, report: Report) -> None:
    """Add what is found to `report`. Raises NothingToVerify, OSError."""
    directories = partition_directories(filesystem, path)
    log_directory = posixpath.dirname(posixpath.abspath(path)) if directories == [path] else path
    if log_directory == path:
        _check_meta(filesystem, path, report)
    checkpoints = {
        name: _read_checkpoint(filesystem, f"{log_directory}/{name}", report, reported=log_directory == path)
        for name in OFFSET_CHECKPOINTS
    }
    is_closed = filesystem.exists(f"{log_directory}/{CLEAN_SHUTDOWN_FILE}")
    evidence = _check_recorded(filesystem, path, report) if log_directory == path else Evidence()
    for directory in directories:
        topic_partition = parse_partition_directory(posixpath.basename(posixpath.abspath(directory)))
        expectations = Expectations(is_closed=is_closed)
        if topic_partition is not None:
            expectations = Expectations(
                is_closed=is_closed,
                recovery_point=max(
                    checkpoints[RECOVERY_POINT_CHECKPOINT].get(topic_partition, 0),
                    evidence.high_watermarks.get(topic_partition, 0) if evidence.same_boot else 0,
                ),
                gapless=topic_partition.topic not in _ALWAYS_COMPACTED
                and topic_partition not in checkpoints[CLEANER_CHECKPOINT],
            )
        PartitionCheck(filesystem, directory, expectations, report).run()


def _check_recorded(filesystem: FileSystem, path: str, report: Report) -> Evidence:
    """Compare with what the last clean shutdown has recorded, and look for logs that must be there."""
    try:
        evidence = read_evidence(filesystem, path)
    except CorruptCheckpoint as problem:
        report.add(problem.path, None, problem.reason)
        return Evidence()
    for topic_partition in sorted(evidence.expected_logs):
        directory = f"{path}/{partition_directory(topic_partition)}"
        if not filesystem.is_directory(directory):
            report.add(directory, None, "it held records, and is missing")
            continue
        record = evidence.records.get(topic_partition)
        recorded = {} if record is None else record.files
        for name, difference in find_differences(filesystem, directory, recorded).items():
            report.add(f"{directory}/{name}", None, difference)
    return evidence


def _check_meta(filesystem: FileSystem, path: str, report: Report) -> None:
    try:
        if read_meta_properties(filesystem, path) is None:
            report.add(f"{path}/{META_PROPERTIES}", None, "it is missing", is_note=True)
    except CorruptCheckpoint as problem:
        report.add(problem.path, None, problem.reason)


def _read_checkpoint(filesystem: FileSystem, path: str, report: Report, *, reported: bool) -> dict[TopicPartition, int]:
    try:
        return read_offset_checkpoint(filesystem, path)
    except CorruptCheckpoint as problem:
        if reported:
            report.add(path, None, problem.reason)
        return {}
