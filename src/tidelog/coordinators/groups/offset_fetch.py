"""OffsetFetch for one group. A group or an offset that does not exist is no error: the offset is -1.

The several groups of a request (from version 8) may have different coordinators, so the caller asks for each of them.
Up to version 7 the reply has another shape, which is the caller's business too.
"""

from __future__ import annotations

from tidelog.coordinators.consumer_groups import offset_fencing
from tidelog.coordinators.groups.offsets import CommittedOffset
from tidelog.coordinators.groups.state import GroupTable
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.offset_fetch_request import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from tidelog.protocol.messages.offset_fetch_response import (
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)

NO_OFFSET = -1


def fetch_offsets(
    state: GroupTable, request: OffsetFetchRequestGroup, *, require_stable: bool
) -> OffsetFetchResponseGroup:
    """`require_stable`: an offset that an open transaction may still change is an error (KIP-447)."""
    consumer_group = state.consumer.groups.get(request.group_id)
    if consumer_group is not None:
        code = offset_fencing.check_fetch(consumer_group, request.member_id, request.member_epoch)
        if code is not ErrorCode.NONE:
            return OffsetFetchResponseGroup(group_id=request.group_id, error_code=code)
    wanted = _everything(state, request.group_id) if request.topics is None else request.topics
    return OffsetFetchResponseGroup(
        group_id=request.group_id,
        topics=[_fetch_topic(state, request.group_id, topic, require_stable) for topic in wanted],
    )


def _everything(state: GroupTable, group_id: str) -> list[OffsetFetchRequestTopics]:
    return [
        OffsetFetchRequestTopics(name=topic, partition_indexes=list(partitions))
        for topic, partitions in state.offsets.committed.of_group(group_id).items()
    ]


def _fetch_topic(
    state: GroupTable, group_id: str, topic: OffsetFetchRequestTopics, require_stable: bool
) -> OffsetFetchResponseTopics:
    offsets = state.offsets.committed.of_group(group_id).get(topic.name, {})
    check_pending = require_stable and state.offsets.has_open_transaction(group_id)
    partitions: list[OffsetFetchResponsePartitions] = []
    for number in topic.partition_indexes:
        if check_pending and state.offsets.is_pending(group_id, topic.name, number):
            partitions.append(_missing(number, ErrorCode.UNSTABLE_OFFSET_COMMIT))
            continue
        committed = offsets.get(number)
        if committed is None or not committed.is_of_topic(topic.topic_id):
            partitions.append(_missing(number, ErrorCode.NONE))
        else:
            partitions.append(_found(number, committed))
    return OffsetFetchResponseTopics(name=topic.name, topic_id=topic.topic_id, partitions=partitions)


def _found(partition: int, committed: CommittedOffset) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=partition,
        committed_offset=committed.offset,
        committed_leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
    )


def _missing(partition: int, code: ErrorCode) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(partition_index=partition, committed_offset=NO_OFFSET, error_code=code)
