"""Kafka's RPCs around the messages of the quorum, in every version, through their bytes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from consensus.wire_translation import ENDPOINTS, through_bytes, versions_of, wire_of

from tidelog.consensus.messages import (
    UNTOLD_HIGH_WATERMARK,
    Answer,
    BeginEpoch,
    BeginEpochAnswer,
    EndEpoch,
    EndEpochAnswer,
    EpochEnd,
    Fetch,
    FetchAnswer,
    FetchSnapshot,
    FetchSnapshotAnswer,
    Request,
    SnapshotId,
    Vote,
    VoteAnswer,
)
from tidelog.consensus.wire import QuorumWire
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID, Uuid
from tidelog.protocol.messages import describe_quorum_request, fetch_request, vote_request, vote_response
from tidelog.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from tidelog.protocol.messages.describe_quorum_response import DescribeQuorumResponse, PartitionData
from tidelog.protocol.messages.fetch_request import FetchRequest
from tidelog.protocol.messages.list_groups_request import ListGroupsRequest
from tidelog.protocol.messages.vote_request import VoteRequest
from tidelog.protocol.messages.vote_response import VoteResponse
from tidelog.protocol.schema import Message

REQUESTS: list[Request] = [
    Vote(candidate_id=2, epoch=5, last_epoch=4, end_offset=77),
    Vote(candidate_id=2, epoch=5, last_epoch=5, end_offset=77, pre_vote=True),
    BeginEpoch(leader_id=2, epoch=5),
    EndEpoch(leader_id=2, epoch=5, successors=(3, 1)),
    Fetch(replica_id=2, epoch=5, offset=77, last_epoch=4, max_wait_ms=500, max_bytes=4_096),
    Fetch(replica_id=-1, epoch=5, offset=0, last_epoch=0),
    FetchSnapshot(replica_id=2, epoch=5, snapshot_id=SnapshotId(70, 4), position=1_000, max_bytes=4_096),
]
ANSWERS: list[Answer] = [
    VoteAnswer(epoch=5, granted=True),
    VoteAnswer(epoch=6, leader_id=3, error=ErrorCode.FENCED_LEADER_EPOCH),
    BeginEpochAnswer(epoch=5, leader_id=2),
    EndEpochAnswer(epoch=5, leader_id=2, error=ErrorCode.INCONSISTENT_VOTER_SET),
    FetchAnswer(epoch=5, leader_id=2, high_watermark=70, log_start_offset=3, records=b"records"),
    FetchAnswer(epoch=5, leader_id=2, diverging=EpochEnd(4, 60)),
    FetchAnswer(epoch=5, leader_id=2, snapshot_id=SnapshotId(70, 4)),
    FetchAnswer(epoch=5, error=ErrorCode.NOT_LEADER_OR_FOLLOWER),
    FetchSnapshotAnswer(epoch=5, leader_id=2, snapshot_id=SnapshotId(70, 4), position=8, size=90, data=b"piece"),
    FetchSnapshotAnswer(epoch=5, leader_id=2, snapshot_id=SnapshotId(70, 4), error=ErrorCode.SNAPSHOT_NOT_FOUND),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=str)
def test_requests_arrive_as_they_were_sent(request_: Request) -> None:
    message = wire_of(2).write_request(1, request_)
    for version in versions_of(type(message)):
        assert wire_of(1).read_request(through_bytes(message, version)) == request_


@pytest.mark.parametrize("answer", ANSWERS, ids=str)
def test_answers_arrive_as_they_were_given(answer: Answer) -> None:
    message = wire_of(1).write_answer(answer)
    for version in versions_of(type(message)):
        assert wire_of(2).read_answer(through_bytes(message, version)) == answer


def test_directories_and_watermarks_travel_where_the_version_has_them() -> None:
    fetch = Fetch(
        replica_id=2, epoch=5, offset=7, last_epoch=4, high_watermark=6, directory_id=Uuid(b"d" * 16), max_bytes=9
    )
    message = wire_of(2).write_request(1, fetch)
    assert wire_of(1).read_request(through_bytes(message, 18)) == fetch
    older = replace(fetch, high_watermark=UNTOLD_HIGH_WATERMARK)
    assert wire_of(1).read_request(through_bytes(message, 17)) == older
    assert wire_of(1).read_request(through_bytes(message, 16)) == replace(older, directory_id=ZERO_UUID)
    vote = Vote(candidate_id=2, epoch=5, last_epoch=4, end_offset=7, candidate_directory_id=Uuid(b"d" * 16))
    message = wire_of(2).write_request(1, vote)
    assert wire_of(1).read_request(through_bytes(message, 1)) == vote


@pytest.mark.parametrize("request_", REQUESTS, ids=str)
def test_a_request_from_another_cluster_is_refused(request_: Request) -> None:
    message = wire_of(2, cluster_id="elsewhere").write_request(1, request_)
    response = wire_of(1).read_request(message)
    assert isinstance(response, Message)
    assert getattr(response, "error_code", None) == ErrorCode.INCONSISTENT_CLUSTER_ID
    assert wire_of(2).read_answer(response) is None, "to the sender that is no answer"


def vote_for(cluster_id: str | None, **content: int | bytes) -> VoteRequest:
    partition = vote_request.PartitionData(**content)  # type: ignore[arg-type]
    topic = vote_request.TopicData(topic_name="__cluster_metadata", partitions=[partition])
    return VoteRequest(cluster_id=cluster_id, topics=[topic])


def test_a_request_without_a_cluster_is_believed() -> None:
    message = vote_for(None, replica_id=2, replica_epoch=5, last_offset_epoch=4, last_offset=77)
    assert wire_of(1).read_request(message) == REQUESTS[0]


@pytest.mark.parametrize(
    "message",
    [
        VoteRequest(),
        VoteRequest(topics=[vote_request.TopicData(topic_name="t", partitions=[vote_request.PartitionData()])]),
        VoteRequest(topics=[vote_request.TopicData(topic_name="__cluster_metadata")]),
        VoteRequest(
            topics=[
                vote_request.TopicData(
                    topic_name="__cluster_metadata", partitions=[vote_request.PartitionData(partition_index=1)]
                )
            ]
        ),
        FetchRequest(topics=[fetch_request.FetchTopic(topic="t", partitions=[fetch_request.FetchPartition()])]),
    ],
)
def test_a_request_about_other_partitions_is_refused(message: Message) -> None:
    response = wire_of(1).read_request(message)
    assert getattr(response, "error_code", None) == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("request_", [REQUESTS[0], REQUESTS[2]], ids=str)
def test_a_request_for_another_voter_is_refused(request_: Request) -> None:
    response = wire_of(1).read_request(wire_of(2).write_request(3, request_))
    assert isinstance(response, Message)
    answer = wire_of(2).read_answer(response)
    assert isinstance(answer, VoteAnswer | BeginEpochAnswer)
    assert answer.error == ErrorCode.INVALID_VOTER_KEY


def test_a_request_for_another_directory_is_refused() -> None:
    content = {"replica_id": 2, "replica_epoch": 5, "last_offset_epoch": 4, "last_offset": 77}
    message = vote_for("cluster", voter_directory_id=b"x" * 16, **content)
    assert isinstance(wire_of(1).read_request(message), VoteResponse)
    own = QuorumWire(
        cluster_id="cluster", node_id=1, directory_id=Uuid(b"x" * 16), listener_name="CONTROLLER", endpoints={}
    )
    assert own.read_request(message) == REQUESTS[0]


def test_the_leaders_address_comes_with_the_answer() -> None:
    message = wire_of(1).write_answer(VoteAnswer(epoch=5, leader_id=3))
    assert isinstance(message, VoteResponse)
    assert [(node.node_id, node.host, node.port) for node in message.node_endpoints] == [(3, *ENDPOINTS[3])]


def test_an_error_that_is_not_known_is_an_error() -> None:
    partition = vote_response.PartitionData(error_code=9_999, leader_id=-1, leader_epoch=5)
    topic = vote_response.TopicData(topic_name="__cluster_metadata", partitions=[partition])
    assert wire_of(1).read_answer(VoteResponse(topics=[topic])) == VoteAnswer(
        epoch=5, error=ErrorCode.UNKNOWN_SERVER_ERROR
    )


def test_other_messages_are_not_taken() -> None:
    with pytest.raises(TypeError, match="ListGroupsRequest"):
        wire_of(1).read_request(ListGroupsRequest())
    with pytest.raises(TypeError, match="ListGroupsRequest"):
        wire_of(1).read_answer(ListGroupsRequest())


# --- DescribeQuorum

ABOUT_METADATA = DescribeQuorumRequest(
    topics=[
        describe_quorum_request.TopicData(
            topic_name="__cluster_metadata", partitions=[describe_quorum_request.PartitionData()]
        )
    ]
)


def test_the_leader_describes_the_quorum_and_where_its_nodes_are() -> None:
    description = PartitionData(leader_id=1, leader_epoch=5, high_watermark=8, current_voters=[], observers=[])
    response = wire_of(1).write_description(ABOUT_METADATA, description)
    arrived = through_bytes(response, 2)
    assert isinstance(arrived, DescribeQuorumResponse)
    assert list(arrived.topics[0].partitions) == [description]
    assert [node.node_id for node in arrived.nodes] == sorted(ENDPOINTS)
    for version in (0, 1):
        through_bytes(response, version)


def test_a_follower_does_not_describe_the_quorum() -> None:
    response = wire_of(1).write_description(ABOUT_METADATA, None)
    assert response.topics[0].partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_other_partitions_have_no_quorum() -> None:
    request = DescribeQuorumRequest(
        topics=[
            describe_quorum_request.TopicData(
                topic_name="t", partitions=[describe_quorum_request.PartitionData(partition_index=3)]
            )
        ]
    )
    response = wire_of(1).write_description(request, None)
    (partition,) = response.topics[0].partitions
    assert (partition.partition_index, partition.error_code) == (3, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
