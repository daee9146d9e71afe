"""Replicas of partitions: which of them lead (KIP-460), and moving them to other brokers (KIP-455)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from enum import IntEnum

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.cluster.routing import ask_for_each
from tidelog.client.errors import outcome, raise_for_code
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition, numbers_by_topic
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from tidelog.protocol.messages.alter_partition_reassignments_response import AlterPartitionReassignmentsResponse
from tidelog.protocol.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from tidelog.protocol.messages.elect_leaders_response import ElectLeadersResponse
from tidelog.protocol.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from tidelog.protocol.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse


class ElectionType(IntEnum):
    """PREFERRED gives the leadership to the first replica, UNCLEAN to any live one, which may lose records."""

    PREFERRED = 0
    UNCLEAN = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Reassignment:
    """A move that is under way. `replicas` are the old and the new ones together."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class ReplicaAdmin:
    _cluster: Cluster

    async def elect_leaders(
        self,
        election: ElectionType,
        partitions: Collection[TopicPartition] | None = None,
        *,
        timeout_ms: float | None = None,
    ) -> dict[TopicPartition, ApiError | None]:
        """Elect leaders of these partitions. With None, of all that need it: only those are in the result."""

        async def attempt() -> dict[TopicPartition, ApiError | None]:
            request = ElectLeadersRequest(
                election_type=election,
                topic_partitions=None
                if partitions is None
                else [
                    TopicPartitions(topic=topic, partitions=numbers)
                    for topic, numbers in numbers_by_topic(partitions).items()
                ],
                timeout_ms=self._cluster.config.request_timeout_ms,
            )
            reply = await self._cluster.ask_controller(request, ElectLeadersResponse)
            raise_for_code(reply.error_code)
            return {
                TopicPartition(topic.topic, entry.partition_id): outcome(entry.error_code, entry.error_message, None)
                for topic in reply.replica_election_results
                for entry in topic.partition_result
            }

        return await self._cluster.retry("electing leaders", attempt, timeout_ms=timeout_ms)

    async def alter_partition_reassignments(
        self, targets: Mapping[TopicPartition, Sequence[int] | None], *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, ApiError | None]:
        """Begin to move partitions to these replicas; None ends a move that is under way and goes back."""

        async def ask(left: list[TopicPartition]) -> Mapping[TopicPartition, ApiError | None]:
            by_topic: dict[str, list[ReassignablePartition]] = defaultdict(list)
            for partition in left:
                entry = ReassignablePartition(partition_index=partition.partition, replicas=targets[partition])
                by_topic[partition.topic].append(entry)
            request = AlterPartitionReassignmentsRequest(
                topics=[ReassignableTopic(name=name, partitions=entries) for name, entries in by_topic.items()],
                timeout_ms=self._cluster.config.request_timeout_ms,
            )
            reply = await self._cluster.ask_controller(request, AlterPartitionReassignmentsResponse)
            raise_for_code(reply.error_code, reply.error_message)
            return {
                TopicPartition(topic.name, entry.partition_index): outcome(entry.error_code, entry.error_message, None)
                for topic in reply.responses
                for entry in topic.partitions
            }

        return await ask_for_each(self._cluster, "reassigning partitions", targets, ask, timeout_ms=timeout_ms)

    async def list_partition_reassignments(
        self, partitions: Collection[TopicPartition] | None = None, *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, Reassignment]:
        """The moves that are under way: of these partitions, or all."""

        async def attempt() -> dict[TopicPartition, Reassignment]:
            request = ListPartitionReassignmentsRequest(
                topics=None
                if partitions is None
                else [
                    ListPartitionReassignmentsTopics(name=topic, partition_indexes=numbers)
                    for topic, numbers in numbers_by_topic(partitions).items()
                ],
                timeout_ms=self._cluster.config.request_timeout_ms,
            )
            reply = await self._cluster.ask_controller(request, ListPartitionReassignmentsResponse)
            raise_for_code(reply.error_code, reply.error_message)
            return {
                TopicPartition(topic.name, entry.partition_index): Reassignment(
                    replicas=tuple(entry.replicas),
                    adding=tuple(entry.adding_replicas),
                    removing=tuple(entry.removing_replicas),
                )
                for topic in reply.topics
                for entry in topic.partitions
            }

        return await self._cluster.retry("listing reassignments", attempt, timeout_ms=timeout_ms)
