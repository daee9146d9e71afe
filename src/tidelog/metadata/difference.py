"""What is different between two images that no records lead from one to the other, as after a fetched snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from tidelog.metadata.delta import ImageDelta, PartitionChange
from tidelog.metadata.image import ClusterImage

K = TypeVar("K")


def difference(before: ClusterImage, after: ClusterImage) -> ImageDelta:
    """As if one batch of records had led from one image to the other."""
    return ImageDelta(
        topics_created=tuple(topic for key, topic in after.topics_by_id.items() if key not in before.topics_by_id),
        topics_deleted=tuple(topic for key, topic in before.topics_by_id.items() if key not in after.topics_by_id),
        partitions=tuple(_partitions(before, after)),
        configs=_changed(before.configs, after.configs),
        brokers=_changed(before.brokers, after.brokers),
        controllers=_changed(before.controllers, after.controllers),
        features=before.features != after.features,
        client_quotas=before.client_quotas != after.client_quotas,
        acls=before.acls != after.acls,
        scram_credentials=before.scram_credentials != after.scram_credentials,
        producer_ids=before.next_producer_id != after.next_producer_id,
    )


def _partitions(before: ClusterImage, after: ClusterImage) -> Iterator[PartitionChange]:
    for topic_id, topic in before.topics_by_id.items():
        if topic_id not in after.topics_by_id:
            for number, last in topic.partitions.items():
                yield PartitionChange(topic=topic.name, topic_id=topic_id, partition=number, before=last, after=None)
    for topic_id, topic in after.topics_by_id.items():
        earlier = before.topics_by_id.get(topic_id)
        known = {} if earlier is None else earlier.partitions
        for number, partition in topic.partitions.items():
            if known.get(number) != partition:
                yield PartitionChange(
                    topic=topic.name,
                    topic_id=topic_id,
                    partition=number,
                    before=known.get(number),
                    after=partition,
                )


def _changed(before: Mapping[K, Any], after: Mapping[K, Any]) -> tuple[K, ...]:
    """The keys that are gone, new, or have another value, in an order that does not differ between processes."""
    gone = [key for key in before if key not in after]
    return (*gone, *(key for key, value in after.items() if key not in before or before[key] != value))
