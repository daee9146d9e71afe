"""The pipeline `mirror`: topics of one cluster into another, each record once, with the offsets of consumer groups.

Where the mirror is, the target knows: the source offsets are committed there with the records. A mirror whose
checkpoint is gone goes on from them.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from tidelog.client.admin import Admin
from tidelog.client.errors import ClientError
from tidelog.model.errors import ApiError
from tidelog.network.client_connection import ConnectionProblem
from tidelog.spark.mirror.comparison import PartitionResult
from tidelog.spark.mirror.groups import translate_groups
from tidelog.spark.mirror.sink import (
    FORMAT,
    NAME,
    PATTERN,
    SOURCE_PREFIX,
    TOPIC_PREFIX,
    TOPICS,
    MirrorSink,
    mirror_group,
)
from tidelog.spark.mirror.topics import MirroredTopics, keep_topics_in_step
from tidelog.spark.mirror.verify import verify_mirror
from tidelog.spark.pipelines.records import client_options, read_topics, starting_from
from tidelog.spark.pipelines.run import Job, start_query
from tidelog.spark.pipelines.settings import Mirror

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

logger = logging.getLogger(__name__)

CLUSTER_PROBLEMS = (ApiError, ClientError, ConnectionProblem, OSError)


def plan_mirror(session: SparkSession, pipeline: Mirror) -> Job:
    rules = pipeline.mirror
    group = mirror_group(pipeline.run.name)
    topics = mirrored_topics(pipeline)
    target = client_options(pipeline.target.bootstrap_servers, pipeline.target.options)
    asyncio.run(keep_topics_in_step(topics, target))
    positions = asyncio.run(_positions(target, group))
    mirrored = {(topics.source_name(topic), number): offset for (topic, number), offset in positions.items()}
    starting = starting_from(pipeline.source, mirrored) if mirrored else None
    session.dataSource.register(MirrorSink)
    records = _renamed(read_topics(session, pipeline.source, starting), rules.topic_prefix)
    options = sink_settings(pipeline, topics)

    def beside() -> None:
        try:
            asyncio.run(translate_groups(topics, target, mirror_group=group, pattern=rules.groups))
        except CLUSTER_PROBLEMS as error:
            # Records come first. The next time is soon.
            logger.warning("offsets of consumer groups were not translated this time: %s", error)

    return Job(
        start=lambda: start_query(records, FORMAT, pipeline.run, options),
        beside=beside if rules.translate_groups else None,
        beside_every_seconds=rules.every_seconds,
    )


def mirrored_topics(pipeline: Mirror) -> MirroredTopics:
    return MirroredTopics(
        source=client_options(pipeline.source.bootstrap_servers, pipeline.source.options),
        names=pipeline.source.topics,
        pattern=pipeline.source.topic_pattern,
        prefix=pipeline.mirror.topic_prefix,
    )


def verify(pipeline: Mirror) -> list[PartitionResult]:
    """Compare both sides record by record, as far as the mirror is."""
    rules = pipeline.mirror
    return asyncio.run(
        verify_mirror(
            mirrored_topics(pipeline),
            client_options(pipeline.target.bootstrap_servers, pipeline.target.options),
            mirror_group=mirror_group(pipeline.run.name),
            groups=rules.groups if rules.translate_groups else "",
        )
    )


def sink_settings(pipeline: Mirror, topics: MirroredTopics) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": pipeline.target.bootstrap_servers,
        "includeTimestamp": "true",
        **dict(pipeline.target.options),
        NAME: pipeline.run.name,
        TOPICS: ",".join(topics.names),
        PATTERN: topics.pattern,
        TOPIC_PREFIX: topics.prefix,
        **{f"{SOURCE_PREFIX}{name}": text for name, text in topics.source.items()},
    }


def _renamed(records: DataFrame, prefix: str) -> DataFrame:
    from pyspark.sql.functions import col, concat, lit

    kept = ("key", "value", "headers", "partition", "timestamp", "offset")
    return records.select(concat(lit(prefix), col("topic")).alias("topic"), *kept)


async def _positions(target: dict[str, str], group: str) -> dict[tuple[str, int], int]:
    """The next source offsets, by topic and partition of the target."""
    async with Admin(config=target) as admin:
        committed = await admin.list_group_offsets(group)
    return {(partition.topic, partition.partition): position.offset for partition, position in committed.items()}
