"""A topic's configuration as the log and the checks on produce need it."""

from __future__ import annotations

from tidelog.config.topic import TopicConfig
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.topics import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from tidelog.records.batch import CREATE_TIME, LOG_APPEND_TIME
from tidelog.records.compression import Compression
from tidelog.records.produce_rules import ProduceRules
from tidelog.storage.log.config import LogConfig

_COMPRESSION = {
    "uncompressed": Compression.NONE,
    "gzip": Compression.GZIP,
    "snappy": Compression.SNAPPY,
    "lz4": Compression.LZ4,
    "zstd": Compression.ZSTD,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSettings:
    """Created when a topic appears and whenever its configuration changes."""

    config: TopicConfig
    log: LogConfig
    rules: ProduceRules

    @classmethod
    def of(cls, config: TopicConfig, *, producer_id_expiration_ms: int) -> TopicSettings:
        return cls(
            config=config,
            log=log_config(config, producer_id_expiration_ms=producer_id_expiration_ms),
            rules=produce_rules(config),
        )


def log_config(config: TopicConfig, *, producer_id_expiration_ms: int) -> LogConfig:
    # The active segment is not compacted, so a bound on the lag of compaction also bounds its age.
    segment_ms = min(config.segment_ms, config.max_compaction_lag_ms) if config.compacted else config.segment_ms
    return LogConfig(
        segment_bytes=config.segment_size,
        segment_ms=segment_ms,
        segment_jitter_ms=config.segment_jitter_ms,
        segment_index_bytes=config.segment_index_bytes,
        index_interval_bytes=config.index_interval_bytes,
        max_message_bytes=config.max_message_bytes,
        retention_ms=config.retention_ms,
        retention_bytes=config.retention_bytes,
        flush_messages=config.flush_messages,
        flush_ms=config.flush_ms,
        file_delete_delay_ms=config.file_delete_delay_ms,
        delete=config.deletes,
        compact=config.compacted,
        min_compaction_lag_ms=config.min_compaction_lag_ms,
        max_compaction_lag_ms=config.max_compaction_lag_ms,
        min_cleanable_dirty_ratio=config.min_cleanable_dirty_ratio,
        delete_retention_ms=config.delete_retention_ms,
        producer_id_expiration_ms=producer_id_expiration_ms,
    )


def produce_rules(config: TopicConfig) -> ProduceRules:
    compression = _COMPRESSION.get(config.compression_type)
    return ProduceRules(
        max_message_bytes=config.max_message_bytes,
        compacted=config.compacted,
        timestamp_type=LOG_APPEND_TIME if config.message_timestamp_type == "LogAppendTime" else CREATE_TIME,
        timestamp_before_max_ms=config.message_timestamp_before_max_ms,
        timestamp_after_max_ms=config.message_timestamp_after_max_ms,
        compression=compression,
        compression_level=_level(config, compression),
    )


def _level(config: TopicConfig, compression: Compression | None) -> int | None:
    if compression is Compression.GZIP:
        return None if config.compression_gzip_level < 0 else config.compression_gzip_level
    if compression is Compression.LZ4:
        return config.compression_lz4_level
    if compression is Compression.ZSTD:
        return config.compression_zstd_level
    return None


def writable_by_clients(topic: str) -> bool:
    """Only coordinators write to their own topics: a client could forge offsets or outcomes of transactions."""
    return topic not in (CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC)
