"""The properties of a topic and their defaults.

`TopicConfig` is what storage and partitions read. The broker properties that replace its defaults are in
`tidelog.config.catalogue.topic_defaults`. How values are shown to admin clients is in `tidelog.config.describe`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from tidelog.config.definitions import (
    NOT_NEGATIVE,
    POSITIVE,
    Between,
    MatchingPattern,
    OneOf,
    Only,
    by_name,
    read_overrides,
)
from tidelog.config.fields import boolean, definitions_of, double, field_name, integer, long, string, words
from tidelog.model.lazy_dataclasses import dataclass

MAX_LONG = (1 << 63) - 1

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

NO_TIERED_STORAGE = "tidelog keeps all segments on the broker's own disk"
_NOT_TIERED_LONG = Only(-2, NO_TIERED_STORAGE)
_NOT_TIERED = Only(False, NO_TIERED_STORAGE)
_CODECS = OneOf(("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"))
_THROTTLED = MatchingPattern(r"[0-9]+:[0-9]+", "*", "a list of partition:broker pairs")

_FILES_GROW = "files of segments grow as records are appended"

# KIP-1030. Tests of rolling, retention and compaction want smaller ones, and set internal.segment.bytes as Kafka's do.
SEGMENT_BYTES = Between(1 << 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfig:
    """The effective settings of one topic. `TopicConfig()` has Kafka's defaults."""

    cleanup_policy: tuple[str, ...] = words(
        ("delete",),
        "What happens to old records: delete drops segments by age and size, compact keeps the last value of each key.",
        OneOf(("compact", "delete")),
    )
    compression_gzip_level: int = integer(-1, "The level if the broker compresses with gzip.", Between(1, 9, (-1,)))
    compression_lz4_level: int = integer(9, "The level if the broker compresses with lz4.", Between(1, 17))
    compression_type: str = string(
        "producer", "The codec that batches are stored with; producer keeps the codec of the producer.", _CODECS
    )
    compression_zstd_level: int = integer(3, "The level if the broker compresses with zstd.", Between(-131072, 22))
    delete_retention_ms: int = long(
        DAY_MS, "How long compaction keeps a tombstone (a key without a value) for slow readers.", NOT_NEGATIVE
    )
    file_delete_delay_ms: int = long(
        MINUTE_MS, "How long the renamed files of a deleted segment stay on disk.", NOT_NEGATIVE
    )
    flush_messages: int = long(
        MAX_LONG, "After how many appended records the log is flushed to disk; 1 flushes every append.", POSITIVE
    )
    flush_ms: int = long(MAX_LONG, "After how long at most appended records are flushed to disk.", NOT_NEGATIVE)
    follower_replication_throttled_replicas: tuple[str, ...] = words(
        (), "The replicas whose incoming replication is throttled.", _THROTTLED
    )
    index_interval_bytes: int = integer(
        4096, "How many bytes of records may lie between two entries of the offset index.", NOT_NEGATIVE
    )
    internal_segment_bytes: int | None = integer(
        None, "For tests: replaces segment.bytes, and may be smaller.", Between(14)
    )
    leader_replication_throttled_replicas: tuple[str, ...] = words(
        (), "The replicas whose outgoing replication is throttled.", _THROTTLED
    )
    local_retention_bytes: int = long(-2, "How much stays on local disk if segments are tiered.", _NOT_TIERED_LONG)
    local_retention_ms: int = long(-2, "How long segments stay on local disk if they are tiered.", _NOT_TIERED_LONG)
    max_compaction_lag_ms: int = long(MAX_LONG, "After how long at most a record is compacted.", POSITIVE)
    max_message_bytes: int = integer(1048588, "The size of the largest record batch that is accepted.", NOT_NEGATIVE)
    message_timestamp_after_max_ms: int = long(
        HOUR_MS, "How far a producer's timestamp may lie ahead of the broker's clock.", NOT_NEGATIVE
    )
    message_timestamp_before_max_ms: int = long(
        MAX_LONG, "How far a producer's timestamp may lie behind the broker's clock.", NOT_NEGATIVE
    )
    message_timestamp_type: str = string(
        "CreateTime",
        "Whether records keep the producer's timestamp or get the broker's.",
        OneOf(("CreateTime", "LogAppendTime")),
    )
    min_cleanable_dirty_ratio: float = double(
        0.5, "The share of bytes not yet compacted from which on a log is compacted.", Between(0, 1)
    )
    min_compaction_lag_ms: int = long(0, "How old a record must be to be compacted.", NOT_NEGATIVE)
    min_insync_replicas: int = integer(
        1, "How many replicas must be in sync for a write with acks=all to be accepted.", POSITIVE
    )
    preallocate: bool = boolean(
        False, "Whether the file of a new segment is created with its full size.", ignored_because=_FILES_GROW
    )
    remote_log_copy_disable: bool = boolean(False, "Whether tiering stops copying segments.", _NOT_TIERED)
    remote_log_delete_on_disable: bool = boolean(
        False, "Whether disabling tiering deletes the tiered segments.", _NOT_TIERED
    )
    remote_storage_enable: bool = boolean(False, "Whether old segments move to tiered storage.", _NOT_TIERED)
    retention_bytes: int = long(-1, "The size of a partition from which on old segments are deleted; -1 is no limit.")
    retention_ms: int = long(
        7 * DAY_MS, "The age at which records are deleted with their segments; -1 is no limit.", Between(-1)
    )
    segment_bytes: int = integer(1 << 30, "The size at which a segment is closed and a new one begins.", SEGMENT_BYTES)
    segment_index_bytes: int = integer(
        10 << 20, "The largest size of an index; a full one ends its segment.", Between(4)
    )
    segment_jitter_ms: int = long(
        0,
        "A random time up to this is subtracted from segment.ms, so that segments do not all roll at once.",
        NOT_NEGATIVE,
    )
    segment_ms: int = long(7 * DAY_MS, "The age at which a segment is closed even if it is not full.", POSITIVE)
    unclean_leader_election_enable: bool = boolean(
        False, "Whether a replica that is not in sync may lead if no other is left; acknowledged records can be lost."
    )

    @property
    def segment_size(self) -> int:
        """The size at which a segment is closed."""
        return self.segment_bytes if self.internal_segment_bytes is None else self.internal_segment_bytes

    @property
    def compacted(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def deletes(self) -> bool:
        """Whether segments are dropped by age and size. An empty cleanup.policy keeps everything forever."""
        return "delete" in self.cleanup_policy

    def with_overrides(self, overrides: Mapping[str, str]) -> TopicConfig:
        """These settings as the defaults, the topic's own on top.

        Names and values that are not valid (written by another version) are left out: a topic must not become
        unreadable through one of its properties. `topic_problems` refuses them before they are stored.
        """
        values, _ = read_overrides("topics", TOPIC_DEFINITIONS, overrides)
        if not values:
            return self
        # The definitions have checked the types, which mypy cannot see through a mapping.
        changes: dict[str, Any] = {field_name(name): value for name, value in values.items()}
        return dataclasses.replace(self, **changes)


TOPIC_DEFINITIONS = by_name(definitions_of(TopicConfig))


def topic_problems(overrides: Mapping[str, str]) -> list[str]:
    """Why these overrides cannot be a topic's, one sentence each; empty if they can."""
    _, problems = read_overrides("topics", TOPIC_DEFINITIONS, overrides)
    if not problems:
        config = TopicConfig().with_overrides(overrides)
        if config.min_compaction_lag_ms > config.max_compaction_lag_ms:
            problems.append(
                f"min.compaction.lag.ms={config.min_compaction_lag_ms} is greater than "
                f"max.compaction.lag.ms={config.max_compaction_lag_ms}"
            )
    return problems
