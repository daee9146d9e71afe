"""Asking for many things at once: split over the brokers that have the answers, and repeated for those that failed.

One call may concern partitions with different leaders; some of the answers may be errors that pass by themselves, while
others are final. The result tells for each thing asked for what came out of it.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from itertools import chain
from typing import TypeVar

from tidelog.client.cluster.cluster import Cluster, CoordinatorKind
from tidelog.client.cluster.metadata import ClusterMetadata
from tidelog.client.errors import ApiTimeout, is_retriable
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.network.client_connection import ConnectionProblem
from tidelog.protocol.schema import Message

K = TypeVar("K")
V = TypeVar("V")
R = TypeVar("R", bound=Message)

# The leader has moved, is moving, or cannot tell yet: ask again after a look at the metadata.
LEADER_MOVED = frozenset(
    {
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
    }
)

COORDINATOR_MOVED = frozenset({ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR})
# How often to look for a topic before believing that there is none: a broker may not know it yet.
_TOPIC_ATTEMPTS = 3

COORDINATOR_BUSY = frozenset({*COORDINATOR_MOVED, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS})
# What says that the coordinator has to be looked for again.
_LOOK_AGAIN = COORDINATOR_MOVED | {ErrorCode.NETWORK_EXCEPTION}
# The connections to coordinators.
COORDINATION = "coordination"


# Another node is the controller, or this one has no tokens left for the client, whose connection then waits for some.
CONTROLLER_BUSY = frozenset({ErrorCode.NOT_CONTROLLER, ErrorCode.THROTTLING_QUOTA_EXCEEDED})


async def ask_for_each(
    cluster: Cluster,
    what: str,
    items: Iterable[K],
    ask: Callable[[list[K]], Awaitable[Mapping[K, V | ApiError]]],
    *,
    again: Collection[ErrorCode] = CONTROLLER_BUSY,
    timeout_ms: float | None = None,
) -> dict[K, V | ApiError]:
    """Call `ask` with what has no final answer yet, until everything has one. Codes in `again` are not final."""
    results: dict[K, V | ApiError] = {}
    left = list(items)

    async def attempt() -> None:
        nonlocal left
        if not left:
            return
        answers = await ask(left)
        unfinished: list[K] = []
        problem: ApiError | None = None
        for item in left:
            answer = answers.get(item, ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, f"the broker's answer lacks {item}"))
            results[item] = answer
            if isinstance(answer, ApiError) and answer.code in again:
                unfinished.append(item)
                problem = answer
        left = unfinished
        if problem is not None:
            raise problem

    try:
        await cluster.retry(what, attempt, timeout_ms=timeout_ms)
    except ApiTimeout:
        # Those without any answer have nothing to show for themselves; the others keep the last thing said.
        if any(item not in results for item in left):
            raise
    return results


async def ask_leaders(
    cluster: Cluster,
    what: str,
    partitions: Iterable[TopicPartition],
    ask: Callable[[int, list[TopicPartition]], Awaitable[Mapping[TopicPartition, V | ApiError]]],
    *,
    timeout_ms: float | None = None,
    metadata: ClusterMetadata | None = None,
) -> dict[TopicPartition, V | ApiError]:
    """Call `ask` once per leader, at the same time, and again where a leader has moved.

    `metadata` with all of these topics spares the first look at it, for those who ask several things one after the
    other."""
    attempts = 0

    async def ask_all(wanted: list[TopicPartition]) -> Mapping[TopicPartition, V | ApiError]:
        nonlocal attempts
        attempts += 1
        known = metadata if attempts == 1 else None
        if known is None:
            known = await cluster.fetch_metadata(sorted({partition.topic for partition in wanted}))
        answers: dict[TopicPartition, V | ApiError] = {}
        by_leader: dict[int, list[TopicPartition]] = defaultdict(list)
        for partition in wanted:
            count = known.partition_count(partition.topic)
            leader = known.leader_of(partition)
            if count is None:
                code = known.topic_errors.get(partition.topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and attempts < _TOPIC_ATTEMPTS:
                    code = ErrorCode.LEADER_NOT_AVAILABLE
                answers[partition] = ApiError(code, f"topic {partition.topic!r}")
            elif not 0 <= partition.partition < count:
                answers[partition] = ApiError(
                    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                    f"topic {partition.topic!r} has no partition {partition.partition}, only 0 to {count - 1}",
                )
            elif leader is None:
                answers[partition] = ApiError(ErrorCode.LEADER_NOT_AVAILABLE, f"partition {partition} has no leader")
            else:
                by_leader[leader.leader].append(partition)
        for replies in await asyncio.gather(*(ask_one(node, theirs) for node, theirs in by_leader.items())):
            answers.update(replies)
        return answers

    async def ask_one(node: int, theirs: list[TopicPartition]) -> Mapping[TopicPartition, V | ApiError]:
        try:
            replies = await ask(node, theirs)
        except ConnectionProblem as error:
            if not is_retriable(error):
                raise
            lost = ApiError(ErrorCode.NETWORK_EXCEPTION, str(error))
            return dict.fromkeys(theirs, lost)
        return {partition: _not_there_yet(partition, answer) for partition, answer in replies.items()}

    return await ask_for_each(cluster, what, partitions, ask_all, again=LEADER_MOVED, timeout_ms=timeout_ms)


def _not_there_yet(partition: TopicPartition, answer: V | ApiError) -> V | ApiError:
    """The metadata knows the partition: a leader that does not is one that has not caught up with it yet."""
    if isinstance(answer, ApiError) and answer.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"the leader of {partition} is not ready yet")
    return answer


async def ask_brokers(
    cluster: Cluster, what: str, ask: Callable[[int], Awaitable[Iterable[V]]], *, order: Callable[[V], str]
) -> list[V]:
    """Call `ask` for each broker, at the same time, until all have answered: what they know together, sorted."""

    async def attempt() -> list[V]:
        await cluster.refresh_if_stale()
        return sorted(chain.from_iterable(await asyncio.gather(*map(ask, cluster.metadata.brokers))), key=order)

    return await cluster.retry(what, attempt)


async def ask_coordinators(
    cluster: Cluster, what: str, keys: Iterable[str], ask: Callable[[str], Awaitable[V]]
) -> dict[str, V | ApiError]:
    """Call `ask` for each group or transactional id, at the same time, and again where a coordinator is busy."""

    async def outcome(key: str) -> V | ApiError:
        try:
            return await ask(key)
        except ApiError as error:
            return error

    async def ask_all(left: list[str]) -> Mapping[str, V | ApiError]:
        return dict(zip(left, await asyncio.gather(*map(outcome, left)), strict=True))

    return await ask_for_each(cluster, what, keys, ask_all, again=COORDINATOR_BUSY)


async def ask_each_coordinator(
    cluster: Cluster,
    what: str,
    keys: Iterable[str],
    ask: Callable[[int, list[str]], Awaitable[Mapping[str, V | ApiError]]],
    *,
    kind: CoordinatorKind = CoordinatorKind.GROUP,
) -> dict[str, V | ApiError]:
    """Call `ask` once per coordinator of these groups or transactional ids, at the same time, and again where one has
    moved or is busy."""

    async def ask_all(left: list[str]) -> Mapping[str, V | ApiError]:
        answers: dict[str, V | ApiError] = {}
        by_node: dict[int, list[str]] = defaultdict(list)
        for key, node in (await cluster.coordinators(kind, left)).items():
            if isinstance(node, ApiError):
                answers[key] = node
            else:
                by_node[node].append(key)
        for replies in await asyncio.gather(*(ask_one(node, theirs) for node, theirs in by_node.items())):
            answers.update(replies)
        return answers

    async def ask_one(node: int, theirs: list[str]) -> Mapping[str, V | ApiError]:
        try:
            replies = await ask(node, theirs)
        except ConnectionProblem as error:
            if not is_retriable(error):
                raise
            replies = dict.fromkeys(theirs, ApiError(ErrorCode.NETWORK_EXCEPTION, str(error)))
        for key, answer in replies.items():
            if isinstance(answer, ApiError) and answer.code in _LOOK_AGAIN:
                cluster.forget_coordinator(kind, key)
        return replies

    return await ask_for_each(cluster, what, keys, ask_all, again=COORDINATOR_BUSY | _LOOK_AGAIN)


async def ask_coordinator(
    cluster: Cluster,
    key: str,
    request: Message,
    expected: type[R],
    code_of: Callable[[R], int],
    *,
    kind: CoordinatorKind = CoordinatorKind.GROUP,
    purpose: str = COORDINATION,
    at_most: int | None = None,
    timeout_ms: float | None = None,
) -> R:
    """One try. If the coordinator is gone, it is forgotten, so that the next try looks it up.

    Raises ApiError for the codes that concern the coordinator itself, and returns all other replies.
    """
    node = await cluster.coordinator(kind, key)
    try:
        reply = await cluster.ask_node(node, request, expected, purpose=purpose, at_most=at_most, timeout_ms=timeout_ms)
    except ConnectionProblem:
        cluster.forget_coordinator(kind, key)
        raise
    code = code_of(reply)
    if code in COORDINATOR_BUSY:
        if code in COORDINATOR_MOVED:
            cluster.forget_coordinator(kind, key)
        raise ApiError(ErrorCode(code), f"the coordinator of {key!r}")
    return reply
