"""Topics: create, delete, list, describe, and give them more partitions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.cluster.metadata import known
from tidelog.client.cluster.routing import ask_for_each
from tidelog.client.errors import outcome, raise_any
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import Uuid, format_uuid
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.network.client_connection import UnsupportedByBroker
from tidelog.protocol.messages.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from tidelog.protocol.messages.create_partitions_response import CreatePartitionsResponse
from tidelog.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from tidelog.protocol.messages.create_topics_response import CreateTopicsResponse
from tidelog.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from tidelog.protocol.messages.delete_topics_response import DeleteTopicsResponse
from tidelog.protocol.messages.describe_topic_partitions_request import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from tidelog.protocol.messages.describe_topic_partitions_response import (
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
)

# The broker's num.partitions and default.replication.factor.
BROKER_DEFAULT = -1

_PARTITIONS_PER_REPLY = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    """`assignment` names the replicas of each partition, and then takes the place of the two numbers."""

    name: str
    partitions: int = BROKER_DEFAULT
    replication_factor: int = BROKER_DEFAULT
    assignment: Mapping[int, Sequence[int]] = field(default_factory=dict)
    configs: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedTopic:
    """The numbers are -1 where the broker does not tell (before KIP-525)."""

    name: str
    topic_id: Uuid
    partitions: int
    replication_factor: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicListing:
    name: str
    topic_id: Uuid
    internal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionDescription:
    """`leader` is None while there is none; the last two are None where the broker does not know of them (KIP-966)."""

    partition: int
    leader: int | None
    leader_epoch: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    offline: tuple[int, ...]
    eligible_leaders: tuple[int, ...] | None = None
    last_known_eligible: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDescription:
    name: str
    topic_id: Uuid
    internal: bool
    partitions: tuple[PartitionDescription, ...]

    @property
    def replication_factor(self) -> int:
        return len(self.partitions[0].replicas) if self.partitions else 0


class TopicAdmin:
    _cluster: Cluster

    async def create_topics(
        self, topics: Iterable[NewTopic], *, validate_only: bool = False, timeout_ms: float | None = None
    ) -> dict[str, CreatedTopic | ApiError]:
        """Create them all, or (`validate_only`) find out whether they could be."""
        by_name = {topic.name: topic for topic in topics}

        async def ask(names: list[str]) -> Mapping[str, CreatedTopic | ApiError]:
            request = CreateTopicsRequest(
                topics=[_creatable(by_name[name]) for name in names],
                timeout_ms=self._cluster.config.request_timeout_ms,
                validate_only=validate_only,
            )
            reply = await self._cluster.ask_controller(request, CreateTopicsResponse)
            return {
                entry.name: outcome(
                    entry.error_code,
                    entry.error_message,
                    CreatedTopic(
                        name=entry.name,
                        topic_id=Uuid(entry.topic_id),
                        partitions=entry.num_partitions,
                        replication_factor=entry.replication_factor,
                    ),
                )
                for entry in reply.topics
            }

        return await ask_for_each(self._cluster, "creating topics", by_name, ask, timeout_ms=timeout_ms)

    async def create_topic(
        self,
        name: str,
        *,
        partitions: int = BROKER_DEFAULT,
        replication_factor: int = BROKER_DEFAULT,
        configs: Mapping[str, str | None] | None = None,
    ) -> CreatedTopic:
        topic = NewTopic(name=name, partitions=partitions, replication_factor=replication_factor, configs=configs or {})
        return raise_any(await self.create_topics([topic]))[name]

    async def delete_topics(
        self, names: Collection[str], *, timeout_ms: float | None = None
    ) -> dict[str, ApiError | None]:
        async def ask(left: list[str]) -> Mapping[str, ApiError | None]:
            # Filled for all versions: from 6 on the first field counts, before that the second.
            request = DeleteTopicsRequest(
                topics=[DeleteTopicState(name=name) for name in left],
                topic_names=left,
                timeout_ms=self._cluster.config.request_timeout_ms,
            )
            reply = await self._cluster.ask_controller(request, DeleteTopicsResponse)
            return {
                entry.name: outcome(entry.error_code, entry.error_message or f"topic {entry.name!r}", None)
                for entry in reply.responses
                if entry.name is not None
            }

        return await ask_for_each(self._cluster, "deleting topics", names, ask, timeout_ms=timeout_ms)

    async def delete_topics_by_id(
        self, topic_ids: Collection[Uuid], *, timeout_ms: float | None = None
    ) -> dict[Uuid, ApiError | None]:
        """A topic that was deleted, and recreated with the same name, has another id and stays. Raises
        UnsupportedByBroker where brokers delete topics by their names only, before Apache Kafka 2.8."""

        async def ask(left: list[Uuid]) -> Mapping[Uuid, ApiError | None]:
            request = DeleteTopicsRequest(
                topics=[DeleteTopicState(topic_id=topic_id) for topic_id in left],
                timeout_ms=self._cluster.config.request_timeout_ms,
            )
            reply = await self._cluster.ask_controller(request, DeleteTopicsResponse)
            if not reply.responses:
                # Before version 6 there are no ids in a request, so that this one has named nothing.
                raise UnsupportedByBroker("DeleteTopics: the broker takes names of topics only, and no ids")
            return {
                Uuid(entry.topic_id): outcome(
                    entry.error_code, entry.error_message or f"topic id {format_uuid(entry.topic_id)}", None
                )
                for entry in reply.responses
            }

        return await ask_for_each(self._cluster, "deleting topics", topic_ids, ask, timeout_ms=timeout_ms)

    async def create_partitions(
        self,
        counts: Mapping[str, int],
        *,
        assignments: Mapping[str, Sequence[Sequence[int]]] | None = None,
        validate_only: bool = False,
        timeout_ms: float | None = None,
    ) -> dict[str, ApiError | None]:
        """Raise topics to these numbers of partitions. `assignments` names the replicas of the new ones."""
        placed = assignments or {}

        async def ask(left: list[str]) -> Mapping[str, ApiError | None]:
            request = CreatePartitionsRequest(
                topics=[
                    CreatePartitionsTopic(
                        name=name,
                        count=counts[name],
                        assignments=[CreatePartitionsAssignment(broker_ids=ids) for ids in placed[name]]
                        if name in placed
                        else None,
                    )
                    for name in left
                ],
                timeout_ms=self._cluster.config.request_timeout_ms,
                validate_only=validate_only,
            )
            reply = await self._cluster.ask_controller(request, CreatePartitionsResponse)
            return {entry.name: outcome(entry.error_code, entry.error_message, None) for entry in reply.results}

        return await ask_for_each(self._cluster, "creating partitions", counts, ask, timeout_ms=timeout_ms)

    async def list_topics(self, *, internal: bool = True) -> list[TopicListing]:
        """All topics by name; with `internal=False` without the system's own."""
        metadata = await self._cluster.retry("listing topics", lambda: self._cluster.fetch_metadata(None))
        return [
            TopicListing(name=name, topic_id=topic.topic_id, internal=topic.internal)
            for name, topic in sorted(metadata.topics.items())
            if internal or not topic.internal
        ]

    async def describe_topics(self, names: Collection[str]) -> dict[str, TopicDescription | ApiError]:
        async def attempt() -> dict[str, TopicDescription | ApiError]:
            try:
                return await self._describe_by_pages(names)
            except UnsupportedByBroker:
                return await self._describe_by_metadata(names)

        return await self._cluster.retry("describing topics", attempt)

    async def _describe_by_pages(self, names: Collection[str]) -> dict[str, TopicDescription | ApiError]:
        """DescribeTopicPartitions (KIP-966) answers in pages; a topic may be spread over several of them."""
        described: dict[str, TopicDescription | ApiError] = {}
        cursor: Cursor | None = None
        wanted = sorted(names)
        while wanted:
            request = DescribeTopicPartitionsRequest(
                topics=[TopicRequest(name=name) for name in wanted],
                response_partition_limit=_PARTITIONS_PER_REPLY,
                cursor=cursor,
            )
            reply = await self._cluster.ask_any(request, DescribeTopicPartitionsResponse)
            for topic in reply.topics:
                if topic.name is None:
                    continue
                before = described.get(topic.name)
                earlier = before.partitions if isinstance(before, TopicDescription) else ()
                partitions = sorted((*earlier, *map(_described, topic.partitions)), key=lambda part: part.partition)
                page = TopicDescription(
                    name=topic.name,
                    topic_id=Uuid(topic.topic_id),
                    internal=topic.is_internal,
                    partitions=tuple(partitions),
                )
                described[topic.name] = outcome(topic.error_code, f"topic {topic.name!r}", page)
            if reply.next_cursor is None:
                break
            cursor = Cursor(topic_name=reply.next_cursor.topic_name, partition_index=reply.next_cursor.partition_index)
            wanted = [name for name in wanted if name >= cursor.topic_name]
        return described

    async def _describe_by_metadata(self, names: Collection[str]) -> dict[str, TopicDescription | ApiError]:
        metadata = await self._cluster.fetch_metadata(names)
        described: dict[str, TopicDescription | ApiError] = {}
        for name in names:
            topic = metadata.topics.get(name)
            if topic is None:
                code = metadata.topic_errors.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                described[name] = ApiError(code, f"topic {name!r}")
                continue
            described[name] = TopicDescription(
                name=name,
                topic_id=topic.topic_id,
                internal=topic.internal,
                partitions=tuple(
                    PartitionDescription(
                        partition=part.partition,
                        leader=known(part.leader),
                        leader_epoch=part.leader_epoch,
                        replicas=part.replicas,
                        in_sync=part.in_sync,
                        offline=part.offline,
                    )
                    for part in topic.partitions
                ),
            )
        return described


def _creatable(topic: NewTopic) -> CreatableTopic:
    placed = bool(topic.assignment)
    return CreatableTopic(
        name=topic.name,
        num_partitions=BROKER_DEFAULT if placed else topic.partitions,
        replication_factor=BROKER_DEFAULT if placed else topic.replication_factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=number, broker_ids=ids)
            for number, ids in topic.assignment.items()
        ],
        configs=[CreatableTopicConfig(name=name, value=value) for name, value in topic.configs.items()],
    )


def _described(entry: DescribeTopicPartitionsResponsePartition) -> PartitionDescription:
    eligible = entry.eligible_leader_replicas
    last_known = entry.last_known_elr
    return PartitionDescription(
        partition=entry.partition_index,
        leader=known(entry.leader_id),
        leader_epoch=entry.leader_epoch,
        replicas=tuple(entry.replica_nodes),
        in_sync=tuple(entry.isr_nodes),
        offline=tuple(entry.offline_replicas),
        eligible_leaders=None if eligible is None else tuple(eligible),
        last_known_eligible=None if last_known is None else tuple(last_known),
    )
