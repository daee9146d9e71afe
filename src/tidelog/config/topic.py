"""The properties of a topic, their defaults, and the broker properties that stand behind them.

`TopicConfig` is what storage and partitions read. How values are shown to admin clients is in
`tidelog.config.describe`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from tidelog.config.definitions import (
    Between,
    ConfigValue,
    InvalidConfig,
    Matching,
    OneOf,
    Only,
    by_name,
    unknown_name_problem,
)
from tidelog.config.fields import boolean, definitions_of, double, field_name, integer, long, string, words

MAX_LONG = (1 << 63) - 1

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

COMPRESSION_TYPES = OneOf(("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"))
GZIP_LEVELS = Between(1, 9, extra=(-1,))
LZ4_LEVELS = Between(1, 17)
ZSTD_LEVELS = Between(-131072, 22)
CLEANUP_POLICIES = OneOf(("compact", "delete"))
TIMESTAMP_TYPES = OneOf(("CreateTime", "LogAppendTime"))
RATIO = Between(0, 1)

# KIP-1030. Tests of rolling, retention and compaction want smaller ones, and set internal.segment.bytes as Kafka's do.
SEGMENT_BYTES = Between(1 << 20)

_THROTTLED = Matching(r"[0-9]+:[0-9]+", "*", "a list of partition:broker pairs")
_NO_TIERED_STORAGE = "tidelog keeps all segments on the broker's own disk"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfig:
    """The effective settings of one topic. `TopicConfig()` has Kafka's defaults."""

    cleanup_policy: tuple[str, ...] = words(
        ("delete",),
        "What happens to old segments: delete drops them by age and size, compact keeps the last value of each key.",
        CLEANUP_POLICIES,
    )
    compression_gzip_level: int = integer(-1, "The level used when the broker compresses with gzip.", GZIP_LEVELS)
    compression_lz4_level: int = integer(9, "The level used when the broker compresses with lz4.", LZ4_LEVELS)
    compression_type: str = string(
        "producer",
        "The codec batches are stored with; producer keeps what the producer chose.",
        COMPRESSION_TYPES,
    )
    compression_zstd_level: int = integer(3, "The level used when the broker compresses with zstd.", ZSTD_LEVELS)
    delete_retention_ms: int = long(
        DAY_MS, "How long compaction keeps a deletion mark (a key without a value) for slow readers.", Between(0)
    )
    file_delete_delay_ms: int = long(
        MINUTE_MS, "How long the files of a dropped segment stay on disk, renamed, before they go.", Between(0)
    )
    flush_messages: int = long(
        MAX_LONG, "After how many appended records the log is forced to disk; 1 forces every append.", Between(1)
    )
    flush_ms: int = long(MAX_LONG, "After how long at most appended records are forced to disk.", Between(0))
    follower_replication_throttled_replicas: tuple[str, ...] = words(
        (), "The replicas whose incoming replication is throttled.", _THROTTLED
    )
    index_interval_bytes: int = integer(
        4096, "How many bytes of records may lie between two entries of the offset index.", Between(0)
    )
    internal_segment_bytes: int | None = integer(
        None, "For tests: takes the place of segment.bytes, and may be smaller than that.", Between(14)
    )
    leader_replication_throttled_replicas: tuple[str, ...] = words(
        (), "The replicas whose outgoing replication is throttled.", _THROTTLED
    )
    local_retention_bytes: int = long(
        -2, "How much stays on local disk when segments are tiered.", Only(-2, _NO_TIERED_STORAGE)
    )
    local_retention_ms: int = long(
        -2, "How long segments stay on local disk when they are tiered.", Only(-2, _NO_TIERED_STORAGE)
    )
    max_compaction_lag_ms: int = long(
        MAX_LONG, "After how long at most a record is looked at by compaction.", Between(1)
    )
    max_message_bytes: int = integer(1048588, "The largest record batch that the topic takes.", Between(0))
    message_timestamp_after_max_ms: int = long(
        HOUR_MS, "How far a producer's timestamp may lie ahead of the broker's clock.", Between(0)
    )
    message_timestamp_before_max_ms: int = long(
        MAX_LONG, "How far a producer's timestamp may lie behind the broker's clock.", Between(0)
    )
    message_timestamp_type: str = string(
        "CreateTime", "Whether records keep the producer's timestamp or get the broker's.", TIMESTAMP_TYPES
    )
    min_cleanable_dirty_ratio: float = double(
        0.5, "The share of not yet compacted bytes from which on a log is worth compacting.", RATIO
    )
    min_compaction_lag_ms: int = long(0, "How long at least a record stays out of compaction.", Between(0))
    min_insync_replicas: int = integer(
        1, "How many replicas must be in sync for a write with acks=all to be taken.", Between(1)
    )
    preallocate: bool = boolean(False, "Whether a new segment's file gets its full size at once.")
    remote_log_copy_disable: bool = boolean(
        False, "Whether tiering stops copying segments.", Only(False, _NO_TIERED_STORAGE)
    )
    remote_log_delete_on_disable: bool = boolean(
        False, "Whether switching tiering off deletes the tiered segments.", Only(False, _NO_TIERED_STORAGE)
    )
    remote_storage_enable: bool = boolean(
        False, "Whether old segments move to tiered storage.", Only(False, _NO_TIERED_STORAGE)
    )
    retention_bytes: int = long(-1, "How large a partition may grow before old segments are dropped; -1 is no limit.")
    retention_ms: int = long(
        7 * DAY_MS, "How old records may get before their segments are dropped; -1 is no limit.", Between(-1)
    )
    segment_bytes: int = integer(1 << 30, "The size at which a segment is closed and a new one begins.", SEGMENT_BYTES)
    segment_index_bytes: int = integer(
        10 << 20, "The size at which an index is full, which ends its segment.", Between(4)
    )
    segment_jitter_ms: int = long(
        0, "A random time up to this is taken off segment.ms, so that segments do not all roll at once.", Between(0)
    )
    segment_ms: int = long(7 * DAY_MS, "The age at which a segment is closed even if it is not full.", Between(1))
    unclean_leader_election_enable: bool = boolean(
        False, "Whether a replica that is not in sync may lead when no other is left; acknowledged records can be lost."
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
        changes: dict[str, ConfigValue] = {}
        for name, text in overrides.items():
            definition = TOPIC_DEFINITIONS.get(name)
            if definition is not None:
                try:
                    changes[field_name(name)] = definition.parse(text)
                except InvalidConfig:
                    continue
        return _replace(self, changes)


def _replace(config: TopicConfig, changes: dict[str, ConfigValue]) -> TopicConfig:
    if not changes:
        return config
    # The definitions have checked the types, which mypy cannot see through a mapping.
    return dataclasses.replace(config, **changes)  # type: ignore[arg-type]


TOPIC_DEFINITIONS = by_name(definitions_of(TopicConfig))


@dataclass(frozen=True, slots=True, kw_only=True)
class Synonym:
    """A broker property that gives a topic property its default, and the factor between their units."""

    name: str
    factor: int = 1


def _same(name: str) -> tuple[Synonym, ...]:
    return (Synonym(name=name),)


# The first that is set wins, within one layer. Properties that are absent here have no broker-wide default.
TOPIC_SYNONYMS: Mapping[str, tuple[Synonym, ...]] = {
    "cleanup.policy": _same("log.cleanup.policy"),
    "compression.gzip.level": _same("compression.gzip.level"),
    "compression.lz4.level": _same("compression.lz4.level"),
    "compression.type": _same("compression.type"),
    "compression.zstd.level": _same("compression.zstd.level"),
    "delete.retention.ms": _same("log.cleaner.delete.retention.ms"),
    "file.delete.delay.ms": _same("log.segment.delete.delay.ms"),
    "flush.messages": _same("log.flush.interval.messages"),
    "flush.ms": (Synonym(name="log.flush.interval.ms"), Synonym(name="log.flush.scheduler.interval.ms")),
    "index.interval.bytes": _same("log.index.interval.bytes"),
    "local.retention.bytes": _same("log.local.retention.bytes"),
    "local.retention.ms": _same("log.local.retention.ms"),
    "max.compaction.lag.ms": _same("log.cleaner.max.compaction.lag.ms"),
    "max.message.bytes": _same("message.max.bytes"),
    "message.timestamp.after.max.ms": _same("log.message.timestamp.after.max.ms"),
    "message.timestamp.before.max.ms": _same("log.message.timestamp.before.max.ms"),
    "message.timestamp.type": _same("log.message.timestamp.type"),
    "min.cleanable.dirty.ratio": _same("log.cleaner.min.cleanable.ratio"),
    "min.compaction.lag.ms": _same("log.cleaner.min.compaction.lag.ms"),
    "min.insync.replicas": _same("min.insync.replicas"),
    "preallocate": _same("log.preallocate"),
    "retention.bytes": _same("log.retention.bytes"),
    "retention.ms": (
        Synonym(name="log.retention.ms"),
        Synonym(name="log.retention.minutes", factor=MINUTE_MS),
        Synonym(name="log.retention.hours", factor=HOUR_MS),
    ),
    "segment.bytes": _same("log.segment.bytes"),
    "segment.index.bytes": _same("log.index.size.max.bytes"),
    "segment.jitter.ms": (
        Synonym(name="log.roll.jitter.ms"),
        Synonym(name="log.roll.jitter.hours", factor=HOUR_MS),
    ),
    "segment.ms": (Synonym(name="log.roll.ms"), Synonym(name="log.roll.hours", factor=HOUR_MS)),
    "unclean.leader.election.enable": _same("unclean.leader.election.enable"),
}


def topic_problems(overrides: Mapping[str, str]) -> list[str]:
    """Why these overrides cannot be a topic's, one sentence each; empty if they can."""
    problems: list[str] = []
    for name, text in overrides.items():
        definition = TOPIC_DEFINITIONS.get(name)
        if definition is None:
            problems.append(unknown_name_problem("topic", name, TOPIC_DEFINITIONS.keys()))
            continue
        try:
            definition.parse(text)
        except InvalidConfig as error:
            problems.extend(error.problems)
    if not problems:
        config = TopicConfig().with_overrides(overrides)
        if config.min_compaction_lag_ms > config.max_compaction_lag_ms:
            problems.append(
                f"min.compaction.lag.ms={config.min_compaction_lag_ms} is greater than "
                f"max.compaction.lag.ms={config.max_compaction_lag_ms}"
            )
    return problems
