"""`tidelog configs`, `get-offsets`, `delete-records`, `groups` and `broker-api-versions`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.tidelog_command import Command


def test_topic_properties_are_set_shown_and_removed(at_broker: Command, topic: str) -> None:
    at_broker("topics", "--create", "--topic", topic)
    entity = ("--entity-type", "topics", "--entity-name", topic)
    changed = at_broker(
        "configs", "--alter", *entity, "--add-config", "min.insync.replicas=1,cleanup.policy=[compact,delete]"
    )
    assert changed.stdout == f"Completed updating config for topic {topic}.\n"
    shown = at_broker("configs", "--describe", *entity).stdout.splitlines()
    assert shown[0] == f"Dynamic configs for topic {topic} are:"
    assert shown[1].startswith("  cleanup.policy=compact,delete sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:")
    assert shown[2].startswith("  min.insync.replicas=1 sensitive=false synonyms={")
    at_broker("configs", "--alter", "--topic", topic, "--delete-config", "cleanup.policy,min.insync.replicas")
    assert at_broker("configs", "--describe", "--topic", topic).stdout.splitlines() == shown[:1]
    everything = at_broker("configs", "--describe", "--topic", topic, "--all").stdout.splitlines()
    assert everything[0] == f"All configs for topic {topic} are:"
    assert len(everything) > 20


def test_broker_properties(at_broker: Command) -> None:
    broker = ("--entity-type", "brokers", "--entity-name", "1")
    assert at_broker("configs", "--describe", *broker).stdout.splitlines()[0] == "Dynamic configs for broker 1 are:"
    shown = json.loads(at_broker("configs", "--describe", "--broker", "1", "--all", "--json").stdout)
    by_name = {entry["name"]: entry for entry in shown[0]["configs"]}
    assert by_name["node.id"]["value"] == "1"
    assert by_name["node.id"]["readOnly"]


def test_properties_can_come_from_a_file(at_broker: Command, topic: str, tmp_path: Path) -> None:
    at_broker("topics", "--create", "--topic", topic)
    path = tmp_path / "topic.properties"
    path.write_text("retention.ms = 1234\n# a comment\nsegment.bytes=1048576\n")
    at_broker("configs", "--alter", "--topic", topic, "--add-config-file", str(path))
    (shown,) = json.loads(at_broker("configs", "--describe", "--topic", topic, "--json").stdout)
    assert {entry["name"]: entry["value"] for entry in shown["configs"]} == {
        "retention.ms": "1234",
        "segment.bytes": "1048576",
    }


def test_a_wrong_property_is_named_and_nothing_changes(at_broker: Command, topic: str) -> None:
    at_broker("topics", "--create", "--topic", topic)
    wrong = at_broker("configs", "--alter", "--topic", topic, "--add-config", "retention.ms=soon", code=1)
    assert f"topic '{topic}' was not changed" in wrong.stderr
    assert "retention.ms" in wrong.stderr
    assert len(at_broker("configs", "--describe", "--topic", topic).stdout.splitlines()) == 1
    missing = at_broker("configs", "--describe", "--topic", f"{topic}-missing", code=1)
    assert "UNKNOWN_TOPIC_OR_PARTITION" in missing.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--describe",), "--entity-type topics, brokers or groups"),
        (("--describe", "--entity-type", "topic"), "did you mean topics?"),
        (("--entity-type", "topics"), "exactly one of --describe and --alter"),
        (("--alter", "--entity-type", "topics", "--add-config", "a=b"), "--alter needs --entity-name"),
        (("--alter", "--topic", "t"), "--alter needs --add-config"),
        (("--alter", "--topic", "t", "--add-config", "a"), "'a' is not of the form name=value"),
        (("--alter", "--topic", "t", "--add-config", "a=[b"), "no closing bracket"),
        (("--alter", "--topic", "t", "--add-config", "a=b", "--delete-config", "a"), "both set and removed"),
    ],
)
def test_wrong_uses_of_configs(usage_error: Callable[..., str], arguments: tuple[str, ...], said: str) -> None:
    assert said in usage_error("configs", *arguments)


def test_offsets_by_time_and_pattern(at_broker: Command, topic: str) -> None:
    at_broker("topics", "--create", "--topic", topic, "--partitions", "3")
    # Two commands, and so two timestamps.
    for line in ("a\n", "b\n"):
        at_broker("produce", "--topic", topic, "--partition", "1", stdin=line)
    latest = [f"{topic}:0:0", f"{topic}:1:2", f"{topic}:2:0"]
    assert at_broker("get-offsets", "--topic", topic).stdout.splitlines() == latest
    assert at_broker("get-offsets", "--topic", topic, "--time", "-1").stdout.splitlines() == latest
    assert at_broker("get-offsets", "--topic", topic, "--time", "earliest").stdout.splitlines() == [
        f"{topic}:{number}:0" for number in range(3)
    ]
    # Partitions without a record at the time have no line.
    assert at_broker("get-offsets", "--topic", topic, "--time", "-3").stdout.splitlines() == [f"{topic}:1:1"]
    assert at_broker("get-offsets", "--topic", topic, "--time", "0").stdout.splitlines() == [f"{topic}:1:0"]
    for pattern, numbers in (
        (f"{topic}:1-", (1, 2)),
        (f"{topic}:-1", (0,)),
        (f"{topic}:0-2", (0, 1)),
        (f"{topic}:2", (2,)),
    ):
        lines = at_broker("get-offsets", "--topic-partitions", pattern).stdout.splitlines()
        assert lines == [latest[number] for number in numbers]
    assert json.loads(at_broker("get-offsets", "--topic", topic, "--partitions", "1", "--json").stdout) == [
        {"topic": topic, "partition": 1, "offset": 2}
    ]
    assert "no partition matches" in at_broker("get-offsets", "--topic", f"{topic}-x", code=1).stderr
    assert "neither a timestamp" in at_broker("get-offsets", "--time", "yesterday", code=2).stderr


def test_records_are_deleted_up_to_an_offset(at_broker: Command, topic: str, tmp_path: Path) -> None:
    at_broker("produce", "--topic", topic, stdin="".join(f"{n}\n" for n in range(10)))
    done = at_broker("delete-records", "--topic", topic, "--offset", "4")
    assert done.stdout.splitlines()[1:] == [
        "Records delete operation completed:",
        f"partition: {topic}-0\tlow_watermark: 4",
    ]
    path = tmp_path / "delete.json"
    path.write_text(json.dumps({"partitions": [{"topic": topic, "partition": 0, "offset": 7}], "version": 1}))
    at_broker("delete-records", "--offset-json-file", str(path))
    assert at_broker("get-offsets", "--topic", topic, "--time", "earliest").stdout == f"{topic}:0:7\n"
    too_far = at_broker("delete-records", "--topic", topic, "--offset", "99", code=1)
    assert "OFFSET_OUT_OF_RANGE" in too_far.stderr
    path.write_text("{}")
    assert "is not of the form" in at_broker("delete-records", "--offset-json-file", str(path), code=1).stderr


def test_groups_from_joining_to_deletion(at_broker: Command, topic: str) -> None:
    at_broker("produce", "--topic", topic, stdin="a\nb\nc\n")
    at_broker("consume", "--topic", topic, "--group", topic, "--from-beginning", "--max-messages", "2")
    assert topic in at_broker("groups", "--list").stdout.splitlines()
    described = at_broker("groups", "--describe", "--group", topic)
    assert described.stderr == f"Consumer group '{topic}' has no active members.\n"
    lines = described.stdout.splitlines()
    assert lines[1].split() == [
        *("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID")
    ]
    assert lines[2].split() == [topic, topic, "0", "2", "3", "1", "-", "-", "-"]
    state = at_broker("groups", "--describe", "--group", topic, "--state").stdout.splitlines()[-1].split()
    assert state[0] == topic
    assert state[-2:] == ["Empty", "0"]
    deleted = at_broker("groups", "--delete", "--group", topic)
    assert deleted.stdout == f"Deletion of requested consumer groups ('{topic}') was successful.\n"
    assert topic not in at_broker("groups", "--list").stdout.splitlines()
    assert "GROUP_ID_NOT_FOUND" in at_broker("groups", "--describe", "--group", topic, code=1).stderr


def test_versions_of_the_brokers(at_broker: Command) -> None:
    lines = at_broker("broker-api-versions").stdout.splitlines()
    assert lines[0].endswith("(id: 1 rack: null isFenced: false) -> (")
    assert lines[-1] == ")"
    assert any(line.startswith("\tApiVersions(18): 0 to 4 [usable: 4]") for line in lines)
    (broker,) = json.loads(at_broker("broker-api-versions", "--json").stdout)
    assert {"key": 18, "name": "ApiVersions", "minVersion": 0, "maxVersion": 4} in broker["apis"]
