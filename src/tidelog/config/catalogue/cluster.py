"""Topics, replication, and the nodes' dealings with the controller quorum."""

from __future__ import annotations

from tidelog.config.definitions import Between, OneOf
from tidelog.config.fields import CLUSTER_WIDE, HIGH, LOW, MEDIUM, boolean, integer, long, section, string
from tidelog.config.topic import DAY_MS, MAX_LONG

_POSITIVE = Between(1)
_NOT_NEGATIVE = Between(0)

RACK_AWARE_SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


@section
class ClusterSection:
    auto_create_topics_enable: bool = boolean(
        True, "Whether a topic comes into being when a client first asks for it.", None, HIGH
    )
    delete_topic_enable: bool = boolean(True, "Whether topics can be deleted.", None, HIGH)
    num_partitions: int = integer(1, "How many partitions a topic gets that does not say.", _POSITIVE)
    default_replication_factor: int = integer(1, "How many replicas a topic gets that does not say.", _POSITIVE)
    min_insync_replicas: int = integer(
        1, "The default of a topic's min.insync.replicas.", _POSITIVE, HIGH, CLUSTER_WIDE
    )
    unclean_leader_election_enable: bool = boolean(
        False, "The default of a topic's unclean.leader.election.enable.", None, HIGH, CLUSTER_WIDE
    )
    unclean_leader_election_interval_ms: int = long(
        300_000, "How often the controller looks for partitions that need an unclean election.", _POSITIVE
    )
    auto_leader_rebalance_enable: bool = boolean(
        True, "Whether leadership goes back to the preferred replicas by itself.", None, HIGH
    )
    leader_imbalance_check_interval_seconds: int = long(
        300, "How often the controller looks for leaders that are not the preferred ones.", _POSITIVE, HIGH
    )
    controlled_shutdown_enable: bool = boolean(True, "Whether a broker that stops hands over its leaderships first.")
    replica_fetch_backoff_ms: int = integer(1000, "How long a follower waits after a failed fetch.", _NOT_NEGATIVE)
    replica_fetch_max_bytes: int = integer(
        1 << 20, "The most bytes that a follower fetches of one partition at a time.", _NOT_NEGATIVE
    )
    replica_fetch_min_bytes: int = integer(1, "For how many bytes a follower's fetch waits.", None, HIGH)
    replica_fetch_response_max_bytes: int = integer(
        10 << 20, "The most bytes that a follower fetches at a time.", _NOT_NEGATIVE
    )
    replica_fetch_wait_max_ms: int = integer(500, "How long a follower's fetch waits for data.", None, HIGH)
    replica_high_watermark_checkpoint_interval_ms: int = long(
        5000, "How often high watermarks are written down.", None, HIGH
    )
    replica_lag_time_max_ms: int = long(
        30_000, "How long a follower may lag before it leaves the in-sync replicas.", None, HIGH
    )
    leader_replication_throttled_rate: int = long(
        MAX_LONG,
        "The most bytes per second that this broker sends to throttled replicas that are not in sync.",
        _NOT_NEGATIVE,
        MEDIUM,
        CLUSTER_WIDE,
    )
    follower_replication_throttled_rate: int = long(
        MAX_LONG,
        "The most bytes per second that this broker fetches for throttled replicas that are not in sync.",
        _NOT_NEGATIVE,
        MEDIUM,
        CLUSTER_WIDE,
    )
    replica_alter_log_dirs_io_max_bytes_per_second: int = long(
        MAX_LONG,
        "The most bytes per second that are copied when replicas move between log directories.",
        _NOT_NEGATIVE,
        MEDIUM,
        CLUSTER_WIDE,
    )
    replication_quota_window_num: int = integer(11, "Over how many windows replication is measured.", _POSITIVE, LOW)
    replication_quota_window_size_seconds: int = integer(1, "How long such a window is.", _POSITIVE, LOW)
    alter_log_dirs_replication_quota_window_num: int = integer(
        11, "Over how many windows the moving of replicas is measured.", _POSITIVE, LOW
    )
    alter_log_dirs_replication_quota_window_size_seconds: int = integer(1, "How long such a window is.", _POSITIVE, LOW)
    replica_selector_class: str | None = string(
        None,
        "How a replica near the reader is chosen; without it consumers read from the leader.",
        OneOf((RACK_AWARE_SELECTOR, "org.apache.kafka.common.replica.LeaderSelector")),
    )
    replica_socket_receive_buffer_bytes: int = integer(
        65_536, "The size of the receive buffer of a follower's connection.", None, HIGH
    )
    replica_socket_timeout_ms: int = integer(30_000, "How long a follower waits for the answer to a fetch.", None, HIGH)
    num_replica_fetchers: int = integer(
        1, "How many fetchers a broker runs for each broker that it follows.", _POSITIVE, HIGH, CLUSTER_WIDE
    )
    broker_heartbeat_interval_ms: int = integer(2000, "How often a broker sends its heartbeat to the controller.")
    broker_session_timeout_ms: int = integer(
        9000, "After how long without a heartbeat the controller takes a broker for dead."
    )
    tidelog_broker_refusal_timeout_ms: int = integer(
        500,
        "After how long a disconnected broker whose ports refuse connections counts as dead; -1: after its session.",
        Between(-1),
    )
    initial_broker_registration_timeout_ms: int = integer(
        60_000, "How long a starting broker tries to register before it gives up."
    )
    controller_quorum_append_linger_ms: int = integer(
        25, "How long the leader of the quorum gathers records before it writes them.", _NOT_NEGATIVE
    )
    controller_quorum_election_backoff_max_ms: int = integer(
        1000, "The longest wait before a new election after one without a winner.", _NOT_NEGATIVE, HIGH
    )
    controller_quorum_election_timeout_ms: int = integer(
        1000, "How long a voter waits for the result of an election before it starts a new one.", _NOT_NEGATIVE, HIGH
    )
    controller_quorum_fetch_timeout_ms: int = integer(
        2000, "After how long without a fetch that succeeds a voter stands for election.", _NOT_NEGATIVE, HIGH
    )
    controller_quorum_fetch_max_bytes: int = integer(
        1 << 20, "The most bytes of metadata records that one fetch returns.", _POSITIVE, LOW
    )
    controller_quorum_fetch_snapshot_max_bytes: int = integer(
        1 << 20, "The most bytes of a metadata snapshot that one fetch returns.", _POSITIVE, LOW
    )
    controller_quorum_request_timeout_ms: int = integer(
        2000, "How long members of the quorum wait for each other's answers.", _NOT_NEGATIVE
    )
    controller_quorum_retry_backoff_ms: int = integer(
        20, "How long members of the quorum wait before they repeat a request.", _NOT_NEGATIVE, LOW
    )
    controller_quorum_auto_join_enable: bool = boolean(
        False, "Whether a new controller joins the quorum by itself.", None, LOW
    )
    controller_socket_timeout_ms: int = integer(30_000, "How long a node waits for the controller's answer.")
    metadata_log_max_record_bytes_between_snapshots: int = long(
        20 << 20, "After how many bytes of metadata records a snapshot is taken.", _POSITIVE, HIGH
    )
    metadata_log_max_snapshot_interval_ms: int = long(
        3_600_000, "After how long at most a metadata snapshot is taken; 0 leaves it to the size.", _NOT_NEGATIVE, HIGH
    )
    metadata_log_segment_bytes: int = integer(
        1 << 30, "The size at which a segment of the metadata log is closed.", Between(8 << 20), HIGH
    )
    metadata_log_segment_ms: int = long(
        7 * DAY_MS, "The age at which a segment of the metadata log is closed.", None, HIGH
    )
    metadata_max_idle_interval_ms: int = integer(
        500, "How often an idle controller writes a record that moves the log on; 0 is never.", _NOT_NEGATIVE, LOW
    )
    metadata_max_retention_bytes: int = long(
        100 << 20, "How large the metadata log and its snapshots may grow before old ones are dropped.", None, HIGH
    )
    metadata_max_retention_ms: int = long(
        7 * DAY_MS, "How old the metadata log and its snapshots may get before they are dropped.", None, HIGH
    )
