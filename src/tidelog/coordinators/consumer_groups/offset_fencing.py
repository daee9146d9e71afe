"""Who may commit and fetch offsets of a consumer group. The offsets themselves are in `coordinators.groups.offsets`."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.coordinators.consumer_groups.group import ConsumerGroup
from tidelog.coordinators.consumer_groups.member import ConsumerMember
from tidelog.coordinators.consumer_groups.topics import TopicIdPartition, Topics
from tidelog.model.errors import ErrorCode

_EPOCHS_ARE_UNDERSTOOD_FROM = 9


def check_commit(
    group: ConsumerGroup,
    member_id: str,
    epoch: int,
    partitions: Iterable[tuple[str, int]],
    *,
    topics: Topics,
    version: int,
) -> ErrorCode:
    """For OffsetCommit; `partitions` are topic names and numbers.

    A member that has not learned of its present epoch yet may still commit what it owned in the old one and owns now
    (KIP-1251): nobody else can have read these partitions meanwhile.
    """
    if epoch < 0 and not group.members:
        return ErrorCode.NONE
    member = group.members.get(member_id)
    if member is not None and not member.is_classic and version < _EPOCHS_ARE_UNDERSTOOD_FROM:
        return ErrorCode.UNSUPPORTED_VERSION
    return _check_epoch(group, member_id, epoch, partitions, topics)


def check_transactional_commit(
    group: ConsumerGroup,
    member_id: str,
    group_instance_id: str | None,
    epoch: int,
    partitions: Iterable[tuple[str, int]],
    *,
    topics: Topics,
) -> ErrorCode:
    """For TxnOffsetCommit, whose clients know of generations only."""
    if epoch < 0 and not group.members:
        return ErrorCode.NONE
    if epoch < 0 and not member_id and group_instance_id is None:
        # The producer does not say for whom it commits.
        return ErrorCode.NONE
    code = _check_epoch(group, member_id, epoch, partitions, topics)
    return ErrorCode.ILLEGAL_GENERATION if code is ErrorCode.STALE_MEMBER_EPOCH else code


def check_fetch(group: ConsumerGroup, member_id: str | None, epoch: int) -> ErrorCode:
    """For OffsetFetch. Tools and consumers without a group say neither id nor epoch."""
    if not member_id and epoch < 0:
        return ErrorCode.NONE
    member = group.members.get(member_id or "")
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.NONE if epoch == member.epoch else _stale(member)


def _check_epoch(
    group: ConsumerGroup, member_id: str, epoch: int, partitions: Iterable[tuple[str, int]], topics: Topics
) -> ErrorCode:
    member = group.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if epoch == member.epoch:
        return ErrorCode.NONE
    if epoch > member.epoch:
        return _stale(member)
    for name, number in partitions:
        topic = topics.named(name)
        assigned_at = None
        if topic is not None:
            assigned_at = member.current.assignment_epoch(TopicIdPartition(topic.id, number))
        if assigned_at is None or epoch < assigned_at:
            return _stale(member)
    return ErrorCode.NONE


def _stale(member: ConsumerMember) -> ErrorCode:
    """In the words of the member's protocol: to a classic member its epoch is a generation."""
    return ErrorCode.ILLEGAL_GENERATION if member.is_classic else ErrorCode.STALE_MEMBER_EPOCH
