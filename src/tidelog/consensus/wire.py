"""Kafka's RPCs around the messages of the quorum: clusters and partitions are checked here, and nowhere else.

Four functions of `QuorumWire` suffice to talk: requests and answers, written and read. What the answers mean, including
their error codes for stale epochs and wrong leaders, is decided by the replica.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import assert_never

from tidelog.consensus import wire_answers
from tidelog.consensus.description import UNKNOWN
from tidelog.consensus.messages import (
    Answer,
    BeginEpoch,
    BeginEpochAnswer,
    EndEpoch,
    Fetch,
    FetchSnapshot,
    Request,
    SnapshotId,
    Vote,
    VoteAnswer,
)
from tidelog.consensus.wire_answers import METADATA_TOPIC_ID, NOBODY, VoterEndpoint, only_partition
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID, Uuid
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.topics import CLUSTER_METADATA_TOPIC
from tidelog.protocol.messages import (
    begin_quorum_epoch_request,
    end_quorum_epoch_request,
    fetch_request,
    fetch_snapshot_request,
    vote_request,
)
from tidelog.protocol.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from tidelog.protocol.messages.begin_quorum_epoch_response import BeginQuorumEpochResponse
from tidelog.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from tidelog.protocol.messages.describe_quorum_response import (
    DescribeQuorumResponse,
    Listener,
    Node,
    PartitionData,
    TopicData,
)
from tidelog.protocol.messages.end_quorum_epoch_request import EndQuorumEpochRequest
from tidelog.protocol.messages.end_quorum_epoch_response import EndQuorumEpochResponse
from tidelog.protocol.messages.fetch_request import FetchRequest
from tidelog.protocol.messages.fetch_response import FetchResponse
from tidelog.protocol.messages.fetch_snapshot_request import FetchSnapshotRequest
from tidelog.protocol.messages.fetch_snapshot_response import FetchSnapshotResponse
from tidelog.protocol.messages.vote_request import VoteRequest
from tidelog.protocol.messages.vote_response import VoteResponse
from tidelog.protocol.schema import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumWire:
    """The own side of all conversations, and where the voters can be reached."""

    cluster_id: str
    node_id: int
    directory_id: Uuid
    listener_name: str
    endpoints: Mapping[int, VoterEndpoint]

    # --- Requests

    def write_request(self, destination: int, request: Request) -> Message:
        match request:
            case Vote():
                return self._write_vote(destination, request)
            case BeginEpoch():
                return self._write_begin_epoch(destination, request)
            case EndEpoch():
                return self._write_end_epoch(request)
            case Fetch():
                return self._write_fetch(request)
            case FetchSnapshot():
                return self._write_fetch_snapshot(request)
            case _:
                assert_never(request)

    def read_request(self, message: Message) -> Request | Message:
        """The request, or, if it is not meant for this replica of this cluster, the response that says so."""
        match message:
            case (
                VoteRequest()
                | BeginQuorumEpochRequest()
                | EndQuorumEpochRequest()
                | FetchRequest()
                | FetchSnapshotRequest()
            ):
                partition = only_partition(message.topics)
            case _:
                raise TypeError(f"{type(message).__name__} is not a request of the metadata quorum")
        error = self._error(message.cluster_id, partition)
        if error != ErrorCode.NONE:
            return _RESPONSES[type(message)](error_code=error)
        match message:
            case VoteRequest():
                if not self._is_meant(message.voter_id, partition.voter_directory_id):
                    return self.write_answer(VoteAnswer(epoch=0, error=ErrorCode.INVALID_VOTER_KEY))
                return Vote(
                    candidate_id=partition.replica_id,
                    candidate_directory_id=Uuid(partition.replica_directory_id),
                    epoch=partition.replica_epoch,
                    last_epoch=partition.last_offset_epoch,
                    end_offset=partition.last_offset,
                    pre_vote=partition.pre_vote,
                )
            case BeginQuorumEpochRequest():
                if not self._is_meant(message.voter_id, partition.voter_directory_id):
                    return self.write_answer(BeginEpochAnswer(epoch=0, error=ErrorCode.INVALID_VOTER_KEY))
                return BeginEpoch(leader_id=partition.leader_id, epoch=partition.leader_epoch)
            case EndQuorumEpochRequest():
                candidates = [candidate.candidate_id for candidate in partition.preferred_candidates]
                successors = tuple(candidates or partition.preferred_successors)
                return EndEpoch(leader_id=partition.leader_id, epoch=partition.leader_epoch, successors=successors)
            case FetchRequest():
                return _read_fetch(message, partition)
            case FetchSnapshotRequest():
                return FetchSnapshot(
                    replica_id=message.replica_id,
                    directory_id=Uuid(partition.replica_directory_id),
                    epoch=partition.current_leader_epoch,
                    snapshot_id=SnapshotId(partition.snapshot_id.end_offset, partition.snapshot_id.epoch),
                    position=partition.position,
                    max_bytes=message.max_bytes,
                )

    def _write_vote(self, destination: int, request: Vote) -> VoteRequest:
        partition = vote_request.PartitionData(
            replica_epoch=request.epoch,
            replica_id=request.candidate_id,
            replica_directory_id=request.candidate_directory_id,
            last_offset_epoch=request.last_epoch,
            last_offset=request.end_offset,
            pre_vote=request.pre_vote,
        )
        topic = vote_request.TopicData(topic_name=CLUSTER_METADATA_TOPIC, partitions=[partition])
        return VoteRequest(cluster_id=self.cluster_id, voter_id=destination, topics=[topic])

    def _write_begin_epoch(self, destination: int, request: BeginEpoch) -> BeginQuorumEpochRequest:
        partition = begin_quorum_epoch_request.PartitionData(leader_id=request.leader_id, leader_epoch=request.epoch)
        topic = begin_quorum_epoch_request.TopicData(topic_name=CLUSTER_METADATA_TOPIC, partitions=[partition])
        own = self.endpoints.get(self.node_id)
        endpoint = begin_quorum_epoch_request.LeaderEndpoint
        return BeginQuorumEpochRequest(
            cluster_id=self.cluster_id,
            voter_id=destination,
            topics=[topic],
            leader_endpoints=[] if own is None else [endpoint(name=self.listener_name, host=own.host, port=own.port)],
        )

    def _write_end_epoch(self, request: EndEpoch) -> EndQuorumEpochRequest:
        candidate = end_quorum_epoch_request.ReplicaInfo
        partition = end_quorum_epoch_request.PartitionData(
            leader_id=request.leader_id,
            leader_epoch=request.epoch,
            preferred_successors=request.successors,
            preferred_candidates=[candidate(candidate_id=successor) for successor in request.successors],
        )
        topic = end_quorum_epoch_request.TopicData(topic_name=CLUSTER_METADATA_TOPIC, partitions=[partition])
        own = self.endpoints.get(self.node_id)
        endpoint = end_quorum_epoch_request.LeaderEndpoint
        return EndQuorumEpochRequest(
            cluster_id=self.cluster_id,
            topics=[topic],
            leader_endpoints=[] if own is None else [endpoint(name=self.listener_name, host=own.host, port=own.port)],
        )

    def _write_fetch(self, request: Fetch) -> FetchRequest:
        partition = fetch_request.FetchPartition(
            current_leader_epoch=request.epoch,
            fetch_offset=request.offset,
            last_fetched_epoch=request.last_epoch,
            partition_max_bytes=request.max_bytes,
            replica_directory_id=request.directory_id,
            high_watermark=request.high_watermark,
        )
        topic = fetch_request.FetchTopic(
            topic=CLUSTER_METADATA_TOPIC, topic_id=METADATA_TOPIC_ID, partitions=[partition]
        )
        return FetchRequest(
            cluster_id=self.cluster_id,
            replica_id=request.replica_id,
            replica_state=fetch_request.ReplicaState(replica_id=request.replica_id),
            max_wait_ms=request.max_wait_ms,
            max_bytes=request.max_bytes,
            topics=[topic],
        )

    def _write_fetch_snapshot(self, request: FetchSnapshot) -> FetchSnapshotRequest:
        partition = fetch_snapshot_request.PartitionSnapshot(
            current_leader_epoch=request.epoch,
            snapshot_id=fetch_snapshot_request.SnapshotId(**request.snapshot_id._asdict()),
            position=request.position,
            replica_directory_id=request.directory_id,
        )
        topic = fetch_snapshot_request.TopicSnapshot(name=CLUSTER_METADATA_TOPIC, partitions=[partition])
        return FetchSnapshotRequest(
            cluster_id=self.cluster_id, replica_id=request.replica_id, max_bytes=request.max_bytes, topics=[topic]
        )

    def _error(self, cluster_id: str | None, partition: object | None) -> ErrorCode:
        """A sender that does not tell its cluster is believed to belong to this one."""
        if cluster_id is not None and cluster_id != self.cluster_id:
            return ErrorCode.INCONSISTENT_CLUSTER_ID
        return ErrorCode.INVALID_REQUEST if partition is None else ErrorCode.NONE

    def _is_meant(self, voter_id: int, directory_id: bytes) -> bool:
        return voter_id in (NOBODY, self.node_id) and directory_id in (ZERO_UUID, self.directory_id)

    # --- Answers

    def write_answer(self, answer: Answer) -> Message:
        """The bytes that only the driver could read must be in the answer by now."""
        leader = None if answer.leader_id is None else self.endpoints.get(answer.leader_id)
        endpoints = [] if answer.leader_id is None or leader is None else [(answer.leader_id, leader)]
        return wire_answers.write_answer(answer, endpoints)

    def read_answer(self, message: Message) -> Answer | None:
        """None if the other side could not make sense of the request, or this side cannot of its response."""
        return wire_answers.read_answer(message)

    # --- DescribeQuorum

    def write_description(
        self, request: DescribeQuorumRequest, description: PartitionData | None
    ) -> DescribeQuorumResponse:
        """The description is None where the replica does not lead: then the answer is to ask the leader."""
        if only_partition(request.topics) is None:
            return DescribeQuorumResponse(
                topics=[
                    TopicData(
                        topic_name=topic.topic_name,
                        partitions=[
                            PartitionData(
                                partition_index=partition.partition_index,
                                error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                                error_message="only the quorum of the metadata log can be described",
                            )
                            for partition in topic.partitions
                        ],
                    )
                    for topic in request.topics
                ]
            )
        nodes = [
            Node(node_id=node_id, listeners=[Listener(name=self.listener_name, host=endpoint.host, port=endpoint.port)])
            for node_id, endpoint in sorted(self.endpoints.items())
        ]
        partition = description or PartitionData(
            error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER,
            error_message="this node does not lead the quorum",
            leader_id=NOBODY,
            leader_epoch=UNKNOWN,
        )
        return DescribeQuorumResponse(
            topics=[TopicData(topic_name=CLUSTER_METADATA_TOPIC, partitions=[partition])],
            nodes=nodes if description is not None else (),
        )


_RESPONSES: dict[type[Message], Callable[..., Message]] = {
    VoteRequest: VoteResponse,
    BeginQuorumEpochRequest: BeginQuorumEpochResponse,
    EndQuorumEpochRequest: EndQuorumEpochResponse,
    FetchRequest: FetchResponse,
    FetchSnapshotRequest: FetchSnapshotResponse,
}


def _read_fetch(message: FetchRequest, partition: fetch_request.FetchPartition) -> Fetch:
    return Fetch(
        # Only one of the two exists in any version; the other keeps the value for clients.
        replica_id=max(message.replica_id, message.replica_state.replica_id),
        directory_id=Uuid(partition.replica_directory_id),
        epoch=partition.current_leader_epoch,
        offset=partition.fetch_offset,
        last_epoch=partition.last_fetched_epoch,
        high_watermark=partition.high_watermark,
        max_wait_ms=message.max_wait_ms,
        # Kafka's own replicas leave the limit of the partition at zero.
        max_bytes=min(message.max_bytes, partition.partition_max_bytes or message.max_bytes),
    )
