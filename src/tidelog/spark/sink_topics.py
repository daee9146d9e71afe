"""How many partitions topics have: looked up by the driver once per micro-batch, so that all tasks count alike."""

from __future__ import annotations

from tidelog.client.cluster import Cluster
from tidelog.client.config import client_config
from tidelog.model.errors import ErrorCode
from tidelog.spark.sink_errors import SinkError, UnknownTopic
from tidelog.spark.sink_options import SinkOptions


async def partition_counts(options: SinkOptions) -> dict[str, int]:
    """Of the one topic that all rows go to, or of all topics, because only rows say which ones they need."""
    async with Cluster(client_config(options.connection())) as cluster:
        wanted = None if options.topic is None else (options.topic,)
        metadata = await cluster.retry("looking at topics", lambda: cluster.fetch_metadata(wanted))
    counts = {name: len(topic.partitions) for name, topic in metadata.topics.items() if not topic.internal}
    if options.topic is None or options.topic in counts:
        return counts
    code = metadata.topic_errors.get(options.topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        raise UnknownTopic(
            f"topic {options.topic!r} does not exist. Create it first: the sink creates no topics, because nobody has "
            "said how many partitions it should have"
        )
    raise SinkError(f"topic {options.topic!r} cannot be written to: {code.name}")
