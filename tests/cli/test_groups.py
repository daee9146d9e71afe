"""`tidelog groups`: what it shows, what it changes, and that its lines are those of Kafka's kafka-consumer-groups."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from support.clients.confluent import ConfluentClient
from support.clients.contract import OPERATION_TIMEOUT_SECONDS, Message
from support.clients.json_lines import JavaClient
from support.tidelog_command import Command
from support.tidelog_process import TidelogBroker
from typer.testing import CliRunner, Result

from tidelog.cli.main import app

KafkaTool = Callable[..., str]
InProcess = Callable[..., Result]
RECORDS = 10
KAFKA_CONSUMER_GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


@pytest.fixture
def topic(broker: TidelogBroker, topic: str) -> str:
    """Three partitions with 4, 3 and 3 records."""
    client = ConfluentClient(broker.bootstrap_servers)
    assert client.create_topic(topic, partitions=3) == 0
    now_ms = int(time.time() * 1000)
    client.produce(
        topic,
        [Message(key=None, value=b"v", timestamp_ms=now_ms, partition=number % 3) for number in range(RECORDS)],
    )
    return topic


@pytest.fixture(scope="module")
def kafka_groups(jars: Path, broker: TidelogBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaTool]:
    """Kafka's kafka-consumer-groups, in one virtual machine for all tests."""
    client = JavaClient(broker.bootstrap_servers, jars=jars, log=tmp_path_factory.mktemp("java") / "client.log")

    def run(*arguments: str) -> str:
        printed = client.run_tool(KAFKA_CONSUMER_GROUPS, *arguments)
        # Standard error is in it, where its logging complains once.
        return "".join(line for line in printed.splitlines(keepends=True) if not line.startswith("SLF4J"))

    yield run
    client.close()


@pytest.fixture(scope="session")
def groups(broker: TidelogBroker) -> InProcess:
    """`tidelog groups`, without starting a process each time."""

    def run(*arguments: str) -> Result:
        result = CliRunner().invoke(app, ("groups", "-b", broker.bootstrap_servers, *arguments))
        assert result.exit_code == 0, result.output
        return result

    return run


@pytest.fixture
def members(broker: TidelogBroker, topic: str) -> Iterator[Callable[..., None]]:
    """Lets a consumer join a group, read everything, commit, and stay until the end of the test."""
    with ExitStack() as closing:

        def join(group: str, **settings: str) -> None:
            consumer = Consumer(
                {
                    "bootstrap.servers": broker.bootstrap_servers,
                    "group.id": group,
                    "auto.offset.reset": "earliest",
                    "enable.auto.commit": False,
                    "client.id": "client",
                    **settings,
                }
            )
            closing.callback(consumer.close)
            consumer.subscribe([topic])
            deadline = time.monotonic() + OPERATION_TIMEOUT_SECONDS
            left = RECORDS
            while left:
                assert time.monotonic() < deadline, f"{left} records have not come"
                left -= len(consumer.consume(left, 0.1))
            consumer.commit(asynchronous=False)

        yield join


def _committed(groups: InProcess, group: str) -> dict[int, int]:
    (described,) = json.loads(groups("--describe", "--group", group, "--json").stdout)
    return {row["partition"]: row["currentOffset"] for row in described["partitions"]}


# ----------------------------------------------------------------------------------------------------------------
# Lines.


@pytest.mark.maven
@pytest.mark.xdist_group("jvm")
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_lines_are_those_of_kafkas_tool(
    groups: InProcess, kafka_groups: KafkaTool, topic: str, members: Callable[..., None], protocol: str
) -> None:
    group = f"{topic}-{protocol}"
    members(group, **{"group.protocol": protocol, "group.instance.id": "instance"})
    for what in ("", "--offsets", "--verbose", "--members", "--members --verbose", "--state", "--state --verbose"):
        arguments = ("--describe", "--group", group, *what.split())
        assert groups(*arguments).stdout == kafka_groups(*arguments), what
    for what in ("", "--state", "--type", "--type --state"):
        arguments = ("--list", *what.split())
        ours = groups(*arguments).stdout.splitlines()
        theirs = kafka_groups(*arguments).splitlines()
        # Groups of other tests come and go.
        assert [line for line in ours if group in line] == [line for line in theirs if group in line] != [], what
        assert not what or ours[0] == theirs[0]


@pytest.mark.maven
@pytest.mark.xdist_group("jvm")
def test_the_lines_about_offsets_are_those_of_kafkas_tool(
    groups: InProcess, kafka_groups: KafkaTool, topic: str
) -> None:
    for what in (
        ("--reset-offsets", "--group", topic, "--topic", f"{topic}:0,2", "--to-latest", "--dry-run"),
        ("--reset-offsets", "--group", topic, "--topic", topic, "--to-offset", "2", "--execute"),
        ("--reset-offsets", "--group", topic, "--all-topics", "--shift-by", "-1", "--dry-run"),
        ("--delete-offsets", "--group", topic, "--topic", f"{topic}:0,1"),
    ):
        theirs = kafka_groups(*what).splitlines()
        # Kafka's tool shows partitions in no particular order.
        assert sorted(groups(*what).stdout.splitlines()) == sorted(theirs), what


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_with_members_is_shown_with_them(
    groups: InProcess, topic: str, members: Callable[..., None], protocol: str
) -> None:
    members(topic, **{"group.protocol": protocol})
    lines = groups("--describe", "--group", topic).stdout.splitlines()
    assert [line.split()[:6] for line in lines[2:]] == [
        [topic, topic, "0", "4", "4", "0"],
        [topic, topic, "1", "3", "3", "0"],
        [topic, topic, "2", "3", "3", "0"],
    ]
    assert all(line.endswith("/127.0.0.1      client") for line in lines[2:])
    (described,) = json.loads(groups("--describe", "--group", topic, "--json").stdout)
    assert (described["type"], described["state"]) == (protocol, "Stable")
    (member,) = described["members"]
    assert (member["clientId"], len(member["assignment"])) == ("client", 3)
    assert (member["epoch"], described["epoch"]) == ((2, 2) if protocol == "consumer" else (None, None))
    listed = json.loads(groups("--list", "--json").stdout)
    expected = {"group": topic, "type": protocol, "protocol": "consumer", "state": "Stable"}
    assert expected in listed


# ----------------------------------------------------------------------------------------------------------------
# Offsets.


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--to-earliest",), {0: 0, 1: 0, 2: 0}),
        (("--to-latest",), {0: 4, 1: 3, 2: 3}),
        (("--to-offset", "1"), {0: 1, 1: 1, 2: 1}),
        # There is no such offset in any of them.
        (("--to-offset", "100"), {0: 4, 1: 3, 2: 3}),
        (("--shift-by", "1"), {0: 3, 1: 3, 2: 3}),
        (("--shift-by", "-1"), {0: 1, 1: 1, 2: 1}),
        (("--shift-by", "-100"), {0: 0, 1: 0, 2: 0}),
        (("--to-current",), {0: 2, 1: 2, 2: 2}),
        (("--to-datetime", "2020-01-01T00:00:00.000"), {0: 0, 1: 0, 2: 0}),
        # Nothing has been written since then.
        (("--to-datetime", "2150-01-01T00:00:00.000"), {0: 4, 1: 3, 2: 3}),
        (("--by-duration", "P1D"), {0: 0, 1: 0, 2: 0}),
        (("--by-duration", "-P1D"), {0: 4, 1: 3, 2: 3}),
    ],
)
def test_offsets_are_reset(groups: InProcess, topic: str, options: tuple[str, ...], expected: dict[int, int]) -> None:
    groups("--reset-offsets", "--group", topic, "--topic", topic, "--to-offset", "2", "--execute")
    shown = groups("--reset-offsets", "--group", topic, "--all-topics", *options)
    assert "add --execute to apply this" in shown.stderr
    assert [line.split() for line in shown.stdout.splitlines()[1:]] == [
        ["GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"],
        *([topic, topic, str(partition), str(offset)] for partition, offset in expected.items()),
    ]
    assert _committed(groups, topic) == {0: 2, 1: 2, 2: 2}
    done = groups("--reset-offsets", "--group", topic, "--all-topics", *options, "--execute", "--json")
    (reported,) = json.loads(done.stdout)
    assert reported["executed"] is True
    assert {row["partition"]: row["newOffset"] for row in reported["partitions"]} == expected
    assert _committed(groups, topic) == expected


def test_only_named_partitions_are_reset(groups: InProcess, topic: str) -> None:
    groups("--reset-offsets", "--group", topic, "--topic", topic, "--to-earliest", "--execute")
    groups("--reset-offsets", "--group", topic, "--topic", f"{topic}:0,2", "--to-latest", "--execute")
    assert _committed(groups, topic) == {0: 4, 1: 0, 2: 3}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_with_members_keeps_its_offsets(
    at_broker: Command, groups: InProcess, topic: str, members: Callable[..., None], protocol: str
) -> None:
    members(topic, **{"group.protocol": protocol})
    arguments = ("--reset-offsets", "--group", topic, "--all-topics", "--to-earliest", "--execute")
    refused = at_broker("groups", *arguments, code=1)
    assert f"'{topic}' is Stable; stop its members" in refused.stderr
    assert _committed(groups, topic) == {0: 4, 1: 3, 2: 3}
    kept = at_broker("groups", "--delete-offsets", "--group", topic, "--topic", topic, code=1)
    assert "GROUP_SUBSCRIBED_TO_TOPIC" in kept.stdout
    assert "NON_EMPTY_GROUP" in at_broker("groups", "--delete", "--group", topic, code=1).stderr


def test_what_was_never_committed_cannot_be_shifted(at_broker: Command, topic: str) -> None:
    arguments = ("--reset-offsets", "--group", topic, "--topic", topic, "--shift-by", "1")
    assert f"has committed nothing for {topic}-0" in at_broker("groups", *arguments, code=1).stderr


def test_a_partition_that_does_not_exist_is_named(at_broker: Command, topic: str) -> None:
    arguments = ("--reset-offsets", "--group", topic, "--topic", f"{topic}:7", "--to-latest")
    assert "has no partition 7" in at_broker("groups", *arguments, code=1).stderr


def test_offsets_are_deleted(at_broker: Command, groups: InProcess, topic: str) -> None:
    groups("--reset-offsets", "--group", topic, "--topic", topic, "--to-latest", "--execute")
    deleted = groups("--delete-offsets", "--group", topic, "--topic", f"{topic}:0,1")
    assert deleted.stdout.splitlines()[0] == f"Request succeeded for deleting offsets from group {topic}."
    assert _committed(groups, topic) == {2: 3}
    more = groups("--delete-offsets", "--group", topic, "--topic", topic, "--json")
    assert [row["error"] for row in json.loads(more.stdout)] == [None, None, None]
    assert (
        "GROUP_ID_NOT_FOUND"
        in at_broker(*("groups", "--delete-offsets", "--group", "no-such-group", "--topic", topic), code=1).stderr
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "exactly one of --list, --describe, --reset-offsets, --delete and --delete-offsets"),
        (("--describe",), "either --group or --all-groups"),
        (("--describe", "--group", "g", "--members", "--state"), "at most one of --offsets, --members and --state"),
        (("--reset-offsets", "--group", "g", "--all-topics"), "exactly one of --to-earliest, --to-latest"),
        (
            ("--reset-offsets", "--group", "g", "--all-topics", "--to-earliest", "--to-offset", "0"),
            "exactly one of --to-earliest, --to-latest",
        ),
        (("--reset-offsets", "--group", "g", "--to-earliest"), "either --topic or --all-topics"),
        (
            ("--reset-offsets", "--group", "g", "--all-topics", "--to-earliest", "--execute", "--dry-run"),
            "cannot be combined",
        ),
        (("--reset-offsets", "--group", "g", "--all-topics", "--by-duration", "1h"), "'1h' is not a duration"),
        (("--reset-offsets", "--group", "g", "--all-topics", "--to-datetime", "now"), "'now' is not a time"),
        (("--reset-offsets", "--group", "g", "--topic", "t:x", "--to-latest"), "'t:x' is not a topic"),
        (("--delete-offsets", "--group", "g"), "needs one --group and at least one --topic"),
    ],
)
def test_wrong_uses_are_explained(usage_error: Callable[..., str], arguments: tuple[str, ...], said: str) -> None:
    assert said in usage_error("groups", *arguments)
