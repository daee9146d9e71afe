"""Reports to the controller in which log directory each replica of this broker is, where the metadata differs.

A replica may have been placed among several directories, moved to another one, or recreated on a replaced disk
(KIP-858). What must be reported is compared with each new image, so that a lost answer or a new controller costs only
time. One request is in flight at a time; what was refused is sent again at growing intervals, because the next
image may not say more about it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field

from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition, Uuid, format_uuid
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.network.client_connection import ConnectionProblem, UnsupportedByBroker
from tidelog.protocol.messages.assign_replicas_to_dirs_request import (
    AssignReplicasToDirsRequest,
    DirectoryData,
    PartitionData,
    TopicData,
)
from tidelog.protocol.messages.assign_replicas_to_dirs_response import AssignReplicasToDirsResponse
from tidelog.server.quorum.channel import ControllerChannel
from tidelog.server.replicas.placement import ReplicaPlacement

logger = logging.getLogger(__name__)

# As many as Apache Kafka's brokers send at once.
MAX_PER_REQUEST = 2_250
ATTEMPT_SECONDS = 10.0
FIRST_RETRY_SECONDS = 0.05
LONGEST_RETRY_SECONDS = 10.0

Key = tuple[bytes, int]


@dataclass(slots=True, kw_only=True, eq=False)
class DirectoryAssignments:
    """`compare` finds what must be reported to the controller; `run` reports it."""

    broker_epoch: Callable[[], int]
    placement: ReplicaPlacement
    channel: ControllerChannel
    _open: dict[TopicPartition, tuple[Key, Uuid]] = field(default_factory=dict, init=False)
    # What the controller has refused, so that it is logged once.
    _refused: set[tuple[TopicPartition, Uuid]] = field(default_factory=set, init=False)
    _work: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def __len__(self) -> int:
        """How many replicas still have to be reported to the controller."""
        return len(self._open)

    def compare(self, topics: Iterable[str]) -> None:
        """Whether the metadata is right about our replicas of these topics."""
        replicas = self.placement.replicas
        image, broker_id = replicas.image(), replicas.broker_id
        for name in topics:
            topic = image.topics.get(name)
            if topic is None:
                for key in [key for key in self._open if key.topic == name]:
                    del self._open[key]
                continue
            for number, partition in topic.partitions.items():
                at = TopicPartition(name, number)
                reported = None
                if broker_id in partition.replicas:
                    reported = self.placement.reported(at, partition.directory_of(broker_id))
                if reported is None:
                    self._open.pop(at, None)
                else:
                    self._open[at] = ((topic.id, number), reported)
        if self._open:
            self._work.set()

    async def run(self) -> None:
        """As long as the broker runs."""
        retry = FIRST_RETRY_SECONDS
        while True:
            await self._work.wait()
            self._work.clear()
            while self._open:
                try:
                    recorded_all = await self._tell()
                except Exception:
                    # Without this loop no replaced replica would ever be in sync again.
                    logger.exception("reporting the directories of %d replicas failed", len(self._open))
                    recorded_all = False
                if recorded_all:
                    retry = FIRST_RETRY_SECONDS
                    continue
                # New reports need not wait for refused ones.
                self._work.clear()
                try:
                    async with asyncio.timeout(retry):
                        await self._work.wait()
                except TimeoutError:
                    retry = min(2 * retry, LONGEST_RETRY_SECONDS)

    async def _tell(self) -> bool:
        """Whether the controller has recorded everything that was reported."""
        sent = dict(list(self._open.items())[:MAX_PER_REQUEST])
        request = AssignReplicasToDirsRequest(
            broker_id=self.placement.replicas.broker_id,
            broker_epoch=self.broker_epoch(),
            directories=_by_directory(sent),
        )
        try:
            response = await self.channel.try_once(request, AssignReplicasToDirsResponse, ATTEMPT_SECONDS)
        except (ApiError, ConnectionProblem, UnsupportedByBroker) as problem:
            logger.debug("the directories of %d replicas were not reported to the controller: %s", len(sent), problem)
            return False
        if response.error_code:
            # A new registration is in progress, or there is another controller.
            logger.debug("directories of %d replicas were not recorded: error %d", len(sent), response.error_code)
            return False
        codes = _codes(response)
        complete = True
        for at, (key, directory) in sent.items():
            code = codes.get((key, directory))
            if code == ErrorCode.KAFKA_STORAGE_ERROR:
                self._report_loss(at, directory)
            if code:
                # To the end, so that others are not held up where there are more than fit in a request.
                complete = False
                entry = self._open.pop(at, None)
                if entry is not None:
                    self._open[at] = entry
            elif self._open.get(at) == (key, directory):
                del self._open[at]
        return complete

    def _report_loss(self, at: TopicPartition, directory: Uuid) -> None:
        if (at, directory) not in self._refused:
            self._refused.add((at, directory))
            logger.error(
                "%s: the last in-sync replica was in a log directory that this broker no longer has, and the new one "
                "in directory %s does not have its records; attach the old disk again, or accept the loss with an "
                "unclean leader election",
                at,
                format_uuid(directory),
            )


def _by_directory(wanted: Mapping[TopicPartition, tuple[Key, Uuid]]) -> list[DirectoryData]:
    directories: dict[Uuid, dict[bytes, list[PartitionData]]] = {}
    for (topic_id, number), directory in wanted.values():
        topics = directories.setdefault(directory, {})
        topics.setdefault(topic_id, []).append(PartitionData(partition_index=number))
    return [
        DirectoryData(
            id=directory,
            topics=[TopicData(topic_id=topic_id, partitions=partitions) for topic_id, partitions in topics.items()],
        )
        for directory, topics in directories.items()
    ]


def _codes(response: AssignReplicasToDirsResponse) -> dict[tuple[Key, Uuid], int]:
    """Without those that the controller no longer knows: they are deleted, or no longer on this broker."""
    return {
        ((bytes(topic.topic_id), partition.partition_index), Uuid(bytes(directory.id))): partition.error_code
        for directory in response.directories
        for topic in directory.topics
        for partition in topic.partitions
        if partition.error_code not in _GONE
    }


_GONE = frozenset({ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER})
