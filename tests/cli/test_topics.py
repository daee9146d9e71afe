from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from support.tidelog_command import Command


def test_a_topic_from_creation_to_deletion(at_broker: Command, topic: str) -> None:
    created = at_broker("topics", "--create", "--topic", topic, "--partitions", "3", "--config", "retention.ms=3600000")
    assert created.stdout == f"Created topic {topic}.\n"
    assert topic in at_broker("topics", "--list").stdout.splitlines()
    described = at_broker("topics", "--describe", "--topic", topic).stdout.splitlines()
    head = described[0].split("\t")
    assert head[0] == f"Topic: {topic}"
    assert head[1].startswith("TopicId: ")
    assert head[2:] == [
        "PartitionCount: 3",
        "ReplicationFactor: 1",
        "Configs: min.insync.replicas=1,retention.ms=3600000",
    ]
    assert described[1:] == [
        f"\tTopic: {topic}\tPartition: {number}\tLeader: 1\tReplicas: 1\tIsr: 1\tElr: \tLastKnownElr: "
        for number in range(3)
    ]
    at_broker("topics", "--alter", "--topic", topic, "--partitions", "5")
    assert len(at_broker("topics", "--describe", "--topic", topic).stdout.splitlines()) == 6
    at_broker("topics", "--delete", "--topic", topic)
    assert topic not in at_broker("topics", "--list").stdout.splitlines()


def test_json_holds_the_same(at_broker: Command, topic: str) -> None:
    created = json.loads(at_broker("topics", "--create", "--topic", topic, "--partitions", "2", "--json").stdout)
    assert (created["topic"], created["partitions"], created["created"]) == (topic, 2, True)
    (described,) = json.loads(at_broker("topics", "--describe", "--topic", topic, "--json").stdout)
    assert described["topicId"] == created["topicId"]
    assert [part["leader"] for part in described["partitions"]] == [1, 1]
    assert topic in json.loads(at_broker("topics", "--list", "--json").stdout)


def test_what_exists_already_is_an_error_unless_it_may(at_broker: Command, topic: str) -> None:
    at_broker("topics", "--create", "--topic", topic)
    again = at_broker("topics", "--create", "--topic", topic, code=1)
    assert again.stderr == f"tidelog: topic '{topic}' already exists; use --if-not-exists to accept that\n"
    at_broker("topics", "--create", "--topic", topic, "--if-not-exists")


@pytest.mark.parametrize("action", [("--describe",), ("--delete",), ("--alter", "--partitions", "2")])
def test_what_is_missing_is_an_error_unless_it_may(at_broker: Command, topic: str, action: tuple[str, ...]) -> None:
    missing = at_broker("topics", *action, "--topic", topic, code=1)
    assert f"topic '{topic}' does not exist" in missing.stderr
    at_broker("topics", *action, "--topic", topic, "--if-exists")


def test_names_may_be_expressions(at_broker: Command, topic: str) -> None:
    for letter in "abc":
        at_broker("topics", "--create", "--topic", f"{topic}-{letter}")
    listed = at_broker("topics", "--list", "--topic", f"{topic}-[ab]").stdout.splitlines()
    assert listed == [f"{topic}-a", f"{topic}-b"]
    at_broker("topics", "--delete", "--topic", f"{topic}-a,{topic}-c")
    assert at_broker("topics", "--list", "--topic", f"{topic}.*").stdout.splitlines() == [f"{topic}-b"]


def test_an_expression_that_is_none_is_named(at_broker: Command) -> None:
    assert "'(' is not a regular expression" in at_broker("topics", "--describe", "--topic", "(", code=2).stderr


def test_partitions_without_problems_are_not_reported(at_broker: Command, topic: str) -> None:
    at_broker("topics", "--create", "--topic", topic)
    for problem in ("--under-replicated-partitions", "--unavailable-partitions", "--under-min-isr-partitions"):
        assert at_broker("topics", "--describe", "--topic", topic, problem).stdout == ""
    assert "Partition: 0" in at_broker("topics", "--describe", "--topic", topic, "--at-min-isr-partitions").stdout
    assert at_broker("topics", "--describe", "--topic", topic, "--topics-with-overrides").stdout == ""
    at_broker("configs", "--alter", "--topic", topic, "--add-config", "retention.ms=3600000")
    assert "retention.ms" in at_broker("topics", "--describe", "--topic", topic, "--topics-with-overrides").stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "exactly one of --create, --list, --describe, --alter and --delete"),
        (("--create", "--list"), "exactly one of"),
        (("--create",), "--create needs --topic"),
        (("--create", "--topic", "t", "--config", "retention"), "'retention' is not of the form name=value"),
        (("--create", "--topic", "t", "--partitions", "0"), "--partitions"),
        (("--create", "--topic", "t", "--replica-assignment", "1:x"), "must be broker ids"),
        (("--create", "--topic", "t", "--replica-assignment", "1:1"), "names a broker twice"),
        (("--alter", "--topic", "t", "--config", "a=b"), "tidelog configs --alter"),
        (("--alter", "--topic", "t"), "--alter needs --topic and --partitions"),
        (("--descibe",), "--descibe"),
    ],
)
def test_wrong_uses_exit_with_two(usage_error: Callable[..., str], arguments: tuple[str, ...], said: str) -> None:
    assert said in usage_error("topics", *arguments)


def test_what_the_broker_refuses_is_told_in_one_line(at_broker: Command, topic: str) -> None:
    refused = at_broker("topics", "--create", "--topic", topic, "--config", "retention.mss=1", code=1)
    assert refused.stderr.count("\n") == 1
    assert "retention.mss" in refused.stderr
    refused = at_broker("topics", "--create", "--topic", topic, "--replication-factor", "3", code=1)
    assert "INVALID_REPLICATION_FACTOR" in refused.stderr
