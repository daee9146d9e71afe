"""What the console reads of a topic's records, from a real broker."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, cast

import pytest
from support.console_client import ConsoleClient, console_client
from support.eventually import eventually

import tidelog
from tidelog import Admin, TopicPartition
from tidelog.client.admin import NewTopic
from tidelog.console.findings.payload_forms import Form
from tidelog.console.findings.record_filter import Condition, FilterComparison, MessageFilter, RecordPart
from tidelog.console.records import places as places_module
from tidelog.console.records.live import KEPT_ROWS, LiveRecords
from tidelog.console.records.patterns import MOST_PROCESSES, PatternProcess
from tidelog.console.replies import ConsoleRefusal, encoded
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.topics import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC

EVERYTHING = MessageFilter()


@pytest.fixture
async def broker() -> AsyncIterator[tidelog.Broker]:
    async with tidelog.Broker(port=0) as running:
        yield running


@pytest.fixture
async def client(broker: tidelog.Broker) -> AsyncIterator[ConsoleClient]:
    async with console_client(broker.bootstrap_servers) as one:
        yield one


async def create(client: ConsoleClient, name: str, partitions: int = 1, **configs: str) -> None:
    admin = await client.console.parts.cluster.admin()
    new = NewTopic(
        name=name, partitions=partitions, configs={key.replace("_", "."): value for key, value in configs.items()}
    )
    admin.raise_any(cast(Mapping[str, Any], await admin.create_topics([new])))


async def produce(broker: tidelog.Broker, topic: str, count: int, partition: int = 0, first_ms: int = 1000) -> None:
    async with tidelog.Producer(broker.bootstrap_servers) as producer:
        for number in range(count):
            await producer.send(
                topic, value=b'{"n": %d}' % number, key=b"k%d" % (number % 3), partition=partition,
                timestamp_ms=first_ms + 10 * number,
            )  # fmt: skip


def places(document: Any) -> list[tuple[int, int]]:
    return [(row["partition"], row["offset"]) for row in document["rows"]]


def text(payload: Any) -> str:
    return "".join(payload["pieces"])


# -- places ----------------------------------------------------------------------------------------------------------


async def test_an_empty_topic(client: ConsoleClient) -> None:
    await create(client, "orders", 2)
    shown = await client.get("messages", topic="orders")
    assert shown["rows"] == []
    assert (shown["at_start"], shown["at_end"]) == (True, True)
    assert (shown["partitions"], shown["partition_count"], shown["internal"]) == ([0, 1], 2, False)


async def test_the_newest_and_then_older_and_newer_ones(client: ConsoleClient, broker: tidelog.Broker) -> None:
    await create(client, "orders", 2)
    await produce(broker, "orders", 10, 0)
    await produce(broker, "orders", 10, 1, first_ms=1005)
    newest = await client.get("messages", topic="orders", rows=5)
    assert places(newest) == [(1, 7), (0, 8), (1, 8), (0, 9), (1, 9)]
    assert (newest["at_start"], newest["at_end"]) == (False, True)
    older = await client.get("messages", topic="orders", rows=15, start="at", at=newest["before"], older=True)
    assert places(older)[-1] == (0, 7)
    assert len(older["rows"]) == 15
    assert older["at_start"]
    again = await client.get("messages", topic="orders", rows=5, start="at", at=older["after"])
    assert places(again) == places(newest)


async def test_from_the_beginning_an_offset_and_a_time(client: ConsoleClient, broker: tidelog.Broker) -> None:
    await create(client, "orders")
    await produce(broker, "orders", 10)

    async def first(**where: Any) -> list[tuple[int, int]]:
        return places(await client.get("messages", topic="orders", rows=2, **where))

    assert await first(start="beginning") == [(0, 0), (0, 1)]
    assert await first(start="offset", offset=7) == [(0, 7), (0, 8)]
    assert await first(start="offset", offset=7, older=True) == [(0, 5), (0, 6)]
    assert await first(start="offset", offset=4_000_000) == []
    assert await first(start="time", time=1041) == [(0, 5), (0, 6)]
    assert await first(start="time", time=0) == [(0, 0), (0, 1)]
    assert await first(start="time", time=99_999) == []


async def test_one_partition_or_a_range(client: ConsoleClient, broker: tidelog.Broker) -> None:
    await create(client, "orders", 60)
    for partition in (0, 3, 59):
        await produce(broker, "orders", 1, partition)
    assert places(await client.get("messages", topic="orders", partitions="3")) == [(3, 0)]
    assert places(await client.get("messages", topic="orders", partitions="50-59")) == [(59, 0)]
    every = await client.get("messages", topic="orders")
    assert places(every) == [(0, 0), (3, 0)]
    assert (len(every["partitions"]), every["partition_count"]) == (50, 60)


@pytest.mark.parametrize(
    ("parameters", "status", "message"),
    [
        ({"topic": "nobody"}, 404, "nobody"),
        ({"topic": "orders", "partitions": "7"}, 400, "there is no partition 7: the topic has the partitions 0 to 0"),
        ({"topic": "orders", "partitions": "x"}, 400, "partitions must be all, a number or a range"),
        ({"topic": "orders", "start": "offset"}, 400, "to read from offset, `offset` has to be given"),
        ({"topic": "orders", "start": "at", "at": "x"}, 400, "positions must be like"),
        ({"topic": "orders", "start": "noon"}, 400, "start"),
        ({"topic": "orders", "rows": 100_000}, 400, "rows"),
        ({"topic": "orders", "value": "x", "value_path": "a..b"}, 400, "is not a path into JSON"),
        ({"topic": "orders", "value": "(", "value_how": "pattern"}, 400, "this is not a regular expression"),
        ({"topic": "orders", "value": "x" * 2000}, 400, "value"),
        ({}, 400, "topic"),
    ],
)
async def test_what_is_refused_is_a_sentence(
    client: ConsoleClient, parameters: dict[str, Any], status: int, message: str
) -> None:
    await create(client, "orders")
    reply = await client.ask("messages", **parameters)
    assert reply.status_code == status
    assert message in reply.json()["message"]


# -- entries ---------------------------------------------------------------------------------------------------------


async def test_transactions_are_marked(client: ConsoleClient, broker: tidelog.Broker) -> None:
    await create(client, "orders")
    async with tidelog.Producer(broker.bootstrap_servers, transactional_id="pay") as producer:
        await producer.init_transactions()
        async with producer.transaction():
            await producer.send("orders", b"committed")
        await producer.begin_transaction()
        await producer.send("orders", b"aborted")
        await producer.flush()
        await producer.abort_transaction()
        await producer.begin_transaction()
        await producer.send("orders", b"open")
        await producer.flush()
        shown = await client.get("messages", topic="orders")
        assert [row.get("outcome") or row.get("type") for row in shown["rows"]] == [
            "committed", "COMMIT", "aborted", "ABORT", "open",
        ]  # fmt: skip
        for only, offsets in (("aborted", [2]), ("open", [4]), ("control", [1, 3]), ("outside", [])):
            found = await client.get("messages", topic="orders", only=only)
            assert [row["offset"] for row in found["rows"]] == offsets
        states = await client.get("messages", topic=TRANSACTION_STATE_TOPIC)
        assert states["internal"]
        summaries = ["".join(row["readable"]["summary"]) for row in states["rows"]]
        assert summaries[-1].startswith("pay is Ongoing: producer ")
        assert summaries[-1].endswith(", orders-0")
        await producer.abort_transaction()


async def test_records_of_groups_are_readable(client: ConsoleClient, broker: tidelog.Broker) -> None:
    await create(client, "orders")
    admin = await client.console.parts.cluster.admin()
    place = tidelog.OffsetAndMetadata(offset=5)
    await admin.alter_group_offsets("<b>billing</b>", {tidelog.TopicPartition("orders", 0): place})
    shown = await client.get("messages", topic=CONSUMER_OFFSETS_TOPIC)
    (row,) = shown["rows"]
    assert text({"pieces": row["readable"]["summary"]}) == "group <b>billing</b> commits offset 5 of orders-0"
    details = await client.get(
        "messages/record", topic=CONSUMER_OFFSETS_TOPIC, partition=row["partition"], offset=row["offset"]
    )
    assert details["readable"]["group"] == "<b>billing</b>"
    assert json.loads(text(details["readable"]["value"]))["offset"] == 5


async def test_details_of_a_record(client: ConsoleClient, broker: tidelog.Broker) -> None:
    await create(client, "orders")
    async with tidelog.Producer(broker.bootstrap_servers, compression_type="zstd") as producer:
        await producer.send(
            "orders", b'{"id": 9007199254740993}', key=b"\xff", headers=[("h", b"1"), ("h", None)], timestamp_ms=77
        )
    shown = await client.get("messages/record", topic="orders", partition=0, offset=0)
    assert text(shown["value"]) == '{\n  "id": 9007199254740993\n}'
    assert (shown["time_ms"], shown["append_time"], shown["compression"]) == (77, False, "zstd")
    assert (shown["sequence"], shown["producer_epoch"], shown["batch_offset"]) == (0, 0, 0)
    assert [each["value"]["form"] for each in shown["headers"]] == ["text", "null"]
    as_hex = await client.get("messages/record", topic="orders", partition=0, offset=0, form="hex")
    assert text(as_hex["value"]).startswith("00000000  7b 22 69 64 22")


async def test_the_time_may_be_that_of_the_append(client: ConsoleClient, broker: tidelog.Broker) -> None:
    await create(client, "orders", message_timestamp_type="LogAppendTime")
    await produce(broker, "orders", 1)
    shown = await client.get("messages/record", topic="orders", partition=0, offset=0)
    assert shown["append_time"]
    assert shown["time_ms"] > 1000


async def test_offsets_without_a_record(client: ConsoleClient, broker: tidelog.Broker) -> None:
    await create(client, "orders")
    await produce(broker, "orders", 5)
    admin = await client.console.parts.cluster.admin()
    admin.raise_any(await admin.delete_records({tidelog.TopicPartition("orders", 0): 3}))
    reply = await client.ask("messages/record", topic="orders", partition=0, offset=9)
    assert (reply.status_code, reply.json()["message"]) == (
        404, "offset 9 of orders-0 is not written yet: the log ends at offset 5",
    )  # fmt: skip
    reply = await client.ask("messages/record", topic="orders", partition=0, offset=1)
    assert reply.json()["message"] == "offset 1 of orders-0 is no longer there: the log begins at offset 3"
    shown = await client.get("messages", topic="orders", start="beginning")
    assert places(shown)[0] == (0, 3)


async def test_payloads_are_downloaded_as_they_are(client: ConsoleClient, broker: tidelog.Broker) -> None:
    await create(client, "orders")
    value = b"<script>" + bytes(range(256)) * 2000
    async with tidelog.Producer(broker.bootstrap_servers) as producer:
        await producer.send("orders", value, headers=[("h", b"\xff")])
    where = {"topic": "orders", "partition": 0, "offset": 0}
    shown = await client.get("messages/record", **where)
    assert shown["value"]["shown"] == 64 * 1024
    reply = await client.ask("messages/payload", **where)
    assert reply.content == value
    assert reply.headers["content-type"] == "application/octet-stream"
    assert reply.headers["content-disposition"] == 'attachment; filename="orders-0-0-value.bin"'
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert (await client.ask("messages/payload", **where, part="header")).content == b"\xff"
    for part, index in (("key", 0), ("header", 5)):
        reply = await client.ask("messages/payload", **where, part=part, index=index)
        assert (reply.status_code, "is null" in reply.json()["message"]) == (404, True)


# -- searches --------------------------------------------------------------------------------------------------------


async def test_a_search_says_what_it_has_read(client: ConsoleClient, broker: tidelog.Broker) -> None:
    await create(client, "orders")
    await produce(broker, "orders", 100)
    found = await client.get("messages", topic="orders", key="k1", key_how="equals", start="beginning", rows=10)
    assert [offset for _, offset in places(found)] == list(range(1, 30, 3))
    assert found["scan"]["records"] == 29
    assert (found["scan"]["ended"], found["scan"]["ranges"]) == ("rows", [[0, 0, 28]])
    rest = await client.get("messages", topic="orders", key="k1", start="at", at=found["after"], rows=100)
    assert (places(rest)[0], rest["scan"]["ended"], rest["at_end"]) == ((0, 31), "log", True)


@pytest.mark.parametrize(
    ("wanted", "offsets"),
    [
        ({"value_path": "n", "value": "7", "value_how": "equals"}, [7]),
        ({"value": r'"n": 1\d$', "value_how": "pattern"}, []),
        ({"value": r'"n": 1\d}$', "value_how": "pattern"}, [*range(10, 20)]),
        ({"key": "K0", "case": "ignore", "value_path": "n", "value": "^.$", "value_how": "pattern"}, [0, 3, 6, 9]),
        ({"header_how": "null"}, [*range(20)]),
        ({"header_name": "h"}, []),
        ({"value_how": "null"}, []),
    ],
)
async def test_filters(
    client: ConsoleClient, broker: tidelog.Broker, wanted: dict[str, str], offsets: list[int]
) -> None:
    await create(client, "orders")
    await produce(broker, "orders", 20)
    found = await client.get("messages", topic="orders", **wanted)
    assert [offset for _, offset in places(found)] == offsets


async def test_a_pattern_that_takes_for_ever_is_an_answer(
    client: ConsoleClient, broker: tidelog.Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is tested takes for ever, whatever the bound.
    monkeypatch.setattr("tidelog.console.records.patterns.MOST_SECONDS", 0.5)
    await create(client, "orders")
    async with tidelog.Producer(broker.bootstrap_servers) as producer:
        await producer.send("orders", b"a" * 200 + b"!")
    found = await client.get("messages", topic="orders", value="^(a+)+$", value_how="pattern")
    assert (found["rows"], found["scan"]["ended"]) == ([], "pattern")
    assert "was not decided within" in found["scan"]["problem"]


# -- live ------------------------------------------------------------------------------------------------------------


class StoppedClock:
    """A test moves it on."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def live(
    client: ConsoleClient,
    topic: str = "orders",
    partitions: str = "all",
    wanted: MessageFilter = EVERYTHING,
    clock: StoppedClock | None = None,
) -> Any:
    reader = LiveRecords(
        client.console.parts.cluster, topic, partitions, wanted, Form.AUTO, clock=clock or StoppedClock()
    )

    async def read() -> Any:
        return json.loads(encoded(await reader.read()))

    return read


async def test_live_records_begin_with_the_last_ones_and_go_on(client: ConsoleClient, broker: tidelog.Broker) -> None:
    await create(client, "orders", 2)
    await produce(broker, "orders", 30)
    read = live(client)
    first = await read()
    assert places(first) == [(0, offset) for offset in range(10, 30)]
    assert (first["seen"], first["found"]) == (0, 0)
    await produce(broker, "orders", 3, 1, first_ms=5000)
    second = await read()
    assert places(second)[-3:] == [(1, 0), (1, 1), (1, 2)]
    assert (second["seen"], second["found"], second["skipped"]) == (3, 3, 0)
    assert await read() == second


async def test_live_records_are_bounded_and_say_what_was_skipped(client: ConsoleClient, broker: tidelog.Broker) -> None:
    await create(client, "orders")
    read = live(client)
    await read()
    await produce(broker, "orders", 2500)
    shown = await read()
    assert places(shown) == [(0, offset) for offset in range(2500 - KEPT_ROWS, 2500)]
    assert (shown["seen"], shown["skipped"]) == (2000, 500)


async def test_live_records_are_filtered(client: ConsoleClient, broker: tidelog.Broker) -> None:
    await create(client, "orders")
    for how, pattern in ((FilterComparison.EQUALS, "k1"), (FilterComparison.PATTERN, "^k[1]$")):
        wanted = MessageFilter(conditions=(Condition(part=RecordPart.KEY, how=how, text=pattern),))
        read = live(client, wanted=wanted)
        before = len((await read())["rows"])
        await produce(broker, "orders", 9)
        shown = await read()
        assert (shown["seen"], shown["found"], len(shown["rows"]) - before) == (9, 3, 3)


async def test_live_records_of_a_transaction_change_when_it_ends(client: ConsoleClient, broker: tidelog.Broker) -> None:
    await create(client, "orders")
    read = live(client)
    await read()
    async with tidelog.Producer(broker.bootstrap_servers, transactional_id="pay") as producer:
        await producer.init_transactions()
        await producer.begin_transaction()
        await producer.send("orders", b"1")
        await producer.flush()
        assert [row["outcome"] for row in (await read())["rows"]] == ["open"]
        await producer.abort_transaction()
        rows = (await read())["rows"]
    assert [row.get("outcome") or row["type"] for row in rows] == ["aborted", "ABORT"]


async def test_live_records_lose_nothing_while_too_many_patterns_are_tried(
    client: ConsoleClient, broker: tidelog.Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create(client, "orders")
    pattern = Condition(part=RecordPart.VALUE, how=FilterComparison.PATTERN, text="^v")
    read = live(client, wanted=MessageFilter(conditions=(pattern,)))
    await read()
    async with tidelog.Producer(broker.bootstrap_servers, transactional_id="pay") as producer:
        await producer.init_transactions()
        await producer.begin_transaction()
        await producer.send("orders", b"v1")
        await producer.flush()
        before = await read()
        assert [row["outcome"] for row in before["rows"]] == ["open"]
        await producer.send("orders", b"v2")
        await producer.commit_transaction()
    with monkeypatch.context() as patch:
        patch.setattr(PatternProcess, "running", MOST_PROCESSES)
        with pytest.raises(ConsoleRefusal, match="run already"):
            await read()

    async def settled() -> None:
        shown = await read()
        assert [row["outcome"] for row in shown["rows"]] == ["committed", "committed"]
        assert (shown["seen"], shown["skipped"], shown["run"]) == (2, 0, before["run"])

    await eventually(settled)


async def test_live_records_begin_again_with_a_recreated_topic(client: ConsoleClient, broker: tidelog.Broker) -> None:
    await create(client, "orders")
    await produce(broker, "orders", 5)
    read = live(client)
    before = await read()
    assert len(before["rows"]) == 5
    assert (await read())["run"] == before["run"]
    admin = await client.console.parts.cluster.admin()
    admin.raise_any(await admin.delete_topics(["orders"]))

    async def recreated() -> None:
        with contextlib.suppress(tidelog.ApiError):
            await create(client, "orders")
            return
        raise AssertionError("the topic is still there")

    await eventually(recreated)
    await produce(broker, "orders", 1)
    shown = await read()
    assert places(shown) == [(0, 0)]
    assert shown["run"] != before["run"]


async def test_live_records_of_partitions_that_are_added(client: ConsoleClient, broker: tidelog.Broker) -> None:
    await create(client, "orders")
    clock = StoppedClock()
    read = live(client, clock=clock)
    await read()
    admin = await client.console.parts.cluster.admin()
    admin.raise_any(await admin.create_partitions({"orders": 2}))
    await produce(broker, "orders", 30, partition=1)
    assert (await read())["partition_count"] == 1
    clock.seconds += 12
    shown = await read()
    assert places(shown) == [(1, offset) for offset in range(30)]
    assert (shown["partitions"], shown["partition_count"], shown["seen"]) == ([0, 1], 2, 30)
    await produce(broker, "orders", 1, partition=1)
    assert places(await read())[-1] == (1, 30)


class Leaders:
    """What metadata says about partitions, apart from those that a test has taken the leader from."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.away: set[int] = set()
        self._ask = places_module.topic_partitions
        monkeypatch.setattr(places_module, "topic_partitions", self.topic_partitions)

    async def topic_partitions(self, admin: Admin, topic: str) -> tuple[bool, dict[int, bool]]:
        internal, led = await self._ask(admin, topic)
        return internal, {each: is_led and each not in self.away for each, is_led in led.items()}


async def test_live_records_go_on_when_a_partition_has_a_leader_again(
    client: ConsoleClient, broker: tidelog.Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaders, clock = Leaders(monkeypatch), StoppedClock()
    await create(client, "orders", 2)
    await produce(broker, "orders", 30, partition=1)
    leaders.away = {1}
    read = live(client, clock=clock)
    first = await read()
    assert (first["silent"], first["rows"]) == ({"1": "it has no leader"}, [])
    leaders.away = set()
    # At once, without a look at the clock: what is left out is asked for with each reading.
    second = await read()
    assert second["silent"] == {}
    assert places(second) == [(1, offset) for offset in range(10, 30)]
    leaders.away = {0, 1}
    clock.seconds += 12
    with pytest.raises(ApiError, match="no partition of 'orders' that was asked for has a leader"):
        await read()
    await produce(broker, "orders", 2, partition=1)
    leaders.away = {0}
    third = await read()
    assert (places(third)[-2:], third["silent"]) == ([(1, 30), (1, 31)], {"0": "it has no leader"})
    assert third["seen"] == 22


async def test_a_partition_that_does_not_answer_is_not_asked_again_before_the_next_look(
    client: ConsoleClient, broker: tidelog.Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[set[int]] = []
    failing: set[int] = set()
    await create(client, "orders", 2)
    reader = await client.console.parts.cluster.reader()
    ask = reader.list_offsets

    async def list_offsets(times: Mapping[TopicPartition, int], **more: Any) -> Mapping[TopicPartition, Any]:
        assert more["timeout_ms"] <= 3_000
        asked.append({each.partition for each in times})
        found = await ask(times, **more)
        failure = ApiError(ErrorCode.LEADER_NOT_AVAILABLE, "the leader has gone")
        return {each: failure if each.partition in failing else answer for each, answer in found.items()}

    monkeypatch.setattr(reader, "list_offsets", list_offsets)
    leaders = Leaders(monkeypatch)
    read = live(client)
    await read()
    await produce(broker, "orders", 1, partition=0)
    failing, leaders.away = {1}, {1}
    asked.clear()
    assert places(await read()) == [(0, 0)]
    shown = await read()
    assert shown["silent"] == {"1": "it has no leader"}
    # The reading that met the failure, and the look at those that have a leader.
    assert asked == [{0, 1}, {0}, {0}]


async def test_the_feed_of_live_records(client: ConsoleClient, broker: tidelog.Broker) -> None:
    await create(client, "orders")
    await produce(broker, "orders", 2)
    feeds = client.console.parts.feeds
    asking = asyncio.create_task(client.ask("messages/live", topic="orders", key="k0"))

    async def is_watched() -> None:
        assert len(feeds) == 1

    await eventually(is_watched)
    await feeds.close()
    reply = await asking
    assert reply.headers["content-type"].startswith("text/event-stream")
