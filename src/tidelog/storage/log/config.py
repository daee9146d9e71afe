"""The settings of a topic that apply to its logs. The server maps the topic's properties to this value."""

from __future__ import annotations

from tidelog.model.lazy_dataclasses import dataclass

MAX_LONG = (1 << 63) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """A limit of -1 means that there is none."""

    segment_bytes: int
    segment_ms: int
    # A segment is rolled by time up to this much earlier, so that a topic's partitions don't roll all at once.
    segment_jitter_ms: int
    segment_index_bytes: int
    index_interval_bytes: int
    max_message_bytes: int
    retention_ms: int
    retention_bytes: int
    flush_messages: int
    flush_ms: int
    file_delete_delay_ms: int
    # cleanup.policy is a list of the two.
    delete: bool
    compact: bool
    # Compaction: how old a record is at least and at most when it is compacted, from which share of dirty bytes on,
    # and for how long readers find the tombstones of deleted keys.
    min_compaction_lag_ms: int
    max_compaction_lag_ms: int
    min_cleanable_dirty_ratio: float
    delete_retention_ms: int
    producer_id_expiration_ms: int
