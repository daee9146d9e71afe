"""ConsumerGroupDescribe: state, members and assignments of consumer groups (KIP-848). Version 1 has member types."""

from __future__ import annotations

from itertools import chain

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from tidelog.protocol.messages.consumer_group_describe_response import (
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from tidelog.protocol.schema import replaced
from tidelog.security.acls import AclResourceType, Operation
from tidelog.server.access.access import Access
from tidelog.server.api.consumer_group_heartbeat import is_enabled
from tidelog.server.api.ports import Configuration, Metadata
from tidelog.server.coordination.groups import GroupCoordinator
from tidelog.server.declaration import DESCRIBE_GROUP, DESCRIBE_TOPIC, Api
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.CONSUMER_GROUP_DESCRIBE, versions=(0, 1), permissions=(DESCRIBE_GROUP, DESCRIBE_TOPIC))


def handle(
    access: Access,
    metadata: Metadata,
    configuration: Configuration,
    groups: GroupCoordinator,
    request: ConsumerGroupDescribeRequest,
    context: RequestContext,
) -> ConsumerGroupDescribeResponse:
    enabled = is_enabled(metadata, configuration)

    def describe(group_id: str) -> DescribedGroup:
        if not enabled:
            return DescribedGroup(group_id=group_id, error_code=ErrorCode.UNSUPPORTED_VERSION)
        if group_id in forbidden:
            return DescribedGroup(group_id=group_id, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
        if not group_id:
            return DescribedGroup(group_id=group_id, error_code=ErrorCode.INVALID_GROUP_ID)
        found = groups.describe_consumer_group(group_id)
        if found.error_code or not request.include_authorized_operations:
            return found
        operations = access.operations(context, AclResourceType.GROUP, group_id)
        return replaced(found, authorized_operations=operations)

    forbidden = frozenset[str]()
    if enabled:
        forbidden = access.forbidden(context, Operation.DESCRIBE, AclResourceType.GROUP, request.group_ids)
    described = [describe(group_id) for group_id in request.group_ids]
    return ConsumerGroupDescribeResponse(groups=_without_forbidden_topics(access, described, context))


def _without_forbidden_topics(
    access: Access, described: list[DescribedGroup], context: RequestContext
) -> list[DescribedGroup]:
    """A group with a topic that the client may not describe is not described at all."""
    if not access.enforced:
        return described
    topics = [_topics_of(group) for group in described]
    hidden = access.forbidden(context, Operation.DESCRIBE, AclResourceType.TOPIC, chain.from_iterable(topics))
    return [
        DescribedGroup(
            group_id=group.group_id,
            error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            error_message="the group has topics that the client may not describe",
        )
        if hidden.intersection(names)
        else group
        for group, names in zip(described, topics, strict=True)
    ]


def _topics_of(group: DescribedGroup) -> list[str]:
    return [
        topic.topic_name
        for member in group.members
        for assignment in (member.assignment, member.target_assignment)
        for topic in assignment.topic_partitions
    ]
