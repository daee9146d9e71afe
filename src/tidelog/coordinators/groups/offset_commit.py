"""OffsetCommit, TxnOffsetCommit and OffsetDelete: who may write offsets, and what is written.

OffsetCommit up to version 4 may carry a retention time of its own; from version 9 an unknown group has an error of its
own; from version 10 topics go by their id, which the caller has resolved to a name. TxnOffsetCommit knows the member
and its generation from version 3 on (KIP-447), so that a consumer that was left behind by a rebalance cannot commit
through its producer either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidelog.coordinators.consumer_groups import offset_fencing
from tidelog.coordinators.decision import Moment, ProducerIdentity, ShardDraft, ShardRequest
from tidelog.coordinators.groups.group import ClassicGroup
from tidelog.coordinators.groups.records import NO_EXPIRY, offset_record, offset_tombstone
from tidelog.coordinators.groups.replies import refused_commit, refused_transactional_commit
from tidelog.coordinators.groups.state import GroupTable
from tidelog.coordinators.groups.states import GroupState
from tidelog.model.errors import ErrorCode
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
from tidelog.protocol.messages.offset_commit_value import OffsetCommitValue
from tidelog.protocol.messages.offset_delete_request import OffsetDeleteRequest
from tidelog.protocol.messages.offset_delete_response import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from tidelog.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tidelog.protocol.messages.txn_offset_commit_response import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

_UNKNOWN_GROUP_HAS_ITS_ERROR_FROM = 9
# What the record can hold. A client that wants its offsets kept for ever asks for the largest number there is.
LATEST_EXPIRY_MS = (1 << 63) - 1


def commit(state: GroupTable, request: ShardRequest, message: OffsetCommitRequest, draft: ShardDraft) -> None:
    group = state.groups.get(message.group_id)
    consumer_group = state.consumer.groups.get(message.group_id)
    if consumer_group is not None:
        group = None
        code = offset_fencing.check_commit(
            consumer_group,
            message.member_id,
            message.generation_id_or_member_epoch,
            _partitions(message.topics),
            topics=state.consumer.topics,
            version=request.version,
        )
    else:
        code = _check_commit(group, message, request.version)
    if code is not ErrorCode.NONE:
        draft.answer(request.token, refused_commit(message, code))
        return
    if group is not None and group.state in (GroupState.STABLE, GroupState.PREPARING_REBALANCE):
        # A member that commits is alive.
        state.renew_session(group, group.members[message.member_id], draft.now)
    expires_ms = NO_EXPIRY
    if message.retention_time_ms >= 0:
        expires_ms = min(draft.now.wall_ms + message.retention_time_ms, LATEST_EXPIRY_MS)
    topics: list[OffsetCommitResponseTopic] = []
    for topic in message.topics:
        partitions: list[OffsetCommitResponsePartition] = []
        for partition in topic.partitions:
            code = _check_metadata(state, partition.committed_metadata)
            if code is ErrorCode.NONE:
                value = _value(partition, draft.now, expires_ms=expires_ms, topic_id=topic.topic_id)
                draft.append(offset_record(message.group_id, topic.name, partition.partition_index, value))
            partitions.append(OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=code))
        topics.append(OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=partitions))
    draft.answer(request.token, OffsetCommitResponse(topics=topics))


def commit_in_transaction(
    state: GroupTable, request: ShardRequest, message: TxnOffsetCommitRequest, draft: ShardDraft
) -> None:
    consumer_group = state.consumer.groups.get(message.group_id)
    if consumer_group is not None:
        code = offset_fencing.check_transactional_commit(
            consumer_group,
            message.member_id,
            message.group_instance_id,
            message.generation_id,
            _partitions(message.topics),
            topics=state.consumer.topics,
        )
    else:
        code = _check_transactional_commit(state.groups.get(message.group_id), message)
    if code is not ErrorCode.NONE:
        draft.answer(request.token, refused_transactional_commit(message, code))
        return
    draft.producer = ProducerIdentity(message.producer_id, message.producer_epoch)
    topics: list[TxnOffsetCommitResponseTopic] = []
    for topic in message.topics:
        partitions: list[TxnOffsetCommitResponsePartition] = []
        for partition in topic.partitions:
            code = _check_metadata(state, partition.committed_metadata)
            if code is ErrorCode.NONE:
                value = _value(partition, draft.now)
                draft.append(offset_record(message.group_id, topic.name, partition.partition_index, value))
            partitions.append(
                TxnOffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=code)
            )
        topics.append(TxnOffsetCommitResponseTopic(name=topic.name, partitions=partitions))
    draft.answer(request.token, TxnOffsetCommitResponse(topics=topics))


def delete_offsets(state: GroupTable, request: ShardRequest, message: OffsetDeleteRequest, draft: ShardDraft) -> None:
    consumer_group = state.consumer.groups.get(message.group_id)
    group = consumer_group or state.groups.get(message.group_id)
    code = ErrorCode.NONE if consumer_group is not None else _check_delete(state.groups.get(message.group_id))
    if group is None or code is not ErrorCode.NONE:
        draft.answer(request.token, OffsetDeleteResponse(error_code=code))
        return
    topics: list[OffsetDeleteResponseTopic] = []
    for topic in message.topics:
        code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if group.is_subscribed_to(topic.name) else ErrorCode.NONE
        numbers = [partition.partition_index for partition in topic.partitions]
        if code is ErrorCode.NONE:
            for number in numbers:
                if state.offsets.has_offset(message.group_id, topic.name, number):
                    draft.append(offset_tombstone(message.group_id, topic.name, number))
        partitions = [OffsetDeleteResponsePartition(partition_index=number, error_code=code) for number in numbers]
        topics.append(OffsetDeleteResponseTopic(name=topic.name, partitions=partitions))
    draft.answer(request.token, OffsetDeleteResponse(topics=topics))


def _partitions(
    topics: Sequence[OffsetCommitRequestTopic] | Sequence[TxnOffsetCommitRequestTopic],
) -> Iterator[tuple[str, int]]:
    return ((topic.name, partition.partition_index) for topic in topics for partition in topic.partitions)


def _check_commit(group: ClassicGroup | None, message: OffsetCommitRequest, version: int) -> ErrorCode:
    generation = message.generation_id_or_member_epoch
    if group is None:
        if generation < 0:
            # Not a member of anything, only somebody who keeps offsets here: replay makes a group for them.
            return ErrorCode.NONE
        if version >= _UNKNOWN_GROUP_HAS_ITS_ERROR_FROM:
            return ErrorCode.GROUP_ID_NOT_FOUND
        return ErrorCode.ILLEGAL_GENERATION
    if generation < 0 and group.state is GroupState.EMPTY:
        return ErrorCode.NONE
    if generation < 0 and not message.member_id and message.group_instance_id is None:
        # The partitions belong to the members now.
        return ErrorCode.UNKNOWN_MEMBER_ID
    code = _check_generation(group, message.member_id, message.group_instance_id, generation)
    if code is ErrorCode.NONE and group.state is GroupState.COMPLETING_REBALANCE:
        # It has joined the new generation, and so cannot own partitions in it yet.
        return ErrorCode.REBALANCE_IN_PROGRESS
    return code


def _check_transactional_commit(group: ClassicGroup | None, message: TxnOffsetCommitRequest) -> ErrorCode:
    if not message.group_id:
        return ErrorCode.INVALID_GROUP_ID
    if group is None:
        return ErrorCode.NONE if message.generation_id < 0 else ErrorCode.ILLEGAL_GENERATION
    if message.generation_id < 0 and group.state is GroupState.EMPTY:
        return ErrorCode.NONE
    if message.generation_id < 0 and not message.member_id and message.group_instance_id is None:
        # Before version 3 producers could not say for whom they commit.
        return ErrorCode.NONE
    return _check_generation(group, message.member_id, message.group_instance_id, message.generation_id)


def _check_generation(group: ClassicGroup, member_id: str, group_instance_id: str | None, generation: int) -> ErrorCode:
    code = group.check_member(member_id, group_instance_id)
    if code is ErrorCode.NONE and generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    return code


def _check_metadata(state: GroupTable, metadata: str | None) -> ErrorCode:
    if metadata is not None and len(metadata) > state.settings.offset_metadata_max_bytes:
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    return ErrorCode.NONE


def _check_delete(group: ClassicGroup | None) -> ErrorCode:
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    # Which topics consumers are subscribed to is known; of other kinds of groups it is not.
    if group.state is not GroupState.EMPTY and not group.uses_consumer_protocol:
        return ErrorCode.NON_EMPTY_GROUP
    return ErrorCode.NONE


def _value(
    partition: OffsetCommitRequestPartition | TxnOffsetCommitRequestPartition,
    now: Moment,
    *,
    expires_ms: int = NO_EXPIRY,
    topic_id: bytes = bytes(16),
) -> OffsetCommitValue:
    return OffsetCommitValue(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
        commit_timestamp=now.wall_ms,
        expire_timestamp=expires_ms,
        topic_id=topic_id,
    )
