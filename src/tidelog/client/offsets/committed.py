"""Offsets that a group has committed: reading and writing them, for consumers and admins alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.cluster.routing import COORDINATION, ask_coordinator, ask_each_coordinator
from tidelog.client.errors import api_error, raise_for_code
from tidelog.client.offsets.group_metadata import ConsumerGroupMetadata
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition, numbers_by_topic
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.protocol.messages.offset_commit_response import OffsetCommitResponse
from tidelog.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from tidelog.protocol.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

E = TypeVar("E")

# From version 10 on both APIs name topics by id only. Names are what users commit by.
_NAMED_TOPICS = 9
# From this version on OffsetFetch takes several groups.
_SEVERAL_GROUPS = 8
# A coordinator answers nobody else while it collects the offsets of one request.
_GROUPS_AT_ONCE = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetAndMetadata:
    """The next offset to read, and what the user noted beside it."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""


OffsetToCommit = int | OffsetAndMetadata


def as_offset(place: OffsetToCommit) -> OffsetAndMetadata:
    """Users may give a plain number, which has no metadata."""
    return OffsetAndMetadata(offset=place) if isinstance(place, int) else place


def as_offsets(offsets: Mapping[TopicPartition, OffsetToCommit]) -> dict[TopicPartition, OffsetAndMetadata]:
    return {partition: as_offset(place) for partition, place in offsets.items()}


async def fetch_committed(
    cluster: Cluster,
    group_id: str,
    partitions: Collection[TopicPartition] | None,
    *,
    require_stable: bool = False,
    timeout_ms: float | None = None,
) -> dict[TopicPartition, OffsetAndMetadata]:
    """What the group has committed, for these partitions or (None) for all; partitions without offset are left out."""

    async def attempt() -> dict[TopicPartition, OffsetAndMetadata]:
        request = _fetch_request([group_id], partitions, require_stable=require_stable)
        reply = await ask_coordinator(
            cluster, group_id, request, OffsetFetchResponse, _fetch_code, at_most=_NAMED_TOPICS
        )
        raise_for_code(_fetch_code(reply), f"group {group_id!r}")
        return _committed(reply.groups[0].topics if reply.groups else reply.topics)

    return await cluster.retry(f"reading the offsets of group {group_id!r}", attempt, timeout_ms=timeout_ms)


async def fetch_committed_of_groups(
    cluster: Cluster,
    group_ids: Collection[str],
    partitions: Collection[TopicPartition] | None = None,
    *,
    timeout_ms: float | None = None,
) -> dict[str, dict[TopicPartition, OffsetAndMetadata] | ApiError]:
    """What these groups have committed, for these partitions or (None) for all, of many groups in one request where the
    coordinator can do that (KIP-709). A group that nobody knows has committed nothing."""

    async def ask(node: int, theirs: list[str]) -> Mapping[str, dict[TopicPartition, OffsetAndMetadata] | ApiError]:
        connection = await cluster.connection(node, COORDINATION)
        version = connection.version_for(OffsetFetchRequest, at_most=_NAMED_TOPICS)
        at_once = _GROUPS_AT_ONCE if version >= _SEVERAL_GROUPS else 1
        answers: dict[str, dict[TopicPartition, OffsetAndMetadata] | ApiError] = {}
        for first in range(0, len(theirs), at_once):
            part = theirs[first : first + at_once]
            request = _fetch_request(part, partitions)
            reply = await cluster.ask_node(
                node, request, OffsetFetchResponse, purpose=COORDINATION, at_most=_NAMED_TOPICS
            )
            if version < _SEVERAL_GROUPS:
                answers[part[0]] = _answer(part[0], reply.error_code, reply.topics)
            else:
                answers |= {
                    group.group_id: _answer(group.group_id, group.error_code, group.topics) for group in reply.groups
                }
        return answers

    return await ask_each_coordinator(cluster, "reading the offsets of groups", group_ids, ask, timeout_ms=timeout_ms)


async def commit_offsets(
    cluster: Cluster,
    group: ConsumerGroupMetadata,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    *,
    may_be_gone: bool = False,
    timeout_ms: float | None = None,
) -> None:
    """Commit all, or raise ApiError with the first refusal.

    A partition that the broker does not know may be so new that it does not know it yet: then it is asked again.
    Whoever has read from all of them knows better: with `may_be_gone` such partitions count as deleted, and are passed
    over.
    """
    by_topic = committed_by_topic(OffsetCommitRequestPartition, offsets)
    request = OffsetCommitRequest(
        group_id=group.group_id,
        generation_id_or_member_epoch=group.generation_id,
        member_id=group.member_id,
        group_instance_id=group.instance_id,
        topics=[OffsetCommitRequestTopic(name=name, partitions=entries) for name, entries in by_topic.items()],
    )

    async def attempt() -> None:
        reply = await ask_coordinator(
            cluster, group.group_id, request, OffsetCommitResponse, _commit_code, at_most=_NAMED_TOPICS
        )
        for topic in reply.topics:
            for entry in topic.partitions:
                gone = may_be_gone and entry.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                if not gone:
                    raise_for_code(entry.error_code, f"partition {topic.name}-{entry.partition_index}")

    if offsets:
        await cluster.retry(f"committing offsets of group {group.group_id!r}", attempt, timeout_ms=timeout_ms)


def committed_by_topic(
    entry: Callable[..., E], offsets: Mapping[TopicPartition, OffsetAndMetadata]
) -> dict[str, list[E]]:
    """What both requests that commit offsets have for each topic: entries of the same fields."""
    by_topic: dict[str, list[E]] = defaultdict(list)
    for partition, position in offsets.items():
        by_topic[partition.topic].append(
            entry(
                partition_index=partition.partition,
                committed_offset=position.offset,
                committed_leader_epoch=position.leader_epoch,
                committed_metadata=position.metadata,
            )
        )
    return by_topic


def _answer(
    group_id: str, code: int, topics: Iterable[OffsetFetchResponseTopic | OffsetFetchResponseTopics]
) -> dict[TopicPartition, OffsetAndMetadata] | ApiError:
    if code:
        return api_error(code, f"group {group_id!r}")
    try:
        return _committed(topics)
    except ApiError as error:
        return error


def _committed(
    topics: Iterable[OffsetFetchResponseTopic | OffsetFetchResponseTopics],
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Raises ApiError for the first partition that has none because of an error."""
    found: dict[TopicPartition, OffsetAndMetadata] = {}
    for topic in topics:
        for entry in topic.partitions:
            raise_for_code(entry.error_code, f"partition {topic.name}-{entry.partition_index}")
            if entry.committed_offset >= 0:
                found[TopicPartition(topic.name, entry.partition_index)] = OffsetAndMetadata(
                    offset=entry.committed_offset,
                    leader_epoch=entry.committed_leader_epoch,
                    metadata=entry.metadata or "",
                )
    return found


def _commit_code(reply: OffsetCommitResponse) -> int:
    """Errors of the coordinator itself are repeated in every partition; the first one tells."""
    for topic in reply.topics:
        for entry in topic.partitions:
            return entry.error_code
    return ErrorCode.NONE


def _fetch_code(reply: OffsetFetchResponse) -> int:
    return reply.groups[0].error_code if reply.groups else reply.error_code


def _fetch_request(
    group_ids: Sequence[str], partitions: Collection[TopicPartition] | None, *, require_stable: bool = False
) -> OffsetFetchRequest:
    """Filled for versions before and after 8 at once; each takes the fields that it has, before 8 the first group."""
    old = new = None
    if partitions is not None:
        topics = numbers_by_topic(partitions).items()
        old = [OffsetFetchRequestTopic(name=name, partition_indexes=numbers) for name, numbers in topics]
        new = [OffsetFetchRequestTopics(name=name, partition_indexes=numbers) for name, numbers in topics]
    groups = [OffsetFetchRequestGroup(group_id=group_id, topics=new) for group_id in group_ids]
    return OffsetFetchRequest(group_id=group_ids[0], topics=old, groups=groups, require_stable=require_stable)
