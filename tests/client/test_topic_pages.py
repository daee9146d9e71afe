"""Admin.describe_topics puts together what brokers answer in pages."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from tidelog.client.admin.topics import TopicAdmin, TopicDescription
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.messages.describe_topic_partitions_response import (
    Cursor,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)


class ScriptedCluster:
    """Answers with these pages, one after the other."""

    def __init__(self, pages: Sequence[DescribeTopicPartitionsResponse]) -> None:
        self._pages = list(pages)

    async def ask_any(self, request: Any, expected: type[Any]) -> Any:
        return self._pages.pop(0)

    async def retry(self, what: str, attempt: Callable[[], Awaitable[Any]]) -> Any:
        return await attempt()


class ScriptedAdmin(TopicAdmin):
    def __init__(self, *pages: DescribeTopicPartitionsResponse) -> None:
        self._cluster: Any = ScriptedCluster(pages)


def topic(name: str, *partitions: int, error: int = 0) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=name,
        error_code=error,
        partitions=[DescribeTopicPartitionsResponsePartition(partition_index=number) for number in partitions],
    )


def test_partitions_are_in_order_in_whatever_order_they_come() -> None:
    first = DescribeTopicPartitionsResponse(
        topics=[topic("a", 1, 0), topic("b", 2, 0)], next_cursor=Cursor(topic_name="b", partition_index=1)
    )
    second = DescribeTopicPartitionsResponse(
        topics=[topic("b", 3, 1), topic("c", error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)], next_cursor=None
    )
    described = asyncio.run(ScriptedAdmin(first, second).describe_topics(["a", "b", "c"]))
    numbers = {
        name: [part.partition for part in found.partitions]
        for name, found in described.items()
        if isinstance(found, TopicDescription)
    }
    assert numbers == {"a": [0, 1], "b": [0, 1, 2, 3]}
    missing = described["c"]
    assert isinstance(missing, ApiError)
    assert missing.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
