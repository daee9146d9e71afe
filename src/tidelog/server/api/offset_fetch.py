"""OffsetFetch: the committed positions of a group's consumers.

Version 1 has errors per partition only; from 2 on the reply has one of its own, and a request without topics asks for
all of them; 7 can insist on offsets that no transaction may change (KIP-447); 8 asks for several groups at once
(KIP-709), which may have different coordinators; 10 has topic ids instead of names.
"""

from __future__ import annotations

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tidelog.protocol.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from tidelog.protocol.schema import replaced
from tidelog.server.api.ports import Metadata
from tidelog.server.coordination.groups import GroupCoordinator
from tidelog.server.declaration import DESCRIBE_GROUP, DESCRIBE_TOPIC, Api
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.OFFSET_FETCH, versions=(1, 10), permissions=(DESCRIBE_GROUP, DESCRIBE_TOPIC))

_ERROR_OF_ITS_OWN_FROM = 2
_SEVERAL_GROUPS_FROM = 8
_TOPIC_IDS_FROM = 10
_NO_OFFSET = -1


async def handle(
    groups: GroupCoordinator, metadata: Metadata, request: OffsetFetchRequest, context: RequestContext
) -> OffsetFetchResponse:
    if context.version < _SEVERAL_GROUPS_FROM:
        return await _fetch_for_one(groups, request, context.version)
    found: list[OffsetFetchResponseGroup] = []
    for group in request.groups:
        if context.version < _TOPIC_IDS_FROM:
            found.append(await groups.fetch_offsets(group, require_stable=request.require_stable))
        else:
            found.append(await _fetch_by_id(groups, metadata, group, request.require_stable))
    return OffsetFetchResponse(groups=found)


async def _fetch_for_one(groups: GroupCoordinator, request: OffsetFetchRequest, version: int) -> OffsetFetchResponse:
    wanted = None
    if request.topics is not None:
        wanted = [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ]
    group = OffsetFetchRequestGroup(group_id=request.group_id, topics=wanted)
    found = await groups.fetch_offsets(group, require_stable=request.require_stable)
    code, topics = found.error_code, found.topics
    if code and version < _ERROR_OF_ITS_OWN_FROM:
        code, topics = ErrorCode.NONE, [_failed(topic, code) for topic in wanted or ()]
    return OffsetFetchResponse(
        error_code=code,
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=partition.partition_index,
                        committed_offset=partition.committed_offset,
                        committed_leader_epoch=partition.committed_leader_epoch,
                        metadata=partition.metadata,
                        error_code=partition.error_code,
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in topics
        ],
    )


async def _fetch_by_id(
    groups: GroupCoordinator, metadata: Metadata, group: OffsetFetchRequestGroup, require_stable: bool
) -> OffsetFetchResponseGroup:
    named: list[OffsetFetchRequestTopics] | None = None
    unknown: list[OffsetFetchResponseTopics] = []
    if group.topics is not None:
        named = []
        for topic in group.topics:
            name = metadata.image.topic_name(topic.topic_id)
            if name is None:
                unknown.append(_failed(topic, ErrorCode.UNKNOWN_TOPIC_ID))
            else:
                named.append(replaced(topic, name=name))
    found = await groups.fetch_offsets(replaced(group, topics=named), require_stable=require_stable)
    if found.error_code:
        return found
    topics: list[OffsetFetchResponseTopics] = []
    for found_topic in found.topics:
        # Topics that have just been deleted have no id any more, and their offsets are about to be deleted too.
        image = metadata.image.topics.get(found_topic.name)
        if image is not None:
            topics.append(replaced(found_topic, topic_id=image.id))
    return OffsetFetchResponseGroup(group_id=found.group_id, topics=[*topics, *unknown])


def _failed(topic: OffsetFetchRequestTopics, code: int) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            OffsetFetchResponsePartitions(partition_index=number, committed_offset=_NO_OFFSET, error_code=code)
            for number in topic.partition_indexes
        ],
    )
