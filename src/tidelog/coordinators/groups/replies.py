"""What replies look like, and what an error looks like in the reply to each request.

The second is for whoever could not get a request to a decision, or its decision to the log.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.coordinators.groups.group import ClassicGroup
from tidelog.coordinators.groups.members import Member
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from tidelog.protocol.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from tidelog.protocol.messages.delete_groups_request import DeleteGroupsRequest
from tidelog.protocol.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from tidelog.protocol.messages.heartbeat_request import HeartbeatRequest
from tidelog.protocol.messages.heartbeat_response import HeartbeatResponse
from tidelog.protocol.messages.join_group_request import JoinGroupRequest
from tidelog.protocol.messages.join_group_response import JoinGroupResponse, JoinGroupResponseMember
from tidelog.protocol.messages.leave_group_request import LeaveGroupRequest
from tidelog.protocol.messages.leave_group_response import LeaveGroupResponse
from tidelog.protocol.messages.offset_commit_request import OffsetCommitRequest
from tidelog.protocol.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from tidelog.protocol.messages.offset_delete_request import OffsetDeleteRequest
from tidelog.protocol.messages.offset_delete_response import OffsetDeleteResponse
from tidelog.protocol.messages.sync_group_request import SyncGroupRequest
from tidelog.protocol.messages.sync_group_response import SyncGroupResponse
from tidelog.protocol.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from tidelog.protocol.messages.txn_offset_commit_response import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from tidelog.protocol.schema import Message


def joined(group: ClassicGroup, member_id: str) -> JoinGroupResponse:
    """The current generation, as one member sees it: only the leader learns of the others."""
    return JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader or "",
        member_id=member_id,
        members=response_members(group, group.members.values()) if group.leader == member_id else (),
    )


def response_members(group: ClassicGroup, members: Iterable[Member]) -> list[JoinGroupResponseMember]:
    return [
        JoinGroupResponseMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            metadata=member.metadata_for(group.protocol_name) or b"",
        )
        for member in members
    ]


def refused_join(member_id: str, code: ErrorCode) -> JoinGroupResponse:
    return JoinGroupResponse(member_id=member_id, error_code=code)


def refuse(message: Message, code: ErrorCode) -> Message:
    """The reply to `message` that says nothing but `code`."""
    match message:
        case JoinGroupRequest():
            return refused_join(message.member_id, code)
        case SyncGroupRequest():
            return SyncGroupResponse(error_code=code)
        case HeartbeatRequest():
            return HeartbeatResponse(error_code=code)
        case ConsumerGroupHeartbeatRequest():
            return ConsumerGroupHeartbeatResponse(error_code=code)
        case LeaveGroupRequest():
            return LeaveGroupResponse(error_code=code)
        case OffsetCommitRequest():
            return refused_commit(message, code)
        case TxnOffsetCommitRequest():
            return refused_transactional_commit(message, code)
        case OffsetDeleteRequest():
            return OffsetDeleteResponse(error_code=code)
        case DeleteGroupsRequest():
            return DeleteGroupsResponse(
                results=[DeletableGroupResult(group_id=name, error_code=code) for name in message.groups_names]
            )
        case _:
            raise TypeError(f"{type(message).__name__} is not a request to the group coordinator")


def refused_commit(request: OffsetCommitRequest, code: ErrorCode) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=code)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def refused_transactional_commit(request: TxnOffsetCommitRequest, code: ErrorCode) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=code)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
