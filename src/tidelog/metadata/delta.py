"""What a batch of metadata records has changed, for those who act on it: start and stop replicas, apply properties."""

from __future__ import annotations

from tidelog.metadata.image import ConfiguredResource, PartitionImage, TopicImage
from tidelog.model.ids import Uuid
from tidelog.model.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionChange:
    """One partition that is new (no `before`), gone (no `after`) or different."""

    topic: str
    topic_id: Uuid
    partition: int
    before: PartitionImage | None
    after: PartitionImage | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageDelta:
    """The difference between two images. What came and went within one batch does not appear.

    A topic that was deleted and created again under its name appears in both lists, with two ids.
    """

    topics_created: tuple[TopicImage, ...] = ()
    topics_deleted: tuple[TopicImage, ...] = ()
    partitions: tuple[PartitionChange, ...] = ()
    configs: tuple[ConfiguredResource, ...] = ()
    brokers: tuple[int, ...] = ()
    controllers: tuple[int, ...] = ()
    features: bool = False
    client_quotas: bool = False
    acls: bool = False
    scram_credentials: bool = False
    producer_ids: bool = False
