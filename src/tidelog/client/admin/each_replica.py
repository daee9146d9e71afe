"""Asking the broker of each replica of partitions: one that does not answer costs only its own answers."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TypeVar

from tidelog.client.admin.topics import TopicDescription
from tidelog.client.errors import is_retriable
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.network.client_connection import ConnectionProblem

V = TypeVar("V")

# How long a broker that does not answer keeps the answers of the others waiting.
PATIENCE_MS = 5_000


async def ask_each_replica(
    partitions: Collection[TopicPartition],
    described: Mapping[str, TopicDescription | ApiError],
    ask: Callable[[int, Sequence[TopicPartition]], Awaitable[Mapping[TopicPartition, V | ApiError]]],
) -> dict[TopicPartition, dict[int, V | ApiError] | ApiError]:
    """By partition and broker. `ask` asks one broker, and answers for each of the partitions that it gets."""
    answers: dict[TopicPartition, dict[int, V | ApiError] | ApiError] = {}
    by_node: dict[int, list[TopicPartition]] = defaultdict(list)
    for partition in partitions:
        replicas = _replicas_of(partition, described[partition.topic])
        if isinstance(replicas, ApiError):
            answers[partition] = replicas
            continue
        answers[partition] = {}
        for node in replicas:
            by_node[node].append(partition)
    asked = [ask(node, theirs) for node, theirs in sorted(by_node.items())]
    for node, found in zip(sorted(by_node), await asyncio.gather(*asked), strict=True):
        for partition, answer in found.items():
            replicas_of_partition = answers[partition]
            assert not isinstance(replicas_of_partition, ApiError)
            replicas_of_partition[node] = answer
    return answers


async def problem_of(node: int, asking: Callable[[], Awaitable[None]], timeout_ms: float) -> ApiError | None:
    """Wait for `asking`, and return why the broker has not answered all of it, if it has not."""
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            await asking()
    except TimeoutError:
        return ApiError(ErrorCode.REQUEST_TIMED_OUT, f"broker {node} has not answered for {timeout_ms:g} ms")
    except ConnectionProblem as error:
        if not is_retriable(error):
            raise
        return ApiError(ErrorCode.NETWORK_EXCEPTION, str(error))
    return None


def completed(
    found: Mapping[TopicPartition, V | ApiError], wanted: Collection[TopicPartition], node: int
) -> dict[TopicPartition, V | ApiError]:
    """What was found, and an error for what a broker has left out."""
    return {partition: found[partition] if partition in found else _missing(partition, node) for partition in wanted}


def _missing(partition: TopicPartition, node: int) -> ApiError:
    return ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, f"the answer of broker {node} lacks {partition}")


def _replicas_of(partition: TopicPartition, topic: TopicDescription | ApiError) -> tuple[int, ...] | ApiError:
    if isinstance(topic, ApiError):
        return topic
    for each in topic.partitions:
        if each.partition == partition.partition:
            return each.replicas
    return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"partition {partition}")
