"""The topics of the cluster, as the group coordinator needs them."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.coordinators.consumer_groups.topics import Topic
from tidelog.metadata.image import ClusterImage, TopicImage
from tidelog.model.ids import Uuid


class TopicsOfImage:
    """`Topics` on top of one image, without a copy."""

    def __init__(self, image: ClusterImage) -> None:
        self._image = image

    @property
    def version(self) -> int:
        """The coordinator gets another image only if topics have changed; other records do not matter."""
        return self._image.offset

    def named(self, name: str) -> Topic | None:
        return _topic(self._image.topics.get(name))

    def with_id(self, topic_id: Uuid) -> Topic | None:
        return _topic(self._image.topics_by_id.get(topic_id))

    def names(self) -> Iterable[str]:
        return self._image.topics.keys()


def _topic(image: TopicImage | None) -> Topic | None:
    return None if image is None else Topic(image.name, image.id, len(image.partitions))
