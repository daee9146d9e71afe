"""The responses of Kafka's RPCs around the answers of the quorum: for `tidelog.consensus.wire` only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tidelog.consensus.messages import (
    BeginEpochAnswer,
    EndEpochAnswer,
    EpochEnd,
    FetchAnswer,
    FetchSnapshotAnswer,
    SnapshotId,
    VoteAnswer,
)
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID, Uuid
from tidelog.model.topics import CLUSTER_METADATA_TOPIC
from tidelog.protocol.messages import (
    begin_quorum_epoch_response,
    end_quorum_epoch_response,
    fetch_response,
    fetch_snapshot_response,
    vote_response,
)
from tidelog.protocol.messages.begin_quorum_epoch_response import BeginQuorumEpochResponse
from tidelog.protocol.messages.end_quorum_epoch_response import EndQuorumEpochResponse
from tidelog.protocol.messages.fetch_response import FetchResponse
from tidelog.protocol.messages.fetch_snapshot_response import FetchSnapshotResponse
from tidelog.protocol.messages.vote_response import VoteResponse

# The id that Kafka gives to the metadata topic.
METADATA_TOPIC_ID = Uuid(bytes(15) + b"\x01")

NOBODY = -1
_UNKNOWN_HIGH_WATERMARK = -1


class VoterEndpoint(NamedTuple):
    host: str
    port: int


# The leader, if it and its address are known.
LeaderEndpoints = Sequence[tuple[int, VoterEndpoint]]


def write_vote(answer: VoteAnswer, endpoints: LeaderEndpoints) -> VoteResponse:
    partition = vote_response.PartitionData(
        error_code=answer.error,
        leader_id=_id_of(answer.leader_id),
        leader_epoch=answer.epoch,
        vote_granted=answer.granted,
    )
    topic = vote_response.TopicData(topic_name=CLUSTER_METADATA_TOPIC, partitions=[partition])
    return VoteResponse(topics=[topic], node_endpoints=_node_endpoints(vote_response.NodeEndpoint, endpoints))


def read_vote(message: VoteResponse) -> VoteAnswer | None:
    partition = only_partition(message.topics)
    if message.error_code != ErrorCode.NONE or partition is None:
        return None
    return VoteAnswer(
        error=_error_of(partition.error_code),
        leader_id=_known(partition.leader_id),
        epoch=partition.leader_epoch,
        granted=partition.vote_granted,
    )


def write_begin_epoch(answer: BeginEpochAnswer, endpoints: LeaderEndpoints) -> BeginQuorumEpochResponse:
    partition = begin_quorum_epoch_response.PartitionData(
        error_code=answer.error, leader_id=_id_of(answer.leader_id), leader_epoch=answer.epoch
    )
    topic = begin_quorum_epoch_response.TopicData(topic_name=CLUSTER_METADATA_TOPIC, partitions=[partition])
    nodes = _node_endpoints(begin_quorum_epoch_response.NodeEndpoint, endpoints)
    return BeginQuorumEpochResponse(topics=[topic], node_endpoints=nodes)


def read_begin_epoch(message: BeginQuorumEpochResponse) -> BeginEpochAnswer | None:
    partition = only_partition(message.topics)
    if message.error_code != ErrorCode.NONE or partition is None:
        return None
    return BeginEpochAnswer(
        error=_error_of(partition.error_code), leader_id=_known(partition.leader_id), epoch=partition.leader_epoch
    )


def write_end_epoch(answer: EndEpochAnswer, endpoints: LeaderEndpoints) -> EndQuorumEpochResponse:
    partition = end_quorum_epoch_response.PartitionData(
        error_code=answer.error, leader_id=_id_of(answer.leader_id), leader_epoch=answer.epoch
    )
    topic = end_quorum_epoch_response.TopicData(topic_name=CLUSTER_METADATA_TOPIC, partitions=[partition])
    nodes = _node_endpoints(end_quorum_epoch_response.NodeEndpoint, endpoints)
    return EndQuorumEpochResponse(topics=[topic], node_endpoints=nodes)


def read_end_epoch(message: EndQuorumEpochResponse) -> EndEpochAnswer | None:
    partition = only_partition(message.topics)
    if message.error_code != ErrorCode.NONE or partition is None:
        return None
    return EndEpochAnswer(
        error=_error_of(partition.error_code), leader_id=_known(partition.leader_id), epoch=partition.leader_epoch
    )


def write_fetch(answer: FetchAnswer, endpoints: LeaderEndpoints) -> FetchResponse:
    diverging, snapshot = answer.diverging, answer.snapshot_id
    partition = fetch_response.PartitionData(
        error_code=answer.error,
        high_watermark=_UNKNOWN_HIGH_WATERMARK if answer.high_watermark is None else answer.high_watermark,
        log_start_offset=answer.log_start_offset,
        current_leader=fetch_response.LeaderIdAndEpoch(leader_id=_id_of(answer.leader_id), leader_epoch=answer.epoch),
        diverging_epoch=fetch_response.EpochEndOffset(**({} if diverging is None else diverging._asdict())),
        snapshot_id=fetch_response.SnapshotId(**({} if snapshot is None else snapshot._asdict())),
        records=answer.records,
    )
    topic = fetch_response.FetchableTopicResponse(
        topic=CLUSTER_METADATA_TOPIC, topic_id=METADATA_TOPIC_ID, partitions=[partition]
    )
    return FetchResponse(responses=[topic], node_endpoints=_node_endpoints(fetch_response.NodeEndpoint, endpoints))


def read_fetch(message: FetchResponse) -> FetchAnswer | None:
    partition = only_partition(message.responses)
    if message.error_code != ErrorCode.NONE or partition is None:
        return None
    diverging, snapshot = partition.diverging_epoch, partition.snapshot_id
    if (snapshot.epoch < 0) != (snapshot.end_offset < 0):
        return None
    return FetchAnswer(
        error=_error_of(partition.error_code),
        leader_id=_known(partition.current_leader.leader_id),
        epoch=partition.current_leader.leader_epoch,
        high_watermark=None if partition.high_watermark < 0 else partition.high_watermark,
        log_start_offset=partition.log_start_offset,
        diverging=None if diverging.epoch < 0 else EpochEnd(diverging.epoch, diverging.end_offset),
        snapshot_id=None if snapshot.epoch < 0 else SnapshotId(snapshot.end_offset, snapshot.epoch),
        records=partition.records if partition.records is not None else b"",
    )


def write_fetch_snapshot(answer: FetchSnapshotAnswer, endpoints: LeaderEndpoints) -> FetchSnapshotResponse:
    partition = fetch_snapshot_response.PartitionSnapshot(
        error_code=answer.error,
        snapshot_id=fetch_snapshot_response.SnapshotId(**answer.snapshot_id._asdict()),
        current_leader=fetch_snapshot_response.LeaderIdAndEpoch(
            leader_id=_id_of(answer.leader_id), leader_epoch=answer.epoch
        ),
        size=answer.size,
        position=answer.position,
        unaligned_records=answer.data,
    )
    topic = fetch_snapshot_response.TopicSnapshot(name=CLUSTER_METADATA_TOPIC, partitions=[partition])
    nodes = _node_endpoints(fetch_snapshot_response.NodeEndpoint, endpoints)
    return FetchSnapshotResponse(topics=[topic], node_endpoints=nodes)


def read_fetch_snapshot(message: FetchSnapshotResponse) -> FetchSnapshotAnswer | None:
    partition = only_partition(message.topics)
    if message.error_code != ErrorCode.NONE or partition is None:
        return None
    return FetchSnapshotAnswer(
        error=_error_of(partition.error_code),
        leader_id=_known(partition.current_leader.leader_id),
        epoch=partition.current_leader.leader_epoch,
        snapshot_id=SnapshotId(partition.snapshot_id.end_offset, partition.snapshot_id.epoch),
        size=partition.size,
        position=partition.position,
        data=partition.unaligned_records if partition.unaligned_records is not None else b"",
    )


def only_partition(topics: Sequence[Any]) -> Any:
    """The partition of the metadata log, or None if the message is not about exactly that.

    The messages name their fields differently, and newer versions of Fetch have the id in place of the name.
    """
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        return None
    topic = topics[0]
    name = next(getattr(topic, field) for field in ("topic_name", "name", "topic") if hasattr(topic, field))
    if name != CLUSTER_METADATA_TOPIC and getattr(topic, "topic_id", ZERO_UUID) != METADATA_TOPIC_ID:
        return None
    partition = topic.partitions[0]
    index = next(getattr(partition, field) for field in _INDEX_FIELDS if hasattr(partition, field))
    return partition if index == 0 else None


_INDEX_FIELDS = ("partition_index", "partition", "index")


def _node_endpoints(endpoint_class: type[Any], endpoints: LeaderEndpoints) -> list[Any]:
    return [endpoint_class(node_id=node_id, host=endpoint.host, port=endpoint.port) for node_id, endpoint in endpoints]


def _error_of(code: int) -> ErrorCode:
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def _id_of(leader_id: int | None) -> int:
    return NOBODY if leader_id is None else leader_id


def _known(leader_id: int) -> int | None:
    return None if leader_id < 0 else leader_id
