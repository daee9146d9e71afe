"""Records as files, from a real broker."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.responses import StreamingResponse
from support.console_client import ConsoleClient, console_client
from support.processes import HANG_SECONDS

import tidelog
from tidelog.client.admin import Admin, NewTopic
from tidelog.console.pages import message_downloads
from tidelog.console.pages.message_downloads import MOST_AT_ONCE
from tidelog.console.records import places
from tidelog.console.records.filtering import PlacedEntry
from tidelog.console.records.patterns import PatternProcess
from tidelog.console.records.places import ReadPlace, look_at
from tidelog.console.records.portions import PortionReading
from tidelog.console.replies import ConsoleRefusal
from tidelog.model.errors import ErrorCode


@pytest.fixture
async def broker() -> AsyncIterator[tidelog.Broker]:
    """With ten records in each of two partitions of `orders`."""
    async with tidelog.Broker(port=0) as running:
        async with tidelog.Admin(running.bootstrap_servers) as admin:
            admin.raise_any(await admin.create_topics([NewTopic(name="orders", partitions=2)]))
        async with tidelog.Producer(running.bootstrap_servers) as producer:
            for number in range(20):
                await producer.send("orders", b"v%d" % number, key=b"k", partition=number % 2, timestamp_ms=number)
        yield running


@pytest.fixture
async def client(broker: tidelog.Broker) -> AsyncIterator[ConsoleClient]:
    async with console_client(broker.bootstrap_servers) as one:
        yield one


async def lines(client: ConsoleClient, **parameters: object) -> list[str]:
    reply = await client.ask("messages/download", topic="orders", format="jsonl", **parameters)
    assert reply.status_code == 200, reply.text
    return [json.loads(line)["value"] for line in reply.content.splitlines()]


async def test_all_partitions_in_the_order_of_time(client: ConsoleClient) -> None:
    assert await lines(client) == [f"v{number}" for number in range(20)]


async def test_a_range_and_a_filter(client: ConsoleClient) -> None:
    assert await lines(client, start="offset", offset=8) == ["v16", "v17", "v18", "v19"]
    assert await lines(client, start="time", time=17) == ["v17", "v18", "v19"]
    assert await lines(client, partitions="1", records=3) == ["v1", "v3", "v5"]
    assert await lines(client, start="at", at="0:9,1:8") == ["v17", "v18", "v19"]
    assert await lines(client, value="^v.$", value_how="pattern") == [f"v{number}" for number in range(10)]
    assert PatternProcess.running == 0


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"format": "jsonl"}, "orders-0-1-from-beginning.jsonl"),
        ({"format": "csv", "partitions": "1", "start": "offset", "offset": 4}, "orders-1-from-4.csv"),
        ({"format": "jsonl", "start": "at", "at": "0:9,1:8"}, "orders-0-1-from-9+8.jsonl"),
        ({"format": "csv", "start": "time", "time": 0}, "orders-0-1-from-1970-01-01T00-00-00Z.csv"),
    ],
)
async def test_names_of_files(client: ConsoleClient, parameters: dict[str, object], name: str) -> None:
    reply = await client.ask("messages/download", topic="orders", **parameters)
    assert reply.headers["content-disposition"] == f'attachment; filename="{name}"'
    checked = await client.get("messages/download", topic="orders", check=True, **parameters)
    assert checked == {"name": name}


async def test_csv(client: ConsoleClient) -> None:
    reply = await client.ask("messages/download", topic="orders", format="csv", partitions="0", records=1)
    assert reply.headers["content-type"].startswith("text/csv")
    header, row = reply.text.splitlines()
    assert header.startswith("topic,partition,offset,timestamp_ms")
    assert row == '"orders",0,0,0,"CreateTime",,"text","k","text","v0",'


async def test_arrow(client: ConsoleClient) -> None:
    pa = pytest.importorskip("pyarrow")
    reply = await client.ask("messages/download", topic="orders", format="arrow")
    table = pa.ipc.open_file(io.BytesIO(reply.content)).read_all()
    assert table["value"].to_pylist() == [b"v%d" % number for number in range(20)]


async def test_arrow_without_pyarrow_says_what_to_install(
    client: ConsoleClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    reply = await client.ask("messages/download", topic="orders", format="arrow")
    assert reply.status_code == 501
    assert 'pip install "tidelog[arrow]"' in reply.json()["message"]


async def test_how_a_download_has_ended(client: ConsoleClient) -> None:
    assert await client.get("messages/download/end", id="mine") == {"state": "unknown"}
    await lines(client, id="mine")
    end = await client.get("messages/download/end", id="mine")
    assert end == {
        "state": "ended",
        "records": 20,
        "scanned": 20,
        "ended": "log",
        "after": "0:10,1:10",
        "problem": None,
        "unreadable": 0,
        "silent": {},
        "partitions_left_out": 0,
    }
    await lines(client, id="other", records=5)
    end = await client.get("messages/download/end", id="other")
    assert (end["records"], end["ended"], end["after"]) == (5, "limit", "0:3,1:2")
    assert await lines(client, start="at", at=end["after"], records=2) == ["v5", "v6"]


@pytest.mark.parametrize(
    ("parameters", "status", "message"),
    [
        ({"format": "xlsx"}, 400, "format"),
        ({"format": "csv", "records": 0}, 400, "records"),
        ({"format": "csv", "mib": 100_000}, 400, "mib"),
        ({"format": "csv", "start": "end"}, 400, "a download begins at the beginning"),
        ({"format": "csv", "partitions": "9"}, 400, "there is no partition 9"),
        ({"format": "csv", "value": "(", "value_how": "pattern"}, 400, "this is not a regular expression"),
    ],
)
async def test_what_is_refused_is_a_sentence(
    client: ConsoleClient, parameters: dict[str, object], status: int, message: str
) -> None:
    reply = await client.ask("messages/download", topic="orders", **parameters)
    assert reply.status_code == status
    assert message in reply.json()["message"]
    assert "content-disposition" not in reply.headers


async def test_a_download_that_fails_on_the_way_is_no_whole_file(
    client: ConsoleClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = PortionReading.next_part

    async def failing(reading: PortionReading, most: int, most_bytes: int) -> list[PlacedEntry]:
        if reading.scanned:
            raise tidelog.ApiError(ErrorCode.LEADER_NOT_AVAILABLE, "partition orders-0 has no leader")
        return await whole(reading, min(most, 5), most_bytes)

    monkeypatch.setattr(PortionReading, "next_part", failing)
    # The reply has begun, so it can only be broken off.
    with pytest.raises(RuntimeError, match="response already started"):
        await client.ask("messages/download", topic="orders", format="jsonl", id="mine")
    end = await client.get("messages/download/end", id="mine")
    assert (end["records"], "has no leader" in end["problem"]) == (5, True)


async def test_a_download_that_is_refused_on_the_way_says_why(
    client: ConsoleClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(reading: PortionReading, most: int, most_bytes: int) -> list[PlacedEntry]:
        raise ConsoleRefusal("4 searches run already", 503)

    monkeypatch.setattr(PortionReading, "next_part", refused)
    with pytest.raises(RuntimeError, match="response already started"):
        await client.ask("messages/download", topic="orders", format="jsonl", id="mine")
    assert (await client.get("messages/download/end", id="mine"))["problem"] == "4 searches run already"


async def test_a_download_whose_beginning_cannot_be_sent_has_ended(
    client: ConsoleClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone(*_: object) -> None:
        raise ConnectionResetError

    with monkeypatch.context() as patch:
        patch.setattr(StreamingResponse, "stream_response", gone)
        for _ in range(MOST_AT_ONCE + 1):
            with pytest.raises(ConnectionResetError):
                await client.ask("messages/download", topic="orders", format="jsonl", id="mine")
    assert (await client.get("messages/download/end", id="mine"))["problem"] == "it was cancelled"
    assert len(await lines(client)) == 20


async def test_only_so_many_begin_together(client: ConsoleClient, monkeypatch: pytest.MonkeyPatch) -> None:
    looking = 0
    go_on = asyncio.Event()

    async def slow(*arguments: Any, **named: Any) -> ReadPlace:
        nonlocal looking
        looking += 1
        await go_on.wait()
        return await look_at(*arguments, **named)

    monkeypatch.setattr(message_downloads, "look_at", slow)
    first = [asyncio.create_task(lines(client)) for _ in range(MOST_AT_ONCE)]
    while looking < MOST_AT_ONCE:
        await asyncio.sleep(0.01)
    async with asyncio.timeout(HANG_SECONDS):
        reply = await client.ask("messages/download", topic="orders", format="jsonl")
    assert reply.status_code == 503
    assert "downloads are running already" in reply.json()["message"]
    go_on.set()
    assert [len(each) for each in await asyncio.gather(*first)] == [20] * MOST_AT_ONCE
    for _ in range(MOST_AT_ONCE + 1):
        await client.get("messages/download", topic="orders", format="jsonl", check=True)
        await client.ask("messages/download", topic="nobody", format="jsonl")
    assert len(await lines(client)) == 20


async def test_what_is_not_in_the_file_is_said(
    broker: tidelog.Broker, client: ConsoleClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidelog.client.browsing.batch_records.LARGEST_BATCH_BYTES", 2000)
    async with tidelog.Producer(broker.bootstrap_servers, compression_type="gzip") as producer:
        await (await producer.send("orders", bytes(5000), partition=1))
        await (await producer.send("orders", b"last", partition=1))
    assert len(await lines(client, id="mine")) == 21
    end = await client.get("messages/download/end", id="mine")
    assert (end["records"], end["unreadable"], end["after"], end["problem"]) == (21, 1, "0:10,1:12", None)

    async def without_leader(admin: Admin, topic: str) -> tuple[bool, dict[int, bool]]:
        return False, {0: True, 1: False, 2: True}

    monkeypatch.setattr(places, "topic_partitions", without_leader)
    monkeypatch.setattr("tidelog.console.findings.positions.MOST_TOGETHER", 2)
    assert len(await lines(client, id="mine")) == 10
    end = await client.get("messages/download/end", id="mine")
    assert (end["silent"], end["partitions_left_out"]) == ({"1": "it has no leader"}, 1)
    await lines(client, partitions="0", id="mine")
    end = await client.get("messages/download/end", id="mine")
    assert (end["silent"], end["partitions_left_out"]) == ({}, 0)


async def test_a_topic_that_is_not_there_is_not_created(client: ConsoleClient) -> None:
    reply = await client.ask("messages/download", topic="nobody", format="csv")
    assert reply.status_code == 404
