"""OffsetDelete: deletes committed offsets of topics that no member of the group is subscribed to (KIP-496)."""

from __future__ import annotations

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tidelog.protocol.messages.offset_delete_response import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from tidelog.protocol.schema import Message
from tidelog.security.acls import AclResourceType, Operation
from tidelog.server.access.access import Access
from tidelog.server.api.ports import Metadata
from tidelog.server.coordination.groups import GroupCoordinator
from tidelog.server.declaration import DELETE_GROUP, READ_TOPIC, Api
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.OFFSET_DELETE, versions=(0, 0), permissions=(DELETE_GROUP, READ_TOPIC))


async def handle(
    access: Access,
    metadata: Metadata,
    groups: GroupCoordinator,
    request: OffsetDeleteRequest,
    context: RequestContext,
) -> OffsetDeleteResponse:
    if not access.allows(context, Operation.DELETE, AclResourceType.GROUP, request.group_id):
        return OffsetDeleteResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    if not request.group_id:
        return OffsetDeleteResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    known: list[OffsetDeleteRequestTopic] = []
    missing: dict[str, list[OffsetDeleteResponsePartition]] = {}
    names = (topic.name for topic in request.topics)
    forbidden = access.forbidden(context, Operation.READ, AclResourceType.TOPIC, names)
    for topic in request.topics:
        there: list[OffsetDeleteRequestPartition] = []
        allowed = topic.name not in forbidden
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if allowed else ErrorCode.TOPIC_AUTHORIZATION_FAILED
        for partition in topic.partitions:
            if allowed and metadata.image.partition(topic.name, partition.partition_index) is not None:
                there.append(partition)
            else:
                refused = OffsetDeleteResponsePartition(partition_index=partition.partition_index, error_code=code)
                missing.setdefault(topic.name, []).append(refused)
        if there:
            known.append(OffsetDeleteRequestTopic(name=topic.name, partitions=there))
    message = OffsetDeleteRequest(group_id=request.group_id, topics=known)
    outcome = groups.ask(request.group_id, message, context)
    reply = outcome if isinstance(outcome, Message) else await outcome
    assert isinstance(reply, OffsetDeleteResponse)
    if reply.error_code:
        return reply
    topics: dict[str, list[OffsetDeleteResponsePartition]] = {}
    for found in reply.topics:
        # Twice, if the request names it twice.
        topics.setdefault(found.name, []).extend(found.partitions)
    for name, partitions in missing.items():
        topics.setdefault(name, []).extend(partitions)
    return OffsetDeleteResponse(
        topics=[OffsetDeleteResponseTopic(name=name, partitions=partitions) for name, partitions in topics.items()]
    )
