"""Topics, replication, and what nodes and the controller quorum expect of each other."""

from __future__ import annotations

from tidelog.config.definitions import NOT_NEGATIVE, POSITIVE, Between, OneOf, Only
from tidelog.config.fields import ON_CHANGE, boolean, integer, long, section, string
from tidelog.config.topic import DAY_MS, MAX_LONG

RACK_AWARE_SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
_SELECTORS = OneOf((RACK_AWARE_SELECTOR, "org.apache.kafka.common.replica.LeaderSelector"))


@section
class ClusterSection:
    auto_create_topics_enable: bool = boolean(True, "Whether a topic is created when a client first asks for it.")
    delete_topic_enable: bool = boolean(True, "Whether topics can be deleted.")
    num_partitions: int = integer(1, "How many partitions a topic has if its creator does not say.", POSITIVE)
    default_replication_factor: int = integer(1, "How many replicas a topic has if its creator does not say.", POSITIVE)
    unclean_leader_election_interval_ms: int = long(
        300_000, "How often the controller looks for partitions that need an unclean election.", POSITIVE
    )
    auto_leader_rebalance_enable: bool = boolean(
        True, "Whether the controller returns leadership to preferred replicas."
    )
    leader_imbalance_check_interval_seconds: int = long(
        300, "How often the controller looks for leaders that are not the preferred replica.", POSITIVE
    )
    controlled_shutdown_enable: bool = boolean(True, "Whether a broker hands over its leaderships before it stops.")
    replica_fetch_backoff_ms: int = integer(1000, "How long a follower waits after a failed fetch.", NOT_NEGATIVE)
    replica_fetch_max_bytes: int = integer(
        1 << 20, "The most bytes of one partition that a follower fetches at a time.", NOT_NEGATIVE
    )
    replica_fetch_min_bytes: int = integer(1, "How many bytes a follower's fetch waits for.")
    replica_fetch_response_max_bytes: int = integer(
        10 << 20, "The most bytes that a follower fetches at a time.", NOT_NEGATIVE
    )
    replica_fetch_wait_max_ms: int = integer(500, "How long a follower's fetch waits for data.")
    replica_high_watermark_checkpoint_interval_ms: int = long(
        5000, "How often high watermarks are written to their checkpoint file."
    )
    replica_lag_time_max_ms: int = long(30_000, "How long a follower may lag before it leaves the in-sync replicas.")
    leader_replication_throttled_rate: int = long(
        MAX_LONG,
        "The most bytes per second that this broker sends to throttled replicas that are not in sync.",
        NOT_NEGATIVE,
        ON_CHANGE,
    )
    follower_replication_throttled_rate: int = long(
        MAX_LONG,
        "The most bytes per second that this broker fetches for throttled replicas that are not in sync.",
        NOT_NEGATIVE,
        ON_CHANGE,
    )
    replica_alter_log_dirs_io_max_bytes_per_second: int = long(
        MAX_LONG,
        "The most bytes per second that are copied when replicas move between log directories.",
        NOT_NEGATIVE,
        ON_CHANGE,
    )
    replication_quota_window_num: int = integer(
        11, "How many windows the rate of replication is measured over.", POSITIVE
    )
    replication_quota_window_size_seconds: int = integer(
        1, "The length of a window in which the rate of replication is measured.", POSITIVE
    )
    alter_log_dirs_replication_quota_window_num: int = integer(
        11, "How many windows the rate of moves between log directories is measured over.", POSITIVE
    )
    alter_log_dirs_replication_quota_window_size_seconds: int = integer(
        1, "The length of a window in which the rate of moves between log directories is measured.", POSITIVE
    )
    replica_selector_class: str | None = string(
        None, "How a replica near the consumer is chosen; if it is not set, consumers read from the leader.", _SELECTORS
    )
    replica_socket_timeout_ms: int = integer(30_000, "How long a follower waits for the reply to a fetch.")
    broker_heartbeat_interval_ms: int = integer(2000, "How often a broker sends a heartbeat to the controller.")
    broker_session_timeout_ms: int = integer(9000, "After how long without a heartbeat the controller fences a broker.")
    tidelog_broker_refusal_timeout_ms: int = integer(
        500,
        "After how long a disconnected broker whose ports refuse connections is fenced; -1: only after its session.",
        Between(-1),
    )
    initial_broker_registration_timeout_ms: int = integer(
        60_000, "How long a starting broker tries to register with the controller before it gives up."
    )
    controller_quorum_election_backoff_max_ms: int = integer(
        1000, "The longest wait before a new election after one without a winner.", NOT_NEGATIVE
    )
    controller_quorum_election_timeout_ms: int = integer(
        1000, "How long a candidate waits for votes before it starts a new election.", NOT_NEGATIVE
    )
    controller_quorum_fetch_timeout_ms: int = integer(
        2000, "After how long without a successful fetch from the leader a voter becomes a candidate.", NOT_NEGATIVE
    )
    controller_quorum_fetch_max_bytes: int = integer(
        1 << 20, "The most bytes of metadata records that one fetch returns.", POSITIVE
    )
    controller_quorum_fetch_snapshot_max_bytes: int = integer(
        1 << 20, "The most bytes of a metadata snapshot that one fetch returns.", POSITIVE
    )
    controller_quorum_request_timeout_ms: int = integer(
        2000, "How long members of the quorum wait for each other's replies.", NOT_NEGATIVE
    )
    controller_quorum_retry_backoff_ms: int = integer(
        20, "How long members of the quorum wait before they repeat a request.", NOT_NEGATIVE
    )
    controller_quorum_auto_join_enable: bool = boolean(
        False,
        "Whether a new controller joins the quorum by itself.",
        Only(False, "the voters are those of controller.quorum.voters"),
    )
    controller_socket_timeout_ms: int = integer(30_000, "How long a broker waits for the controller's reply.")
    metadata_log_max_record_bytes_between_snapshots: int = long(
        20 << 20, "After how many bytes of metadata records a snapshot is written.", POSITIVE
    )
    metadata_log_max_snapshot_interval_ms: int = long(
        3_600_000, "After how long at most a metadata snapshot is written; 0 leaves it to the size.", NOT_NEGATIVE
    )
    metadata_log_segment_bytes: int = integer(
        1 << 30, "The size at which a segment of the metadata log is closed.", Between(8 << 20)
    )
    metadata_log_segment_ms: int = long(7 * DAY_MS, "The age at which a segment of the metadata log is closed.")
    metadata_max_retention_bytes: int = long(
        100 << 20, "The size of the metadata log and its snapshots from which on old ones are deleted."
    )
    metadata_max_retention_ms: int = long(
        7 * DAY_MS, "The age at which parts of the metadata log and its snapshots are deleted."
    )
