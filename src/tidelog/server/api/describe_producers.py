"""DescribeProducers: who has written to a partition and which transactions are open there (KIP-664).

Every replica can answer, those of followers too. Who asks for it, in a tagged field that only tidelog knows, learns the
last batches of each producer too, by which a replica tells a duplicate from a gap (decision 46).
"""

from __future__ import annotations

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import NO_SEQUENCE
from tidelog.model.topics import topic_name_problem
from tidelog.partition.producer_entry import BatchMetadata
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.describe_producers_request import DescribeProducersRequest
from tidelog.protocol.messages.describe_producers_response import (
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    RetainedBatch,
    TopicResponse,
)
from tidelog.security.acls import AclResourceType, Operation
from tidelog.server.access.access import Access
from tidelog.server.declaration import READ_TOPIC, Api
from tidelog.server.replicas.registry import Replicas
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.DESCRIBE_PRODUCERS, versions=(0, 0), permissions=(READ_TOPIC,))


def handle(
    access: Access, replicas: Replicas, broker_id: int, request: DescribeProducersRequest, context: RequestContext
) -> DescribeProducersResponse:
    valid = (topic.name for topic in request.topics if topic_name_problem(topic.name) is None)
    forbidden = access.forbidden(context, Operation.READ, AclResourceType.TOPIC, valid)
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[
                    PartitionResponse(partition_index=partition, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
                    if topic.name in forbidden
                    else _describe(replicas, broker_id, topic.name, partition, with_batches=request.include_batches)
                    for partition in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


def _describe(
    replicas: Replicas, broker_id: int, topic: str, partition: int, *, with_batches: bool
) -> PartitionResponse:
    problem = topic_name_problem(topic)
    if problem is not None:
        return PartitionResponse(
            partition_index=partition, error_code=ErrorCode.INVALID_TOPIC_EXCEPTION, error_message=problem
        )
    replica = replicas.readable(topic, partition)
    if isinstance(replica, ErrorCode):
        return PartitionResponse(
            partition_index=partition,
            error_code=replica,
            error_message=f"broker {broker_id} has no replica of {topic}-{partition} that it can read",
        )
    return PartitionResponse(
        partition_index=partition,
        active_producers=[
            ProducerState(
                producer_id=entry.producer_id,
                producer_epoch=entry.epoch,
                last_sequence=entry.last_sequence,
                last_timestamp=entry.last_timestamp,
                coordinator_epoch=entry.coordinator_epoch,
                current_txn_start_offset=entry.transaction_first_offset,
                last_batches=[_batch(batch) for batch in entry.batches] if with_batches else None,
            )
            for entry in replica.log.producer_states
        ],
    )


def _batch(batch: BatchMetadata) -> RetainedBatch:
    return RetainedBatch(
        # Coordinators write without sequences.
        base_sequence=batch.first_sequence if batch.last_sequence >= 0 else NO_SEQUENCE,
        last_sequence=batch.last_sequence,
        last_offset=batch.last_offset,
        timestamp=batch.timestamp,
    )
