"""The metadata log as the page gets it: live, at an offset, about one thing, and one record."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from support.console_api import ConsoleApi, console_of
from support.eventually import eventually
from support.nodes_in_process import nodes

import tidelog
from tidelog.client.admin import (
    Admin,
    ConfigAlteration,
    ConfigResource,
    NewTopic,
    PutScramCredential,
    ResourceType,
)
from tidelog.client.errors import raise_any
from tidelog.config.catalogue.authorization import STANDARD_AUTHORIZER
from tidelog.console.pages.metadata import MetadataReader

PASSWORD = "planted-secret"


@pytest.fixture
async def broker() -> AsyncIterator[tidelog.Broker]:
    async with tidelog.Broker(port=0) as running:
        yield running


@pytest.fixture
async def admin(broker: tidelog.Broker) -> AsyncIterator[Admin]:
    async with Admin(broker.bootstrap_servers) as connected:
        yield connected


@pytest.fixture
async def api(broker: tidelog.Broker) -> AsyncIterator[ConsoleApi]:
    async with console_of({"bootstrap.servers": broker.bootstrap_servers}) as console:
        yield console


async def create(admin: Admin, *names: str, **configs: str) -> None:
    new = [NewTopic(name=name, partitions=2, configs=configs) for name in names]
    raise_any(await admin.create_topics(new))


async def set_retention(admin: Admin, topic: str, value: str) -> None:
    change = ConfigAlteration(name="retention.ms", value=value)
    raise_any(await admin.alter_configs({ConfigResource(ResourceType.TOPIC, topic): [change]}))


def types(rows: list[dict[str, Any]]) -> list[str]:
    return [row["type"] for row in rows]


async def test_the_feed_has_the_quorum_and_the_last_records(admin: Admin, api: ConsoleApi) -> None:
    await create(admin, "orders")
    reading = await api.live("metadata/live")
    assert reading["unavailable"] is None
    assert (reading["quorum"]["leader"], reading["quorum"]["voters"][0]["lag"]) == (1, 0)
    log = reading["log"]
    assert (log["start"], log["leader"], log["source"]) == (0, 1, "broker 1")
    assert log["rows"][-1]["end"] == log["high_watermark"] - 1
    assert types(log["rows"])[-3:] == ["TopicRecord", "PartitionRecord", "PartitionRecord"]
    assert log["rows"][-1]["about"] == [["topic", "orders"], ["partition", "orders-1"]]
    assert log["rows"][-1]["words"] == "new: leader 1; replicas 1; isr 1"


async def test_the_next_reading_has_what_was_written_meanwhile(admin: Admin, api: ConsoleApi) -> None:
    reader = MetadataReader(api.console.parts)
    await reader.read()
    # More than one page of the client has.
    for number in range(4):
        await create(admin, *(f"t-{number}-{each}" for each in range(40)))

    async def all_read() -> None:
        reading: Any = await reader.read()
        last = reading["log"]["rows"]
        assert last[-1]["name"] == "t-3-39-1"
        assert [row["offset"] for row in last] == list(range(last[0]["offset"], last[-1]["offset"] + 1))
        assert len(last) == 50

    await eventually(all_read)


async def test_a_page_ends_with_the_record_that_was_asked_for(admin: Admin, api: ConsoleApi) -> None:
    await create(admin, *(f"t-{number}" for number in range(30)))
    page = await api.get("metadata/page", until=70)
    assert (page["rows"][0]["offset"], page["rows"][-1]["end"]) == (21, 70)
    first = await api.get("metadata/page", until=0)
    assert types(first["rows"]) == ["LEADER_CHANGE"]
    after = await api.get("metadata/after", offset=70)
    assert after["rows"][0]["offset"] == 71
    end = page["high_watermark"]
    beyond = await api.get("metadata/page", until=10**15)
    assert beyond["rows"][-1]["end"] == end - 1
    assert (await api.get("metadata/after", offset=end - 1))["rows"] == []


async def test_a_record_has_its_fields_and_the_image_before_and_after(admin: Admin, api: ConsoleApi) -> None:
    await create(admin, "orders", **{"retention.ms": "7000"})
    await set_retention(admin, "orders", "8000")
    found = await api.get("metadata/search", subject="topic", name="orders", type="ConfigRecord")
    first, second = found["rows"]
    assert (first["words"], second["words"]) == ("new: retention.ms 7000", "retention.ms 7000 → 8000")
    record = await api.get("metadata/record", offset=second["offset"])
    assert (record["existed"], record["exists"]) == (True, True)
    (field,) = record["image"]["fields"]
    assert (field["mark"], field["name"], field["before"], field["after"]) == ("→", "retention.ms", "7000", "8000")
    assert {each["name"]: each["after"] for each in record["fields"]["fields"]}["value"] == "8000"
    whole = await api.get("metadata/record", offset=second["offset"], whole=True)
    assert (whole["before"], whole["after"]) == ({"retention.ms": "7000"}, {"retention.ms": "8000"})


async def test_a_record_that_is_not_there_has_a_sentence(api: ConsoleApi) -> None:
    problem = await api.get("metadata/record", 404, offset=10**6)
    assert "there is no record 1000000 yet: the log ends at offset" in problem["message"]
    assert "greater than or equal to 0" in (await api.get("metadata/record", 400, offset=-1))["message"]


async def test_everything_about_a_topic_is_found_and_says_how_far_was_read(admin: Admin, api: ConsoleApi) -> None:
    await create(admin, "orders", "orders-2", "other")
    await set_retention(admin, "orders", "8000")
    raise_any(await admin.delete_topics(["orders"]))
    found = await api.get("metadata/search", subject="topic", name="orders")
    expected = ["TopicRecord", "PartitionRecord", "PartitionRecord", "ConfigRecord", "RemoveTopicRecord"]
    assert types(found["rows"]) == expected
    assert (found["searched_from"], found["searched_to"]) == (0, found["high_watermark"])
    before = await api.get("metadata/search", subject="topic", name="orders", before=found["rows"][3]["offset"])
    assert types(before["rows"]) == expected[:3]
    assert (await api.get("metadata/search", name="nothing"))["rows"] == []
    assert "subject" in (await api.get("metadata/search", 400, subject="record"))["message"]


async def test_a_search_reads_a_bounded_number_of_records(
    admin: Admin, api: ConsoleApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidelog.console.pages.metadata._SEARCHED", 10)
    await create(admin, *(f"t-{number}" for number in range(10)))
    end, offsets = None, []
    while end is None or end > 0:
        part = await api.get("metadata/search", subject="topic", **({} if end is None else {"before": end}))
        assert part["searched_to"] - part["searched_from"] <= 10
        offsets += [row["offset"] for row in reversed(part["rows"])]
        end = part["searched_from"]
    assert len(offsets) == 30
    assert offsets == sorted(offsets, reverse=True)


async def test_too_many_finds_are_left_to_the_next_search(
    admin: Admin, api: ConsoleApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidelog.console.pages.metadata._MOST_FOUND", 4)
    await create(admin, *(f"t-{number}" for number in range(5)))
    found = await api.get("metadata/search", type="PartitionRecord")
    assert len(found["rows"]) == 4
    assert found["searched_from"] == found["rows"][0]["offset"]
    rest = await api.get("metadata/search", type="PartitionRecord", before=found["searched_from"])
    assert rest["rows"][-1]["offset"] < found["rows"][0]["offset"]


async def test_what_is_only_in_a_snapshot_is_said_to_be_there(tmp_path: Path) -> None:
    often = {"metadata_log_max_record_bytes_between_snapshots": "1500", "metadata_max_retention_bytes": "1"}
    async with (
        nodes(tmp_path, {1: "broker,controller"}, **often) as cluster,
        Admin(cluster.address(1)) as admin,
        console_of({"bootstrap.servers": cluster.address(1)}) as api,
    ):
        for number in range(30):
            await create(admin, f"t-{number}")
        control = cluster.running[1].node.control
        await cluster.until(lambda: control.log.start_offset > 20, "a log without its beginning")
        await create(admin, "last")
        reading = await api.live("metadata/live")
        start = reading["log"]["start"]
        assert start > 20
        assert reading["log"]["rows"][-1]["name"] == "last-1"
        before = await api.get("metadata/page", until=3)
        assert (before["rows"], before["start"]) == ([], start)
        problem = await api.get("metadata/record", 404, offset=3)
        assert problem["message"].startswith(f"record 3 is no longer in the log, which begins at offset {start}")
        found = await api.get("metadata/search", subject="topic")
        assert (found["searched_from"], found["rows"][-1]["name"]) == (start, "last-1")


async def test_passwords_and_what_is_made_of_them_are_not_told(admin: Admin, api: ConsoleApi) -> None:
    put = PutScramCredential(user="ann", password=PASSWORD, salt=b"planted-salt-of-ann")
    raise_any(await admin.alter_user_scram_credentials([put]))
    await api.live("metadata/live")
    (row,) = (await api.get("metadata/search", subject="user", name="ann"))["rows"]
    assert row["words"] == "new: user ann; mechanism SCRAM-SHA-512; iterations 4096"
    for whole in (False, True):
        await api.get("metadata/record", offset=row["offset"], whole=whole)
    assert b"planted" not in api.said
    assert b"planted-salt".hex().encode() not in api.said
    assert api.said.count(b'"hidden"') >= 3


async def test_who_may_not_read_the_log_gets_the_sentence_and_the_quorum() -> None:
    properties = {"authorizer.class.name": STANDARD_AUTHORIZER, "allow.everyone.if.no.acl.found": "false"}
    async with (
        tidelog.Broker(port=0, properties=properties) as broker,
        console_of({"bootstrap.servers": broker.bootstrap_servers}) as api,
    ):
        reading = await api.live("metadata/live")
        assert reading["log"] is None
        assert "needs ClusterAction" in reading["unavailable"]
        problem = await api.get("metadata/page", 501, until=1)
        assert "needs ClusterAction" in problem["message"]


async def test_what_the_log_can_be_filtered_by_is_told(api: ConsoleApi) -> None:
    types = await api.get("metadata/types")
    assert "PartitionChangeRecord" in types["records"]
    assert "LEADER_CHANGE" in types["control"]
    assert "COMMIT" not in types["control"]
    assert types["subjects"][0] == "topic"
