"""Topics at the target: made with the partitions and settings of the source, and grown when the source grows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tidelog.client.admin import Admin, ConfigResource, NewTopic, ResourceType
from tidelog.config.definitions import ConfigSource
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.spark.mirror.progress import MirrorRefused

# About where replicas are or how a broker treats them: this cluster's business.
_NOT_COPIED = re.compile(r".*(replication\.throttled|min\.insync|unclean\.leader|remote\.).*")


@dataclass(frozen=True, slots=True, kw_only=True)
class MirroredTopics:
    """Which topics of which cluster, and how they are called at the target."""

    source: Mapping[str, str] = field(repr=False)
    names: tuple[str, ...]
    pattern: str
    prefix: str

    def target_name(self, topic: str) -> str:
        return f"{self.prefix}{topic}"

    def source_name(self, topic: str) -> str:
        return topic.removeprefix(self.prefix)


async def source_partitions(topics: MirroredTopics, source: Admin) -> dict[str, int]:
    """The topics to mirror and how many partitions they have."""
    names = topics.names
    if not names:
        pattern = re.compile(topics.pattern)
        listed = await source.list_topics(internal=False)
        names = tuple(topic.name for topic in listed if pattern.fullmatch(topic.name))
    described = Admin.raise_any(await source.describe_topics(names))
    return {name: len(topic.partitions) for name, topic in described.items()}


async def keep_topics_in_step(topics: MirroredTopics, target_client: Mapping[str, str]) -> None:
    """Make at the target what is missing there."""
    async with Admin(config=dict(topics.source)) as source, Admin(config=dict(target_client)) as target:
        wanted = await source_partitions(topics, source)
        found = await target.describe_topics([topics.target_name(name) for name in wanted])
        missing: dict[str, int] = {}
        grown: dict[str, int] = {}
        for name, count in wanted.items():
            other = found[topics.target_name(name)]
            if isinstance(other, ApiError):
                if other.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    raise other
                missing[name] = count
            elif len(other.partitions) > count:
                raise MirrorRefused(
                    f"topic {other.name!r} has {len(other.partitions)} partitions at the target and {count} at the "
                    "source: partitions cannot be removed. Mirror to another name (topic_prefix), or delete it there"
                )
            elif len(other.partitions) < count:
                grown[other.name] = count
        if missing:
            await _create(topics, source, target, missing)
        if grown:
            _raise_first(await target.create_partitions(grown))


async def _create(topics: MirroredTopics, source: Admin, target: Admin, wanted: Mapping[str, int]) -> None:
    resources = {ConfigResource(ResourceType.TOPIC, name): name for name in wanted}
    configs = Admin.raise_any(await source.describe_configs(list(resources)))
    new = []
    for resource, name in resources.items():
        copied = {
            entry.name: entry.value
            for entry in configs[resource]
            if entry.source is ConfigSource.DYNAMIC_TOPIC_CONFIG and not _NOT_COPIED.fullmatch(entry.name)
        }
        new.append(NewTopic(name=topics.target_name(name), partitions=wanted[name], configs=copied))
    _raise_first(await target.create_topics(new))


def _raise_first(results: Mapping[str, object]) -> None:
    for result in results.values():
        # Somebody else may have been quicker.
        if isinstance(result, ApiError) and result.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
            raise result
