"""OffsetFetch: the committed positions of a group's consumers.

Version 1 has errors per partition only; from 2 on the reply has one of its own, and a request without topics asks for
all of them; 7 can insist on offsets that no transaction may change (KIP-447); 8 asks for several groups at once
(KIP-709), which may have different coordinators; 10 has topic ids instead of names.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.model.errors import ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
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
from tidelog.security.acls import AclResourceType, Operation
from tidelog.server.access.access import Access
from tidelog.server.api.ports import Metadata
from tidelog.server.coordination.groups import GroupCoordinator
from tidelog.server.declaration import DESCRIBE_GROUP, DESCRIBE_TOPIC, Api
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.OFFSET_FETCH, versions=(1, 10), permissions=(DESCRIBE_GROUP, DESCRIBE_TOPIC))

_ERROR_OF_ITS_OWN_FROM = 2
_SEVERAL_GROUPS_FROM = 8
_TOPIC_IDS_FROM = 10
_NO_OFFSET = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchHandler:
    access: Access
    groups: GroupCoordinator
    metadata: Metadata

    async def handle(self, request: OffsetFetchRequest, context: RequestContext) -> OffsetFetchResponse:
        if context.version < _SEVERAL_GROUPS_FROM:
            return await self._fetch_for_one(request, context)
        found = [await self._fetch(group, request, context) for group in request.groups]
        return OffsetFetchResponse(groups=found)

    async def _fetch_for_one(self, request: OffsetFetchRequest, context: RequestContext) -> OffsetFetchResponse:
        wanted = None
        if request.topics is not None:
            wanted = [
                OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
                for topic in request.topics
            ]
        group = OffsetFetchRequestGroup(group_id=request.group_id, topics=wanted)
        found = await self._fetch(group, request, context)
        code, topics = found.error_code, found.topics
        if code and context.version < _ERROR_OF_ITS_OWN_FROM:
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

    async def _fetch(
        self, group: OffsetFetchRequestGroup, request: OffsetFetchRequest, context: RequestContext
    ) -> OffsetFetchResponseGroup:
        group_id = group.group_id
        if not self.access.allows(context, Operation.DESCRIBE, AclResourceType.GROUP, group_id):
            return OffsetFetchResponseGroup(group_id=group_id, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
        by_id = context.version >= _TOPIC_IDS_FROM
        named: list[OffsetFetchRequestTopics] | None = None
        refused: list[OffsetFetchResponseTopics] = []
        if group.topics is not None:
            named = []
            for topic in group.topics:
                name = self.metadata.image.topic_name(topic.topic_id) if by_id else topic.name
                if name is None:
                    refused.append(_failed(topic, ErrorCode.UNKNOWN_TOPIC_ID))
                else:
                    named.append(replaced(topic, name=name))
            forbidden = self._forbidden(named, context)
            refused += [
                _failed(topic, ErrorCode.TOPIC_AUTHORIZATION_FAILED) for topic in named if topic.name in forbidden
            ]
            named = [topic for topic in named if topic.name not in forbidden]
        found = await self.groups.fetch_offsets(replaced(group, topics=named), require_stable=request.require_stable)
        if found.error_code:
            return found
        topics = list(found.topics)
        if named is None:
            forbidden = self._forbidden(topics, context)
            topics = [topic for topic in topics if topic.name not in forbidden]
        if by_id:
            # Topics that have just been deleted have no id any more, and their offsets are about to be deleted too.
            images = [(topic, self.metadata.image.topics.get(topic.name)) for topic in topics]
            topics = [replaced(topic, topic_id=image.id) for topic, image in images if image is not None]
        return OffsetFetchResponseGroup(group_id=found.group_id, topics=[*topics, *refused])

    def _forbidden(
        self, topics: Sequence[OffsetFetchRequestTopics | OffsetFetchResponseTopics], context: RequestContext
    ) -> frozenset[str]:
        names = (topic.name for topic in topics)
        return self.access.forbidden(context, Operation.DESCRIBE, AclResourceType.TOPIC, names)


def _failed(topic: OffsetFetchRequestTopics, code: int) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            OffsetFetchResponsePartitions(partition_index=number, committed_offset=_NO_OFFSET, error_code=code)
            for number in topic.partition_indexes
        ],
    )
