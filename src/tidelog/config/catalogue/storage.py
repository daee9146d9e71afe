"""Segments, flushing, retention and compaction; most of these are the defaults of topic properties."""

from __future__ import annotations

from tidelog.config.definitions import Between, Only
from tidelog.config.fields import CLUSTER_WIDE, HIGH, LOW, boolean, double, integer, long, section, string, words
from tidelog.config.topic import (
    CLEANUP_POLICIES,
    COMPRESSION_TYPES,
    DAY_MS,
    GZIP_LEVELS,
    HOUR_MS,
    LZ4_LEVELS,
    MAX_LONG,
    RATIO,
    SEGMENT_BYTES,
    TIMESTAMP_TYPES,
    ZSTD_LEVELS,
)

_POSITIVE = Between(1)
_NOT_NEGATIVE = Between(0)
_NO_TIERED_STORAGE = "tidelog keeps all segments on the broker's own disk"


@section
class StorageSection:
    compression_type: str = string(
        "producer", "The default of a topic's compression.type.", COMPRESSION_TYPES, HIGH, CLUSTER_WIDE
    )
    compression_gzip_level: int = integer(
        -1, "The default of a topic's compression.gzip.level.", GZIP_LEVELS, mode=CLUSTER_WIDE
    )
    compression_lz4_level: int = integer(
        9, "The default of a topic's compression.lz4.level.", LZ4_LEVELS, mode=CLUSTER_WIDE
    )
    compression_zstd_level: int = integer(
        3, "The default of a topic's compression.zstd.level.", ZSTD_LEVELS, mode=CLUSTER_WIDE
    )
    message_max_bytes: int = integer(
        1048588, "The default of a topic's max.message.bytes.", _NOT_NEGATIVE, HIGH, CLUSTER_WIDE
    )
    log_cleanup_policy: tuple[str, ...] = words(
        ("delete",), "The default of a topic's cleanup.policy.", CLEANUP_POLICIES, mode=CLUSTER_WIDE
    )
    log_segment_bytes: int = integer(
        1 << 30, "The default of a topic's segment.bytes.", SEGMENT_BYTES, HIGH, CLUSTER_WIDE
    )
    log_segment_delete_delay_ms: int = long(
        60_000, "The default of a topic's file.delete.delay.ms.", _NOT_NEGATIVE, HIGH, CLUSTER_WIDE
    )
    log_index_interval_bytes: int = integer(
        4096, "The default of a topic's index.interval.bytes.", _NOT_NEGATIVE, mode=CLUSTER_WIDE
    )
    log_index_size_max_bytes: int = integer(
        10 << 20, "The default of a topic's segment.index.bytes.", Between(4), mode=CLUSTER_WIDE
    )
    log_preallocate: bool = boolean(False, "The default of a topic's preallocate.", mode=CLUSTER_WIDE)
    log_roll_ms: int | None = long(
        None, "The default of a topic's segment.ms; without it log.roll.hours counts.", _POSITIVE, HIGH, CLUSTER_WIDE
    )
    log_roll_hours: int = integer(168, "The default of a topic's segment.ms in hours.", _POSITIVE, HIGH)
    log_roll_jitter_ms: int | None = long(
        None,
        "The default of a topic's segment.jitter.ms; without it log.roll.jitter.hours counts.",
        _NOT_NEGATIVE,
        HIGH,
        CLUSTER_WIDE,
    )
    log_roll_jitter_hours: int = integer(0, "The default of a topic's segment.jitter.ms in hours.", _NOT_NEGATIVE, HIGH)
    log_retention_bytes: int = long(-1, "The default of a topic's retention.bytes.", None, HIGH, CLUSTER_WIDE)
    log_retention_ms: int | None = long(
        None,
        "The default of a topic's retention.ms; without it log.retention.minutes counts.",
        Between(1, extra=(-1,)),
        HIGH,
        CLUSTER_WIDE,
    )
    log_retention_minutes: int | None = integer(
        None, "The default of a topic's retention.ms in minutes; without it log.retention.hours counts.", None, HIGH
    )
    log_retention_hours: int = integer(168, "The default of a topic's retention.ms in hours.", None, HIGH)
    log_retention_check_interval_ms: int = long(
        300_000, "How often the broker looks for segments that retention lets go.", _POSITIVE
    )
    log_initial_task_delay_ms: int = long(
        30_000, "How long after the start the first round of background work on the logs begins.", _NOT_NEGATIVE, LOW
    )
    log_flush_interval_messages: int = long(
        MAX_LONG, "The default of a topic's flush.messages.", _POSITIVE, HIGH, CLUSTER_WIDE
    )
    log_flush_interval_ms: int | None = long(
        None,
        "The default of a topic's flush.ms; without it log.flush.scheduler.interval.ms counts.",
        None,
        HIGH,
        CLUSTER_WIDE,
    )
    log_flush_scheduler_interval_ms: int = long(
        MAX_LONG, "How often the broker looks for logs that are due to be forced to disk.", None, HIGH
    )
    log_flush_offset_checkpoint_interval_ms: int = integer(
        60_000, "How often the recovery points are written down.", _NOT_NEGATIVE, HIGH
    )
    log_flush_start_offset_checkpoint_interval_ms: int = integer(
        60_000, "How often the log start offsets are written down.", _NOT_NEGATIVE, HIGH
    )
    log_message_timestamp_type: str = string(
        "CreateTime", "The default of a topic's message.timestamp.type.", TIMESTAMP_TYPES, mode=CLUSTER_WIDE
    )
    log_message_timestamp_before_max_ms: int = long(
        MAX_LONG, "The default of a topic's message.timestamp.before.max.ms.", _NOT_NEGATIVE, mode=CLUSTER_WIDE
    )
    log_message_timestamp_after_max_ms: int = long(
        HOUR_MS, "The default of a topic's message.timestamp.after.max.ms.", _NOT_NEGATIVE, mode=CLUSTER_WIDE
    )
    log_local_retention_bytes: int = long(
        -2, "The default of a topic's local.retention.bytes.", Only(-2, _NO_TIERED_STORAGE), mode=CLUSTER_WIDE
    )
    log_local_retention_ms: int = long(
        -2, "The default of a topic's local.retention.ms.", Only(-2, _NO_TIERED_STORAGE), mode=CLUSTER_WIDE
    )
    remote_log_storage_system_enable: bool = boolean(
        False, "Whether old segments can move to tiered storage.", Only(False, _NO_TIERED_STORAGE)
    )
    log_dir_failure_timeout_ms: int = long(
        30_000, "How long a broker tries to tell the controller of a failed directory before it stops.", _POSITIVE, LOW
    )
    log_cleaner_enable: bool = boolean(True, "Whether compacted topics are compacted.")
    log_cleaner_backoff_ms: int = long(
        15_000, "How long the cleaner rests when no log is worth compacting.", _NOT_NEGATIVE, mode=CLUSTER_WIDE
    )
    log_cleaner_threads: int = integer(1, "How many logs are compacted at a time.", _NOT_NEGATIVE, mode=CLUSTER_WIDE)
    log_cleaner_dedupe_buffer_size: int = long(
        128 << 20, "How much memory the cleaner may use to remember keys, for all threads.", None, mode=CLUSTER_WIDE
    )
    log_cleaner_io_buffer_size: int = integer(
        512 << 10, "How much memory the cleaner may use for reading and writing.", _NOT_NEGATIVE, mode=CLUSTER_WIDE
    )
    log_cleaner_io_buffer_load_factor: float = double(
        0.9, "How full the cleaner's memory of keys may get.", None, mode=CLUSTER_WIDE
    )
    log_cleaner_io_max_bytes_per_second: float = double(
        1.7976931348623157e308, "How fast the cleaner may read and write, in bytes per second.", mode=CLUSTER_WIDE
    )
    log_cleaner_delete_retention_ms: int = long(
        DAY_MS, "The default of a topic's delete.retention.ms.", _NOT_NEGATIVE, mode=CLUSTER_WIDE
    )
    log_cleaner_min_cleanable_ratio: float = double(
        0.5, "The default of a topic's min.cleanable.dirty.ratio.", RATIO, mode=CLUSTER_WIDE
    )
    log_cleaner_min_compaction_lag_ms: int = long(
        0, "The default of a topic's min.compaction.lag.ms.", _NOT_NEGATIVE, mode=CLUSTER_WIDE
    )
    log_cleaner_max_compaction_lag_ms: int = long(
        MAX_LONG, "The default of a topic's max.compaction.lag.ms.", _POSITIVE, mode=CLUSTER_WIDE
    )
    num_recovery_threads_per_data_dir: int = integer(
        2, "How many logs of a directory are recovered at a time after a crash.", _POSITIVE, HIGH, CLUSTER_WIDE
    )
    producer_id_expiration_ms: int = integer(
        DAY_MS, "After how long of silence a partition forgets an idempotent producer.", _POSITIVE, LOW, CLUSTER_WIDE
    )
    producer_id_expiration_check_interval_ms: int = integer(
        600_000, "How often partitions look for producers to forget.", _POSITIVE, LOW
    )
