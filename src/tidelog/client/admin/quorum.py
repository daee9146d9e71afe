"""The metadata quorum: who leads it, and how far its voters and observers are (KIP-836)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.cluster.metadata import known
from tidelog.client.errors import api_error, raise_for_code
from tidelog.model.errors import ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from tidelog.protocol.messages.describe_quorum_response import DescribeQuorumResponse, ReplicaState

CLUSTER_METADATA = "__cluster_metadata"
# The connections for questions that wait for a controller.
_QUORUM = "quorum"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumReplicaInfo:
    """`lag` counts the records of the leader that this replica lacks. The times are None where nobody knows them."""

    node_id: int
    log_end_offset: int
    lag: int
    last_fetch_ms: int | None
    last_caught_up_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumInfo:
    """`leader` is None during an election. Voters decide; observers are brokers that only follow.

    `voter_addresses` has host and port of the voters as far as the cluster tells: Apache Kafka does from 3.9 on, and
    a node that is alone has no listener for controllers.
    """

    leader: int | None
    leader_epoch: int
    high_watermark: int
    voters: tuple[QuorumReplicaInfo, ...]
    observers: tuple[QuorumReplicaInfo, ...]
    voter_addresses: Mapping[int, tuple[str, int]] = field(default_factory=dict)

    @property
    def leaders_clock_ms(self) -> int | None:
        """About when the leader has told all this, by its own clock, which the times of the replicas are by as well: it
        gives itself the present time."""
        times = [each.last_fetch_ms for each in (*self.voters, *self.observers) if each.last_fetch_ms is not None]
        return max(times, default=None)


class QuorumAdmin:
    _cluster: Cluster

    async def describe_quorum(self, *, broker: int | None = None, timeout_ms: float | None = None) -> QuorumInfo:
        """Only the active controller knows: a broker that finds none does not answer.

        With `broker`, that one is asked, on a connection of its own. On one that others use, their replies would wait
        for this one, and be lost with the connection when its time is up.
        """
        topic = TopicData(topic_name=CLUSTER_METADATA, partitions=[PartitionData(partition_index=0)])
        request = DescribeQuorumRequest(topics=[topic])

        async def ask() -> DescribeQuorumResponse:
            if broker is None:
                return await self._cluster.ask_any(request, DescribeQuorumResponse)
            return await self._cluster.ask_node(
                broker, request, DescribeQuorumResponse, purpose=_QUORUM, timeout_ms=timeout_ms
            )

        async def attempt() -> QuorumInfo:
            reply = await ask()
            raise_for_code(reply.error_code, reply.error_message)
            for described in reply.topics:
                for partition in described.partitions:
                    raise_for_code(partition.error_code, partition.error_message)
                    ends = {replica.replica_id: replica.log_end_offset for replica in partition.current_voters}
                    leader_end = ends.get(partition.leader_id, partition.high_watermark)
                    return QuorumInfo(
                        leader=known(partition.leader_id),
                        leader_epoch=partition.leader_epoch,
                        high_watermark=partition.high_watermark,
                        voters=_replicas(partition.current_voters, leader_end),
                        observers=_replicas(partition.observers, leader_end),
                        voter_addresses={
                            node.node_id: (node.listeners[0].host, node.listeners[0].port)
                            for node in reply.nodes
                            if node.listeners
                        },
                    )
            raise api_error(ErrorCode.UNKNOWN_SERVER_ERROR, "the reply says nothing about the quorum")

        return await self._cluster.retry("describing the quorum", attempt, timeout_ms=timeout_ms)


def _replicas(states: Sequence[ReplicaState], leader_end: int) -> tuple[QuorumReplicaInfo, ...]:
    return tuple(
        QuorumReplicaInfo(
            node_id=state.replica_id,
            log_end_offset=state.log_end_offset,
            # A replica that has not fetched yet has no known end (-1): it lacks everything.
            lag=leader_end - max(state.log_end_offset, 0),
            last_fetch_ms=known(state.last_fetch_timestamp),
            last_caught_up_ms=known(state.last_caught_up_timestamp),
        )
        for state in sorted(states, key=lambda state: state.replica_id)
    )
