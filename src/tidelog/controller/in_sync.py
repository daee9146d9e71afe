"""Decides on AlterPartition: a leader asks for another set of in-sync replicas (KIP-497).

The leader epoch and the partition epoch of the request say which state of the partition the leader has seen. Only if
that is the current one is the change made, so that a request which is repeated because its reply got lost cannot be
carried out twice, and an old leader cannot change anything.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.controller.decision import Decision
from tidelog.controller.elections import Election, UncleanAllowed, plan_change
from tidelog.metadata.image import ClusterImage, LeaderRecovery, PartitionImage, TopicImage
from tidelog.metadata.replay import merge_partition
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.alter_partition_request import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
)
from tidelog.protocol.messages.alter_partition_response import AlterPartitionResponse
from tidelog.protocol.messages.alter_partition_response import PartitionData as PartitionAnswer
from tidelog.protocol.messages.alter_partition_response import TopicData as TopicAnswer
from tidelog.protocol.messages.partition_change_record import PartitionChangeRecord

# A leader that has not heard from a replica yet cannot tell its epoch; the partition epoch protects such a change.
UNKNOWN_BROKER_EPOCH = -1


def alter_partition(
    image: ClusterImage, request: AlterPartitionRequest, *, unclean: UncleanAllowed
) -> Decision[AlterPartitionResponse]:
    """Change the in-sync sets that can be changed and say for the others why not."""
    sender = image.brokers.get(request.broker_id)
    if sender is None or sender.epoch != request.broker_epoch:
        return Decision(records=(), reply=AlterPartitionResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))
    records: list[PartitionChangeRecord] = []
    seen: set[tuple[bytes, int]] = set()
    answers: list[TopicAnswer] = []
    for asked in request.topics:
        topic = image.topics_by_id.get(Uuid(bytes(asked.topic_id)))
        partitions = []
        for change in asked.partitions:
            key = (bytes(asked.topic_id), change.partition_index)
            if topic is None:
                partitions.append(_refused(change, ErrorCode.UNKNOWN_TOPIC_ID))
            elif key in seen:
                partitions.append(_refused(change, ErrorCode.INVALID_REQUEST))
            else:
                partitions.append(_alter(image, request.broker_id, topic, change, unclean, records))
            seen.add(key)
        answers.append(TopicAnswer(topic_id=asked.topic_id, partitions=partitions))
    return Decision(records=tuple(records), reply=AlterPartitionResponse(topics=answers))


def _alter(
    image: ClusterImage,
    sender: int,
    topic: TopicImage,
    change: PartitionData,
    unclean: UncleanAllowed,
    records: list[PartitionChangeRecord],
) -> PartitionAnswer:
    current = topic.partitions.get(change.partition_index)
    if current is None:
        return _refused(change, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    problem = _problem(image, sender, current, change)
    if problem:
        return _refused(change, problem)
    record = plan_change(
        image,
        topic,
        change.partition_index,
        isr=tuple(state.broker_id for state in _wanted(change)),
        election=Election.UNCLEAN if unclean(topic.name) else Election.ONLINE,
        recovered=change.leader_recovery_state == LeaderRecovery.RECOVERED,
    )
    partition = current
    if record is not None:
        records.append(record)
        partition = merge_partition(current, record)
        if partition.leader != sender:
            # The change completes a reassignment that takes this replica away: it is made, but the one who asked
            # for it has to look at the metadata before it asks again.
            return _refused(change, ErrorCode.NEW_LEADER_ELECTED)
    return PartitionAnswer(
        partition_index=change.partition_index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=partition.isr,
        leader_recovery_state=partition.leader_recovery,
        partition_epoch=partition.partition_epoch,
    )


def _problem(image: ClusterImage, sender: int, partition: PartitionImage, change: PartitionData) -> ErrorCode:
    """The order matters: only a request about the current state can be judged by what it asks for."""
    if change.leader_epoch > partition.leader_epoch or change.partition_epoch > partition.partition_epoch:
        # The leader has seen more of the metadata log than we have, so it is not us who it should ask.
        return ErrorCode.NOT_CONTROLLER
    if change.leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if sender != partition.leader:
        return ErrorCode.INVALID_REQUEST
    if change.partition_epoch < partition.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    wanted = [state.broker_id for state in _wanted(change)]
    if sender not in wanted or len(set(wanted)) != len(wanted) or not set(wanted) <= set(partition.replicas):
        return ErrorCode.INVALID_REQUEST
    if change.leader_recovery_state not in (LeaderRecovery.RECOVERED, LeaderRecovery.RECOVERING):
        return ErrorCode.INVALID_REQUEST
    if change.leader_recovery_state == LeaderRecovery.RECOVERING and (
        len(wanted) > 1 or partition.leader_recovery is LeaderRecovery.RECOVERED
    ):
        return ErrorCode.INVALID_REQUEST
    if any(not _eligible(image, partition, state) for state in _wanted(change)):
        return ErrorCode.INELIGIBLE_REPLICA
    return ErrorCode.NONE


def _eligible(image: ClusterImage, partition: PartitionImage, state: BrokerState) -> bool:
    """Whether the broker may be in sync. The epoch tells a process that was restarted, and may have lost records,
    from the one whose fetches the leader has seen (KIP-903). A replica whose directory is gone has to say first where
    it is now: an in-sync replica without its directory means that its records are lost (KIP-858).
    """
    broker = image.brokers.get(state.broker_id)
    if broker is None or not broker.active or not image.has_online_directory(partition, state.broker_id):
        return False
    return state.broker_epoch in (UNKNOWN_BROKER_EPOCH, broker.epoch)


def _wanted(change: PartitionData) -> Sequence[BrokerState]:
    """The new set. Version 2 has it without the epochs of the brokers."""
    if change.new_isr_with_epochs:
        return change.new_isr_with_epochs
    return [BrokerState(broker_id=broker) for broker in change.new_isr]


def _refused(change: PartitionData, code: ErrorCode) -> PartitionAnswer:
    return PartitionAnswer(partition_index=change.partition_index, error_code=code)
