"""Consumer groups, committed offsets and transactions."""

from __future__ import annotations

from tidelog.config.definitions import Between, OneOf
from tidelog.config.fields import CLUSTER_WIDE, HIGH, LOW, boolean, integer, long, section, short, string, words
from tidelog.config.topic import DAY_MS, HOUR_MS

_MAX_INT = (1 << 31) - 1
_POSITIVE = Between(1)
_NOT_NEGATIVE = Between(0)

# The numbers that a batch's attributes carry: none, gzip, snappy, lz4, zstd.
_CODECS = Between(0, 4)


@section
class GroupSection:
    group_initial_rebalance_delay_ms: int = integer(
        3000, "How long the first member of an empty classic group waits for others before partitions are given out."
    )
    group_min_session_timeout_ms: int = integer(6000, "The shortest session timeout of a classic group's member.")
    group_max_session_timeout_ms: int = integer(1_800_000, "The longest session timeout of a classic group's member.")
    group_max_size: int = integer(_MAX_INT, "How many members a classic group may have.", _POSITIVE)
    group_coordinator_rebalance_protocols: tuple[str, ...] = words(
        ("classic", "consumer", "streams"),
        "The rebalance protocols that are on.",
        OneOf(("classic", "consumer", "share", "streams")),
    )
    group_consumer_assignors: tuple[str, ...] = words(
        ("uniform", "range"),
        "The assignors of the consumer protocol; the first is the default.",
        OneOf(("uniform", "range"), may_be_empty=False),
    )
    group_consumer_assignment_interval_ms: int = integer(
        1000, "The time at least between two assignments of a group.", _NOT_NEGATIVE, mode=CLUSTER_WIDE
    )
    group_consumer_heartbeat_interval_ms: int = integer(
        5000, "How often members of the consumer protocol send heartbeats.", _POSITIVE
    )
    group_consumer_session_timeout_ms: int = integer(
        45_000, "After how long without a heartbeat a member of the consumer protocol is removed.", _POSITIVE
    )
    group_consumer_min_assignment_interval_ms: int = integer(
        0, "The shortest consumer.assignment.interval.ms that a group may have.", _NOT_NEGATIVE
    )
    group_consumer_max_assignment_interval_ms: int = integer(
        15_000, "The longest consumer.assignment.interval.ms that a group may have.", _NOT_NEGATIVE
    )
    group_consumer_min_heartbeat_interval_ms: int = integer(
        5000, "The shortest consumer.heartbeat.interval.ms that a group may have.", _POSITIVE
    )
    group_consumer_max_heartbeat_interval_ms: int = integer(
        15_000, "The longest consumer.heartbeat.interval.ms that a group may have.", _POSITIVE
    )
    group_consumer_min_session_timeout_ms: int = integer(
        45_000, "The shortest consumer.session.timeout.ms that a group may have.", _POSITIVE
    )
    group_consumer_max_session_timeout_ms: int = integer(
        60_000, "The longest consumer.session.timeout.ms that a group may have.", _POSITIVE
    )
    group_consumer_max_size: int = integer(_MAX_INT, "How many members a consumer group may have.", _POSITIVE)
    group_consumer_migration_policy: str = string(
        "bidirectional",
        "Whether a group with members may change to the consumer protocol (upgrade) or back (downgrade).",
        OneOf(("disabled", "downgrade", "upgrade", "bidirectional")),
    )
    offset_metadata_max_bytes: int = integer(
        4096, "The largest text that can be committed along with an offset.", None, HIGH
    )
    offsets_commit_timeout_ms: int = integer(
        5000, "How long a commit of offsets waits for the replicas.", _POSITIVE, HIGH
    )
    offsets_load_buffer_size: int = integer(
        5 << 20, "How much is read at a time when a coordinator loads a partition.", _POSITIVE, HIGH
    )
    offsets_retention_check_interval_ms: int = long(
        600_000, "How often expired offsets are looked for.", _POSITIVE, HIGH
    )
    offsets_retention_minutes: int = integer(
        10_080, "How long the offsets of a group without members are kept.", _POSITIVE, HIGH
    )
    offsets_topic_compression_codec: int = integer(
        0, "The codec of committed offsets: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.", _CODECS, HIGH
    )
    offsets_topic_num_partitions: int = integer(
        50, "How many partitions __consumer_offsets gets; not to be changed afterwards.", _POSITIVE, HIGH
    )
    offsets_topic_replication_factor: int = short(3, "How many replicas __consumer_offsets gets.", HIGH)
    offsets_topic_segment_bytes: int = integer(100 << 20, "The segment size of __consumer_offsets.", _POSITIVE, HIGH)


@section
class TransactionSection:
    transaction_max_timeout_ms: int = integer(
        900_000, "The longest transaction timeout that a producer may ask for.", _POSITIVE, HIGH
    )
    transaction_state_log_load_buffer_size: int = integer(
        5 << 20, "How much is read at a time when a coordinator loads a partition.", _POSITIVE, HIGH
    )
    transaction_state_log_min_isr: int = integer(2, "min.insync.replicas of __transaction_state.", _POSITIVE, HIGH)
    transaction_state_log_num_partitions: int = integer(
        50, "How many partitions __transaction_state gets; not to be changed afterwards.", _POSITIVE, HIGH
    )
    transaction_state_log_replication_factor: int = short(3, "How many replicas __transaction_state gets.", HIGH)
    transaction_state_log_segment_bytes: int = integer(
        100 << 20, "The segment size of __transaction_state.", _POSITIVE, HIGH
    )
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = integer(
        10_000, "How often transactions are looked for that have run out of time.", _POSITIVE, LOW
    )
    transaction_remove_expired_transaction_cleanup_interval_ms: int = integer(
        HOUR_MS, "How often expired transactional ids are looked for.", _POSITIVE, LOW
    )
    transaction_partition_verification_enable: bool = boolean(
        True, "Whether a partition checks that a transaction was really begun (KIP-890).", None, LOW, CLUSTER_WIDE
    )
    transaction_two_phase_commit_enable: bool = boolean(
        False, "Whether producers may leave a prepared transaction open (KIP-939).", None, LOW
    )
    transactional_id_expiration_ms: int = integer(
        7 * DAY_MS, "After how long of silence a transactional id is forgotten.", _POSITIVE, HIGH
    )
    add_partitions_to_txn_retry_backoff_ms: int = integer(
        20, "How long a broker waits before it repeats the check of a transaction.", _POSITIVE, HIGH
    )
    add_partitions_to_txn_retry_backoff_max_ms: int = integer(
        100, "How long a broker repeats the check of a transaction before the client has to.", _NOT_NEGATIVE, HIGH
    )
