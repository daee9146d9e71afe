"""Asking for many things at once: split over the brokers that have the answers, and repeated for those that failed.

One call may concern partitions with different leaders; some of the answers may be errors that pass by themselves, while
others are final. The result tells for each thing asked for what came out of it. A broker that is silent costs only what
it alone could have answered: that has the error REQUEST_TIMED_OUT when the time is up.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, repeat
from typing import Any, TypeVar

from tidelog.client.cluster.cluster import Cluster, CoordinatorKind
from tidelog.client.cluster.metadata import ClusterMetadata
from tidelog.client.errors import ApiTimeout, is_retriable
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.network.client_connection import ConnectionProblem
from tidelog.protocol.schema import Message

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")
# A node, or None where any will do.
N = TypeVar("N", bound=int | None)
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

# What leaders are asked for once more, by those who have time left.
LEADER_SILENT_OR_MOVED = LEADER_MOVED | {ErrorCode.REQUEST_TIMED_OUT}

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


_NOT_KNOWN = frozenset(
    {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.INCONSISTENT_TOPIC_ID}
)


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
    wanted = list(items)
    answers: dict[K, V | ApiError] = {}

    async def ask_all(left: list[K]) -> None:
        answers.update(_completed(await ask(left), left))

    timeout = await _until_final(cluster, what, wanted, ask_all, answers, again, timeout_ms)
    # Items without any answer have nothing to show for themselves; the others keep the last thing said.
    if timeout is not None and any(item not in answers for item in wanted):
        raise timeout
    return answers


async def ask_nodes(
    cluster: Cluster,
    what: str,
    items: Iterable[K],
    place: Callable[[list[K]], Awaitable[Mapping[K, N | ApiError]]],
    ask: Callable[[N, list[K]], Awaitable[Mapping[K, V | ApiError]]],
    *,
    again: Collection[ErrorCode] = CONTROLLER_BUSY,
    timeout_ms: float | None = None,
) -> dict[K, V | ApiError]:
    """Call `ask` once per node, at the same time, and again for what has no final answer yet. Codes in `again` are not
    final. `place` says for each item which node to ask.

    The items of each node go their own way: what others have answered does not wait for one that is silent, is asked
    again if need be, and is kept when the time is up. Raises ApiTimeout if there is no answer at all.
    """
    wanted = list(items)
    limit_ms = cluster.config.default_api_timeout_ms if timeout_ms is None else timeout_ms
    deadline = cluster.clock.monotonic_ms() + limit_ms
    answers: dict[K, V | ApiError] = {}
    silent: dict[K, ApiError] = {}
    # Whom each of them was asked last.
    asked: dict[K, N] = {}

    async def ask_one(node: N, theirs: list[K]) -> None:
        asked.update(dict.fromkeys(theirs, node))
        answers.update(_completed(await ask(node, theirs), theirs))

    async def placed(left: list[K]) -> Mapping[N, list[K]]:
        by_node: dict[N, list[K]] = defaultdict(list)
        for item, node in _completed(await place(left), left).items():
            if isinstance(node, ApiError):
                answers[item] = node
            else:
                by_node[node].append(item)
        return by_node

    async def place_and_ask(left: list[K]) -> None:
        await _together([partial(ask_one, node, theirs) for node, theirs in (await placed(left)).items()])

    async def is_answered(left: list[K]) -> None:
        """Whoever cannot be placed has an error, which may pass by itself."""

    async def settle(theirs: list[K], begin: Callable[[list[K]], Awaitable[None]]) -> None:
        rounds = chain((begin,), repeat(place_and_ask))
        left_ms = deadline - cluster.clock.monotonic_ms()
        timeout = await _until_final(
            cluster, what, theirs, lambda left: next(rounds)(left), answers, again, timeout_ms=left_ms
        )
        if timeout is not None:
            silent.update(
                (item, _silence(asked.get(item), limit_ms, timeout)) for item in theirs if item not in answers
            )

    by_node = await cluster.retry(what, partial(placed, wanted), timeout_ms=limit_ms)
    ways = [partial(settle, theirs, partial(ask_one, node)) for node, theirs in by_node.items()]
    if answers:
        ways.append(partial(settle, list(answers), is_answered))
    await _together(ways)
    if silent and not answers:
        raise ApiTimeout(f"{what} did not succeed within {limit_ms:g} ms: {next(iter(silent.values())).message}")
    return {item: answers[item] if item in answers else silent[item] for item in wanted}


async def ask_leaders(
    cluster: Cluster,
    what: str,
    partitions: Iterable[TopicPartition],
    ask: Callable[[int, list[TopicPartition]], Awaitable[Mapping[TopicPartition, V | ApiError]]],
    *,
    timeout_ms: float | None = None,
    metadata: ClusterMetadata | None = None,
) -> dict[TopicPartition, V | ApiError]:
    """Call `ask` once per leader, at the same time, and again where a leader has moved; see `ask_nodes`.

    `metadata` with all of these topics spares the first look at it, for those who ask several things one after the
    other."""
    looks: Counter[TopicPartition] = Counter()

    async def leaders(wanted: list[TopicPartition]) -> Mapping[TopicPartition, int | ApiError]:
        known = None if any(looks[partition] for partition in wanted) else metadata
        looks.update(wanted)
        if known is None:
            known = await cluster.fetch_metadata(sorted({partition.topic for partition in wanted}))
        return {partition: _leader(known, partition, looks[partition]) for partition in wanted}

    async def ask_one(node: int, theirs: list[TopicPartition]) -> Mapping[TopicPartition, V | ApiError]:
        try:
            replies = await ask(node, theirs)
        except ConnectionProblem as error:
            if not is_retriable(error):
                raise
            lost = ApiError(ErrorCode.NETWORK_EXCEPTION, str(error))
            return dict.fromkeys(theirs, lost)
        return {partition: _not_there_yet(partition, answer) for partition, answer in replies.items()}

    return await ask_nodes(cluster, what, partitions, leaders, ask_one, again=LEADER_MOVED, timeout_ms=timeout_ms)


def _leader(known: ClusterMetadata, partition: TopicPartition, looks: int) -> int | ApiError:
    count = known.partition_count(partition.topic)
    leader = known.leader_of(partition)
    if count is None:
        code = known.topic_errors.get(partition.topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and looks < _TOPIC_ATTEMPTS:
            code = ErrorCode.LEADER_NOT_AVAILABLE
        return ApiError(code, f"topic {partition.topic!r}")
    if not 0 <= partition.partition < count:
        return ApiError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"topic {partition.topic!r} has no partition {partition.partition}, only 0 to {count - 1}",
        )
    if leader is None:
        return ApiError(ErrorCode.LEADER_NOT_AVAILABLE, f"partition {partition} has no leader")
    return leader.leader


def _not_there_yet(partition: TopicPartition, answer: V | ApiError) -> V | ApiError:
    """The metadata knows the partition: a leader that does not is one that has not caught up with it yet, or the topic
    was recreated, with another id."""
    if isinstance(answer, ApiError) and answer.code in _NOT_KNOWN:
        return ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"the leader of {partition} is not ready yet")
    return answer


async def ask_brokers(
    cluster: Cluster, what: str, ask: Callable[[int], Coroutine[Any, Any, Iterable[V]]], *, order: Callable[[V], str]
) -> list[V]:
    """Call `ask` for each broker, at the same time, until all have answered: what they know together, sorted."""

    async def attempt() -> list[V]:
        await cluster.refresh_if_stale()
        return sorted(
            chain.from_iterable(await _together([partial(ask, node) for node in cluster.metadata.brokers])), key=order
        )

    return await cluster.retry(what, attempt)


async def ask_each_broker(
    cluster: Cluster,
    what: str,
    nodes: Iterable[int] | None,
    ask: Callable[[int], Coroutine[Any, Any, V | ApiError]],
    *,
    timeout_ms: float | None = None,
) -> dict[int, V | ApiError]:
    """Call `ask` for each of these brokers, or (None) for all, at the same time: what came of it. One that is silent
    until the time is up has REQUEST_TIMED_OUT."""
    limit_ms = cluster.config.default_api_timeout_ms if timeout_ms is None else timeout_ms

    async def outcome(node: int) -> V | ApiError:
        try:
            return await cluster.retry(what, lambda: ask(node), timeout_ms=limit_ms)
        except ApiTimeout as timeout:
            return _silence(node, limit_ms, timeout)
        except ApiError as error:
            return error

    if nodes is None:
        # One that is new must not be left out.
        await cluster.retry(what, cluster.refresh_if_stale, timeout_ms=limit_ms)
        nodes = cluster.metadata.brokers
    wanted = sorted(nodes)
    return dict(zip(wanted, await _together([partial(outcome, node) for node in wanted]), strict=True))


async def ask_coordinators(
    cluster: Cluster, what: str, keys: Iterable[str], ask: Callable[[str], Awaitable[V]]
) -> dict[str, V | ApiError]:
    """Call `ask` for each group or transactional id, at the same time, and again where a coordinator is busy or silent.
    Raises ApiTimeout if all are silent."""
    wanted = list(keys)
    limit_ms = cluster.config.default_api_timeout_ms
    answers: dict[str, V | ApiError] = {}
    silent: dict[str, ApiTimeout] = {}

    async def ask_one(left: list[str]) -> None:
        for key in left:
            try:
                answers[key] = await ask(key)
            except ApiError as error:
                answers[key] = error

    async def settle(key: str) -> None:
        timeout = await _until_final(cluster, what, [key], ask_one, answers, COORDINATOR_BUSY, timeout_ms=limit_ms)
        if timeout is not None and key not in answers:
            silent[key] = timeout

    await _together([partial(settle, key) for key in wanted])
    if silent and not answers:
        raise next(iter(silent.values()))
    return {
        key: answers[key] if key in answers else _silence(None, limit_ms, silent[key], "its coordinator")
        for key in wanted
    }


async def ask_each_coordinator(
    cluster: Cluster,
    what: str,
    keys: Iterable[str],
    ask: Callable[[int, list[str]], Awaitable[Mapping[str, V | ApiError]]],
    *,
    kind: CoordinatorKind = CoordinatorKind.GROUP,
    timeout_ms: float | None = None,
) -> dict[str, V | ApiError]:
    """Call `ask` once per coordinator of these groups or transactional ids, at the same time, and again where one has
    moved or is busy; see `ask_nodes`."""

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

    again = COORDINATOR_BUSY | _LOOK_AGAIN
    return await ask_nodes(
        cluster, what, keys, partial(cluster.coordinators, kind), ask_one, again=again, timeout_ms=timeout_ms
    )


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


async def _until_final(
    cluster: Cluster,
    what: str,
    items: Collection[K],
    ask: Callable[[list[K]], Awaitable[None]],
    answers: Mapping[K, V | ApiError],
    again: Collection[ErrorCode],
    timeout_ms: float | None,
) -> ApiTimeout | None:
    """Call `ask`, which adds to `answers`, until each item has a final one; that the time was up before, if it was."""

    def unfinished() -> list[K]:
        return [
            item
            for item in items
            if item not in answers or (isinstance(answer := answers[item], ApiError) and answer.code in again)
        ]

    async def attempt() -> None:
        left = unfinished()
        if not left:
            return
        await ask(left)
        for item in unfinished():
            problem = answers[item]
            assert isinstance(problem, ApiError), problem
            raise problem

    try:
        await cluster.retry(what, attempt, timeout_ms=timeout_ms)
    except ApiTimeout as timeout:
        return timeout
    return None


async def _together(questions: Sequence[Callable[[], Coroutine[Any, Any, T]]]) -> list[T]:
    """The results of all. If one fails, the others end: nobody waits for them any more."""
    if len(questions) == 1:
        return [await questions[0]()]
    tasks = [asyncio.create_task(ask()) for ask in questions]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def _completed(answers: Mapping[K, V | ApiError], wanted: Iterable[K]) -> dict[K, V | ApiError]:
    return {
        item: answers[item]
        if item in answers
        else ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, f"the broker's answer lacks {item}")
        for item in wanted
    }


def _silence(node: int | None, limit_ms: float, timeout: ApiTimeout, who: str = "the broker") -> ApiError:
    """What somebody is told about items without any answer, and why if that is known."""
    known = "" if timeout.__cause__ is None or isinstance(timeout.__cause__, TimeoutError) else f": {timeout.__cause__}"
    name = who if node is None else f"broker {node}"
    return ApiError(ErrorCode.REQUEST_TIMED_OUT, f"{name} has not answered for {limit_ms:g} ms{known}")
