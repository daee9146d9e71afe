"""The fixture that other people's tests use, used as they do: named in the arguments, imported from nowhere."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from support.planted_secrets import watch

import tidelog.sync


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


@pytest.mark.parametrize("mode", ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"])
def test_each_security_mode(mode: str, request: pytest.FixtureRequest) -> None:
    request.node.add_marker(pytest.mark.tidelog_broker(security=mode, properties={"num.partitions": "3"}))
    broker = request.getfixturevalue("tidelog_broker")
    for option in ("sasl.password", "sasl.jaas.config"):
        watch(broker.librdkafka_options.get(option, "") or broker.client_options.get(option, "") or "no secret at all")
    admin = AdminClient(broker.librdkafka_options)
    admin.create_topics([NewTopic("orders")])["orders"].result(20)
    assert len(admin.list_topics("orders", timeout=20).topics["orders"].partitions) == 3
    with tidelog.sync.Producer(config=broker.client_options) as producer:
        assert len(producer.partitions_for("orders").partitions) == 3
    if mode != "PLAINTEXT":
        stranger = AdminClient({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
        with pytest.raises(KafkaException):
            stranger.list_topics(timeout=1)


def test_a_mark_that_says_something_else_is_refused(request: pytest.FixtureRequest) -> None:
    request.node.add_marker(pytest.mark.tidelog_broker(secure=True))
    with pytest.raises(pytest.UsageError, match=r"takes security=\.\.\. and properties"):
        request.getfixturevalue("tidelog_broker")
