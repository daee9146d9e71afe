"""What a log is made of when it is opened: the surroundings that the server gives, and what loading found on disk."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidelog.model.ports import Randomness
from tidelog.partition.leader_epochs import LeaderEpochs
from tidelog.partition.producers import ProducerStates
from tidelog.storage.cleaner.gaps import KnownGaps
from tidelog.storage.directories.disk_health import DiskHealth
from tidelog.storage.files.filesystem import FileSystem
from tidelog.storage.log.config import LogConfig
from tidelog.storage.log.producer_snapshot import ProducerSnapshotFiles
from tidelog.storage.segments.segments import Segments


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEnvironment:
    """What the logs of one directory share."""

    filesystem: FileSystem
    randomness: Randomness
    health: DiskHealth
    # The log directory, which holds one directory per partition.
    path: str

    def draw_jitter_ms(self, config: LogConfig) -> int:
        """By how much a new segment is rolled earlier than segment.ms says."""
        bound = min(config.segment_jitter_ms, config.segment_ms)
        return self.randomness.below(bound) if bound > 0 else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LogState:
    # Of the partition itself; a copy that is being made has another name there.
    directory: str
    segments: Segments
    snapshots: ProducerSnapshotFiles
    gaps: KnownGaps
    leader_epochs: LeaderEpochs
    producer_states: ProducerStates
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    # Whether the epochs differ from their checkpoint.
    epochs_changed: bool
    # What loading has found to be damaged, in words.
    damage: list[str] = field(default_factory=list)
