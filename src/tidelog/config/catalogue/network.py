"""Connections, requests and their limits."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from functools import lru_cache

from tidelog.config.definitions import NOT_NEGATIVE, POSITIVE, Between, ConfigValue, OneOf
from tidelog.config.fields import ON_USE, integer, long, section, string

_MAX_INT = (1 << 31) - 1


@lru_cache(maxsize=8)
def connections_per_address(text: str) -> Mapping[str, int]:
    """The numbers in max.connections.per.ip.overrides; raises ValueError."""
    limits: dict[str, int] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        address, _, number = pair.rpartition(":")
        limits[str(ipaddress.ip_address(address.strip("[]")))] = int(number)
    return limits


class _AddressNumbers:
    """Apache Kafka resolves host names, too. Here nobody waits for a name server before it accepts a connection."""

    def allows(self, value: ConfigValue) -> bool:
        try:
            return all(number >= 0 for number in connections_per_address(str(value)).values())
        except ValueError:
            return False

    def describe(self) -> str:
        return "be pairs of an IP address and a number, such as 127.0.0.1:100,[::1]:5"


@section
class NetworkSection:
    connections_max_idle_ms: int = long(
        600_000, "How long a connection may be idle before the broker closes it; below 0 for ever."
    )
    controller_quota_window_num: int = integer(
        11, "How many windows a quota of controller mutations is measured over.", POSITIVE
    )
    controller_quota_window_size_seconds: int = integer(1, "How long such a window is.", POSITIVE)
    max_connection_creation_rate: int = integer(
        _MAX_INT, "How many connections a broker accepts per second; others wait.", NOT_NEGATIVE, ON_USE
    )
    max_connections: int = integer(
        _MAX_INT, "How many connections a broker has at most; others wait.", NOT_NEGATIVE, ON_USE
    )
    max_connections_per_ip: int = integer(
        _MAX_INT, "How many connections a broker accepts from one IP address.", NOT_NEGATIVE, ON_USE
    )
    max_connections_per_ip_overrides: str = string(
        "", "Other limits for single IP addresses, as address:number pairs.", _AddressNumbers(), ON_USE
    )
    quota_window_num: int = integer(11, "How many windows a quota of clients is measured over.", POSITIVE)
    quota_window_size_seconds: int = integer(1, "How long such a window is.", POSITIVE)
    queued_max_request_bytes: int = long(
        -1, "How many bytes of requests may be in progress before the broker stops reading; -1 is 100 MiB."
    )
    request_timeout_ms: int = integer(30_000, "How long a node waits for the reply of another node.")
    socket_connection_setup_timeout_ms: int = long(10_000, "How long a broker waits for a connection to another one.")
    socket_request_max_bytes: int = integer(100 << 20, "The size of the largest request that is read.", POSITIVE)
    socket_send_buffer_bytes: int = integer(
        102_400, "The size of a connection's buffer for what is sent (SO_SNDBUF); below 1 the system decides."
    )
    fetch_max_bytes: int = integer(55 << 20, "The most bytes of records that one fetch returns.", Between(1024))
    max_incremental_fetch_session_cache_slots: int = integer(
        1000, "How many fetch sessions a broker keeps.", NOT_NEGATIVE
    )
    max_request_partition_size_limit: int = integer(
        2000, "How many partitions one DescribeTopicPartitions reply contains at most.", POSITIVE
    )
    tidelog_metrics_host: str = string("127.0.0.1", "The address of the metrics page.")
    tidelog_metrics_port: int = integer(
        -1, "The port of the page with Prometheus metrics; 0 takes a free port, -1 serves no page.", Between(-1, 65535)
    )
    tidelog_log_format: str = string(
        "text", "The format of log lines: text for people or json for programs.", OneOf(("text", "json"))
    )
    tidelog_log_level: str = string(
        "info", "The lowest level that is logged.", OneOf(("debug", "info", "warning", "error"))
    )
