"""How far each replica of a partition is: its log start, last stable offset, high watermark and log end.

No API of Kafka answers that directly, but two that every broker serves do together. ListOffsets with the replica id of
debugging tools is answered by any replica, with its own first offset and its log end. A consumer's Fetch is answered by
followers too (KIP-392), with their high watermark and last stable offset; it asks for the log end, so no records come
with the answer. Needs Describe and Read on the topic, as a consumer does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from tidelog.client.admin.each_replica import PATIENCE_MS, ask_each_replica, completed, problem_of
from tidelog.client.admin.topics import TopicAdmin, TopicDescription
from tidelog.client.cluster.cluster import Cluster
from tidelog.client.cluster.routing import ask_leaders
from tidelog.client.errors import outcome, raise_any, raise_for_code
from tidelog.client.offsets.epoch_ends import Question, ask_for_epoch_ends
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import ZERO_UUID, TopicPartition, Uuid
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.offset_times import EARLIEST, LATEST
from tidelog.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.fetch_response import FetchResponse
from tidelog.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tidelog.protocol.messages.list_offsets_response import ListOffsetsResponse

# Any replica answers it, not only the leader, and with its log end.
_DEBUGGING_REPLICA_ID = -2
_NO_SESSION = 0
_SESSIONLESS_EPOCH = -1
# Up to this version a Fetch request names topics; from the next on it has their ids.
_NAMED_TOPICS = 12
# A log that is cut between the two questions is asked once more, and a replica that moves as well.
_ATTEMPTS = 3
_ANSWERED_BY_ANOTHER_TRY = frozenset({ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.OFFSET_NOT_AVAILABLE})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaOffsets:
    """The marks on one replica's log, from its first offset to its end."""

    log_start_offset: int
    last_stable_offset: int
    high_watermark: int
    log_end_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderEpochRange:
    """The offsets that were written under one leader."""

    epoch: int
    start_offset: int
    end_offset: int


class ReplicaOffsetsAdmin(TopicAdmin):
    _cluster: Cluster

    async def describe_replica_offsets(
        self, partitions: Collection[TopicPartition], *, timeout_ms: float = PATIENCE_MS
    ) -> dict[TopicPartition, dict[int, ReplicaOffsets | ApiError] | ApiError]:
        """By partition and broker. A replica whose broker does not answer has an error, and the others have theirs."""
        described = await self.describe_topics(sorted({partition.topic for partition in partitions}))
        ids = {name: topic.topic_id for name, topic in described.items() if isinstance(topic, TopicDescription)}

        async def ask(
            node: int, theirs: Sequence[TopicPartition]
        ) -> Mapping[TopicPartition, ReplicaOffsets | ApiError]:
            return await self._offsets_on(node, theirs, ids, timeout_ms)

        return await ask_each_replica(partitions, described, ask)

    async def describe_leader_epochs(self, partition: TopicPartition, *, most: int = 100) -> list[LeaderEpochRange]:
        """Which offsets each leader has written, the last `most` of them, oldest first.

        An epoch in which nothing was written is not among them. The ranges reach from the log start to the log end.
        """

        async def ask(
            node: int, partitions: list[TopicPartition]
        ) -> Mapping[TopicPartition, list[LeaderEpochRange] | ApiError]:
            metadata = await self._cluster.fetch_metadata([partition.topic])
            leader = metadata.leader_of(partition)
            if leader is None or leader.leader != node:
                return {partition: ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"the leader of {partition} has changed")}
            start = (await self._ask_for_offsets(node, partitions, EARLIEST, PATIENCE_MS))[partition]
            if isinstance(start, ApiError):
                return {partition: start}
            return {partition: await self._epochs_down_from(node, partition, leader.leader_epoch, start, most)}

        answers = await ask_leaders(self._cluster, f"describing the leader epochs of {partition}", [partition], ask)
        return raise_any(answers)[partition]

    async def _epochs_down_from(
        self, leader: int, partition: TopicPartition, current: int, start: int, most: int
    ) -> list[LeaderEpochRange] | ApiError:
        """A leader knows where an epoch ends. Asked for one that has no records, it answers with the one before."""
        ends: list[tuple[int, int]] = []
        wanted = current
        while wanted >= 0 and len(ends) <= most:
            question = Question(offset=0, epoch=wanted, current_epoch=current)
            answer = (await ask_for_epoch_ends(self._cluster, leader, {partition: question}))[partition]
            if isinstance(answer, ApiError):
                return answer
            if not answer.known or answer.end_offset <= start:
                break
            ends.append((answer.epoch, answer.end_offset))
            wanted = answer.epoch - 1
        return _ranges(ends, start)[-most:]

    async def _offsets_on(
        self, node: int, partitions: Sequence[TopicPartition], ids: Mapping[str, Uuid], timeout_ms: float
    ) -> Mapping[TopicPartition, ReplicaOffsets | ApiError]:
        answers: dict[TopicPartition, ReplicaOffsets | ApiError] = {}
        left: Sequence[TopicPartition] = partitions

        async def asking() -> None:
            nonlocal left
            for _ in range(_ATTEMPTS):
                answers.update(await self._ask_for_replica_offsets(node, left, ids, timeout_ms))
                left = [each for each in left if _deserves_another_try(answers[each])]
                if not left:
                    break

        problem = await problem_of(node, asking, timeout_ms)
        if problem is not None:
            answers.update(dict.fromkeys(left, problem))
        return answers

    async def _ask_for_replica_offsets(
        self, node: int, partitions: Sequence[TopicPartition], ids: Mapping[str, Uuid], timeout_ms: float
    ) -> Mapping[TopicPartition, ReplicaOffsets | ApiError]:
        """One try. The end is asked for first, so that the marks lie before it or have moved on meanwhile."""
        ends = await self._ask_for_offsets(node, partitions, LATEST, timeout_ms)
        answers: dict[TopicPartition, ReplicaOffsets | ApiError] = {}
        wanted: dict[TopicPartition, int] = {}
        for partition, end in ends.items():
            if isinstance(end, ApiError):
                answers[partition] = end
            else:
                wanted[partition] = end
        if wanted:
            starts = await self._ask_for_offsets(node, list(wanted), EARLIEST, timeout_ms)
            marks = await self._ask_for_marks(node, wanted, ids, timeout_ms)
            for partition, end in wanted.items():
                answers[partition] = _offsets(starts[partition], marks[partition], end)
        return answers

    async def _ask_for_offsets(
        self, node: int, partitions: Sequence[TopicPartition], time: int, timeout_ms: float
    ) -> dict[TopicPartition, int | ApiError]:
        entries: dict[str, list[ListOffsetsPartition]] = defaultdict(list)
        for partition in partitions:
            entries[partition.topic].append(ListOffsetsPartition(partition_index=partition.partition, timestamp=time))
        request = ListOffsetsRequest(
            replica_id=_DEBUGGING_REPLICA_ID,
            topics=[ListOffsetsTopic(name=name, partitions=theirs) for name, theirs in entries.items()],
        )
        reply = await self._cluster.ask_node(node, request, ListOffsetsResponse, timeout_ms=timeout_ms)
        found: dict[TopicPartition, int | ApiError] = {}
        for topic in reply.topics:
            for entry in topic.partitions:
                partition = TopicPartition(topic.name, entry.partition_index)
                where = f"partition {partition} on broker {node}"
                found[partition] = outcome(entry.error_code, where, entry.offset)
        return completed(found, partitions, node)

    async def _ask_for_marks(
        self, node: int, ends: Mapping[TopicPartition, int], ids: Mapping[str, Uuid], timeout_ms: float
    ) -> dict[TopicPartition, tuple[int, int] | ApiError]:
        """Last stable offset and high watermark."""
        entries: dict[str, list[FetchPartition]] = defaultdict(list)
        for partition, end in ends.items():
            entries[partition.topic].append(
                FetchPartition(partition=partition.partition, fetch_offset=end, partition_max_bytes=1)
            )
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1,
            session_id=_NO_SESSION,
            session_epoch=_SESSIONLESS_EPOCH,
            topics=[FetchTopic(topic=name, topic_id=ids[name], partitions=theirs) for name, theirs in entries.items()],
        )
        # Brokers that do not tell the ids of topics know them by name only.
        at_most = _NAMED_TOPICS if any(ids[name] == ZERO_UUID for name in entries) else None
        reply = await self._cluster.ask_node(node, request, FetchResponse, timeout_ms=timeout_ms, at_most=at_most)
        raise_for_code(reply.error_code, f"broker {node}")
        names = {bytes(topic_id): name for name, topic_id in ids.items()}
        found: dict[TopicPartition, tuple[int, int] | ApiError] = {}
        for topic in reply.responses:
            for entry in topic.partitions:
                partition = TopicPartition(topic.topic or names[bytes(topic.topic_id)], entry.partition_index)
                where = f"partition {partition} on broker {node}"
                found[partition] = outcome(entry.error_code, where, (entry.last_stable_offset, entry.high_watermark))
        return completed(found, ends, node)


def _offsets(start: int | ApiError, marks: tuple[int, int] | ApiError, end: int) -> ReplicaOffsets | ApiError:
    if isinstance(start, ApiError):
        return start
    if isinstance(marks, ApiError):
        return marks
    last_stable, high_watermark = marks
    return ReplicaOffsets(
        log_start_offset=start,
        last_stable_offset=last_stable,
        high_watermark=high_watermark,
        # It was asked for before the marks, which may have moved past it.
        log_end_offset=max(end, high_watermark),
    )


def _deserves_another_try(answer: ReplicaOffsets | ApiError) -> bool:
    return isinstance(answer, ApiError) and answer.code in _ANSWERED_BY_ANOTHER_TRY


def _ranges(ends: Sequence[tuple[int, int]], start: int) -> list[LeaderEpochRange]:
    """Of the ends of epochs, newest first: an epoch begins where the one before it ends."""
    ranges: list[LeaderEpochRange] = []
    for epoch, end in reversed(ends):
        begin = ranges[-1].end_offset if ranges else start
        ranges.append(LeaderEpochRange(epoch=epoch, start_offset=begin, end_offset=end))
    return ranges
