"""What is known of a log before it is loaded, and how far its recovery has come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass

_PROGRESS_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryProgress:
    topic_partition: TopicPartition
    checked_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRequest:
    """What the log directory knows of a log before it is loaded."""

    # Whether the broker was shut down cleanly.
    clean: bool
    recovery_point: int = 0
    log_start_offset: int = 0
    # Up to where the cleaner has come. None: it never ran here, nor on the log of the leader that we follow.
    cleaned_up_to: int | None = None
    # Everything below it is known to be stored. MAX_LONG: everything that is there.
    committed: int = 0
    # Where the log ended when it was closed, if nothing can have been appended since.
    closed_end: int | None = None
    # The machine has not been restarted since: whatever was written is there, only the last write may be torn.
    same_boot: bool = False
    # Check every batch, also below the recovery point.
    thorough: bool = False
    # What is wrong with which file, compared with the last clean shutdown.
    differences: Mapping[str, str] = field(default_factory=dict)
    # Called from time to time while a log is checked.
    progress: Callable[[RecoveryProgress], None] | None = None

    def reporter(
        self, topic_partition: TopicPartition, *, checked_bytes: int, total_bytes: int
    ) -> Callable[[int], None]:
        """What receives positions in the next segment, and reports some of them; `checked_bytes` lie before it."""
        report = self.progress
        if report is None:
            return lambda _: None
        next_report = 0

        def progress(position: int) -> None:
            nonlocal next_report
            if position >= next_report:
                next_report = position + _PROGRESS_BYTES
                checked = checked_bytes + position
                report(
                    RecoveryProgress(topic_partition=topic_partition, checked_bytes=checked, total_bytes=total_bytes)
                )

        return progress
