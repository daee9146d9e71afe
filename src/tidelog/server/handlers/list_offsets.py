"""ListOffsets: where a partition begins and ends, and which offset belongs to a time.

Times below zero have a meaning: -1 the end, -2 the start, -3 the record with the largest timestamp (KIP-734, version
7), -4 the earliest offset on this disk (version 8), -5 and -6 offsets of tiered storage, of which there is none
(versions 9 and 11: answered with -1). The end is the high watermark, or the last stable offset for read_committed.

A leader that has only just been elected may not know yet how far its predecessor had committed. Until its watermark
has reached the start of its own epoch it does not tell an end, which could be before one that was told already
(KIP-207, version 5; older readers are told that there is no leader yet).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest
from tidelog.protocol.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tidelog.server.context import RequestContext
from tidelog.server.replicas.replica import Replica

if TYPE_CHECKING:
    from tidelog.server.node import Node

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


def handle(node: Node, request: ListOffsetsRequest, context: RequestContext) -> ListOffsetsResponse:
    topics = []
    seen: set[tuple[str, int]] = set()
    for topic in request.topics:
        partitions = []
        for wanted in topic.partitions:
            key = (topic.name, wanted.partition_index)
            if key in seen:
                partitions.append(_failed(wanted, ErrorCode.INVALID_REQUEST))
                continue
            seen.add(key)
            partitions.append(_find(node, request, topic.name, wanted, context.version))
        topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=partitions))
    return ListOffsetsResponse(topics=topics)


def _find(
    node: Node, request: ListOffsetsRequest, topic: str, wanted: ListOffsetsPartition, version: int
) -> ListOffsetsPartitionResponse:
    if request.replica_id >= 0:
        return _failed(wanted, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    if wanted.timestamp < 0 and version < _FIRST_VERSIONS.get(wanted.timestamp, 1 << 15):
        return _failed(wanted, ErrorCode.UNSUPPORTED_VERSION)
    replica = node.replicas.leader(topic, wanted.partition_index)
    if isinstance(replica, ErrorCode):
        return _failed(wanted, replica)
    problem = replica.check_leader_epoch(wanted.current_leader_epoch)
    if problem:
        return _failed(wanted, problem)
    found = _look_up(replica, request.isolation_level, wanted.timestamp)
    if found is None:
        known = version >= _OFFSET_NOT_AVAILABLE_FROM
        return _failed(wanted, ErrorCode.OFFSET_NOT_AVAILABLE if known else ErrorCode.LEADER_NOT_AVAILABLE)
    timestamp, offset, leader_epoch = found
    return ListOffsetsPartitionResponse(
        partition_index=wanted.partition_index, timestamp=timestamp, offset=offset, leader_epoch=leader_epoch
    )


def _look_up(replica: Replica, isolation_level: int, wanted: int) -> tuple[int, int, int] | None:
    """(timestamp, offset, leader epoch), each -1 where there is none; None if that cannot be told yet."""
    log = replica.log
    end = replica.readable_end(isolation_level)
    end_is_known = replica.progress is not None and replica.progress.epoch_start_offset <= log.high_watermark
    if wanted == LATEST:
        return (-1, end, replica.leader_epoch) if end_is_known else None
    if wanted in (EARLIEST, EARLIEST_LOCAL):
        epoch = log.leader_epochs.epoch_for_offset(log.log_start_offset)
        return -1, log.log_start_offset, replica.leader_epoch if epoch is None else epoch
    if wanted in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return -1, -1, -1
    found = log.max_timestamp_offset() if wanted == MAX_TIMESTAMP else log.offset_by_timestamp(wanted)
    if found is not None and found.offset >= end and not end_is_known:
        return None
    if found is None or found.offset >= end:
        return -1, -1, -1
    return found.timestamp, found.offset, found.leader_epoch


def _failed(wanted: ListOffsetsPartition, code: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(
        partition_index=wanted.partition_index, error_code=code, timestamp=-1, offset=-1, leader_epoch=-1
    )
