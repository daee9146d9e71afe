"""How many partitions topics have: looked up by the driver once per micro-batch, so that all tasks count alike."""

from __future__ import annotations

import asyncio

from tidelog.client.cluster import Cluster
from tidelog.client.config import client_config
from tidelog.client.metadata import ClusterMetadata
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.spark.sink_errors import SinkError, UnknownTopic
from tidelog.spark.sink_options import SinkOptions

# How often to look for a topic before believing that there is none: a broker may not have heard of it yet.
_LOOKS = 3
_PAUSE_SECONDS = 0.2


async def partition_counts(options: SinkOptions) -> dict[str, int]:
    """Of the one topic that all rows go to, or of all topics, because only rows say which ones they need."""
    topic = options.topic
    async with Cluster(client_config(options.connection())) as cluster:

        async def look() -> ClusterMetadata:
            metadata = await cluster.fetch_metadata(None if topic is None else (topic,))
            code = ErrorCode.NONE if topic is None else metadata.topic_errors.get(topic, ErrorCode.NONE)
            if code is not ErrorCode.NONE and code.retriable and code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise ApiError(code, f"topic {topic!r}")
            return metadata

        for _ in range(_LOOKS):
            metadata = await cluster.retry("looking at topics", look)
            if topic is None or topic in metadata.topics:
                break
            await asyncio.sleep(_PAUSE_SECONDS)
    counts = {name: len(found.partitions) for name, found in metadata.topics.items() if not found.internal}
    if topic is None or topic in counts:
        return counts
    code = metadata.topic_errors.get(topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        raise UnknownTopic(
            f"topic {topic!r} does not exist. Create it first: the sink creates no topics, because nobody has said how "
            "many partitions it should have"
        )
    raise SinkError(f"topic {topic!r} cannot be written to: {code.name}")
