"""OffsetFetch: where a group's consumers have got to.

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
from tidelog.server.api.ports import Metadata
from tidelog.server.coordination.groups import GroupCoordinator
from tidelog.server.declaration import DESCRIBE_GROUP, DESCRIBE_TOPIC, Api
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.OFFSET_FETCH, versions=(1, 10), permissions=(DESCRIBE_GROUP, DESCRIBE_TOPIC))

_ERROR_OF_ITS_OWN_FROM = 2
_SEVERAL_GROUPS_FROM = 8
_TOPIC_IDS_FROM = 10
_NO_OFFSET = -1


class OffsetFetchHandler:
    def __init__(self, *, groups: GroupCoordinator, metadata: Metadata) -> None:
        self._groups = groups
        self._metadata = metadata

    async def handle(self, request: OffsetFetchRequest, context: RequestContext) -> OffsetFetchResponse:
        if context.version < _SEVERAL_GROUPS_FROM:
            return await self._fetch_for_one(request, context.version)
        groups: list[OffsetFetchResponseGroup] = []
        for group in request.groups:
            if context.version < _TOPIC_IDS_FROM:
                groups.append(await self._groups.fetch_offsets(group, require_stable=request.require_stable))
            else:
                groups.append(await self._fetch_by_id(group, request.require_stable))
        return OffsetFetchResponse(groups=groups)

    async def _fetch_for_one(self, request: OffsetFetchRequest, version: int) -> OffsetFetchResponse:
        topics = None
        if request.topics is not None:
            topics = [
                OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
                for topic in request.topics
            ]
        group = OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)
        found = await self._groups.fetch_offsets(group, require_stable=request.require_stable)
        if found.error_code and version < _ERROR_OF_ITS_OWN_FROM:
            return OffsetFetchResponse(
                topics=[
                    OffsetFetchResponseTopic(
                        name=topic.name,
                        partitions=[
                            OffsetFetchResponsePartition(
                                partition_index=number, committed_offset=_NO_OFFSET, error_code=found.error_code
                            )
                            for number in topic.partition_indexes
                        ],
                    )
                    for topic in request.topics or ()
                ]
            )
        return OffsetFetchResponse(
            error_code=found.error_code,
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
                for topic in found.topics
            ],
        )

    async def _fetch_by_id(self, group: OffsetFetchRequestGroup, require_stable: bool) -> OffsetFetchResponseGroup:
        named: list[OffsetFetchRequestTopics] | None = None
        unknown: list[OffsetFetchResponseTopics] = []
        if group.topics is not None:
            named = []
            for topic in group.topics:
                name = self._metadata.image.topic_name(topic.topic_id)
                numbers = topic.partition_indexes
                if name is None:
                    unknown.append(_unknown_topic(topic))
                else:
                    named.append(
                        OffsetFetchRequestTopics(name=name, topic_id=topic.topic_id, partition_indexes=numbers)
                    )
        request = OffsetFetchRequestGroup(
            group_id=group.group_id, member_id=group.member_id, member_epoch=group.member_epoch, topics=named
        )
        found = await self._groups.fetch_offsets(request, require_stable=require_stable)
        if found.error_code:
            return found
        topics: list[OffsetFetchResponseTopics] = []
        for found_topic in found.topics:
            # Topics that were deleted in this moment have no id any more, and their offsets are about to go too.
            image = self._metadata.image.topics.get(found_topic.name)
            if image is not None:
                topics.append(
                    OffsetFetchResponseTopics(name=image.name, topic_id=image.id, partitions=found_topic.partitions)
                )
        return OffsetFetchResponseGroup(group_id=found.group_id, topics=[*topics, *unknown])


def _unknown_topic(topic: OffsetFetchRequestTopics) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        topic_id=topic.topic_id,
        partitions=[
            OffsetFetchResponsePartitions(
                partition_index=number, committed_offset=_NO_OFFSET, error_code=ErrorCode.UNKNOWN_TOPIC_ID
            )
            for number in topic.partition_indexes
        ],
    )
