"""Metadata: the brokers, the topics, and who leads which partition.

Version 0 knows no null: an empty list asks for all topics. From version 4 on a client may forbid the creation of the
topics that it asks for; version 10 brought topic ids, 12 questions by id. Version 13 has an error for the whole reply.
"""

from __future__ import annotations

from tidelog.metadata.image import ClusterImage, PartitionImage, TopicImage
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import ZERO_UUID, Uuid
from tidelog.model.topics import INTERNAL_TOPICS, topic_name_problem
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tidelog.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tidelog.protocol.schema import Message
from tidelog.security.acls import AclResourceType, Operation
from tidelog.server.access.access import NOT_ASKED, Access
from tidelog.server.api.ports import Configuration, Metadata
from tidelog.server.coordination.auto_topics import TopicsOnDemand
from tidelog.server.declaration import CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_CLUSTER, DESCRIBE_TOPIC, Api
from tidelog.server.replies.error_replies import refused
from tidelog.server.routing.context import RequestContext

API = Api(
    key=ApiKey.METADATA,
    versions=(0, 13),
    permissions=(DESCRIBE_TOPIC, CREATE_TOPIC, CREATE_CLUSTER, DESCRIBE_CLUSTER),
)

FIRST_VERSION_WITHOUT_CREATION = 4
# Requests have a field for ids since version 10, and brokers answer such questions since 12 (KIP-516).
FIRST_VERSION_BY_ID = 12
# A name that no topic can have is not there either, and whoever may not create topics learns just that.
_NOT_THERE = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_TOPIC_EXCEPTION)


class MetadataHandler:
    def __init__(
        self,
        *,
        access: Access,
        metadata: Metadata,
        configuration: Configuration,
        topics_on_demand: TopicsOnDemand,
        broker_id: int,
    ) -> None:
        self._access = access
        self._metadata = metadata
        self._configuration = configuration
        self._topics_on_demand = topics_on_demand
        self._broker_id = broker_id

    def handle(self, request: MetadataRequest, context: RequestContext) -> Message:
        wanted = request.topics
        if wanted is None or (context.version == 0 and not wanted):
            image = self._metadata.image
            topics = image.topics
            hidden = self._access.forbidden(context, Operation.DESCRIBE, AclResourceType.TOPIC, topics, quiet=True)
            active = _active(image)
            every_topic = [
                _describe(topic, active, self._operations(request, context, topic.name))
                for topic in topics.values()
                if topic.name not in hidden
            ]
            return self._respond(request, context, every_topic)
        if context.version < FIRST_VERSION_BY_ID and any(
            topic.topic_id != ZERO_UUID or topic.name is None for topic in wanted
        ):
            # Such a version can neither be asked by id nor carry a topic without a name.
            return refused(API, request, context.version, ApiError(ErrorCode.INVALID_REQUEST))
        # A topic that is asked for twice is described once.
        distinct = {(topic.topic_id, topic.name): topic for topic in wanted}
        found = [self._find(request, topic, context) for topic in distinct.values()]
        may_create = request.allow_auto_topic_creation or context.version < FIRST_VERSION_WITHOUT_CREATION
        if may_create and self._configuration.config.auto_create_topics_enable:
            found = self._create_missing(found, context)
        return self._respond(request, context, found)

    def _create_missing(
        self, found: list[MetadataResponseTopic], context: RequestContext
    ) -> list[MetadataResponseTopic]:
        """Begin to create them, in the client's name; those that it may not create are refused instead."""
        missing = [topic.name for topic in found if topic.name is not None and topic.error_code in _NOT_THERE]
        forbidden: frozenset[str] = frozenset()
        if missing and not self._access.allows_cluster(context, Operation.CREATE, quiet=True):
            forbidden = self._access.forbidden(context, Operation.CREATE, AclResourceType.TOPIC, missing)
        valid = (topic.name for topic in found if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        self._topics_on_demand.create((name for name in valid if name and name not in forbidden), context)
        return [_forbidden(topic.name) if topic.name in forbidden else topic for topic in found]

    def _find(
        self, request: MetadataRequest, wanted: MetadataRequestTopic, context: RequestContext
    ) -> MetadataResponseTopic:
        topic: TopicImage | None
        if wanted.topic_id != ZERO_UUID:
            topic = self._metadata.image.topics_by_id.get(Uuid(wanted.topic_id))
            problem = ErrorCode.UNKNOWN_TOPIC_ID
            name = None
        else:
            name = wanted.name or ""
            topic = self._metadata.image.topics.get(name)
            bad = topic_name_problem(name) is not None
            problem = ErrorCode.INVALID_TOPIC_EXCEPTION if bad else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        known = name if topic is None else topic.name
        if known is not None and not self._access.allows(context, Operation.DESCRIBE, AclResourceType.TOPIC, known):
            return _forbidden(name, wanted.topic_id)
        if topic is not None:
            active = _active(self._metadata.image)
            return _describe(topic, active, self._operations(request, context, topic.name))
        return MetadataResponseTopic(
            error_code=problem,
            name=name,
            topic_id=wanted.topic_id,
            topic_authorized_operations=self._operations(request, context, name),
        )

    def _operations(self, request: MetadataRequest, context: RequestContext, name: str | None) -> int:
        if name is None or not request.include_topic_authorized_operations:
            return NOT_ASKED
        return self._access.operations(context, AclResourceType.TOPIC, name)

    def _respond(
        self, request: MetadataRequest, context: RequestContext, topics: list[MetadataResponseTopic]
    ) -> MetadataResponse:
        return MetadataResponse(
            brokers=_brokers(self._metadata.image, context.listener),
            cluster_id=self._metadata.image.cluster_id,
            controller_id=self._broker_id,
            topics=topics,
            cluster_authorized_operations=(
                self._access.cluster_operations(context) if request.include_cluster_authorized_operations else NOT_ASKED
            ),
        )


def _active(image: ClusterImage) -> frozenset[int]:
    """The brokers that are registered and may lead."""
    return frozenset(each for each, broker in image.brokers.items() if broker.active)


def _describe(topic: TopicImage, active: frozenset[int], operations: int) -> MetadataResponseTopic:
    # A list of all topics calls this ten thousand times and more, so it allocates little.
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=tuple([_describe_partition(number, each, active) for number, each in topic.partitions.items()]),
        topic_authorized_operations=operations,
    )


def _describe_partition(number: int, partition: PartitionImage, active: frozenset[int]) -> MetadataResponsePartition:
    leader, replicas = partition.leader, partition.replicas
    led = leader in active
    return MetadataResponsePartition(
        error_code=ErrorCode.NONE if led else ErrorCode.LEADER_NOT_AVAILABLE,
        partition_index=number,
        leader_id=leader if led else -1,
        leader_epoch=partition.leader_epoch,
        replica_nodes=replicas,
        isr_nodes=partition.isr,
        offline_replicas=() if active.issuperset(replicas) else [each for each in replicas if each not in active],
    )


def _forbidden(name: str | None, topic_id: bytes = ZERO_UUID) -> MetadataResponseTopic:
    """With what the client has named it by, and nothing else."""
    return MetadataResponseTopic(
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        name=name,
        topic_id=topic_id,
        topic_authorized_operations=NOT_ASKED,
    )


def _brokers(image: ClusterImage, listener: str) -> list[MetadataResponseBroker]:
    """The brokers that serve clients, with the addresses of the listener that received the request."""
    return [
        MetadataResponseBroker(node_id=broker.id, host=endpoint.host, port=endpoint.port, rack=broker.rack)
        for broker in image.brokers.values()
        if (endpoint := broker.endpoint_or_first(listener)) is not None and not broker.fenced
    ]
