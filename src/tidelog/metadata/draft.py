"""An image under change: what a batch of records touches is copied once, the rest is shared with the image before.

Only `tidelog.metadata.replay` uses it; the meaning of the records is there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from tidelog.metadata.delta import ImageDelta, PartitionChange
from tidelog.metadata.image import (
    BrokerImage,
    ClusterImage,
    ConfiguredResource,
    ControllerImage,
    CredentialKey,
    PartitionImage,
    TopicImage,
)
from tidelog.model.ids import Uuid
from tidelog.security.acls import AclBinding
from tidelog.security.quotas.entities import QuotaEntity
from tidelog.security.scram import ScramCredential

K = TypeVar("K")
V = TypeVar("V")


class BrokenMetadata(Exception):
    """The metadata log contradicts itself. Going on would mean to act on a wrong picture of the cluster."""


class Table(Generic[K, V]):
    """A mapping that is copied at its first change, and remembers which keys were touched, in order.

    Sets would do for the keys, but their order differs from process to process, and what the server does after a
    change must not.
    """

    __slots__ = ("_before", "_copy", "_current", "touched")

    def __init__(self, before: Mapping[K, V]) -> None:
        self._before = before
        self._current = before
        self._copy: dict[K, V] | None = None
        self.touched: dict[K, None] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._current

    def __iter__(self) -> Iterator[K]:
        return iter(self._current)

    def get(self, key: K) -> V | None:
        return self._current.get(key)

    def put(self, key: K, value: V) -> None:
        self._writable()[key] = value
        self.touched[key] = None

    def remove(self, key: K) -> None:
        del self._writable()[key]
        self.touched[key] = None

    def finish(self) -> Mapping[K, V]:
        return self._current

    def changed(self) -> tuple[K, ...]:
        """The touched keys whose value is really another one."""
        return tuple(key for key in self.touched if self._before.get(key) != self._current.get(key))

    def _writable(self) -> dict[K, V]:
        if self._copy is None:
            self._copy = dict(self._before)
            self._current = self._copy
        return self._copy


class ImageDraft:
    """The next image in the making."""

    def __init__(self, image: ClusterImage) -> None:
        self._before = image
        self.features: Table[str, int] = Table(image.features)
        self.brokers: Table[int, BrokerImage] = Table(image.brokers)
        self.controllers: Table[int, ControllerImage] = Table(image.controllers)
        self.topics: Table[str, TopicImage] = Table(image.topics)
        self.topics_by_id: Table[Uuid, TopicImage] = Table(image.topics_by_id)
        self._configs: Table[ConfiguredResource, Mapping[str, str]] = Table(image.configs)
        self._quotas: Table[QuotaEntity, Mapping[str, float]] = Table(image.client_quotas)
        self._acls: Table[Uuid, AclBinding] = Table(image.acls)
        self._acl_set = image.acl_set
        self.scram_credentials: Table[CredentialKey, ScramCredential] = Table(image.scram_credentials)
        self.next_producer_id = image.next_producer_id
        # The partitions of the topics that this batch touches; their TopicImage is made at the end.
        self._partitions: dict[Uuid, dict[int, PartitionImage]] = {}
        self._touched_partitions: dict[tuple[Uuid, int], None] = {}

    def add_topic(self, topic: TopicImage) -> None:
        self.topics.put(topic.name, topic)
        self.topics_by_id.put(topic.id, topic)
        self._partitions[topic.id] = {}

    def remove_topic(self, topic_id: Uuid) -> TopicImage:
        topic = self._known_topic(topic_id)
        self.topics.remove(topic.name)
        self.topics_by_id.remove(topic_id)
        self._partitions.pop(topic_id, None)
        return topic

    def partitions_of(self, topic_id: Uuid) -> Mapping[int, PartitionImage]:
        partitions = self._partitions.get(topic_id)
        return self._known_topic(topic_id).partitions if partitions is None else partitions

    def partition(self, topic_id: Uuid, number: int) -> PartitionImage:
        partition = self.partitions_of(topic_id).get(number)
        if partition is None:
            raise BrokenMetadata(
                f"the partition {self._known_topic(topic_id).name}-{number} is changed, but does not exist"
            )
        return partition

    def set_partition(self, topic_id: Uuid, number: int, partition: PartitionImage) -> None:
        partitions = self._partitions.get(topic_id)
        if partitions is None:
            partitions = self._partitions[topic_id] = dict(self._known_topic(topic_id).partitions)
        partitions[number] = partition
        self._touched_partitions[topic_id, number] = None

    def set_config(self, resource: ConfiguredResource, name: str, value: str | None) -> None:
        _set_entry(self._configs, resource, name, value)

    def remove_configs(self, resource: ConfiguredResource) -> None:
        if resource in self._configs:
            self._configs.remove(resource)

    def set_quota(self, entity: QuotaEntity, name: str, value: float | None) -> None:
        _set_entry(self._quotas, entity, name, value)

    def add_acl(self, acl_id: Uuid, binding: AclBinding) -> None:
        if acl_id in self._acls:
            raise BrokenMetadata(f"a record adds an ACL with the id {acl_id.hex()}, which another ACL has")
        if binding in self._acl_set:
            raise BrokenMetadata(f"a record adds an ACL that exists already: {binding}")
        self._acls.put(acl_id, binding)
        self._acl_set = self._acl_set.added(binding)

    def remove_acl(self, acl_id: Uuid) -> None:
        binding = self._acls.get(acl_id)
        if binding is None:
            raise BrokenMetadata(f"a record removes the ACL with the unknown id {acl_id.hex()}")
        self._acls.remove(acl_id)
        self._acl_set = self._acl_set.removed(binding)

    def _known_topic(self, topic_id: Uuid) -> TopicImage:
        topic = self.topics_by_id.get(topic_id)
        if topic is None:
            raise BrokenMetadata(f"a record names the unknown topic id {topic_id.hex()}")
        return topic

    def finish(self, offset: int) -> tuple[ClusterImage, ImageDelta]:
        for topic_id, partitions in self._partitions.items():
            topic = dataclasses.replace(self._known_topic(topic_id), partitions=partitions)
            self.topics.put(topic.name, topic)
            self.topics_by_id.put(topic_id, topic)
        image = ClusterImage(
            cluster_id=self._before.cluster_id,
            offset=offset,
            features=self.features.finish(),
            brokers=self.brokers.finish(),
            controllers=self.controllers.finish(),
            topics=self.topics.finish(),
            topics_by_id=self.topics_by_id.finish(),
            configs=self._configs.finish(),
            client_quotas=self._quotas.finish(),
            acls=self._acls.finish(),
            acl_set=self._acl_set,
            scram_credentials=self.scram_credentials.finish(),
            next_producer_id=self.next_producer_id,
        )
        return image, self._delta(image)

    def _delta(self, image: ClusterImage) -> ImageDelta:
        before = self._before.topics_by_id
        after = image.topics_by_id
        touched = self.topics_by_id.touched
        deleted = tuple(before[topic_id] for topic_id in touched if topic_id in before and topic_id not in after)
        return ImageDelta(
            topics_created=tuple(
                after[topic_id] for topic_id in touched if topic_id in after and topic_id not in before
            ),
            topics_deleted=deleted,
            partitions=tuple(self._partition_changes(image, deleted)),
            configs=self._configs.changed(),
            brokers=self.brokers.changed(),
            controllers=self.controllers.changed(),
            features=bool(self.features.changed()),
            client_quotas=bool(self._quotas.changed()),
            acls=bool(self._acls.changed()),
            scram_credentials=bool(self.scram_credentials.changed()),
            producer_ids=self.next_producer_id != self._before.next_producer_id,
        )

    def _partition_changes(self, image: ClusterImage, deleted: tuple[TopicImage, ...]) -> Iterator[PartitionChange]:
        for topic in deleted:
            for number, last in topic.partitions.items():
                yield PartitionChange(topic=topic.name, topic_id=topic.id, partition=number, before=last, after=None)
        for topic_id, number in self._touched_partitions:
            now = image.topics_by_id.get(topic_id)
            if now is None:
                continue
            earlier = self._before.topics_by_id.get(topic_id)
            partition = earlier.partitions.get(number) if earlier is not None else None
            if partition != now.partitions[number]:
                yield PartitionChange(
                    topic=now.name,
                    topic_id=topic_id,
                    partition=number,
                    before=partition,
                    after=now.partitions[number],
                )


def _set_entry(table: Table[K, Mapping[str, V]], key: K, name: str, value: V | None) -> None:
    """Set or remove one entry of the mapping under `key`; a mapping that becomes empty goes away."""
    entries = dict(table.get(key) or {})
    if value is None:
        entries.pop(name, None)
    else:
        entries[name] = value
    if entries:
        table.put(key, entries)
    elif key in table:
        table.remove(key)
