"""Decides in which log directories the replicas of a broker are, and what follows when directories fail (KIP-858).

The metadata names the directory of every replica. A broker that has several chooses one for a new replica and reports
it (AssignReplicasToDirs); it reports failed directories with its heartbeats. A directory that a broker no longer has
was replaced: what its replicas held is lost. So an in-sync replica there leaves the in-sync set, and joins it again
once it has caught up. If it was the last one, nothing is changed and nobody leads: either the old disk comes back, or a
person accepts the loss with an unclean election.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from tidelog.controller.decision import Decision
from tidelog.controller.elections import Election, UncleanAllowed, plan_change
from tidelog.metadata.image import (
    LOST_DIRECTORY,
    MIGRATING_DIRECTORY,
    UNASSIGNED_DIRECTORY,
    BrokerImage,
    ClusterImage,
    PartitionImage,
    TopicImage,
)
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.assign_replicas_to_dirs_request import AssignReplicasToDirsRequest, DirectoryData
from tidelog.protocol.messages.assign_replicas_to_dirs_response import AssignReplicasToDirsResponse
from tidelog.protocol.messages.assign_replicas_to_dirs_response import DirectoryData as DirectoryAnswer
from tidelog.protocol.messages.assign_replicas_to_dirs_response import PartitionData as PartitionAnswer
from tidelog.protocol.messages.assign_replicas_to_dirs_response import TopicData as TopicAnswer
from tidelog.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from tidelog.protocol.messages.partition_change_record import PartitionChangeRecord
from tidelog.protocol.schema import Message

_NOT_KNOWN = (MIGRATING_DIRECTORY, UNASSIGNED_DIRECTORY)


# -- a broker says where its replicas are --------------------------------------------------------------------------


def assign_replicas(
    image: ClusterImage, request: AssignReplicasToDirsRequest, *, unclean: UncleanAllowed
) -> Decision[AssignReplicasToDirsResponse]:
    """Record the directories that can be recorded and say for the others why not."""
    broker = image.brokers.get(request.broker_id)
    if broker is None or broker.epoch != request.broker_epoch:
        return Decision(records=(), reply=AssignReplicasToDirsResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))
    assigning = _Assigning(image, broker, unclean)
    answers = [assigning.directory(asked) for asked in request.directories]
    return Decision(records=tuple(assigning.records), reply=AssignReplicasToDirsResponse(directories=answers))


class _Assigning:
    """One request while it is decided."""

    def __init__(self, image: ClusterImage, broker: BrokerImage, unclean: UncleanAllowed) -> None:
        self._image = image
        self._broker = broker
        self._unclean = unclean
        self._seen: set[tuple[bytes, int]] = set()
        self.records: list[PartitionChangeRecord] = []

    def directory(self, asked: DirectoryData) -> DirectoryAnswer:
        directory = Uuid(bytes(asked.id))
        topics = []
        for each in asked.topics:
            topic = self._image.topics_by_id.get(Uuid(bytes(each.topic_id)))
            partitions = []
            for one in each.partitions:
                key = (bytes(each.topic_id), one.partition_index)
                code = ErrorCode.INVALID_REQUEST
                if key not in self._seen and directory not in _NOT_KNOWN:
                    code = self._partition(topic, one.partition_index, directory)
                self._seen.add(key)
                partitions.append(PartitionAnswer(partition_index=one.partition_index, error_code=code))
            topics.append(TopicAnswer(topic_id=each.topic_id, partitions=partitions))
        return DirectoryAnswer(id=asked.id, topics=topics)

    def _partition(self, topic: TopicImage | None, number: int, directory: Uuid) -> ErrorCode:
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        partition = topic.partitions.get(number)
        if partition is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if self._broker.id not in partition.replicas:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if partition.directory_of(self._broker.id) == directory:
            return ErrorCode.NONE
        return self._relocate(topic, number, partition, directory)

    def _relocate(self, topic: TopicImage, number: int, partition: PartitionImage, directory: Uuid) -> ErrorCode:
        own = self._broker.id
        online = directory in self._broker.directories
        replaced = not self._image.has_online_directory(partition, own)
        emptied = (
            online
            and replaced
            and own in (*partition.isr, *partition.eligible_leaders, *partition.last_known_eligible_leaders)
        )
        if emptied and not _others(partition, own) and not self._unclean(topic.name):
            return ErrorCode.KAFKA_STORAGE_ERROR
        leaves = emptied or not online
        record = plan_change(
            self._image,
            topic,
            number,
            isr=tuple(broker for broker in partition.isr if broker != own) if leaves else None,
            election=Election.UNCLEAN if self._unclean(topic.name) else Election.ONLINE,
            directory_of=lambda broker: directory if broker == own else partition.directory_of(broker),
            lost=frozenset({own} if leaves else ()),
        )
        if record is not None:
            self.records.append(record)
        return ErrorCode.NONE


def _others(partition: PartitionImage, broker: int) -> bool:
    """Whether another replica has all that is committed."""
    return any(each != broker for each in (*partition.isr, *partition.eligible_leaders))


# -- directories that fail, or are gone ----------------------------------------------------------------------------


def newly_offline(broker: BrokerImage, reported: Sequence[bytes]) -> tuple[Uuid, ...]:
    """Of the directories that a heartbeat calls offline, those that count as online until now."""
    offline = {bytes(directory) for directory in reported}
    return tuple(directory for directory in broker.directories if directory in offline)


def without_directories(
    image: ClusterImage, broker: int, offline: Sequence[Uuid], unclean: UncleanAllowed
) -> tuple[Message, ...]:
    """Some directories of a broker have failed, and it lives on: its replicas there leave the in-sync sets, and others
    lead."""
    registered = image.brokers[broker]
    remaining = tuple(directory for directory in registered.directories if directory not in offline)
    brokers = {**image.brokers, broker: dataclasses.replace(registered, directories=remaining)}
    afterwards = dataclasses.replace(image, brokers=brokers)
    records: list[Message] = []
    for topic, number, partition in image.all_partitions():
        concerned = broker in partition.isr or broker == partition.leader
        if concerned and partition.directory_of(broker) in offline:
            record = plan_change(
                afterwards,
                topic,
                number,
                isr=tuple(each for each in partition.isr if each != broker),
                election=Election.UNCLEAN if unclean(topic.name) else Election.ONLINE,
            )
            if record is not None:
                records.append(record)
    records.append(BrokerRegistrationChangeRecord(broker_id=broker, broker_epoch=registered.epoch, log_dirs=remaining))
    return tuple(records)


def lost_replicas(
    image: ClusterImage, existing: BrokerImage, directories: Sequence[bytes]
) -> Iterator[PartitionChangeRecord]:
    """A broker starts without a directory that it had. A replica of which it is not known where it was may have been in
    there: it must not lead as if it had its records.
    """
    if set(existing.directories) <= {Uuid(bytes(directory)) for directory in directories}:
        return
    for topic, number, partition in image.all_partitions():
        holders = (*partition.isr, *partition.eligible_leaders, *partition.last_known_eligible_leaders)
        if existing.id in holders and partition.directory_of(existing.id) in _NOT_KNOWN:
            yield PartitionChangeRecord(
                partition_id=number,
                topic_id=topic.id,
                directories=tuple(
                    LOST_DIRECTORY if broker == existing.id else partition.directory_of(broker)
                    for broker in partition.replicas
                ),
            )
