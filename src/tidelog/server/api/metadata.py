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
from tidelog.server.api.ports import Configuration, Metadata
from tidelog.server.coordination.auto_topics import TopicsOnDemand
from tidelog.server.declaration import CREATE_CLUSTER, CREATE_TOPIC, DESCRIBE_TOPIC, Api
from tidelog.server.replies.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED, TOPIC_OPERATIONS
from tidelog.server.replies.error_replies import refused
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.METADATA, versions=(0, 13), permissions=(DESCRIBE_TOPIC, CREATE_TOPIC, CREATE_CLUSTER))

FIRST_VERSION_WITHOUT_CREATION = 4
# Requests have a field for ids since version 10, and brokers answer such questions since 12 (KIP-516).
FIRST_VERSION_BY_ID = 12


class MetadataHandler:
    def __init__(
        self, *, metadata: Metadata, configuration: Configuration, topics_on_demand: TopicsOnDemand, broker_id: int
    ) -> None:
        self._metadata = metadata
        self._configuration = configuration
        self._topics_on_demand = topics_on_demand
        self._broker_id = broker_id

    def handle(self, request: MetadataRequest, context: RequestContext) -> Message:
        wanted = request.topics
        if wanted is None or (context.version == 0 and not wanted):
            every_topic = [
                self._describe(topic, _operations(request)) for topic in self._metadata.image.topics.values()
            ]
            return self._respond(request, context, every_topic)
        if context.version < FIRST_VERSION_BY_ID and any(
            topic.topic_id != ZERO_UUID or topic.name is None for topic in wanted
        ):
            # Such a version can neither be asked by id nor carry a topic without a name.
            return refused(API, request, context.version, ApiError(ErrorCode.INVALID_REQUEST))
        # A topic that is asked for twice is described once.
        distinct = {(topic.topic_id, topic.name): topic for topic in wanted}
        found = [self._find(request, topic) for topic in distinct.values()]
        may_create = request.allow_auto_topic_creation or context.version < FIRST_VERSION_WITHOUT_CREATION
        if may_create and self._configuration.config.auto_create_topics_enable:
            self._topics_on_demand.create(
                topic.name for topic in found if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and topic.name
            )
        return self._respond(request, context, found)

    def _find(self, request: MetadataRequest, wanted: MetadataRequestTopic) -> MetadataResponseTopic:
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
        if topic is not None:
            return self._describe(topic, _operations(request))
        return MetadataResponseTopic(
            error_code=problem,
            name=name,
            topic_id=wanted.topic_id,
            topic_authorized_operations=_operations(request) if name is not None else NOT_ASKED,
        )

    def _describe(self, topic: TopicImage, operations: int) -> MetadataResponseTopic:
        return MetadataResponseTopic(
            name=topic.name,
            topic_id=topic.id,
            is_internal=topic.name in INTERNAL_TOPICS,
            partitions=[self._describe_partition(number, each) for number, each in topic.partitions.items()],
            topic_authorized_operations=operations,
        )

    def _describe_partition(self, number: int, partition: PartitionImage) -> MetadataResponsePartition:
        led = partition.leader >= 0 and self._metadata.image.is_active(partition.leader)
        return MetadataResponsePartition(
            error_code=ErrorCode.NONE if led else ErrorCode.LEADER_NOT_AVAILABLE,
            partition_index=number,
            leader_id=partition.leader if led else -1,
            leader_epoch=partition.leader_epoch,
            replica_nodes=partition.replicas,
            isr_nodes=partition.isr,
            offline_replicas=[replica for replica in partition.replicas if not self._metadata.image.is_active(replica)],
        )

    def _respond(
        self, request: MetadataRequest, context: RequestContext, topics: list[MetadataResponseTopic]
    ) -> MetadataResponse:
        return MetadataResponse(
            brokers=_brokers(self._metadata.image, context.listener),
            cluster_id=self._metadata.image.cluster_id,
            controller_id=self._broker_id,
            topics=topics,
            cluster_authorized_operations=(
                CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_ASKED
            ),
        )


def _operations(request: MetadataRequest) -> int:
    return TOPIC_OPERATIONS if request.include_topic_authorized_operations else NOT_ASKED


def _brokers(image: ClusterImage, listener: str) -> list[MetadataResponseBroker]:
    """The brokers that serve clients, with the addresses of the listener that received the request."""
    return [
        MetadataResponseBroker(node_id=broker.id, host=endpoint.host, port=endpoint.port, rack=broker.rack)
        for broker in image.brokers.values()
        if (endpoint := broker.endpoint_or_first(listener)) is not None and not broker.fenced
    ]
