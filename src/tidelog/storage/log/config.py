"""The settings of a topic that its logs obey. The server maps the topic's properties to this value."""

from __future__ import annotations

from dataclasses import dataclass

MAX_LONG = (1 << 63) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """Defaults are Kafka's. A limit of -1 means that there is none."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * 24 * 3600 * 1000
    # Up to so much earlier is a segment rolled by time, so that a topic's partitions don't roll all at once.
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10 << 20
    index_interval_bytes: int = 4096
    max_message_bytes: int = (1 << 20) + 12
    retention_ms: int = 7 * 24 * 3600 * 1000
    retention_bytes: int = -1
    flush_messages: int = MAX_LONG
    flush_ms: int = MAX_LONG
    file_delete_delay_ms: int = 60_000
    # cleanup.policy is a list of the two.
    delete: bool = True
    compact: bool = False
    # Compaction: how old a record is at least and at most when it is looked at, from which share of dirty bytes on,
    # and for how long readers find the tombstones of deleted keys.
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = MAX_LONG
    min_cleanable_dirty_ratio: float = 0.5
    delete_retention_ms: int = 24 * 3600 * 1000
    producer_id_expiration_ms: int = 86_400_000
