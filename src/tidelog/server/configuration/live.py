"""The broker's configuration as it is now: its file's properties under the dynamic ones that the image holds."""

from __future__ import annotations

from collections.abc import Callable

from tidelog.config.broker import BrokerConfig
from tidelog.metadata.image import ClusterImage
from tidelog.server.configuration.topic_settings import TopicSettings


class LiveConfig:
    """Code that must notice changes keeps this and reads `config` each time."""

    def __init__(self, config: BrokerConfig, image: Callable[[], ClusterImage]) -> None:
        self._image = image
        self._topic_defaults = config.topic_defaults()
        self.config = config

    def reconfigure(self) -> None:
        """Apply the dynamic properties that the image holds."""
        image = self._image()
        self.config = self.config.with_dynamic(
            cluster=image.cluster_config(), broker=image.broker_config(self.config.node_id)
        )
        self._topic_defaults = self.config.topic_defaults()

    def settings_of(self, topic: str, image: ClusterImage | None = None) -> TopicSettings:
        """The topic's effective configuration: its own properties, and the broker's where it has none."""
        return TopicSettings.of(
            self._topic_defaults.with_overrides((image or self._image()).topic_config(topic)),
            producer_id_expiration_ms=self.config.producer_id_expiration_ms,
        )
