"""Consumer groups, committed offsets and transactions."""

from __future__ import annotations

from tidelog.config.definitions import NOT_NEGATIVE, POSITIVE, Between, OneOf
from tidelog.config.fields import ON_CHANGE, ON_USE, boolean, integer, long, section, short, string, words
from tidelog.config.topic import DAY_MS, HOUR_MS

_MAX_INT = (1 << 31) - 1

# The numbers in a batch's attributes: none, gzip, snappy, lz4, zstd.
_CODECS = Between(0, 4)
_POLICIES = OneOf(("disabled", "downgrade", "upgrade", "bidirectional"))


@section
class GroupSection:
    group_initial_rebalance_delay_ms: int = integer(
        3000, "How long the first member of an empty classic group waits for others before the first assignment."
    )
    group_min_session_timeout_ms: int = integer(6000, "The shortest session timeout of a member of a classic group.")
    group_max_session_timeout_ms: int = integer(
        1_800_000, "The longest session timeout of a member of a classic group."
    )
    group_max_size: int = integer(_MAX_INT, "How many members a classic group may have.", POSITIVE)
    group_coordinator_rebalance_protocols: tuple[str, ...] = words(
        ("classic", "consumer", "streams"),
        "The rebalance protocols that are enabled.",
        OneOf(("classic", "consumer", "share", "streams")),
    )
    group_consumer_assignors: tuple[str, ...] = words(
        ("uniform", "range"),
        "The assignors of the consumer protocol; the first is the default.",
        OneOf(("uniform", "range"), may_be_empty=False),
    )
    group_consumer_assignment_interval_ms: int = integer(
        1000, "The shortest time between two assignments of a group.", NOT_NEGATIVE, ON_CHANGE
    )
    group_consumer_regex_refresh_interval_ms: int = integer(
        600_000, "How often subscribed expressions are matched again, for what a member may describe.", Between(10_000)
    )
    group_consumer_heartbeat_interval_ms: int = integer(
        5000, "How often members of the consumer protocol send heartbeats.", POSITIVE
    )
    group_consumer_session_timeout_ms: int = integer(
        45_000, "After how long without a heartbeat a member of the consumer protocol is removed.", POSITIVE
    )
    group_consumer_min_assignment_interval_ms: int = integer(
        0, "The smallest consumer.assignment.interval.ms that a group may have.", NOT_NEGATIVE
    )
    group_consumer_max_assignment_interval_ms: int = integer(
        15_000, "The largest consumer.assignment.interval.ms that a group may have.", NOT_NEGATIVE
    )
    group_consumer_min_heartbeat_interval_ms: int = integer(
        5000, "The smallest consumer.heartbeat.interval.ms that a group may have.", POSITIVE
    )
    group_consumer_max_heartbeat_interval_ms: int = integer(
        15_000, "The largest consumer.heartbeat.interval.ms that a group may have.", POSITIVE
    )
    group_consumer_min_session_timeout_ms: int = integer(
        45_000, "The smallest consumer.session.timeout.ms that a group may have.", POSITIVE
    )
    group_consumer_max_session_timeout_ms: int = integer(
        60_000, "The largest consumer.session.timeout.ms that a group may have.", POSITIVE
    )
    group_consumer_max_size: int = integer(_MAX_INT, "How many members a consumer group may have.", POSITIVE)
    group_consumer_migration_policy: str = string(
        "bidirectional",
        "Whether a group with members may change to the consumer protocol (upgrade) or back (downgrade).",
        _POLICIES,
    )
    offset_metadata_max_bytes: int = integer(4096, "The largest text that can be committed along with an offset.")
    offsets_commit_timeout_ms: int = integer(5000, "How long a commit of offsets waits for the replicas.", POSITIVE)
    offsets_load_buffer_size: int = integer(
        5 << 20, "How many bytes the group coordinator reads at a time while it loads a partition.", POSITIVE
    )
    offsets_retention_check_interval_ms: int = long(
        600_000, "How often the group coordinator looks for expired offsets.", POSITIVE
    )
    offsets_retention_minutes: int = integer(
        10_080, "How long the offsets of a group without members are kept.", POSITIVE
    )
    offsets_topic_compression_codec: int = integer(
        0, "The codec of committed offsets: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.", _CODECS
    )
    offsets_topic_num_partitions: int = integer(
        50, "How many partitions __consumer_offsets is created with; it must not change afterwards.", POSITIVE
    )
    offsets_topic_replication_factor: int = short(3, "How many replicas __consumer_offsets is created with.", POSITIVE)
    offsets_topic_segment_bytes: int = integer(100 << 20, "The segment size of __consumer_offsets.", POSITIVE)


@section
class TransactionSection:
    transaction_max_timeout_ms: int = integer(
        900_000, "The longest transaction timeout that a producer may ask for.", POSITIVE
    )
    transaction_state_log_load_buffer_size: int = integer(
        5 << 20, "How many bytes the transaction coordinator reads at a time while it loads a partition.", POSITIVE
    )
    transaction_state_log_min_isr: int = integer(2, "The min.insync.replicas of __transaction_state.", POSITIVE)
    transaction_state_log_num_partitions: int = integer(
        50, "How many partitions __transaction_state is created with; it must not change afterwards.", POSITIVE
    )
    transaction_state_log_replication_factor: int = short(
        3, "How many replicas __transaction_state is created with.", POSITIVE
    )
    transaction_state_log_segment_bytes: int = integer(100 << 20, "The segment size of __transaction_state.", POSITIVE)
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = integer(
        10_000, "How long the coordinator waits before it tries again to abort a timed-out transaction.", POSITIVE
    )
    transaction_remove_expired_transaction_cleanup_interval_ms: int = integer(
        HOUR_MS, "How often the coordinator looks for expired transactional ids.", POSITIVE
    )
    transaction_partition_verification_enable: bool = boolean(
        True, "Whether a partition verifies that a transaction has really begun (KIP-890).", None, ON_USE
    )
    transaction_two_phase_commit_enable: bool = boolean(
        False, "Whether producers may leave a prepared transaction open (KIP-939)."
    )
    transactional_id_expiration_ms: int = integer(
        7 * DAY_MS, "After how long without use a transactional id is forgotten.", POSITIVE
    )
    add_partitions_to_txn_retry_backoff_ms: int = integer(
        20, "How long a broker waits before it repeats the verification of a transaction.", POSITIVE
    )
    add_partitions_to_txn_retry_backoff_max_ms: int = integer(
        100, "How long a broker repeats the verification of a transaction before the client has to.", NOT_NEGATIVE
    )
