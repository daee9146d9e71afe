"""Where the epochs of leaders end in their logs (OffsetForLeaderEpoch).

With that a reader learns whether a new leader has what it has read (KIP-320). After an unclean election a log may have
lost records that a reader has seen, and got others in their place. Offsets alone do not tell; the leader epoch of the
record before the position does: the new leader says where that epoch ends in its log. If that is before the position,
the reader has read what is not there any more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.errors import outcome
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tidelog.protocol.messages.offset_for_leader_epoch_response import OffsetForLeaderEpochResponse

_CONSUMER_REPLICA_ID = -1
_UNKNOWN = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Has the leader, whose epoch we believe to be `current_epoch`, everything of `epoch` before `offset`?"""

    offset: int
    epoch: int
    current_epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderEpochEnd:
    """How far a leader has the epoch, or else the last one before it. -1 in both: it knows neither."""

    epoch: int
    end_offset: int

    @property
    def known(self) -> bool:
        return self.epoch != _UNKNOWN and self.end_offset != _UNKNOWN

    def reaches(self, question: Question) -> bool:
        return self.known and self.end_offset >= question.offset


async def ask_for_epoch_ends(
    cluster: Cluster, node: int, questions: Mapping[TopicPartition, Question]
) -> dict[TopicPartition, LeaderEpochEnd | ApiError]:
    """One try with one leader."""
    by_topic: dict[str, list[OffsetForLeaderPartition]] = defaultdict(list)
    for partition, question in questions.items():
        by_topic[partition.topic].append(
            OffsetForLeaderPartition(
                partition=partition.partition,
                current_leader_epoch=question.current_epoch,
                leader_epoch=question.epoch,
            )
        )
    request = OffsetForLeaderEpochRequest(
        replica_id=_CONSUMER_REPLICA_ID,
        topics=[OffsetForLeaderTopic(topic=topic, partitions=parts) for topic, parts in by_topic.items()],
    )
    reply = await cluster.ask_node(node, request, OffsetForLeaderEpochResponse)
    return {
        TopicPartition(topic.topic, entry.partition): outcome(
            entry.error_code,
            f"partition {topic.topic}-{entry.partition}",
            LeaderEpochEnd(epoch=entry.leader_epoch, end_offset=entry.end_offset),
        )
        for topic in reply.topics
        for entry in topic.partitions
    }
