"""OffsetForLeaderEpoch: where a leader's epoch ended, so that readers can detect a truncation (KIP-320)."""

from __future__ import annotations

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
)
from tidelog.protocol.messages.offset_for_leader_epoch_response import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from tidelog.security.acls import AclResourceType, Operation
from tidelog.server.access.access import Access
from tidelog.server.declaration import CLUSTER_ACTION, DESCRIBE_TOPIC, Api
from tidelog.server.replicas.registry import Replicas
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.OFFSET_FOR_LEADER_EPOCH, versions=(2, 4), permissions=(DESCRIBE_TOPIC, CLUSTER_ACTION))


def handle(
    access: Access, replicas: Replicas, request: OffsetForLeaderEpochRequest, context: RequestContext
) -> OffsetForLeaderEpochResponse:
    forbidden: frozenset[str] = frozenset()
    if not access.allows_cluster(context, Operation.CLUSTER_ACTION, quiet=True):
        names = (topic.topic for topic in request.topics)
        forbidden = access.forbidden(context, Operation.DESCRIBE, AclResourceType.TOPIC, names)
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    EpochEndOffset(partition=wanted.partition, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
                    if topic.topic in forbidden
                    else _end_of(replicas, topic.topic, wanted)
                    for wanted in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _end_of(replicas: Replicas, topic: str, wanted: OffsetForLeaderPartition) -> EpochEndOffset:
    replica = replicas.leader_in_epoch(topic, wanted.partition, current_leader_epoch=wanted.current_leader_epoch)
    if isinstance(replica, ErrorCode):
        return EpochEndOffset(partition=wanted.partition, error_code=replica)
    log = replica.log
    epoch, end_offset = log.leader_epochs.end_offset_for(wanted.leader_epoch, log_end_offset=log.log_end_offset)
    return EpochEndOffset(partition=wanted.partition, leader_epoch=epoch, end_offset=end_offset)
