"""The command-line tools that come with Apache Kafka administer a tidelog broker."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from support.clients.contract import ForeignClient
from support.clients.json_lines import JavaClient
from support.processes import ProcessFailed, wait_until

pytestmark = [pytest.mark.maven, pytest.mark.xdist_group("jvm")]

TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
LOG_DIRECTORIES = "org.apache.kafka.tools.LogDirsCommand"
DELETE_RECORDS = "org.apache.kafka.tools.DeleteRecordsCommand"
API_VERSIONS = "org.apache.kafka.tools.BrokerApiVersionsCommand"
CONSOLE_PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


@pytest.fixture(
    scope="module", params=["tidelog", pytest.param("apache", marks=pytest.mark.slow)], ids=["tidelog", "apache"]
)
def java(request: pytest.FixtureRequest, open_client: Callable[[str, str], ForeignClient]) -> JavaClient:
    broker = request.getfixturevalue("tidelog_process" if request.param == "tidelog" else "apache_kafka")
    client = open_client("java", broker.bootstrap_servers)
    assert isinstance(client, JavaClient)
    return client


def test_topics_are_created_described_grown_and_deleted(java: JavaClient, topic: str) -> None:
    create = ("--create", "--topic", topic, "--partitions", "2", "--config", "retention.ms=1000000")
    assert f"Created topic {topic}." in java.run_tool(TOPICS, *create)
    assert topic in java.run_tool(TOPICS, "--list").splitlines()
    first, *partitions = java.run_tool(TOPICS, "--describe", "--topic", topic).rstrip("\n").split("\n")
    fields = dict(field.split(": ", 1) for field in first.split("\t"))
    assert (fields["Topic"], fields["PartitionCount"], fields["ReplicationFactor"]) == (topic, "2", "1")
    assert len(fields["TopicId"]) == 22
    assert "retention.ms=1000000" in fields["Configs"]
    assert [line.split("\t")[1:3] for line in partitions] == [
        [f"Topic: {topic}", "Partition: 0"],
        [f"Topic: {topic}", "Partition: 1"],
    ]
    java.run_tool(TOPICS, "--alter", "--topic", topic, "--partitions", "3")
    assert "PartitionCount: 3" in java.run_tool(TOPICS, "--describe", "--topic", topic)
    java.run_tool(TOPICS, "--delete", "--topic", topic)
    assert topic not in java.run_tool(TOPICS, "--list").splitlines()


def test_what_cannot_be_done_is_said(java: JavaClient, topic: str) -> None:
    java.run_tool(TOPICS, "--create", "--topic", topic)
    with pytest.raises(ProcessFailed, match="already exists"):
        java.run_tool(TOPICS, "--create", "--topic", topic)
    with pytest.raises(ProcessFailed, match="partition"):
        java.run_tool(TOPICS, "--alter", "--topic", topic, "--partitions", "1")
    with pytest.raises(ProcessFailed, match="does not exist"):
        java.run_tool(TOPICS, "--describe", "--topic", f"{topic}-missing")


def test_topic_configs_are_changed_and_removed(java: JavaClient, topic: str) -> None:
    java.run_tool(TOPICS, "--create", "--topic", topic)
    of_topic = ("--entity-type", "topics", "--entity-name", topic)
    java.run_tool(
        CONFIGS, "--alter", *of_topic, "--add-config", "max.message.bytes=2000,cleanup.policy=[compact,delete]"
    )
    described = java.run_tool(CONFIGS, "--describe", *of_topic)
    assert "max.message.bytes=2000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:max.message.bytes=2000" in described
    assert "cleanup.policy=compact,delete" in described
    java.run_tool(CONFIGS, "--alter", *of_topic, "--delete-config", "max.message.bytes")
    assert "max.message.bytes=" not in java.run_tool(CONFIGS, "--describe", *of_topic)


def test_broker_configs_are_changed_and_removed(java: JavaClient) -> None:
    all_brokers = ("--entity-type", "brokers", "--entity-default")
    java.run_tool(CONFIGS, "--alter", *all_brokers, "--add-config", "log.retention.ms=123456")
    assert "log.retention.ms=123456" in java.run_tool(CONFIGS, "--describe", *all_brokers)
    java.run_tool(CONFIGS, "--alter", *all_brokers, "--delete-config", "log.retention.ms")
    assert "log.retention.ms=123456" not in java.run_tool(CONFIGS, "--describe", *all_brokers)


def test_the_console_producer_and_consumer_exchange_records(java: JavaClient, topic: str) -> None:
    java.run_tool(TOPICS, "--create", "--topic", topic)
    keyed = ("--reader-property", "parse.key=true", "--reader-property", "parse.headers=true")
    lines = "".join(f"trace:{number}\tkey-{number}\tvalue-{number}\n" for number in range(5))
    java.run_tool(CONSOLE_PRODUCER, "--topic", topic, "--compression-codec", "zstd", *keyed, text=lines)
    shown = ("print.key=true", "print.headers=true", "print.offset=true", "print.partition=true")
    formatting = [part for name in shown for part in ("--formatter-property", name)]
    output = java.run_tool(CONSOLE_CONSUMER, "--topic", topic, "--from-beginning", "--max-messages", "5", *formatting)
    assert [line for line in output.splitlines() if line.startswith("Partition")] == [
        f"Partition:0\tOffset:{number}\ttrace:{number}\tkey-{number}\tvalue-{number}" for number in range(5)
    ]
    assert java.run_tool(OFFSETS, "--topic", topic, "--time", "-1").split() == [f"{topic}:0:5"]
    assert java.run_tool(OFFSETS, "--topic", topic, "--time", "-2").split() == [f"{topic}:0:0"]
    # Records of the same millisecond are possible: then it is the first of them.
    newest = java.run_tool(OFFSETS, "--topic", topic, "--time", "max-timestamp").strip()
    assert newest in {f"{topic}:0:{offset}" for offset in range(5)}


def test_records_are_deleted_up_to_an_offset(
    java: JavaClient, topic: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    java.run_tool(TOPICS, "--create", "--topic", topic)
    java.run_tool(CONSOLE_PRODUCER, "--topic", topic, text="a\nb\nc\n")
    request = tmp_path_factory.mktemp("delete-records") / "offsets.json"
    request.write_text(json.dumps({"partitions": [{"topic": topic, "partition": 0, "offset": 2}], "version": 1}))
    output = java.run_tool(DELETE_RECORDS, "--offset-json-file", str(request))
    assert f"partition: {topic}-0\tlow_watermark: 2" in output
    assert java.run_tool(OFFSETS, "--topic", topic, "--time", "-2").split() == [f"{topic}:0:2"]


def test_a_groups_progress_is_described_and_reset(java: JavaClient, topic: str) -> None:
    group = f"group-of-{topic}"
    java.run_tool(TOPICS, "--create", "--topic", topic)
    java.run_tool(CONSOLE_PRODUCER, "--topic", topic, text="a\nb\nc\n")
    reading = ("--topic", topic, "--group", group, "--from-beginning", "--max-messages", "3")
    # The tool has something to say about group protocols before and a count behind the records.
    assert "\na\nb\nc\n" in java.run_tool(CONSOLE_CONSUMER, *reading)
    assert group in java.run_tool(GROUPS, "--list").split()
    columns = java.run_tool(GROUPS, "--describe", "--group", group, "--offsets").splitlines()[-1].split()
    assert columns[:6] == [group, topic, "0", "3", "3", "0"]
    reset = ("--reset-offsets", "--group", group, "--topic", topic, "--to-offset", "1", "--execute")
    java.run_tool(GROUPS, *reset)
    columns = java.run_tool(GROUPS, "--describe", "--group", group, "--offsets").splitlines()[-1].split()
    assert columns[:6] == [group, topic, "0", "1", "3", "2"]
    java.run_tool(GROUPS, "--delete", "--group", group)
    assert group not in java.run_tool(GROUPS, "--list").split()


def test_log_directories_and_api_versions_are_listed(java: JavaClient, topic: str) -> None:
    java.run_tool(TOPICS, "--create", "--topic", topic)

    def listed() -> list[str]:
        output = java.run_tool(LOG_DIRECTORIES, "--describe", "--topic-list", topic)
        (broker,) = json.loads(output.splitlines()[-1])["brokers"]
        (directory,) = broker["logDirs"]
        return [partition["partition"] for partition in directory["partitions"]]

    # The topic exists a moment before its directory does.
    assert wait_until(listed, what="the directory of the partition") == [f"{topic}-0"]
    assert "Produce(0): 0 to 13" in java.run_tool(API_VERSIONS)
