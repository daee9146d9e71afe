"""tidelog: Kafka in Python, exactly once end to end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidelog.version import VERSION

__version__ = VERSION

__all__ = [
    "Admin",
    "ApiError",
    "Broker",
    "Consumer",
    "ConsumerGroupMetadata",
    "Producer",
    "TopicPartition",
    "__version__",
]

if TYPE_CHECKING:
    from tidelog.client.admin import Admin
    from tidelog.client.consumer import Consumer
    from tidelog.client.group_metadata import ConsumerGroupMetadata
    from tidelog.client.producer import Producer
    from tidelog.model.errors import ApiError
    from tidelog.model.ids import TopicPartition
    from tidelog.server.broker import Broker

_HOMES = {
    "Admin": "tidelog.client.admin",
    "ApiError": "tidelog.model.errors",
    "Broker": "tidelog.server.broker",
    "Consumer": "tidelog.client.consumer",
    "ConsumerGroupMetadata": "tidelog.client.group_metadata",
    "Producer": "tidelog.client.producer",
    "TopicPartition": "tidelog.model.ids",
}


def __getattr__(name: str) -> Any:
    """The public names are imported when they are used: a producer does not pay for the broker."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tidelog' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)
