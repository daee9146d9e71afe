"""What the logs of one directory share."""

from __future__ import annotations

from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.ports import Randomness
from tidelog.storage.directories.disk_health import DiskHealth
from tidelog.storage.files.file_names import marked_directory
from tidelog.storage.files.filesystem import FileSystem
from tidelog.storage.log.config import LogConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEnvironment:
    filesystem: FileSystem
    randomness: Randomness
    health: DiskHealth
    # The log directory, which holds one directory per partition.
    path: str

    def marked_path(self, topic_partition: TopicPartition, suffix: str) -> str:
        """A path that no directory has had before, for one that is out of use or not in use yet."""
        unique_id = self.randomness.random_bytes(16).hex()
        return f"{self.path}/{marked_directory(topic_partition, unique_id, suffix)}"

    def draw_jitter_ms(self, config: LogConfig) -> int:
        """By how much a new segment is rolled earlier than segment.ms says."""
        bound = min(config.segment_jitter_ms, config.segment_ms)
        return self.randomness.below(bound) if bound > 0 else 0
