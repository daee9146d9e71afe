"""The same questions to the same broker, asked by Kafka's own tools and by `tidelog`: the lines have to be equal."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.tidelog_command import Command

pytestmark = [pytest.mark.maven, pytest.mark.xdist_group("jvm")]

KafkaTool = Callable[..., str]

PRINT_EVERYTHING = [
    part
    # Not print.epoch: Kafka's tool loses the epoch on the way and prints NOT_PRESENT.
    for name in ("timestamp", "partition", "offset", "headers", "key")
    for part in ("--formatter-property", f"print.{name}=true")
]


def test_described_topics(at_broker: Command, kafka_tool: KafkaTool, topic: str) -> None:
    options = ("--partitions", "3", "--config", "retention.ms=1000000", "--config", "cleanup.policy=compact,delete")
    at_broker("topics", "--create", "--topic", topic, *options)
    arguments = ("--describe", "--topic", topic)
    theirs = kafka_tool("org.apache.kafka.tools.TopicCommand", *arguments)
    assert in_order(at_broker("topics", *arguments).stdout) == in_order(theirs)


def in_order(description: str) -> list[list[str]]:
    """The columns of each line. Kafka's tool shows properties in the order of a hash table, we by name."""
    lines = [line.split("\t") for line in description.splitlines()]
    assert lines[0][-1].startswith("Configs: ")
    lines[0][-1:] = sorted(lines[0][-1].removeprefix("Configs: ").split(","))
    return lines


def test_described_properties(at_broker: Command, kafka_tool: KafkaTool, topic: str) -> None:
    at_broker("topics", "--create", "--topic", topic, "--config", "retention.ms=1000000")
    arguments = ("--describe", "--entity-type", "topics", "--entity-name", topic, "--all")
    theirs = kafka_tool("kafka.admin.ConfigCommand", *arguments).splitlines()
    ours = at_broker("configs", *arguments).stdout.splitlines()
    assert ours[0] == theirs[0]
    assert sorted(ours) == sorted(theirs)


def test_offsets(at_broker: Command, kafka_tool: KafkaTool, topic: str) -> None:
    at_broker("topics", "--create", "--topic", topic, "--partitions", "3")
    at_broker("produce", "--topic", topic, "--partition", "1", stdin="a\nb\n")
    arguments = ("--topic-partitions", f"{topic}:0-2,{topic}:2", "--time", "-1")
    theirs = kafka_tool("org.apache.kafka.tools.GetOffsetShell", *arguments)
    assert at_broker("get-offsets", *arguments).stdout == theirs


def test_versions_of_apis(at_broker: Command, kafka_tool: KafkaTool) -> None:
    theirs = kafka_tool("org.apache.kafka.tools.BrokerApiVersionsCommand").splitlines()
    ours = at_broker("broker-api-versions").stdout.splitlines()
    # Kafka's client has some APIs that ours has no words for; those are not served here.
    known = [line.rstrip(",") for line in theirs if "UNSUPPORTED" not in line]
    assert [line.rstrip(",") for line in ours if "UNSUPPORTED" not in line] == known


def test_printed_records(at_broker: Command, kafka_tool: KafkaTool, topic: str) -> None:
    at_broker("produce", "--topic", topic, "--headers", "--key-separator", ":", stdin="h:1,i:2\tkey:välue\n\tk:\n")
    at_broker("produce", "--topic", topic, stdin="no key\n")
    arguments = ("--topic", topic, "--from-beginning", "--max-messages", "3", *PRINT_EVERYTHING)
    theirs = kafka_tool("org.apache.kafka.tools.consumer.ConsoleConsumer", *arguments)
    assert at_broker("consume", *arguments).stdout == theirs


def test_described_groups(at_broker: Command, kafka_tool: KafkaTool, topic: str) -> None:
    at_broker("produce", "--topic", topic, stdin="a\nb\nc\n")
    at_broker("consume", "--topic", topic, "--group", topic, "--from-beginning", "--max-messages", "2")
    arguments = ("--describe", "--group", topic)
    theirs = kafka_tool("org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", *arguments)
    ours = at_broker("groups", *arguments).stdout
    assert ours == theirs
