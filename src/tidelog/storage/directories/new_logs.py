"""The directory of a new log."""

from __future__ import annotations

from tidelog.model.ids import TopicPartition, Uuid
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.storage.directories.partition_metadata import write_partition_metadata
from tidelog.storage.files.filesystem import FileSystem
from tidelog.storage.log.config import LogConfig
from tidelog.storage.segments.segment import Segment


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLog:
    """A log to be created."""

    topic_partition: TopicPartition
    topic_id: Uuid
    config: LogConfig


def create_log_directory(filesystem: FileSystem, directory: str, topic_id: Uuid | None, now_ms: int) -> None:
    """The first segment comes before the topic id, whose writing syncs the names of both. The caller syncs the parent
    directory."""
    filesystem.make_directory(directory)
    Segment(filesystem, directory, 0, created_ms=now_ms).create().release()
    if topic_id is not None:
        write_partition_metadata(filesystem, directory, topic_id)
    else:
        filesystem.sync_directory(directory)
