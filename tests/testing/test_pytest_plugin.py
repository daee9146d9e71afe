"""The fixture that other people's tests use, used as they do: named in the arguments, imported from nowhere."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer


def test_the_fixture_gives_a_real_broker(tidelog_broker: Any) -> None:
    producer = Producer({"bootstrap.servers": tidelog_broker.bootstrap_servers})
    producer.produce("orders", b"first")
    assert producer.flush(20) == 0
    consumer = Consumer(
        {
            "bootstrap.servers": tidelog_broker.bootstrap_servers,
            "group.id": "billing",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(["orders"])
    deadline = time.monotonic() + 30
    message = None
    while message is None and time.monotonic() < deadline:
        message = consumer.poll(1)
    consumer.close()
    assert message is not None
    assert message.value() == b"first"
    assert (Path(tidelog_broker.data_dir) / "orders-0").is_dir()


def test_each_test_gets_a_broker_of_its_own(tidelog_broker: Any) -> None:
    producer = Producer({"bootstrap.servers": tidelog_broker.bootstrap_servers})
    topics = producer.list_topics(timeout=20).topics
    assert "orders" not in topics


def test_the_session_fixture_is_shared(tidelog_session_broker: Any) -> None:
    assert tidelog_session_broker.bootstrap_servers
