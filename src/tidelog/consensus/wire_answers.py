"""The responses of Kafka's RPCs around the answers of the quorum: for `tidelog.consensus.wire` only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, assert_never

from tidelog.consensus.messages import (
    Answer,
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
from tidelog.protocol.schema import Message

# The id that Kafka gives to the metadata topic.
METADATA_TOPIC_ID = Uuid(bytes(15) + b"\x01")

NOBODY = -1
_UNKNOWN_HIGH_WATERMARK = -1


class VoterEndpoint(NamedTuple):
    host: str
    port: int


# The leader, if it and its address are known.
LeaderEndpoints = Sequence[tuple[int, VoterEndpoint]]


def write_answer(answer: Answer, endpoints: LeaderEndpoints) -> Message:
    leader = {"leader_id": NOBODY if answer.leader_id is None else answer.leader_id, "leader_epoch": answer.epoch}
    match answer:
        case VoteAnswer():
            vote = vote_response.PartitionData(error_code=answer.error, vote_granted=answer.granted, **leader)
            return _voter_response(VoteResponse, vote_response, vote, endpoints)
        case BeginEpochAnswer():
            begun = begin_quorum_epoch_response.PartitionData(error_code=answer.error, **leader)
            return _voter_response(BeginQuorumEpochResponse, begin_quorum_epoch_response, begun, endpoints)
        case EndEpochAnswer():
            ended = end_quorum_epoch_response.PartitionData(error_code=answer.error, **leader)
            return _voter_response(EndQuorumEpochResponse, end_quorum_epoch_response, ended, endpoints)
        case FetchAnswer():
            return _write_fetch(answer, fetch_response.LeaderIdAndEpoch(**leader), endpoints)
        case FetchSnapshotAnswer():
            return _write_fetch_snapshot(answer, fetch_snapshot_response.LeaderIdAndEpoch(**leader), endpoints)
        case _:
            assert_never(answer)


def _voter_response(kind: type[Any], module: Any, partition: Any, endpoints: LeaderEndpoints) -> Message:
    """Of the three kinds that only voters exchange, whose generated modules are alike."""
    topic = module.TopicData(topic_name=CLUSTER_METADATA_TOPIC, partitions=[partition])
    response: Message = kind(topics=[topic], node_endpoints=_node_endpoints(module.NodeEndpoint, endpoints))
    return response


def _write_fetch(
    answer: FetchAnswer, leader: fetch_response.LeaderIdAndEpoch, endpoints: LeaderEndpoints
) -> FetchResponse:
    diverging, snapshot = answer.diverging, answer.snapshot_id
    partition = fetch_response.PartitionData(
        error_code=answer.error,
        high_watermark=_UNKNOWN_HIGH_WATERMARK if answer.high_watermark is None else answer.high_watermark,
        log_start_offset=answer.log_start_offset,
        current_leader=leader,
        diverging_epoch=fetch_response.EpochEndOffset(**({} if diverging is None else diverging._asdict())),
        snapshot_id=fetch_response.SnapshotId(**({} if snapshot is None else snapshot._asdict())),
        records=answer.records,
    )
    topic = fetch_response.FetchableTopicResponse(
        topic=CLUSTER_METADATA_TOPIC, topic_id=METADATA_TOPIC_ID, partitions=[partition]
    )
    return FetchResponse(responses=[topic], node_endpoints=_node_endpoints(fetch_response.NodeEndpoint, endpoints))


def _write_fetch_snapshot(
    answer: FetchSnapshotAnswer, leader: fetch_snapshot_response.LeaderIdAndEpoch, endpoints: LeaderEndpoints
) -> FetchSnapshotResponse:
    partition = fetch_snapshot_response.PartitionSnapshot(
        error_code=answer.error,
        snapshot_id=fetch_snapshot_response.SnapshotId(**answer.snapshot_id._asdict()),
        current_leader=leader,
        size=answer.size,
        position=answer.position,
        unaligned_records=answer.data,
    )
    topic = fetch_snapshot_response.TopicSnapshot(name=CLUSTER_METADATA_TOPIC, partitions=[partition])
    nodes = _node_endpoints(fetch_snapshot_response.NodeEndpoint, endpoints)
    return FetchSnapshotResponse(topics=[topic], node_endpoints=nodes)


def read_answer(message: Message) -> Answer | None:
    """None if the other side could not make sense of the request, or this side cannot of its response."""
    match message:
        case FetchResponse():
            partition = only_partition(message.responses)
        case VoteResponse() | BeginQuorumEpochResponse() | EndQuorumEpochResponse() | FetchSnapshotResponse():
            partition = only_partition(message.topics)
        case _:
            raise TypeError(f"{type(message).__name__} is not a response of the metadata quorum")
    if message.error_code != ErrorCode.NONE or partition is None:
        return None
    leader = getattr(partition, "current_leader", partition)
    common: dict[str, Any] = {
        "error": _error_of(partition.error_code),
        "leader_id": None if leader.leader_id < 0 else leader.leader_id,
        "epoch": leader.leader_epoch,
    }
    match message:
        case VoteResponse():
            return VoteAnswer(granted=partition.vote_granted, **common)
        case BeginQuorumEpochResponse():
            return BeginEpochAnswer(**common)
        case EndQuorumEpochResponse():
            return EndEpochAnswer(**common)
        case FetchResponse():
            return _read_fetch(partition, common)
        case FetchSnapshotResponse():
            return FetchSnapshotAnswer(
                snapshot_id=SnapshotId(partition.snapshot_id.end_offset, partition.snapshot_id.epoch),
                size=partition.size,
                position=partition.position,
                data=partition.unaligned_records if partition.unaligned_records is not None else b"",
                **common,
            )


def _read_fetch(partition: fetch_response.PartitionData, common: dict[str, Any]) -> FetchAnswer | None:
    diverging, snapshot = partition.diverging_epoch, partition.snapshot_id
    if (snapshot.epoch < 0) != (snapshot.end_offset < 0):
        return None
    return FetchAnswer(
        high_watermark=None if partition.high_watermark < 0 else partition.high_watermark,
        log_start_offset=partition.log_start_offset,
        diverging=None if diverging.epoch < 0 else EpochEnd(diverging.epoch, diverging.end_offset),
        snapshot_id=None if snapshot.epoch < 0 else SnapshotId(snapshot.end_offset, snapshot.epoch),
        records=partition.records if partition.records is not None else b"",
        **common,
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
