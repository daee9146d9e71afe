"""A record that the console produces, to a real broker."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
from support.console_client import ConsoleClient, console_client

import tidelog
from tidelog.client.admin import NewTopic
from tidelog.console.findings.record_drafts import RecordDraft
from tidelog.console.pages import message_producing
from tidelog.model.topics import CONSUMER_OFFSETS_TOPIC


@pytest.fixture
async def broker() -> AsyncIterator[tidelog.Broker]:
    async with tidelog.Broker(port=0) as running:
        async with tidelog.Admin(running.bootstrap_servers) as admin:
            admin.raise_any(await admin.create_topics([NewTopic(name="orders", partitions=3)]))
        yield running


@pytest.fixture
async def client(broker: tidelog.Broker) -> AsyncIterator[ConsoleClient]:
    async with console_client(broker.bootstrap_servers) as one:
        yield one


def text(value: str) -> dict[str, str]:
    return {"encoding": "text", "text": value}


async def produced(client: ConsoleClient, **fields: Any) -> dict[str, Any]:
    reply = await client.post("messages/produce", {"topic": "orders", **fields})
    assert reply.status_code == 200, reply.text
    place = reply.json()
    shown: dict[str, Any] = await client.get(
        "messages/record", topic="orders", partition=place["partition"], offset=place["offset"]
    )
    return shown


async def test_a_record_is_where_the_answer_says(client: ConsoleClient) -> None:
    shown = await produced(
        client,
        partition=2,
        key=text("k"),
        value={"encoding": "json", "text": '{"id": 9007199254740993}'},
        headers=[{"name": "h", "encoding": "hex", "text": "00ff"}, {"name": "h", "encoding": "null"}],
        timestamp_ms=77,
    )
    assert (shown["partition"], shown["offset"], shown["time_ms"]) == (2, 0, 77)
    assert "".join(shown["key"]["pieces"]) == "k"
    assert "9007199254740993" in "".join(shown["value"]["pieces"])
    assert [each["value"]["form"] for each in shown["headers"]] == ["hex", "null"]


async def test_without_key_and_value_it_is_a_null_record(client: ConsoleClient) -> None:
    shown = await produced(client)
    assert (shown["key"]["form"], shown["value"]["form"], shown["header_count"]) == ("null", "null", 0)


async def test_the_key_decides_the_partition(client: ConsoleClient) -> None:
    partitions = {(await produced(client, key=text("customer-1")))["partition"] for _ in range(3)}
    assert len(partitions) == 1


@pytest.mark.parametrize(
    ("fields", "status", "message"),
    [
        ({"value": {"encoding": "json", "text": "{a}"}}, 400, "the value is not JSON: line 1, column 2"),
        ({"partition": 7}, 400, "there is no partition 7: orders has the partitions 0 to 2"),
        ({"topic": "nobody"}, 404, "nobody"),
        ({"topic": "x" * 300}, 409, "INVALID_TOPIC"),
        ({"topic": None}, 400, "the record has no topic"),
        ({"value": text("x" * 2_000_000)}, 502, "max.message.bytes allows"),
    ],
)
async def test_what_is_refused_is_a_sentence(
    client: ConsoleClient, fields: dict[str, Any], status: int, message: str
) -> None:
    reply = await client.post("messages/produce", {"topic": "orders", **fields})
    assert (reply.status_code, message in reply.json()["message"]) == (status, True), reply.text


async def test_a_topic_is_never_created(client: ConsoleClient, broker: tidelog.Broker) -> None:
    await client.post("messages/produce", {"topic": "nobody", "value": text("x")})
    admin = await client.console.parts.cluster.admin()
    assert "nobody" not in (await admin.cluster.fetch_metadata(None)).topics


@pytest.mark.parametrize("topic", [CONSUMER_OFFSETS_TOPIC, "__cluster_metadata"])
async def test_internal_topics_belong_to_the_brokers(client: ConsoleClient, topic: str) -> None:
    admin = await client.console.parts.cluster.admin()
    await admin.alter_group_offsets(
        "billing", {tidelog.TopicPartition("orders", 0): tidelog.OffsetAndMetadata(offset=0)}
    )
    reply = await client.post("messages/produce", {"topic": topic, "value": text("x")})
    assert reply.status_code in (400, 404)
    assert reply.status_code == 404 or "only brokers write to it" in reply.json()["message"]


async def test_a_large_record_is_looked_at_off_the_loop(client: ConsoleClient, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []
    read = vars(message_producing)["read_draft"]

    def noting(document: object) -> RecordDraft:
        threads.append(threading.current_thread())
        draft: RecordDraft = read(document)
        return draft

    monkeypatch.setattr(message_producing, "read_draft", noting)
    await produced(client, value={"encoding": "json", "text": f"[{'1,' * 100_000}1]"})
    assert threading.main_thread() not in threads
    reply = await client.post(
        "messages/produce", {"topic": "orders", "value": {"encoding": "json", "text": "[" * 200_000}}
    )
    assert (reply.status_code, "the value is not JSON" in reply.json()["message"]) == (400, True)
    assert len(threads) == 2


async def test_what_is_no_json_is_refused(client: ConsoleClient) -> None:
    headers = {"x-csrf-token": client.console.app.csrf_token}
    for body in (b"{", b"[" * 100_000, b"\xff"):
        reply = await client.http.post("/api/messages/produce", content=body, headers=headers)
        assert (reply.status_code, reply.json()["message"]) == (400, "the request is not JSON")


async def test_nothing_is_produced_without_the_token_or_read_only(
    broker: tidelog.Broker, client: ConsoleClient
) -> None:
    reply = await client.http.post("/api/messages/produce", json={"topic": "orders"})
    assert reply.status_code == 403
    async with console_client(broker.bootstrap_servers, read_only=True) as read_only:
        reply = await read_only.post("messages/produce", {"topic": "orders"})
        assert (reply.status_code, "--read-only" in reply.json()["message"]) == (403, True)
    assert (await client.get("messages", topic="orders"))["rows"] == []
