"""ListOffsets: where a partition begins and ends, and which offset belongs to a time.

Times below zero have a meaning: -1 the end, -2 the start, -3 the record with the largest timestamp (KIP-734, version
7), -4 the earliest offset on this disk (version 8), -5 and -6 offsets of tiered storage, of which there is none
(versions 9 and 11: answered with -1). The end is the high watermark, or the last stable offset for read_committed.
A request with the id of a replica gets the log end, as a follower would; some clients send one.

A leader that has only just been elected may not know yet how far its predecessor had committed. Until its watermark
has reached the start of its own epoch it reports no end, which could be before one that was reported already
(KIP-207, version 5; older readers get the error that there is no leader yet).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from tidelog.model.errors import ErrorCode
from tidelog.network.later import Later
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest
from tidelog.protocol.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tidelog.records.batch import CorruptBatch
from tidelog.records.timestamp_search import Found, TimestampSearch
from tidelog.records.validation import PROMPT_BYTES
from tidelog.security.acls import AclResourceType, Operation
from tidelog.server.access.access import Access
from tidelog.server.declaration import DESCRIBE_TOPIC, Api
from tidelog.server.patient_work import PatientWork
from tidelog.server.replicas.registry import Replicas
from tidelog.server.replicas.replica import Replica
from tidelog.server.routing.context import RequestContext
from tidelog.storage.files.filesystem import StorageFailure
from tidelog.storage.log.log import Log
from tidelog.storage.log.results import TimestampedOffset
from tidelog.storage.log.timestamp_lookup import Seeking, seek, seek_max

API = Api(
    key=ApiKey.LIST_OFFSETS,
    versions=(1, 11),
    permissions=(DESCRIBE_TOPIC,),
    differences=("There is no tiered storage: the times -5 and -6 are answered with offset -1.",),
)

# The replica ids of readers that are not replicas.
CONSUMER = -1
DEBUGGING = -2
# The isolation of replicas: they see the log to its end. No reader can ask for it.
EVERYTHING = -1

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6

# The first version that knows each of the special times.
_FIRST_VERSIONS = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}

_OFFSET_NOT_AVAILABLE_FROM = 5


def handle(
    access: Access,
    patient_work: PatientWork,
    replicas: Replicas,
    request: ListOffsetsRequest,
    context: RequestContext,
) -> ListOffsetsResponse | Later[ListOffsetsResponse]:
    topics = []
    # And where their answers belong.
    unfinished: list[tuple[_Unfinished, list[ListOffsetsPartitionResponse], int]] = []
    asked = Counter((topic.name, each.partition_index) for topic in request.topics for each in topic.partitions)
    refused: set[tuple[str, int]] = set()
    names = (topic.name for topic in request.topics)
    forbidden = access.forbidden(context, Operation.DESCRIBE, AclResourceType.TOPIC, names)
    for topic in request.topics:
        partitions: list[ListOffsetsPartitionResponse] = []
        if topic.name in forbidden:
            partitions += [_failed(wanted, ErrorCode.TOPIC_AUTHORIZATION_FAILED) for wanted in topic.partitions]
            topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=partitions))
            continue
        for wanted in topic.partitions:
            key = (topic.name, wanted.partition_index)
            if asked[key] > 1:
                # Which of the questions is meant is unknown: one answer for all of them.
                if key not in refused:
                    refused.add(key)
                    partitions.append(_failed(wanted, ErrorCode.INVALID_REQUEST))
                continue
            question = _Question(replicas, request, topic.name, wanted, context.version)
            answer = _find(question)
            if isinstance(answer, _Unfinished):
                unfinished.append((answer, partitions, len(partitions)))
                answer = _failed(wanted, ErrorCode.UNKNOWN_SERVER_ERROR)
            partitions.append(answer)
        if partitions:
            topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=partitions))
    response = ListOffsetsResponse(topics=topics)

    async def finish() -> ListOffsetsResponse:
        for search, answers, place in unfinished:
            answers[place] = await _finish(patient_work, search)
        return response

    return Later.run(finish()) if unfinished else response


async def _finish(patient_work: PatientWork, unfinished: _Unfinished) -> ListOffsetsPartitionResponse:
    answer: ListOffsetsPartitionResponse | _Unfinished = unfinished
    while isinstance(answer, _Unfinished):
        found = await patient_work.finish(answer.search.run)
        # Meanwhile the leadership may have ended, or the log was deleted or exchanged: then nothing is known of what
        # was found, and the files of the log must not be touched.
        answer = _go_on(answer, found) if answer.is_current else _find(answer.question)
    return answer


class _Question(NamedTuple):
    """What is asked about one partition."""

    replicas: Replicas
    request: ListOffsetsRequest
    topic: str
    wanted: ListOffsetsPartition
    version: int

    @property
    def isolation_level(self) -> int:
        return max(self.request.isolation_level, 0) if self.request.replica_id == CONSUMER else EVERYTHING

    def replica(self) -> Replica | ErrorCode:
        number = self.wanted.partition_index
        replica = self.replicas.leader_in_epoch(
            self.topic, number, current_leader_epoch=self.wanted.current_leader_epoch
        )
        if replica is ErrorCode.NOT_LEADER_OR_FOLLOWER and self.request.replica_id == DEBUGGING:
            # A tool that inspects one broker may ask a follower.
            return self.replicas.readable(self.topic, number)
        return replica


class _Unfinished(NamedTuple):
    """A search that has to unpack more than can be done at once, and what it began with."""

    question: _Question
    replica: Replica
    log: Log
    leader_epoch: int
    search: TimestampSearch
    seeking: Seeking

    @property
    def is_current(self) -> bool:
        replica = self.replica
        return (
            self.question.replica() is replica and replica.log is self.log and replica.leader_epoch == self.leader_epoch
        )


def _find(question: _Question) -> ListOffsetsPartitionResponse | _Unfinished:
    wanted, version = question.wanted, question.version
    if wanted.timestamp < 0 and version < _FIRST_VERSIONS.get(wanted.timestamp, 1 << 15):
        return _failed(wanted, ErrorCode.UNSUPPORTED_VERSION)
    replica = question.replica()
    if isinstance(replica, ErrorCode):
        return _failed(wanted, replica)
    if wanted.timestamp < 0 and wanted.timestamp != MAX_TIMESTAMP:
        return _answer(wanted, _look_up(replica, question.isolation_level, wanted.timestamp), version)
    log = replica.log
    seeking = seek_max(log) if wanted.timestamp == MAX_TIMESTAMP else seek(log, wanted.timestamp)
    return _pursue(question, replica, seeking, lambda: next(seeking))


def _go_on(unfinished: _Unfinished, found: Found) -> ListOffsetsPartitionResponse | _Unfinished:
    seeking = unfinished.seeking
    return _pursue(unfinished.question, unfinished.replica, seeking, lambda: seeking.send(found))


def _pursue(
    question: _Question, replica: Replica, seeking: Seeking, step: Callable[[], TimestampSearch]
) -> ListOffsetsPartitionResponse | _Unfinished:
    """By time: at once, unless a batch has to be read that unpacks to much more.

    What is wrong with the disk or with a batch costs this partition, whenever it is found.
    """
    wanted = question.wanted
    try:
        search = step()
        while (found := search.run(PROMPT_BYTES)) is not None:
            search = seeking.send(found)
        return _Unfinished(question, replica, replica.log, replica.leader_epoch, search, seeking)
    except StopIteration as end:
        return _answer(wanted, _visible(replica, question.isolation_level, end.value), question.version)
    except StorageFailure as failure:
        question.replicas.storage_failed(replica, failure)
        return _failed(wanted, ErrorCode.KAFKA_STORAGE_ERROR)
    except CorruptBatch as damage:
        question.replicas.damage.found(replica, damage)
        return _failed(wanted, ErrorCode.CORRUPT_MESSAGE)


def _answer(
    wanted: ListOffsetsPartition, found: tuple[int, int, int] | None, version: int
) -> ListOffsetsPartitionResponse:
    if found is None:
        known = version >= _OFFSET_NOT_AVAILABLE_FROM
        return _failed(wanted, ErrorCode.OFFSET_NOT_AVAILABLE if known else ErrorCode.LEADER_NOT_AVAILABLE)
    timestamp, offset, leader_epoch = found
    return ListOffsetsPartitionResponse(
        partition_index=wanted.partition_index, timestamp=timestamp, offset=offset, leader_epoch=leader_epoch
    )


def _look_up(replica: Replica, isolation_level: int, wanted: int) -> tuple[int, int, int] | None:
    """(timestamp, offset, leader epoch), each -1 where there is none; None if that is not known yet."""
    log = replica.log
    if wanted == LATEST:
        known = _end_is_known(replica, isolation_level)
        return (-1, _end(replica, isolation_level), replica.leader_epoch) if known else None
    if wanted in (EARLIEST, EARLIEST_LOCAL):
        epoch = log.leader_epochs.epoch_for_offset(log.log_start_offset)
        return -1, log.log_start_offset, replica.leader_epoch if epoch is None else epoch
    return -1, -1, -1


def _visible(replica: Replica, isolation_level: int, found: TimestampedOffset | None) -> tuple[int, int, int] | None:
    """As `_look_up`: what was found, if it is below the end that the reader may know."""
    if found is not None and found.offset >= _end(replica, isolation_level):
        return (-1, -1, -1) if _end_is_known(replica, isolation_level) else None
    if found is None:
        return -1, -1, -1
    return found.timestamp, found.offset, found.leader_epoch


def _end(replica: Replica, isolation_level: int) -> int:
    return replica.log.log_end_offset if isolation_level == EVERYTHING else replica.readable_end(isolation_level)


def _end_is_known(replica: Replica, isolation_level: int) -> bool:
    if isolation_level == EVERYTHING:
        return True
    return replica.progress is not None and replica.progress.epoch_start_offset <= replica.log.high_watermark


def _failed(wanted: ListOffsetsPartition, code: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(
        partition_index=wanted.partition_index, error_code=code, timestamp=-1, offset=-1, leader_epoch=-1
    )
