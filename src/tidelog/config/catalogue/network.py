"""Connections, requests and their limits."""

from __future__ import annotations

from tidelog.config.definitions import Between, OneOf
from tidelog.config.fields import CLUSTER_WIDE, HIGH, LOW, integer, long, section, string

_MAX_INT = (1 << 31) - 1
_POSITIVE = Between(1)
_NOT_NEGATIVE = Between(0)


@section
class NetworkSection:
    connections_max_idle_ms: int = long(
        600_000, "How long a connection may be silent before the broker closes it; below 0 for ever."
    )
    max_connections: int = integer(
        _MAX_INT, "How many connections the broker takes at a time.", _NOT_NEGATIVE, mode=CLUSTER_WIDE
    )
    max_connections_per_ip: int = integer(
        _MAX_INT, "How many connections one address may hold at a time.", _NOT_NEGATIVE, mode=CLUSTER_WIDE
    )
    max_connections_per_ip_overrides: str = string(
        "", "Other limits for single addresses, as address:number pairs.", mode=CLUSTER_WIDE
    )
    max_connection_creation_rate: int = integer(
        _MAX_INT, "How many connections per second the broker accepts.", _NOT_NEGATIVE, mode=CLUSTER_WIDE
    )
    queued_max_requests: int = integer(
        500, "How many requests may be in work before the broker stops reading from sockets.", _POSITIVE, HIGH
    )
    queued_max_request_bytes: int = long(
        -1, "How many bytes of requests may be in work before the broker stops reading; -1 is 100 MiB."
    )
    request_timeout_ms: int = integer(30_000, "How long a node waits for the answer of another node.", None, HIGH)
    socket_connection_setup_timeout_ms: int = long(10_000, "How long a node waits for a connection to another node.")
    socket_connection_setup_timeout_max_ms: int = long(
        30_000, "The longest wait for a connection after repeated failures."
    )
    socket_listen_backlog_size: int = integer(
        50, "How many connections the system may hold before they are accepted.", _POSITIVE
    )
    socket_receive_buffer_bytes: int = integer(
        102_400, "The size of a socket's receive buffer; -1 leaves it to the system.", None, HIGH
    )
    socket_request_max_bytes: int = integer(100 << 20, "The largest request that is read.", _POSITIVE, HIGH)
    socket_send_buffer_bytes: int = integer(
        102_400, "The size of a socket's send buffer; -1 leaves it to the system.", None, HIGH
    )
    fetch_max_bytes: int = integer(55 << 20, "The most bytes of records that one fetch returns.", Between(1024))
    max_incremental_fetch_session_cache_slots: int = integer(
        1000, "How many fetch sessions are remembered.", _NOT_NEGATIVE
    )
    max_request_partition_size_limit: int = integer(
        2000, "How many partitions one DescribeTopicPartitions reply holds at most.", _POSITIVE
    )
    tidelog_metrics_host: str = string("127.0.0.1", "The address of the metrics page.", None, LOW)
    tidelog_metrics_port: int = integer(
        -1, "The port of the page with Prometheus metrics: 0 takes a free one, -1 serves none.", Between(-1, 65535), LOW
    )
    tidelog_log_format: str = string(
        "text", "Whether log lines are text for people or json for programs.", OneOf(("text", "json")), LOW
    )
    tidelog_log_level: str = string(
        "info", "From which level on events are logged.", OneOf(("debug", "info", "warning", "error")), LOW
    )
