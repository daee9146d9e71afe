"""What `tidelog cluster` shows of a cluster: nodes, quorum and partitions, as lines and as JSON. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from tidelog.cli.output import columns, comma_separated
from tidelog.client.admin import (
    ClusterDescription,
    NodeDescription,
    PartitionDescription,
    QuorumInfo,
    QuorumReplicaInfo,
    TopicDescription,
)
from tidelog.model.lazy_dataclasses import dataclass

# Partitions with a problem are named up to this number; --under-replicated-partitions shows all.
NAMED_PARTITIONS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterReport:
    """One picture of a cluster. `quorum` is None where the brokers do not report it."""

    cluster: ClusterDescription
    quorum: QuorumInfo | None
    topics: Sequence[TopicDescription]

    @property
    def controller(self) -> int | None:
        """The node that decides. Brokers may name any of them as the controller; the quorum knows better."""
        return self.cluster.controller if self.quorum is None else self.quorum.leader

    @property
    def live_nodes(self) -> frozenset[int]:
        return frozenset(node.node_id for node in self.cluster.nodes if not node.fenced)

    def partitions(self) -> list[tuple[str, PartitionDescription]]:
        return [(topic.name, partition) for topic in self.topics for partition in topic.partitions]

    def under_replicated(self) -> list[tuple[str, PartitionDescription]]:
        return [(topic, one) for topic, one in self.partitions() if len(one.in_sync) < len(one.replicas)]

    def offline(self) -> list[tuple[str, PartitionDescription]]:
        live = self.live_nodes
        return [(topic, one) for topic, one in self.partitions() if one.leader is None or one.leader not in live]

    def not_preferred(self) -> list[tuple[str, PartitionDescription]]:
        """Led by another replica than the first, which --elect-leaders preferred changes."""
        return [(topic, one) for topic, one in self.partitions() if one.replicas and one.leader != one.replicas[0]]


def report_lines(report: ClusterReport) -> list[str]:
    return [
        f"ClusterId: {report.cluster.cluster_id}",
        "",
        *_node_lines(report),
        "",
        *_quorum_lines(report.quorum),
        "",
        *_partition_lines(report),
    ]


def report_json(report: ClusterReport) -> dict[str, Any]:
    quorum = report.quorum
    return {
        "clusterId": report.cluster.cluster_id,
        "controller": report.controller,
        "nodes": [_node_json(report, node) for node in report.cluster.nodes],
        "quorum": None
        if quorum is None
        else {
            "leaderId": quorum.leader,
            "leaderEpoch": quorum.leader_epoch,
            "highWatermark": quorum.high_watermark,
            "voters": [_replica_json(replica) for replica in quorum.voters],
            "observers": [_replica_json(replica) for replica in quorum.observers],
        },
        "partitions": {
            "count": len(report.partitions()),
            "underReplicated": partitions_json(report.under_replicated()),
            "offline": partitions_json(report.offline()),
            "notPreferredLeader": partitions_json(report.not_preferred()),
        },
    }


def partitions_json(partitions: Sequence[tuple[str, PartitionDescription]]) -> list[dict[str, Any]]:
    return [
        {
            "topic": topic,
            "partition": one.partition,
            "leader": one.leader,
            "leaderEpoch": one.leader_epoch,
            "replicas": list(one.replicas),
            "isr": list(one.in_sync),
        }
        for topic, one in partitions
    ]


def _node_lines(report: ClusterReport) -> list[str]:
    header = ("NODE", "ADDRESS", "RACK", "STATUS", "CONTROLLER", "LEADERS", "REPLICAS", "IN-SYNC")
    rows = []
    for node in report.cluster.nodes:
        facts = _node_json(report, node)
        rows.append(
            (
                node.node_id,
                facts["address"],
                node.rack or "-",
                facts["status"],
                "leader" if facts["controller"] else "voter" if facts["voter"] else "-",
                facts["leaders"],
                facts["replicas"],
                facts["inSync"],
            )
        )
    return columns(header, rows)


def _node_json(report: ClusterReport, node: NodeDescription) -> dict[str, Any]:
    partitions = [one for _, one in report.partitions()]
    voters = () if report.quorum is None else report.quorum.voters
    return {
        "id": node.node_id,
        "address": f"{node.host}:{node.port}",
        "rack": node.rack,
        "status": "fenced" if node.fenced else "unfenced",
        "controller": node.node_id == report.controller,
        "voter": any(voter.node_id == node.node_id for voter in voters),
        "leaders": sum(one.leader == node.node_id for one in partitions),
        "replicas": sum(node.node_id in one.replicas for one in partitions),
        "inSync": sum(node.node_id in one.in_sync for one in partitions),
    }


def _quorum_lines(quorum: QuorumInfo | None) -> list[str]:
    if quorum is None:
        return ["Quorum: not reported by the brokers"]
    leader = "none" if quorum.leader is None else quorum.leader
    first = f"Quorum: LeaderId: {leader}\tLeaderEpoch: {quorum.leader_epoch}\tHighWatermark: {quorum.high_watermark}"
    rows: list[tuple[object, ...]] = []
    for replicas, follower_status in ((quorum.voters, "Follower"), (quorum.observers, "Observer")):
        for replica in replicas:
            status = "Leader" if replica.node_id == quorum.leader else follower_status
            rows.append((replica.node_id, replica.log_end_offset, replica.lag, status))
    return [first, *columns(("NODE", "LOG-END-OFFSET", "LAG", "STATUS"), rows)]


def _replica_json(replica: QuorumReplicaInfo) -> dict[str, Any]:
    return {
        "id": replica.node_id,
        "logEndOffset": replica.log_end_offset,
        "lag": replica.lag,
        "lastFetchTimestamp": replica.last_fetch_ms,
        "lastCaughtUpTimestamp": replica.last_caught_up_ms,
    }


def _partition_lines(report: ClusterReport) -> list[str]:
    under, offline, moved = report.under_replicated(), report.offline(), report.not_preferred()
    lines = [
        f"Partitions: {len(report.partitions())} of {len(report.topics)} topics\tUnderReplicated: {len(under)}\t"
        f"Offline: {len(offline)}\tNotPreferredLeader: {len(moved)}"
    ]
    lines += _named("under-replicated", under)
    lines += _named("offline", offline)
    return lines


def _named(problem: str, partitions: Collection[tuple[str, PartitionDescription]]) -> list[str]:
    lines = [
        f"  {problem}: {topic}-{one.partition}\tLeader: {'none' if one.leader is None else one.leader}\t"
        f"Replicas: {comma_separated(one.replicas)}\tIsr: {comma_separated(one.in_sync)}"
        for topic, one in list(partitions)[:NAMED_PARTITIONS]
    ]
    if len(partitions) > NAMED_PARTITIONS:
        lines.append(f"  and {len(partitions) - NAMED_PARTITIONS} more that are {problem}")
    return lines
