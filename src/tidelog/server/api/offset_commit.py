"""OffsetCommit: stores the positions of a group's consumers.

From version 10 on topics are named by id (KIP-848). Topics that do not exist are refused here, the rest is decided in
`tidelog.coordinators.groups.offset_commit`.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.model.errors import ApiError, ErrorCode
from tidelog.network.later import Later
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.protocol.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from tidelog.protocol.schema import Message
from tidelog.security.acls import AclResourceType, Operation
from tidelog.server.access.access import Access
from tidelog.server.api.ports import Metadata
from tidelog.server.coordination.groups import GroupCoordinator
from tidelog.server.declaration import READ_GROUP, READ_TOPIC, Api
from tidelog.server.replies import error_replies
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.OFFSET_COMMIT, versions=(2, 10), permissions=(READ_GROUP, READ_TOPIC))

_TOPIC_IDS_FROM = 10


def handle(
    access: Access,
    metadata: Metadata,
    groups: GroupCoordinator,
    request: OffsetCommitRequest,
    context: RequestContext,
) -> Message | Later[Message]:
    if not access.allows(context, Operation.READ, AclResourceType.GROUP, request.group_id):
        return error_replies.refused(API, request, context.version, ApiError(ErrorCode.GROUP_AUTHORIZATION_FAILED))
    by_id = context.version >= _TOPIC_IDS_FROM
    names = [metadata.image.topic_name(topic.topic_id) if by_id else topic.name for topic in request.topics]
    asked = (name for name in names if name is not None)
    forbidden = access.forbidden(context, Operation.READ, AclResourceType.TOPIC, asked)
    known: list[OffsetCommitRequestTopic] = []
    refused: list[OffsetCommitResponseTopic] = []
    for topic, name in zip(request.topics, names, strict=True):
        if name in forbidden:
            refused.append(_refused(topic, topic.name, topic.partitions, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
            continue
        image = None if name is None else metadata.image.topics.get(name)
        if name is None or image is None:
            code = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            refused.append(_refused(topic, topic.name, topic.partitions, code))
            continue
        there = [each for each in topic.partitions if each.partition_index in image.partitions]
        if len(there) < len(topic.partitions):
            missing = [each for each in topic.partitions if each.partition_index not in image.partitions]
            # By its name, also if it was asked for by its id: so the coordinator answers for the other partitions.
            refused.append(_refused(topic, name, missing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        if there:
            known.append(OffsetCommitRequestTopic(name=name, topic_id=topic.topic_id, partitions=there))
    if request.topics and not known:
        return OffsetCommitResponse(topics=refused)
    if refused or context.version >= _TOPIC_IDS_FROM:
        request = OffsetCommitRequest(
            group_id=request.group_id,
            generation_id_or_member_epoch=request.generation_id_or_member_epoch,
            member_id=request.member_id,
            group_instance_id=request.group_instance_id,
            retention_time_ms=request.retention_time_ms,
            topics=known,
        )
    outcome = groups.ask(request.group_id, request, context)
    if not refused:
        return outcome
    if isinstance(outcome, Message):
        return _joined(outcome, refused)
    return outcome.then(lambda reply: _joined(reply, refused))


def _joined(reply: Message, refused: list[OffsetCommitResponseTopic]) -> OffsetCommitResponse:
    assert isinstance(reply, OffsetCommitResponse)
    topics: dict[tuple[str, bytes], list[OffsetCommitResponsePartition]] = {}
    for topic in (*reply.topics, *refused):
        topics.setdefault((topic.name, topic.topic_id), []).extend(topic.partitions)
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(name=name, topic_id=topic_id, partitions=partitions)
            for (name, topic_id), partitions in topics.items()
        ]
    )


def _refused(
    topic: OffsetCommitRequestTopic, name: str, partitions: Sequence[OffsetCommitRequestPartition], code: ErrorCode
) -> OffsetCommitResponseTopic:
    return OffsetCommitResponseTopic(
        name=name,
        topic_id=topic.topic_id,
        partitions=[
            OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=code)
            for partition in partitions
        ],
    )
