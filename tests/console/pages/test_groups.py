"""What the pages of groups read from a real broker, and what they change there."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from support.console_api import ConsoleApi, console_of
from support.eventually import eventually

import tidelog
from tidelog import Admin, OffsetAndMetadata, TopicPartition
from tidelog.client.admin import GroupListing
from tidelog.console.feeds import FirstPart
from tidelog.console.findings.lag import TopicLag
from tidelog.console.lags import group_lags
from tidelog.console.lags.group_lags import TopicLags
from tidelog.console.pages import group as group_page
from tidelog.console.pages import group_changes, groups
from tidelog.console.pages.group import GroupReader
from tidelog.console.pages.groups import GroupsReader
from tidelog.console.pages.topics import TopicsReader
from tidelog.console.parts import ConsoleParts
from tidelog.console.replies import Json, encoded
from tidelog.model.errors import ApiError, ErrorCode

ORDERS, PAYMENTS = "orders", "payments"
FIRST, SECOND = TopicPartition(ORDERS, 0), TopicPartition(ORDERS, 1)
PAID = TopicPartition(PAYMENTS, 0)
# In each partition of orders.
RECORDS = 20


@pytest.fixture
async def broker() -> AsyncIterator[tidelog.Broker]:
    properties = {"group.initial.rebalance.delay.ms": "0"}
    async with tidelog.Broker(port=0, properties=properties) as running:
        async with Admin(running.bootstrap_servers) as admin:
            await admin.create_topic(ORDERS, partitions=2)
            await admin.create_topic(PAYMENTS, partitions=1)
        async with tidelog.Producer(running.bootstrap_servers) as producer:
            for number in range(RECORDS):
                for partition in range(2):
                    await producer.send(ORDERS, b"%d" % number, partition=partition, timestamp_ms=1_000 * (number + 1))
        yield running


@pytest.fixture
async def api(broker: tidelog.Broker) -> AsyncIterator[ConsoleApi]:
    async with console_of({"bootstrap.servers": broker.bootstrap_servers}) as running:
        yield running


@pytest.fixture
def parts(api: ConsoleApi) -> ConsoleParts:
    return api.console.parts


@pytest.fixture
async def admin(parts: ConsoleParts) -> Admin:
    return await parts.cluster.admin()


@pytest.fixture
async def opened(broker: tidelog.Broker) -> AsyncIterator[tidelog.Producer]:
    """Payments: a committed transaction of two records and its end at 2; one that is open from 3 on; a plain record."""
    async with (
        tidelog.Producer(broker.bootstrap_servers, transactional_id="till/1") as producer,
        tidelog.Producer(broker.bootstrap_servers) as plain,
    ):
        await producer.init_transactions()
        async with producer.transaction():
            for _ in range(2):
                await producer.send(PAYMENTS, "committed", partition=0)
        await producer.begin_transaction()
        await (await producer.send(PAYMENTS, "open", partition=0))
        await (await plain.send(PAYMENTS, "plain", partition=0))
        yield producer


def read(document: Json) -> Any:
    """As the browser gets it."""
    return json.loads(encoded(document))


async def commit(admin: Admin, group: str, offsets: dict[TopicPartition, int], metadata: str = "") -> None:
    places = {partition: OffsetAndMetadata(offset=at, metadata=metadata) for partition, at in offsets.items()}
    await admin.alter_group_offsets(group, places)


async def committed(admin: Admin, group: str) -> dict[TopicPartition, int]:
    return {partition: place.offset for partition, place in (await admin.list_group_offsets(group)).items()}


@asynccontextmanager
async def member(
    broker: tidelog.Broker, group: str, topic: str = ORDERS, **options: Any
) -> AsyncIterator[tidelog.Consumer]:
    async with tidelog.Consumer(
        bootstrap_servers=broker.bootstrap_servers,
        group_id=group,
        client_id=f"{group}-worker",
        enable_auto_commit=False,
        **options,
    ) as consumer:
        consumer.subscribe([topic])
        while not consumer.assignment():
            await consumer.poll(timeout_ms=50)
        yield consumer


def row_of(shown: Any, name: str) -> Any:
    return next(row for row in shown["groups"] if row["id"] == name)


def partition_of(shown: Any, partition: TopicPartition) -> Any:
    return next(
        row for row in shown["partitions"] if (row["topic"], row["partition"]) == (partition.topic, partition.partition)
    )


# -- the list -------------------------------------------------------------------------------------------------------


async def test_a_cluster_without_groups_has_none(parts: ConsoleParts) -> None:
    assert read(await GroupsReader(parts).read())["groups"] == []


async def test_groups_of_both_protocols_are_listed_with_their_lags(
    parts: ConsoleParts, admin: Admin, broker: tidelog.Broker
) -> None:
    await commit(admin, "empty", {FIRST: 5, SECOND: RECORDS})
    async with member(broker, "classic", group_protocol="classic"), member(broker, "new", group_protocol="consumer"):
        shown = read(await GroupsReader(parts).read())
    rows = {row["id"]: (row["kind"], row["state"], row["members"], row["partitions"]) for row in shown["groups"]}
    assert rows == {
        "classic": ("classic", "Stable", 1, 0),
        "empty": ("classic", "Empty", 0, 2),
        "new": ("consumer", "Stable", 1, 0),
    }
    lag = row_of(shown, "empty")["lag"]
    assert (lag["records"], lag["exact"], lag["largest"]) == (RECORDS - 5, True, RECORDS - 5)
    assert row_of(shown, "classic")["lag"] is None


async def test_a_group_that_has_only_a_marker_left_has_no_lag(
    parts: ConsoleParts, admin: Admin, broker: tidelog.Broker
) -> None:
    async with tidelog.Producer(broker.bootstrap_servers, transactional_id="till") as producer:
        await producer.init_transactions()
        async with producer.transaction():
            await producer.send(PAYMENTS, "paid", partition=0)
    await commit(admin, "settled", {PAID: 1})

    async def check() -> None:
        lag = row_of(read(await GroupsReader(parts).read()), "settled")["lag"]
        assert (lag["records"], lag["exact"], lag["waits"]) == (0, True, False)
        shown = read(await GroupReader(parts, "settled").read())
        row = partition_of(shown, PAID)
        assert row["marks"] == {"start": 0, "stable": 2, "end": 2}
        assert (row["committed"], row["lag"]["records"], row["lag"]["control"]) == (1, 0, 1)
        assert (shown["total"]["records"], shown["total"]["progress"]) == (0, "caught up")

    await eventually(check)


async def test_a_group_behind_an_open_transaction_waits(
    parts: ConsoleParts, admin: Admin, opened: tidelog.Producer
) -> None:
    # Only the end of the first transaction is before the open one.
    await commit(admin, "waiting", {PAID: 2})
    lag = row_of(read(await GroupsReader(parts).read()), "waiting")["lag"]
    assert (lag["records"], lag["waits"]) == (2, True)


async def test_lost_records_and_offsets_behind_the_end_are_counted(parts: ConsoleParts, admin: Admin) -> None:
    await admin.delete_records({FIRST: 8})
    await commit(admin, "slow", {FIRST: 3, SECOND: RECORDS})
    await commit(admin, "ahead", {FIRST: RECORDS + 4})
    shown = read(await GroupsReader(parts).read())
    slow, ahead = row_of(shown, "slow"), row_of(shown, "ahead")
    assert (slow["lag"]["records"], slow["lost"], slow["beyond"]) == (RECORDS - 8, 1, 0)
    assert (ahead["lag"]["records"], ahead["lost"], ahead["beyond"]) == (0, 0, 1)
    rows = read(await GroupReader(parts, "slow").read())
    assert partition_of(rows, FIRST)["lag"]["lost"] == 5
    rows = read(await GroupReader(parts, "ahead").read())
    assert partition_of(rows, FIRST)["lag"]["beyond"] == 4


async def test_more_groups_than_are_shown_are_counted_and_found_by_name(
    parts: ConsoleParts, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("audit", "Billing", "nightly", "orders"):
        await commit(admin, name, {FIRST: 1})
    monkeypatch.setattr(groups, "MOST_GROUPS", 2)
    shown = read(await GroupsReader(parts).read())
    assert ([row["id"] for row in shown["groups"]], shown["left_out"]) == (["Billing", "audit"], 2)
    shown = read(await GroupsReader(parts, "LL").read())
    assert ([row["id"] for row in shown["groups"]], shown["left_out"]) == (["Billing"], 0)


async def test_what_a_share_group_does_not_tell_is_left_out(
    api: ConsoleApi, parts: ConsoleParts, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of Apache Kafka: it is not described, and OffsetFetch knows nothing of it."""
    share = GroupListing(group_id="sharers", protocol_type="share", state="Stable", kind="Share", coordinator=1)

    async def list_groups(_: Admin) -> dict[int, list[GroupListing]]:
        return {1: [share]}

    monkeypatch.setattr(Admin, "list_groups_by_broker", list_groups)
    row = row_of(read(await GroupsReader(parts).read()), "sharers")
    assert (row["kind"], row["members"], row["partitions"], row["lag"]) == ("share", None, None, None)
    shown = read(await GroupReader(parts, "sharers").read())
    assert (shown["kind"], shown["members"], shown["total"], shown["partitions"]) == ("share", None, None, [])
    answer = await api.get("group/reset", 400, id="sharers", to="earliest")
    assert "has no committed offsets" in answer["message"]


async def test_members_are_counted_again_when_they_change(
    parts: ConsoleParts, admin: Admin, broker: tidelog.Broker
) -> None:
    reader = GroupsReader(parts)
    async with member(broker, "readers", group_protocol="classic"):
        assert row_of(read(await reader.read()), "readers")["members"] == 1

    async def check() -> None:
        row = row_of(read(await reader.read()), "readers")
        assert (row["state"], row["members"]) == ("Empty", 0)

    await commit(admin, "other", {FIRST: 1})
    await eventually(check)


# -- one group ------------------------------------------------------------------------------------------------------


async def test_who_holds_records_back_is_told(parts: ConsoleParts, admin: Admin, opened: tidelog.Producer) -> None:
    await commit(admin, "waiting", {PAID: 0})
    shown = read(await GroupReader(parts, "waiting").read())
    lag = partition_of(shown, PAID)["lag"]
    assert (lag["records"], lag["held"], lag["control"], lag["exact"]) == (4, 2, 1, True)
    assert (shown["total"]["held"], shown["total"]["waits"]) == (2, False)
    (holding,) = shown["holding"]
    assert (holding["id"], holding["hangs"]) == ("till/1", False)
    assert holding["partitions"] == [{"topic": PAYMENTS, "partition": 0}]
    assert 0 < holding["start_ms"] <= shown["now_ms"]
    await opened.abort_transaction()

    async def check() -> None:
        shown = read(await GroupReader(parts, "waiting").read())
        lag = partition_of(shown, PAID)["lag"]
        assert (lag["records"], lag["held"], lag["aborted"], lag["control"]) == (4, 0, 1, 2)
        assert shown["holding"] == []

    await eventually(check)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_members_have_what_they_read(parts: ConsoleParts, broker: tidelog.Broker, protocol: str) -> None:
    async with member(broker, "readers", group_protocol=protocol, group_instance_id="first") as consumer:
        await consumer.commit({FIRST: 3})
        shown = read(await GroupReader(parts, "readers").read())
    assert (shown["kind"], shown["state"], shown["coordinator"]) == (protocol, "Stable", 1)
    assert shown["coordinator_address"] == broker.bootstrap_servers
    (one,) = shown["members"]
    assert (one["client_id"], one["instance_id"]) == ("readers-worker", "first")
    assert one["assignment"] == [{"topic": ORDERS, "partitions": [0, 1]}]
    if protocol == "consumer":
        assert one["epoch"] == shown["epoch"] == shown["target_epoch"]
        assert one["target"] == one["assignment"]
    read_one, other = partition_of(shown, FIRST), partition_of(shown, SECOND)
    assert read_one["owner"] == other["owner"] == {"id": one["id"], "client_id": "readers-worker", "host": one["host"]}
    assert (read_one["lag"]["records"], other["committed"], other["lag"]) == (RECORDS - 3, None, None)


async def test_rates_and_trends(
    parts: ConsoleParts, admin: Admin, broker: tidelog.Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_page, "_MEASURED_SECONDS", 0.0)
    await commit(admin, "readers", {FIRST: 0})
    reader = GroupReader(parts, "readers")
    shown = read(await reader.read())
    assert (shown["total"]["consumed"], shown["total"]["progress"]) == (None, "unknown")
    await commit(admin, "readers", {FIRST: 10})
    shown = read(await reader.read())
    assert shown["total"]["consumed"] > 0
    assert shown["total"]["progress"] == "catches up"
    assert partition_of(shown, FIRST)["trend"]["in_ms"] > 0
    assert [point["lag"] for point in shown["points"]] == [RECORDS, RECORDS - 10]


async def test_what_was_noted_beside_an_offset_is_cut(parts: ConsoleParts, admin: Admin) -> None:
    await commit(admin, "noted", {FIRST: 1}, metadata="<b>\x00" + "n" * 3_000)
    (row,) = read(await GroupReader(parts, "noted").read())["partitions"]
    assert row["metadata"].startswith("<b>\x00nnn")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(group_page, "MOST_METADATA_CHARACTERS", 10)
        (row,) = read(await GroupReader(parts, "noted").read())["partitions"]
    assert row["metadata"] == "<b>\x00nnnnnn … and 2,994 more characters"


async def test_of_many_partitions_those_with_the_largest_lags_are_shown(
    parts: ConsoleParts, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_page, "MOST_PARTITIONS", 1)
    await commit(admin, "readers", {FIRST: 10, SECOND: 2})
    shown = read(await GroupReader(parts, "readers").read())
    assert [row["partition"] for row in shown["partitions"]] == [1]
    assert (shown["partitions_left_out"], shown["total"]["records"]) == (1, 2 * RECORDS - 12)


async def test_a_group_that_is_not_there_is_missing(parts: ConsoleParts) -> None:
    with pytest.raises(ApiError, match="there is no group 'nobody'") as missing:
        await GroupReader(parts, "nobody").read()
    assert missing.value.code == ErrorCode.GROUP_ID_NOT_FOUND


# -- the lag of topics ----------------------------------------------------------------------------------------------


async def topics_with_lags(parts: ConsoleParts) -> Any:
    first = await TopicsReader(parts).read()
    assert isinstance(first, FirstPart)
    return read(await first.rest())


async def test_each_topic_names_the_group_that_is_furthest_behind(parts: ConsoleParts, admin: Admin) -> None:
    await commit(admin, "ahead", {FIRST: 15, SECOND: 15})
    await commit(admin, "behind", {FIRST: 1})
    found = await TopicLags(parts.cluster).lag_by_topic()
    assert found == {ORDERS: TopicLag("behind", RECORDS - 1, True, known=1, unknown=0)}
    shown = await topics_with_lags(parts)
    assert shown["lags_told"]
    assert {row["name"]: row["lag"] for row in shown["topics"] if not row["internal"]} == {
        ORDERS: {"group": "behind", "records": RECORDS - 1, "exact": True, "known": 1, "unknown": 0},
        PAYMENTS: None,
    }


async def test_a_lag_that_is_too_large_to_be_counted_is_an_upper_bound(
    parts: ConsoleParts, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_lags, "MOST_COUNTED_OFFSETS", 10)
    await commit(admin, "behind", {FIRST: 1})
    assert await TopicLags(parts.cluster).lag_by_topic() == {
        ORDERS: TopicLag("behind", RECORDS - 1, False, known=1, unknown=0)
    }


async def test_topics_are_shown_where_groups_may_not_be(parts: ConsoleParts, monkeypatch: pytest.MonkeyPatch) -> None:
    async def list_groups(_: Admin) -> dict[int, list[GroupListing]]:
        raise ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "listing groups")

    monkeypatch.setattr(Admin, "list_groups_by_broker", list_groups)
    shown = await topics_with_lags(parts)
    assert shown["lags_told"] is False
    assert ORDERS in [row["name"] for row in shown["topics"]]


# -- resets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ({"to": "earliest"}, {0: 4, 1: 0}),
        ({"to": "latest"}, {0: RECORDS, 1: RECORDS}),
        # The record with the number 11 has the time 12,000.
        ({"to": "time", "value": 11_001}, {0: 11, 1: 11}),
        ({"to": "time", "value": 99_000}, {0: RECORDS, 1: RECORDS}),
        ({"to": "offset", "value": 2}, {0: 4, 1: 2}),
        ({"to": "shift", "value": 5}, {0: 15, 1: RECORDS}),
        ({"to": "shift", "value": -12, "topic": ORDERS, "partitions": "1"}, {1: 6}),
        ({"to": "group", "other": "follower"}, {0: 7, 1: 18}),
        ({"to": "earliest", "topic": PAYMENTS}, {}),
    ],
)
async def test_a_reset_is_previewed(
    api: ConsoleApi, admin: Admin, question: dict[str, Any], expected: dict[int, int]
) -> None:
    await admin.delete_records({FIRST: 4})
    await commit(admin, "readers", {FIRST: 10, SECOND: 18})
    await commit(admin, "follower", {FIRST: 7})
    shown = await api.get("group/reset", id="readers", **question)
    assert shown["blocked"] is None
    assert {row["partition"]: row["then"] for row in shown["rows"] if row["topic"] == ORDERS} == expected
    if question.get("topic") == PAYMENTS:
        (row,) = shown["rows"]
        assert (row["now"], row["then"], row["changes"]) == (None, 0, True)
    assert shown["changes"] == sum(row["changes"] for row in shown["rows"])
    assert await committed(admin, "readers") == {FIRST: 10, SECOND: 18}


@pytest.mark.parametrize(
    ("question", "status", "part"),
    [
        ({"id": "nobody", "to": "earliest"}, 404, "there is no group"),
        ({"id": "readers", "to": "sideways"}, 400, "sideways"),
        ({"id": "readers", "to": "earliest", "topic": "nothing"}, 404, "there is no topic"),
        ({"id": "readers", "to": "earliest", "topic": ORDERS, "partitions": "1-"}, 400, "neither the number"),
        ({"id": "readers", "to": "earliest", "topic": ORDERS, "partitions": "0-2"}, 404, "there is no 2"),
        (
            {"id": "readers", "to": "earliest", "topic": ORDERS, "partitions": ",".join(["0-999999"] * 5000)},
            404,
            "there is no 999999",
        ),
        ({"id": "readers", "to": "earliest", "topic": ORDERS, "partitions": "0," * 30_000}, 400, "partitions: "),
        ({"id": "readers", "to": "time", "value": -1}, 400, "before 1970"),
        ({"id": "readers", "to": "group", "other": "nobody"}, 404, "has committed no offsets"),
    ],
)
async def test_a_preview_that_makes_no_sense_is_refused(
    api: ConsoleApi, admin: Admin, question: dict[str, Any], status: int, part: str
) -> None:
    await commit(admin, "readers", {FIRST: 10})
    answer = await api.get("group/reset", status, **question)
    assert part in answer["message"]


async def test_a_group_that_has_committed_nothing_needs_a_topic(api: ConsoleApi, broker: tidelog.Broker) -> None:
    async with member(broker, "readers"):
        answer = await api.get("group/reset", 400, id="readers", to="earliest")
        assert "choose a topic" in answer["message"]


def change(group: str, *rows: tuple[TopicPartition, int | None, int]) -> dict[str, Any]:
    return {
        "id": group,
        "offsets": [
            {"topic": partition.topic, "partition": partition.partition, "expected": expected, "offset": offset}
            for partition, expected, offset in rows
        ],
    }


async def test_a_reset_does_what_was_previewed(api: ConsoleApi, admin: Admin) -> None:
    await commit(admin, "readers", {FIRST: 10, SECOND: 18})
    answer = await api.post("group/reset", change("readers", (FIRST, 10, 4), (PAID, None, 0)))
    assert answer["done"] == [
        {"topic": ORDERS, "partition": 0, "before": 10, "now": 4},
        {"topic": PAYMENTS, "partition": 0, "before": None, "now": 0},
    ]
    assert await committed(admin, "readers") == {FIRST: 4, SECOND: 18, PAID: 0}


@pytest.mark.parametrize(
    ("row", "part"),
    [
        ((FIRST, 9, 4), "orders-0 was at 9 and is at 10"),
        ((FIRST, None, 4), "orders-0 was at no offset and is at 10"),
        ((PAID, 3, 0), "payments-0 was at 3 and is at no offset"),
        ((FIRST, 10, RECORDS + 1), "orders-0 has 0 to 20 instead of 21"),
        ((TopicPartition(ORDERS, 2), None, 0), "no such partition, of orders-2"),
        ((TopicPartition("nothing", 0), None, 0), "no such partition, of nothing-0"),
    ],
)
async def test_a_reset_is_refused_if_it_is_not_what_was_previewed(
    api: ConsoleApi, admin: Admin, row: tuple[TopicPartition, int | None, int], part: str
) -> None:
    await commit(admin, "readers", {FIRST: 10, SECOND: 18})
    answer = await api.post("group/reset", change("readers", row, (SECOND, 18, 3)), 409)
    assert part in answer["message"]
    assert await committed(admin, "readers") == {FIRST: 10, SECOND: 18}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_a_group_with_members_is_not_changed(
    api: ConsoleApi, admin: Admin, broker: tidelog.Broker, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with member(broker, "readers", group_protocol=protocol) as consumer:
        await consumer.commit({FIRST: 10})
        shown = await api.get("group/reset", id="readers", to="earliest")
        assert "has 1 member: readers-worker at " in shown["blocked"]
        reset, deletion = change("readers", (FIRST, 10, 0)), {"id": "readers"}
        for path, body in (("group/reset", reset), ("group/delete", deletion)):
            answer = await api.post(path, body, 409)
            assert "has 1 member: readers-worker at " in answer["message"]
            assert "stop it first" in answer["message"]
        # One that joins after this look is seen by the coordinator.
        monkeypatch.setattr(group_changes, "_check_members", lambda _: None)
        for path, body in (("group/reset", reset), ("group/delete", deletion)):
            answer = await api.post(path, body, 409)
            assert "has got members in the meantime" in answer["message"]
        assert await committed(admin, "readers") == {FIRST: 10}


@pytest.mark.parametrize(
    "body",
    [
        {"id": "readers", "offsets": []},
        {"id": "readers", "offsets": [{"topic": ORDERS, "partition": 0, "expected": 1, "offset": -1}]},
        {"id": "readers", "offsets": [{"topic": ORDERS, "partition": 1 << 31, "expected": 1, "offset": 1}]},
        {"id": "readers", "offsets": [{"topic": ORDERS, "partition": 0, "expected": 1, "offset": 1 << 63}]},
        {"offsets": []},
    ],
)
async def test_what_is_no_reset_is_refused(api: ConsoleApi, body: dict[str, Any]) -> None:
    await api.post("group/reset", body, 400)


# -- deletions ------------------------------------------------------------------------------------------------------


async def test_a_group_is_deleted(api: ConsoleApi, admin: Admin) -> None:
    await commit(admin, "readers", {FIRST: 10})
    assert (await api.post("group/delete", {"id": "readers"}))["deleted"] == "readers"
    assert await committed(admin, "readers") == {}
    answer = await api.post("group/delete", {"id": "readers"}, 404)
    assert "there is no group 'readers'" in answer["message"]


async def test_the_offsets_of_a_topic_are_deleted(api: ConsoleApi, admin: Admin) -> None:
    await commit(admin, "readers", {FIRST: 10, SECOND: 18, PAID: 0})
    seen = [{"partition": 0, "offset": 10}, {"partition": 1, "offset": 18}]
    body = {"id": "readers", "topic": ORDERS, "offsets": seen}
    answer = await api.post("group/offsets/delete", {**body, "offsets": seen[:1]}, 409)
    assert "orders-1 was at no offset and is at 18" in answer["message"]
    answer = await api.post("group/offsets/delete", {**body, "offsets": [seen[0], {"partition": 1, "offset": 7}]}, 409)
    assert "orders-1 was at 7 and is at 18" in answer["message"]
    answer = await api.post("group/offsets/delete", body)
    assert answer["done"] == [
        {"topic": ORDERS, "partition": 0, "before": 10, "now": None},
        {"topic": ORDERS, "partition": 1, "before": 18, "now": None},
    ]
    assert await committed(admin, "readers") == {PAID: 0}


async def test_offsets_of_a_topic_that_is_gone_are_told(api: ConsoleApi, admin: Admin) -> None:
    """The page deletes what it has read here, also of topics that are recreated with fewer partitions."""
    await commit(admin, "readers", {FIRST: 10, SECOND: 18})
    gone = [{"topic": ORDERS, "partition": number, "committed": at} for number, at in enumerate((10, 18))]
    assert (await api.get("group/offsets", id="readers", topic=ORDERS))["offsets"] == gone
    assert (await api.get("group/offsets", id="readers", topic="nothing"))["offsets"] == []
    assert "there is no group" in (await api.get("group/offsets", 404, id="nobody", topic=ORDERS))["message"]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_offsets_of_a_topic_that_members_are_subscribed_to_stay(
    api: ConsoleApi, admin: Admin, broker: tidelog.Broker, protocol: str
) -> None:
    async with member(broker, "readers", group_protocol=protocol) as consumer:
        await consumer.commit({FIRST: 10})
        body = {"id": "readers", "topic": ORDERS, "offsets": [{"partition": 0, "offset": 10}]}
        answer = await api.post("group/offsets/delete", body, 409)
    assert "subscribed to topic 'orders'" in answer["message"]
    assert await committed(admin, "readers") == {FIRST: 10}


async def test_a_console_that_is_read_only_previews_and_changes_nothing(broker: tidelog.Broker, admin: Admin) -> None:
    await commit(admin, "readers", {FIRST: 10})
    async with console_of({"bootstrap.servers": broker.bootstrap_servers}, read_only=True) as api:
        assert (await api.get("group/reset", id="readers", to="earliest"))["changes"] == 1
        for path, body in (("group/reset", change("readers", (FIRST, 10, 0))), ("group/delete", {"id": "readers"})):
            answer = await api.post(path, body, 403)
            assert "--read-only" in answer["message"]
    assert await committed(admin, "readers") == {FIRST: 10}
