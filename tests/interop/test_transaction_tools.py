"""Apache Kafka's tools look into transactions of a tidelog broker: kafka-transactions, and the formatter of the log."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.clients.confluent import ConfluentClient
from support.clients.contract import ForeignClient
from support.clients.json_lines import JavaClient
from support.transactional.confluent import ConfluentTransactions

pytestmark = [pytest.mark.maven, pytest.mark.xdist_group("jvm")]

TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
FORMATTER = "org.apache.kafka.tools.consumer.TransactionLogMessageFormatter"
STATE_NUMBERS = {"Empty": 0, "Ongoing": 1, "PrepareCommit": 2, "CompleteCommit": 4}


@pytest.fixture(
    scope="module", params=["tidelog", pytest.param("apache", marks=pytest.mark.slow)], ids=["tidelog", "apache"]
)
def java(request: pytest.FixtureRequest, open_client: Callable[[str, str], ForeignClient]) -> JavaClient:
    broker = request.getfixturevalue("tidelog_process" if request.param == "tidelog" else "apache_kafka")
    client = open_client("java", broker.bootstrap_servers)
    assert isinstance(client, JavaClient)
    return client


@pytest.fixture
def producer(java: JavaClient, topic: str) -> Iterator[ConfluentTransactions]:
    """With the transaction of a producer named after the topic open in it."""
    ConfluentClient(java.bootstrap_servers).create_topic(topic)
    client = ConfluentTransactions(java.bootstrap_servers)
    client.init(topic, f"id-{topic}")
    client.begin(topic)
    client.send(topic, topic, "value")
    yield client
    client.close_all()


def rows(output: str) -> list[dict[str, str]]:
    """A table that the tool printed."""
    header, *lines = [line.split() for line in output.splitlines() if line.strip()]
    return [dict(zip(header, line, strict=False)) for line in lines]


def objects(output: str) -> Iterator[Any]:
    """The formatter prints one object after the other, without anything between them."""
    decoder = json.JSONDecoder()
    at = output.find("{")
    while at >= 0:
        found, end = decoder.raw_decode(output, at)
        yield found
        at = output.find("{", end)


def test_transactions_are_listed_and_described(java: JavaClient, producer: ConfluentTransactions, topic: str) -> None:
    listed = {row["TransactionalId"]: row for row in rows(java.run_tool(TRANSACTIONS, "list"))}
    assert listed[f"id-{topic}"]["TransactionState"] == "Ongoing"
    (described,) = rows(java.run_tool(TRANSACTIONS, "describe", "--transactional-id", f"id-{topic}"))
    assert (described["TransactionState"], described["TopicPartitions"]) == ("Ongoing", f"{topic}-0")
    assert described["ProducerId"] == listed[f"id-{topic}"]["ProducerId"]
    (writing,) = rows(java.run_tool(TRANSACTIONS, "describe-producers", "--topic", topic, "--partition", "0"))
    assert writing["ProducerId"] == described["ProducerId"]
    assert writing["CurrentTransactionStartOffset"] == "0"


def test_an_open_transaction_is_aborted_in_a_partition(
    java: JavaClient, producer: ConfluentTransactions, topic: str
) -> None:
    assert ConfluentTransactions(java.bootstrap_servers).read(topic, committed=False, count=1) == ["value"]
    java.run_tool(TRANSACTIONS, "abort", "--topic", topic, "--partition", "0", "--start-offset", "0")
    (writing,) = rows(java.run_tool(TRANSACTIONS, "describe-producers", "--topic", topic, "--partition", "0"))

    assert writing["CurrentTransactionStartOffset"] == "None"


def test_the_log_of_the_coordinator_is_printed_as_that_of_kafka(
    java: JavaClient, producer: ConfluentTransactions, topic: str
) -> None:
    producer.commit(topic)
    output = java.run_tool(
        CONSOLE_CONSUMER,
        "--topic",
        "__transaction_state",
        "--from-beginning",
        "--formatter",
        FORMATTER,
        "--timeout-ms",
        "4000",
    )
    records = list(objects(output))
    ours = [each["value"]["data"] for each in records if each["key"]["data"]["transactionalId"] == f"id-{topic}"]

    assert [each["transactionStatus"] for each in ours] == list(STATE_NUMBERS.values())
    listed = [{"topic": topic, "partitionIds": [0]}]
    assert [each["transactionPartitions"] for each in ours] == [None, listed, listed, []]
    assert ours[0]["transactionStartTimestampMs"] == -1
    assert len({each["transactionStartTimestampMs"] for each in ours[1:]}) == 1
