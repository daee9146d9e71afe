"""Small clusters for the tests of the controller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tidelog.config.broker import BrokerConfig
from tidelog.metadata.image import ClusterImage
from tidelog.metadata.replay import apply
from tidelog.protocol.messages.partition_record import PartitionRecord
from tidelog.protocol.messages.register_broker_record import RegisterBrokerRecord
from tidelog.protocol.messages.topic_record import TopicRecord
from tidelog.protocol.schema import Message

MakeCluster = Callable[..., ClusterImage]


def directory(broker: int) -> bytes:
    return b"directory-of-%03d" % broker


@pytest.fixture
def config() -> BrokerConfig:
    return BrokerConfig.from_properties({"node.id": "1", "num.partitions": "2"})


@pytest.fixture
def make_cluster() -> MakeCluster:
    """Brokers by number; fenced, stopping and racks on demand; a topic "t" with the given partitions."""

    def make(
        *brokers: int,
        fenced: tuple[int, ...] = (),
        stopping: tuple[int, ...] = (),
        racks: dict[int, str] | None = None,
        partitions: tuple[dict[str, Any], ...] = (),
    ) -> ClusterImage:
        records: list[Message] = [
            RegisterBrokerRecord(
                broker_id=broker,
                broker_epoch=100 + broker,
                incarnation_id=b"incarnation-%04d" % broker,
                rack=(racks or {}).get(broker),
                fenced=broker in fenced,
                in_controlled_shutdown=broker in stopping,
                log_dirs=(directory(broker),),
            )
            for broker in brokers
        ]
        if partitions:
            records.append(TopicRecord(name="t", topic_id=b"t" * 16))
        records.extend(
            PartitionRecord(
                partition_id=number,
                topic_id=b"t" * 16,
                leader_epoch=5,
                partition_epoch=9,
                **{"directories": tuple(directory(broker) for broker in fields["replicas"]), **fields},
            )
            for number, fields in enumerate(partitions)
        )
        return apply(ClusterImage(cluster_id="cluster"), records)[0]

    return make
