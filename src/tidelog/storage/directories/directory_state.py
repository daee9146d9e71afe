"""`.tidelog-state`: what a log directory is known to hold, so that the next start notices what is missing.

While a broker runs, the file names the boot of the machine: if that is still the same at the next start, only the
process has died, and everything that it wrote is there. After a clean shutdown, the file also lists every file of every
log with its size, small ones with a checksum. Apache Kafka does not know the file and leaves it alone; a list that
does not belong to the last clean shutdown (another broker epoch) is ignored.

    d87f7e0c                      CRC-32 of the rest, in hexadecimal
    {"version":0, ...}            JSON
"""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import NamedTuple

from tidelog.model.ids import TopicPartition, Uuid, format_uuid, parse_uuid
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.storage.files.file_names import (
    LEADER_EPOCH_CHECKPOINT,
    METADATA_SNAPSHOT_SUFFIX,
    PARTITION_METADATA,
    QUORUM_STATE_FILE,
    SEGMENT_SUFFIXES,
    SNAPSHOT_SUFFIX,
    STATE_FILE,
    TRANSACTION_INDEX_SUFFIX,
)
from tidelog.storage.files.filesystem import FileSystem, read_whole, replace_file

logger = logging.getLogger(__name__)

_VERSION = 0
_LISTED = (*SEGMENT_SUFFIXES, SNAPSHOT_SUFFIX, METADATA_SNAPSHOT_SUFFIX)
# Their content has no other protection, and they are small.
_CHECKSUMMED = (TRANSACTION_INDEX_SUFFIX, LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA, QUORUM_STATE_FILE)


class RecordedFile(NamedTuple):
    size: int
    # None for large files, whose batches have checksums of their own.
    checksum: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedLog:
    """One log as it was closed."""

    topic_id: Uuid | None
    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    cleaned_up_to: int | None
    files: Mapping[str, RecordedFile]


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryState:
    # Empty where the machine has none: then every crash counts as a power failure.
    boot_id: str = ""
    # Of the run that ended cleanly; None while a broker runs, and after a crash.
    closed_epoch: int | None = None
    # Of all logs after a clean shutdown; else of those that could not be loaded.
    logs: Mapping[TopicPartition, RecordedLog] = field(default_factory=dict)
    # Files of the directory itself.
    files: Mapping[str, RecordedFile] = field(default_factory=dict)
    # The same as in the checkpoint, which has no checksum: a number that is too high would hide records.
    log_starts: Mapping[TopicPartition, int] = field(default_factory=dict)


def write_directory_state(filesystem: FileSystem, log_directory: str, state: DirectoryState) -> None:
    content = {
        "version": _VERSION,
        "bootId": state.boot_id,
        "closedEpoch": state.closed_epoch,
        "logs": [_log_to_json(topic_partition, log) for topic_partition, log in state.logs.items()],
        "files": _files_to_json(state.files),
        "logStarts": [[*topic_partition, offset] for topic_partition, offset in state.log_starts.items()],
    }
    text = json.dumps(content, separators=(",", ":")).encode()
    replace_file(filesystem, f"{log_directory}/{STATE_FILE}", b"%08x\n%s" % (zlib.crc32(text), text))


def read_directory_state(filesystem: FileSystem, log_directory: str) -> DirectoryState:
    """An empty state if there is no such file, or if it is damaged: everything is then checked without it."""
    path = f"{log_directory}/{STATE_FILE}"
    try:
        checksum, _, text = read_whole(filesystem, path).partition(b"\n")
    except FileNotFoundError:
        return DirectoryState()
    try:
        if int(checksum, 16) != zlib.crc32(text):
            raise ValueError("its checksum does not match")
        content = json.loads(text)
        if content["version"] != _VERSION:
            raise ValueError(f"version {content['version']} is unknown")
        return DirectoryState(
            boot_id=content["bootId"],
            closed_epoch=content["closedEpoch"],
            logs=dict(_log_from_json(each) for each in content["logs"]),
            files=_files_from_json(content["files"]),
            log_starts={TopicPartition(topic, number): offset for topic, number, offset in content["logStarts"]},
        )
    except (ValueError, KeyError, TypeError) as problem:
        logger.warning("ignoring %s: %s", path, problem)
        return DirectoryState()


def record_files(filesystem: FileSystem, directory: str) -> dict[str, RecordedFile]:
    """Those of a log that the next start must find."""
    return {
        name: _record(filesystem, f"{directory}/{name}", checksum=name.endswith(_CHECKSUMMED))
        for name in filesystem.list_names(directory)
        if name.endswith((*_LISTED, *_CHECKSUMMED))
    }


def record_small_files(filesystem: FileSystem, directory: str, names: Iterable[str]) -> dict[str, RecordedFile]:
    return {
        name: _record(filesystem, f"{directory}/{name}", checksum=True)
        for name in names
        if filesystem.exists(f"{directory}/{name}")
    }


def find_differences(filesystem: FileSystem, directory: str, recorded: Mapping[str, RecordedFile]) -> dict[str, str]:
    """What is wrong with which file, as text."""
    problems = {}
    present = set(filesystem.list_names(directory)) if recorded else set()
    for name, (size, checksum) in recorded.items():
        if name not in present:
            problems[name] = f"the file of {size} bytes is missing"
            continue
        found = _record(filesystem, f"{directory}/{name}", checksum=checksum is not None)
        if found.size != size:
            problems[name] = f"it has {found.size} bytes, but had {size}"
        elif found.checksum != checksum:
            problems[name] = "its content has changed"
    return problems


def _record(filesystem: FileSystem, path: str, *, checksum: bool) -> RecordedFile:
    if not checksum:
        return RecordedFile(filesystem.size(path), None)
    content = read_whole(filesystem, path)
    return RecordedFile(len(content), zlib.crc32(content))


def _log_to_json(topic_partition: TopicPartition, log: RecordedLog) -> list[object]:
    return [
        topic_partition.topic,
        topic_partition.partition,
        None if log.topic_id is None else format_uuid(log.topic_id),
        log.log_start_offset,
        log.log_end_offset,
        log.high_watermark,
        log.cleaned_up_to,
        _files_to_json(log.files),
    ]


def _log_from_json(content: list[object]) -> tuple[TopicPartition, RecordedLog]:
    topic, partition, topic_id, start, end, high_watermark, cleaned, files = content
    return TopicPartition(str(topic), _whole(partition)), RecordedLog(
        topic_id=None if topic_id is None else parse_uuid(str(topic_id)),
        log_start_offset=_whole(start),
        log_end_offset=_whole(end),
        high_watermark=_whole(high_watermark),
        cleaned_up_to=None if cleaned is None else _whole(cleaned),
        files=_files_from_json(files),
    )


def _files_to_json(files: Mapping[str, RecordedFile]) -> dict[str, list[int | None]]:
    return {name: [file.size, file.checksum] for name, file in files.items()}


def _files_from_json(content: object) -> dict[str, RecordedFile]:
    if not isinstance(content, dict):
        raise TypeError(f"{content!r} is not a list of files")
    return {name: RecordedFile(*values) for name, values in content.items()}


def _whole(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is not a whole number")
    return value
