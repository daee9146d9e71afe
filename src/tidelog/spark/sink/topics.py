"""The topics that rows go to: how many partitions they have, and creating those that are missing as a producer would.

The driver looks once per micro-batch, so that all tasks count alike. Only rows say which topics a column `topic` names;
so a task that meets one that the driver has not seen asks by itself. Creating is safe to repeat: whoever comes second
finds what the first has created, with the same number of partitions.
"""

from __future__ import annotations

import asyncio

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.cluster.metadata import ClusterMetadata
from tidelog.client.config import client_config, producer_config
from tidelog.client.errors import ClientError
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.network.client_connection import ConnectionProblem
from tidelog.spark.sink.errors import SinkError, UnknownTopic
from tidelog.spark.sink.options import SinkOptions

AUTO_CREATE = "auto.create.topics.enable"

_PAUSE_SECONDS = 0.1
# Where nobody says whether the broker creates topics: it answers that there is none and creates it behind that answer.
_LONGEST_WAIT_SECONDS = 15.0
# A topic that is not created here may be known to one broker and not yet to another.
_WAIT_WITHOUT_CREATION_SECONDS = 0.6

# What a broker says of a topic that is just being created.
_NOT_YET = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE})


async def partition_counts(options: SinkOptions) -> dict[str, int]:
    """Of the one topic that all rows go to, or of all topics, because only rows say which ones they need."""
    async with Cluster(client_config(options.connection())) as cluster:
        if options.topic is not None:
            return {options.topic: await _find_or_create(cluster, options, options.topic)}
        metadata = await _describe(cluster, None)
    return {name: len(found.partitions) for name, found in metadata.topics.items() if not found.internal}


async def partition_count(options: SinkOptions, topic: str) -> int:
    """Of a topic that a row names and the driver has not seen."""
    async with Cluster(client_config(options.connection())) as cluster:
        return await _find_or_create(cluster, options, topic)


async def create_topic(options: SinkOptions, topic: str, partitions: int) -> None:
    """If nobody else was quicker. Raises ApiError."""
    # Only here and below: loading it takes longer than a commit should, and nearly always the topic is there.
    from tidelog.client.admin import Admin

    async with Admin(config=options.connection()) as admin:
        try:
            await admin.create_topic(topic, partitions=partitions)
        except ApiError as error:
            if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise


async def _find_or_create(cluster: Cluster, options: SinkOptions, topic: str) -> int:
    """The number of its partitions. Raises SinkError if it is not there and cannot be created."""
    code = ErrorCode.NONE
    asks_broker = options.create_topics and options.topic_partitions is None
    allowed: bool | None = None
    deadline = cluster.clock.monotonic_ms() + 1000 * _wait_seconds(options)
    while True:
        metadata = await _describe(cluster, (topic,), auto_create=asks_broker)
        found = metadata.topics.get(topic)
        if found is not None and found.partitions:
            if found.internal:
                raise SinkError(f"topic {topic!r} is internal to Kafka, and the sink does not write to it")
            return len(found.partitions)
        first, code = code is ErrorCode.NONE, metadata.topic_errors.get(topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if code not in _NOT_YET:
            raise SinkError(f"topic {topic!r} cannot be written to: {code.name}")
        if first and options.create_topics and options.topic_partitions is not None:
            try:
                await create_topic(options, topic, options.topic_partitions)
            except ApiError as error:
                raise UnknownTopic(
                    f"topic {topic!r} does not exist, and cannot be created with topicPartitions="
                    f"{options.topic_partitions}: {error}"
                ) from error
        elif first and asks_broker:
            allowed = await _creates_topics(options, metadata)
        if allowed is False or cluster.clock.monotonic_ms() > deadline:
            raise UnknownTopic(_missing(topic, options, allowed))
        await asyncio.sleep(_PAUSE_SECONDS)


def _wait_seconds(options: SinkOptions) -> float:
    if not options.create_topics:
        return _WAIT_WITHOUT_CREATION_SECONDS
    return min(producer_config(options.without_transactions()).max_block_ms / 1000, _LONGEST_WAIT_SECONDS)


def _missing(topic: str, options: SinkOptions, allowed: bool | None) -> str:
    if not options.create_topics:
        return f"topic {topic!r} does not exist"
    if options.topic_partitions is not None:
        return f"topic {topic!r} was created, but has no leader yet. Start the query again, or check the brokers"
    reason = f"the broker has {AUTO_CREATE}=false" if allowed is False else "the broker has not created it"
    return (
        f"topic {topic!r} does not exist, and {reason}. Create it first, or let the sink create it with the option "
        "topicPartitions, such as topicPartitions=6"
    )


async def _describe(cluster: Cluster, topics: tuple[str, ...] | None, *, auto_create: bool = False) -> ClusterMetadata:
    return await cluster.retry("describing topics", lambda: cluster.fetch_metadata(topics, auto_create=auto_create))


async def _creates_topics(options: SinkOptions, metadata: ClusterMetadata) -> bool | None:
    """Whether the broker creates topics by itself; None where it does not tell. Saves waiting for what cannot come."""
    from tidelog.client.admin import Admin, ConfigResource, ResourceType

    brokers = [ConfigResource(ResourceType.BROKER, str(node)) for node in sorted(metadata.brokers)][:1]
    try:
        async with Admin(config=options.connection()) as admin:
            answers = await admin.describe_configs(brokers, names=[AUTO_CREATE])
    except (ApiError, ClientError, ConnectionProblem):
        return None
    for entries in answers.values():
        for entry in () if isinstance(entries, ApiError) else entries:
            if entry.name == AUTO_CREATE and entry.value is not None:
                return entry.value.lower() == "true"
    return None
