"""Retention, flushing, compaction and producers' state.

The defaults of topic properties are in `tidelog.config.catalogue.topic_defaults`.
"""

from __future__ import annotations

from tidelog.config.definitions import NOT_NEGATIVE, POSITIVE, Only
from tidelog.config.fields import ON_CHANGE, ON_USE, boolean, double, integer, long, section
from tidelog.config.topic import DAY_MS, NO_TIERED_STORAGE


@section
class StorageSection:
    log_retention_check_interval_ms: int = long(
        300_000, "How often the broker looks for segments to delete because of retention.", POSITIVE
    )
    log_flush_offset_checkpoint_interval_ms: int = integer(
        60_000, "How often recovery points are written to their checkpoint file.", NOT_NEGATIVE
    )
    log_flush_start_offset_checkpoint_interval_ms: int = integer(
        60_000, "How often log start offsets are written to their checkpoint file.", NOT_NEGATIVE
    )
    remote_log_storage_system_enable: bool = boolean(
        False, "Whether old segments can move to tiered storage.", Only(False, NO_TIERED_STORAGE)
    )
    log_cleaner_enable: bool = boolean(True, "Whether compacted topics are compacted.")
    log_cleaner_backoff_ms: int = long(
        15_000, "How long the cleaner sleeps when no log is worth compacting.", NOT_NEGATIVE, ON_USE
    )
    log_cleaner_threads: int = integer(1, "How many logs are compacted at the same time.", NOT_NEGATIVE, ON_USE)
    log_cleaner_dedupe_buffer_size: int = long(
        128 << 20, "How much memory all compactions together may use for keys.", None, ON_USE
    )
    log_cleaner_io_buffer_size: int = integer(
        512 << 10, "How much memory all compactions together may use for reading and writing.", NOT_NEGATIVE, ON_USE
    )
    log_cleaner_io_buffer_load_factor: float = double(
        0.9, "How full the memory for keys may get, as a share of 1.", None, ON_USE
    )
    log_cleaner_io_max_bytes_per_second: float = double(
        1.7976931348623157e308, "How fast the cleaner may read and write, in bytes per second.", None, ON_USE
    )
    producer_id_expiration_ms: int = integer(
        DAY_MS, "After how long without a record a partition forgets an idempotent producer.", POSITIVE, ON_CHANGE
    )
    producer_id_expiration_check_interval_ms: int = integer(
        600_000, "How often partitions look for producers to forget.", POSITIVE
    )
