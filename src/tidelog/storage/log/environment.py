"""What the logs of one directory share."""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.model.ports import Randomness
from tidelog.storage.directories.disk_health import DiskHealth
from tidelog.storage.files.filesystem import FileSystem
from tidelog.storage.log.config import LogConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEnvironment:
    filesystem: FileSystem
    randomness: Randomness
    health: DiskHealth
    # The log directory, which holds one directory per partition.
    path: str

    def draw_jitter_ms(self, config: LogConfig) -> int:
        """By how much a new segment is rolled earlier than segment.ms says."""
        bound = min(config.segment_jitter_ms, config.segment_ms)
        return self.randomness.below(bound) if bound > 0 else 0
