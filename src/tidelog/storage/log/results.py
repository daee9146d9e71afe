"""The results of a log's methods. Tuples where every request creates one, dataclasses elsewhere."""

from __future__ import annotations

from typing import NamedTuple

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.unread import UnreadBytes


class AppendResult(NamedTuple):
    """The batches are in the log, now or since an earlier attempt."""

    base_offset: int
    last_offset: int
    # -1 unless the topic stamps records with the time of the append.
    log_append_time_ms: int
    log_start_offset: int
    duplicate: bool = False


class ReadResult(NamedTuple):
    """Undecoded batches. The first one holds the offset that was asked for, the last one may be cut short."""

    records: bytes
    # Where the records are: the first offset of the segment, and the position in it.
    segment_base_offset: int
    position: int


class SendableResult(NamedTuple):
    """As ReadResult, for a reader to whom the records are sent as they are: those may still be in their file."""

    records: bytes | UnreadBytes
    segment_base_offset: int
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetOutOfRange:
    """The offset is not in the log: below its start, or above its end."""

    offset: int
    log_start_offset: int
    log_end_offset: int


class TimestampedOffset(NamedTuple):
    """A record, found by its timestamp."""

    timestamp: int
    offset: int
    leader_epoch: int


class UnexpectedOffset(Exception):
    """Records from a leader that do not continue this log."""

    def __init__(self, message: str, first_offset: int, *, log_end_offset: int) -> None:
        super().__init__(message)
        self.first_offset = first_offset
        self.log_end_offset = log_end_offset
