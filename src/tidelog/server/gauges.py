"""The gauges of a broker: numbers of its parts that are read when somebody asks for the metrics."""

from __future__ import annotations

from tidelog.network.request_memory import RequestMemory
from tidelog.server.coordination.groups import GroupCoordinator
from tidelog.server.coordination.transactions import TransactionCoordinator
from tidelog.server.fetching.sessions import FetchSessions
from tidelog.server.observability.metrics import Metrics
from tidelog.server.quorum.leader_watch import LeaderWatch
from tidelog.server.replicas.registry import Replicas
from tidelog.server.routing.connections import Connections
from tidelog.server.upkeep.cleaning import Cleaning


def register_traffic(
    metrics: Metrics, connections: Connections, memory: RequestMemory, sessions: FetchSessions
) -> None:
    gauge = metrics.gauge
    gauge("tidelog_connections", "Open connections", lambda: len(connections))
    gauge(
        "tidelog_connections_waiting",
        "Connections that are held until they are let in, or closed for their address's quota",
        lambda: connections.waiting,
    )
    gauge(
        "tidelog_request_memory_bytes",
        "Memory of requests that are being received or answered",
        lambda: memory.used,
    )
    gauge(
        "tidelog_requests_waiting_for_memory",
        "Requests that are not read on until there is memory for them",
        lambda: len(memory.waiting),
    )
    gauge("tidelog_fetch_sessions", "Fetch sessions that are remembered", lambda: len(sessions))


def register_replicas(metrics: Metrics, replicas: Replicas, cleaning: Cleaning) -> None:
    gauge = metrics.gauge
    gauge("tidelog_partitions", "Partitions on this broker", lambda: len(replicas))
    gauge(
        "tidelog_damaged_partitions",
        "Partitions of which something cannot be read because their files are damaged",
        lambda: len(replicas.damage.partitions),
    )
    gauge("tidelog_leaders", "Partitions that this broker leads", lambda: sum(r.is_leader for r in replicas))
    gauge(
        "tidelog_under_replicated_partitions",
        "Led partitions of which not all replicas are in sync",
        lambda: sum(r.progress is not None and len(r.progress.in_sync) < len(r.progress.replicas) for r in replicas),
    )
    gauge(
        "tidelog_under_min_isr_partitions",
        "Led partitions with fewer in-sync replicas than min.insync.replicas",
        lambda: sum(r.progress is not None and not r.progress.has_enough_in_sync for r in replicas),
    )
    gauge("tidelog_offline_replicas", "Replicas on failed disks", lambda: sum(r.offline for r in replicas))
    gauge("tidelog_cleaner_max_dirty_ratio", "Of the log that is compacted next", lambda: cleaning.dirtiest_ratio)
    gauge(
        "tidelog_cleaner_uncleanable_partitions",
        "Logs that are damaged and not compacted any more",
        lambda: cleaning.uncleanable_count,
    )


def register_cluster(
    metrics: Metrics, leader_watch: LeaderWatch, groups: GroupCoordinator, transactions: TransactionCoordinator
) -> None:
    gauge = metrics.gauge
    gauge(
        "tidelog_quorum_leader_absent_seconds",
        "How long this node has known of no leader of the metadata quorum",
        lambda: leader_watch.absent_seconds,
    )
    gauge("tidelog_groups", "Groups that this broker coordinates", groups.group_count)
    gauge(
        "tidelog_transactional_ids",
        "Transactional ids that this broker coordinates",
        transactions.transactional_id_count,
    )
