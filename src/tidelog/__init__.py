"""tidelog: Kafka in Python, exactly once end to end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# First of all: it decides whether the modules that follow are compiled ones.
from tidelog import hot_path as hot_path
from tidelog.version import VERSION

__version__ = VERSION

__all__ = [
    "AbortableError",
    "Admin",
    "ApiError",
    "AuthenticationError",
    "Broker",
    "Consumer",
    "ConsumerGroupMetadata",
    "ConsumerRecord",
    "ExactlyOnceLoop",
    "FatalError",
    "FencedError",
    "OffsetAndMetadata",
    "OutcomeUnknown",
    "PreparedTransactionState",
    "Producer",
    "TopicPartition",
    "TransactionError",
    "__version__",
    "read_config",
]

if TYPE_CHECKING:
    from tidelog.client.admin import Admin
    from tidelog.client.config_files import read_config
    from tidelog.client.consumer import Consumer
    from tidelog.client.consumer.fetched import ConsumerRecord
    from tidelog.client.errors import AbortableError, FatalError, FencedError, OutcomeUnknown, TransactionError
    from tidelog.client.exactly_once import ExactlyOnceLoop
    from tidelog.client.offsets.committed import OffsetAndMetadata
    from tidelog.client.offsets.group_metadata import ConsumerGroupMetadata
    from tidelog.client.producer.producer import Producer
    from tidelog.client.transactions.prepared import PreparedTransactionState
    from tidelog.model.errors import ApiError
    from tidelog.model.ids import TopicPartition
    from tidelog.network.client_connection import AuthenticationError
    from tidelog.server.broker import Broker

_HOMES = {
    "AbortableError": "tidelog.client.errors",
    "Admin": "tidelog.client.admin",
    "ApiError": "tidelog.model.errors",
    "AuthenticationError": "tidelog.network.client_connection",
    "Broker": "tidelog.server.broker",
    "Consumer": "tidelog.client.consumer",
    "ConsumerGroupMetadata": "tidelog.client.offsets.group_metadata",
    "ConsumerRecord": "tidelog.client.consumer.fetched",
    "ExactlyOnceLoop": "tidelog.client.exactly_once",
    "FatalError": "tidelog.client.errors",
    "FencedError": "tidelog.client.errors",
    "OffsetAndMetadata": "tidelog.client.offsets.committed",
    "OutcomeUnknown": "tidelog.client.errors",
    "PreparedTransactionState": "tidelog.client.transactions.prepared",
    "Producer": "tidelog.client.producer.producer",
    "TopicPartition": "tidelog.model.ids",
    "TransactionError": "tidelog.client.errors",
    "read_config": "tidelog.client.config_files",
}


def __getattr__(name: str) -> Any:
    """The public names are imported when they are used: a producer does not pay for the broker."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tidelog' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)
