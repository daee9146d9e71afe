"""What the pages of transactions read from a real broker, and what they change there."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from support.console_visits import Answer, visit
from support.eventually import eventually
from support.raw_client import raw_client
from support.raw_transactions import RawProducer

import tidelog
from tidelog.client.admin import (
    AccessControlEntry,
    AclBinding,
    AclResourceType,
    Admin,
    Operation,
    PermissionType,
    ResourcePattern,
    TransactionListing,
)
from tidelog.client.cluster.cluster import Cluster
from tidelog.client.cluster.metadata import ClusterMetadata
from tidelog.client.errors import FencedError
from tidelog.client.offsets.committed import OffsetAndMetadata
from tidelog.console.access import CSRF_HEADER
from tidelog.console.app import Console
from tidelog.console.pages import hanging_transactions, open_transactions, transaction_log
from tidelog.console.pages.group import GroupReader
from tidelog.console.pages.groups import GroupsReader
from tidelog.console.pages.hanging_transactions import HangingSearch
from tidelog.console.pages.producers import ProducersReader
from tidelog.console.pages.transaction import TransactionReader
from tidelog.console.pages.transactions import OPEN_STATES, TransactionsReader
from tidelog.console.parts import ConsoleParts
from tidelog.console.replies import Json, encoded
from tidelog.console.settings import ConsoleSettings
from tidelog.coordinators.transactions.states import TRANSACTION, TransactionState
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.offset_times import LATEST
from tidelog.model.topics import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC

TOPIC = "payments"
FIRST, SECOND = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)


@pytest.fixture
async def broker() -> AsyncIterator[tidelog.Broker]:
    """One on which transactions can hang: it does not ask the coordinator whether a transaction was begun."""
    async with tidelog.Broker(port=0, properties={"transaction.partition.verification.enable": "false"}) as running:
        yield running


@asynccontextmanager
async def console_of(broker: tidelog.Broker) -> AsyncIterator[Console]:
    client = {"bootstrap.servers": broker.bootstrap_servers}
    running = Console(ConsoleSettings(client=client, host="127.0.0.1", port=0, token=None, read_only=False))
    admin = await running.parts.cluster.admin()
    await admin.create_topic(TOPIC, partitions=2)
    yield running
    await running.end_live_data()
    await running.parts.cluster.close()


@pytest.fixture
async def console(broker: tidelog.Broker) -> AsyncIterator[Console]:
    async with console_of(broker) as running:
        yield running


@pytest.fixture
def parts(console: Console) -> ConsoleParts:
    return console.parts


@pytest.fixture
async def opened(broker: tidelog.Broker, console: Console) -> AsyncIterator[tidelog.Producer]:
    """The producer of a transaction that is open in both partitions, behind a committed record in the first one."""
    async with tidelog.Producer(broker.bootstrap_servers, transactional_id="till/1") as producer:
        await producer.init_transactions()
        async with producer.transaction():
            await producer.send(TOPIC, "committed", partition=0)
        await producer.begin_transaction()
        await (await producer.send(TOPIC, "open", partition=0))
        await (await producer.send(TOPIC, "open", partition=1))
        yield producer


def read(document: Json) -> Any:
    """As the browser gets it."""
    return json.loads(encoded(document))


async def post(console: Console, path: str, body: Any) -> Answer:
    headers = {"content-type": "application/json", CSRF_HEADER: console.app.csrf_token}
    return await visit(console.app, f"/api/{path}", method="POST", headers=headers, body=json.dumps(body).encode())


async def stable(parts: ConsoleParts, partition: TopicPartition) -> int:
    admin = await parts.cluster.admin()
    return admin.raise_any(await admin.list_offsets({partition: LATEST}, read_committed=True))[partition].offset


async def commit(parts: ConsoleParts, group: str, **offsets: int) -> None:
    """`p0=2`: offset 2 of partition 0."""
    admin = await parts.cluster.admin()
    places = {TopicPartition(TOPIC, int(name[1:])): OffsetAndMetadata(offset=at) for name, at in offsets.items()}
    await admin.alter_group_offsets(group, places)


# -- the list -------------------------------------------------------------------------------------------------------


async def test_ids_are_found_by_a_part_of_their_names(
    parts: ConsoleParts, broker: tidelog.Broker, opened: tidelog.Producer
) -> None:
    """Who holds readers back is told, whatever is searched for."""
    async with tidelog.Producer(broker.bootstrap_servers, transactional_id="Billing-7") as producer:
        await producer.init_transactions()
    shown = read(await TransactionsReader(parts, "ILLING").read())
    assert [row["id"] for row in shown["transactions"]] == ["Billing-7"]
    assert [each["id"] for each in shown["holding"]] == ["till/1"]
    assert read(await TransactionsReader(parts, "nobody").read())["transactions"] == []


async def test_a_cluster_without_transactions_has_none(parts: ConsoleParts) -> None:
    shown = read(await TransactionsReader(parts).read())
    assert (shown["transactions"], shown["holding"], shown["left_out"]) == ([], [], 0)


async def test_an_open_transaction_holds_its_partitions_back(parts: ConsoleParts, opened: tidelog.Producer) -> None:
    shown = read(await TransactionsReader(parts).read())
    (row,) = shown["transactions"]
    assert (row["id"], row["state"], row["partitions"], row["names"]) == (
        "till/1",
        "Ongoing",
        2,
        ["payments-0", "payments-1"],
    )
    assert row["timeout_ms"] == 60_000
    assert row["start_ms"] <= shown["now_ms"]
    (holding,) = shown["holding"]
    assert (holding["id"], holding["start_ms"]) == ("till/1", row["start_ms"])
    # A record and its marker, then the open one.
    assert [(each["partition"], each["offset"], each["high_watermark"]) for each in holding["partitions"]] == [
        (0, 2, 3),
        (1, 0, 1),
    ]
    assert holding["waiting"] == []


async def test_groups_at_the_last_stable_offset_wait(parts: ConsoleParts, opened: tidelog.Producer) -> None:
    await commit(parts, "at it", p0=2)
    # Only the marker is between its offset and the open transaction.
    await commit(parts, "before the marker", p0=1)
    await commit(parts, "behind", p0=0)
    await commit(parts, "reads uncommitted", p0=3)
    await commit(parts, "at the other", p0=0, p1=0)
    shown = read(await TransactionsReader(parts).read())
    (holding,) = shown["holding"]
    first, second = holding["partitions"]
    assert first["waiting"] == ["at it", "before the marker"]
    assert second["waiting"] == ["at the other"]
    assert {each["id"]: each["has_members"] for each in holding["waiting"]} == {
        "at it": False,
        "before the marker": False,
        "at the other": False,
    }
    assert shown["groups_told"]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_a_group_with_members_waits_in_both_protocols(
    parts: ConsoleParts, broker: tidelog.Broker, opened: tidelog.Producer, protocol: str
) -> None:
    async with tidelog.Consumer(
        bootstrap_servers=broker.bootstrap_servers,
        group_id="audit",
        group_protocol=protocol,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    ) as consumer:
        consumer.subscribe([TOPIC])
        while await consumer.position(FIRST) < 2 if FIRST in consumer.assignment() else True:
            await consumer.poll(timeout_ms=50)
        await consumer.commit()
        (holding,) = read(await TransactionsReader(parts).read())["holding"]
        assert {"id": "audit", "has_members": True} in holding["waiting"]


async def test_groups_are_not_asked_for_while_nothing_is_held_back(
    parts: ConsoleParts, opened: tidelog.Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await opened.commit_transaction()
    admin = await parts.cluster.watcher()

    async def forbidden() -> None:
        raise AssertionError("nobody waits")

    monkeypatch.setattr(admin, "list_groups_by_broker", forbidden)
    reader = TransactionsReader(parts)

    async def nothing_is_held() -> None:
        assert read(await reader.read())["holding"] == []

    await eventually(nothing_is_held)


async def test_groups_that_may_not_be_seen_are_left_out_with_a_word(
    parts: ConsoleParts, opened: tidelog.Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = await parts.cluster.watcher()

    async def refused() -> None:
        raise ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "not you")

    monkeypatch.setattr(admin, "list_groups_by_broker", refused)
    shown = read(await TransactionsReader(parts).read())
    assert not shown["groups_told"]
    (holding,) = shown["holding"]
    assert holding["waiting"] == []


async def test_idle_ids_are_not_described_at_each_reading(
    parts: ConsoleParts, opened: tidelog.Producer, broker: tidelog.Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with tidelog.Producer(broker.bootstrap_servers, transactional_id="idle") as producer:
        await producer.init_transactions()
    reader = TransactionsReader(parts)
    first = read(await reader.read())
    assert [row["id"] for row in first["transactions"]] == ["till/1", "idle"], "open ones come first"
    admin = await parts.cluster.watcher()
    described: list[list[str]] = []
    describe = admin.describe_transactions

    async def noted(ids: list[str]) -> Any:
        described.append(list(ids))
        return await describe(ids)

    monkeypatch.setattr(admin, "describe_transactions", noted)
    second = read(await reader.read())
    assert described == [["till/1"]]
    assert second["transactions"] == first["transactions"]


async def test_bounds_are_told(
    parts: ConsoleParts, opened: tidelog.Producer, broker: tidelog.Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with tidelog.Producer(broker.bootstrap_servers, transactional_id="idle") as producer:
        await producer.init_transactions()
    monkeypatch.setattr("tidelog.console.pages.transactions.MOST_IDS", 1)
    monkeypatch.setattr("tidelog.console.pages.transactions.MOST_PARTITIONS", 1)
    shown = read(await TransactionsReader(parts).read())
    assert [row["id"] for row in shown["transactions"]] == ["till/1"]
    assert (shown["left_out"], shown["partitions_left_out"]) == (1, 1)
    (holding,) = shown["holding"]
    assert len(holding["partitions"]) == 1
    monkeypatch.setattr("tidelog.console.pages.transactions.MOST_HOLDING", 0)
    shown = read(await TransactionsReader(parts).read())
    assert (shown["holding"], shown["holding_left_out"]) == ([], 1)


async def test_long_lists_of_what_waits_are_cut(
    parts: ConsoleParts, opened: tidelog.Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for group in "abc":
        await commit(parts, group, p0=2)
    monkeypatch.setattr(open_transactions, "_GROUPS_TOLD", 2)
    monkeypatch.setattr(open_transactions, "_PARTITIONS_TOLD", 1)
    (holding,) = read(await TransactionsReader(parts).read())["holding"]
    assert [each["id"] for each in holding["waiting"]] == ["a", "b"]
    assert (holding["waiting_left_out"], len(holding["partitions"]), holding["partitions_left_out"]) == (1, 1, 1)


async def test_the_state_machine_is_the_coordinators_own(console: Console) -> None:
    served = (await visit(console.app, "/api/transactions/machine")).document
    assert [each["name"] for each in served["states"]] == [state.label for state in TRANSACTION.states]
    assert len(served["steps"]) == len(TRANSACTION.steps)
    assert {"from": "PrepareCommit", "to": "CompleteCommit", "name": "COMPLETE"}.items() <= next(
        step for step in served["steps"] if step["from"] == "PrepareCommit"
    ).items()
    assert served["initial"] == ["Empty"]


# -- one id ---------------------------------------------------------------------------------------------------------


async def test_one_transaction_with_its_timeline_and_partitions(parts: ConsoleParts, opened: tidelog.Producer) -> None:
    shown = read(await TransactionReader(parts, "till/1").read())
    assert shown["described"]["state"] == "Ongoing"
    assert shown["described"]["can_abort"]
    assert not shown["described"]["two_phase"]
    states = [each["state"] for each in shown["timeline"]["entries"]]
    assert states == ["Ongoing", "Ongoing", "CompleteCommit", "PrepareCommit", "Ongoing", "Empty"]
    assert [each["added"] for each in shown["timeline"]["entries"]][:2] == [["payments-1"], ["payments-0"]]
    assert shown["timeline"]["older_before"] is None
    assert (shown["last_step"]["from"], shown["last_step"]["to"]) == ("Ongoing", "Ongoing")
    first, second = shown["partitions"]
    assert (first["last_stable_offset"], first["high_watermark"], first["producer"]["first_offset"]) == (2, 3, 2)
    assert (second["last_stable_offset"], second["high_watermark"], second["producer"]["first_offset"]) == (0, 1, 0)
    assert first["held"]
    (holding,) = shown["holding"]
    assert holding["id"] == "till/1"
    log = shown["timeline"]["log"]
    assert log["topic"] == TRANSACTION_STATE_TOPIC


async def test_the_timeline_goes_on_while_it_is_watched(parts: ConsoleParts, opened: tidelog.Producer) -> None:
    reader = TransactionReader(parts, "till/1")
    before = read(await reader.read())["timeline"]["entries"]
    await opened.commit_transaction()

    async def it_has_ended() -> None:
        shown = read(await reader.read())
        assert shown["described"]["state"] == "CompleteCommit"
        entries = shown["timeline"]["entries"]
        assert entries[0]["state"] == "CompleteCommit"
        assert entries[-len(before) :] == before
        assert shown["last_step"]["from"] == "PrepareCommit"
        assert shown["described"]["start_ms"] is None
        # Where it was is still shown, and that it is not there any more.
        assert [(each["partition"], each["held"]) for each in shown["partitions"]] == [(0, False), (1, False)]

    await eventually(it_has_ended)


async def test_older_records_are_read_on_demand(
    console: Console, opened: tidelog.Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction_log, "SHOWN", 2)
    monkeypatch.setattr("tidelog.console.pages.transaction.SHOWN", 2)
    monkeypatch.setattr(transaction_log, "_WINDOW", 1)
    timeline = read(await TransactionReader(console.parts, "till/1").read())["timeline"]
    entries = timeline["entries"]
    assert len(entries) == 2
    assert entries[-1]["before"] == "CompleteCommit", "the record in front of it was read for that"
    for _ in range(5):
        if timeline["older_before"] is None:
            break
        query = f"id=till%2F1&before={timeline['older_before']}"
        timeline = (await visit(console.app, "/api/transaction/timeline", query=query)).document
        entries += timeline["entries"]
    assert timeline["older_before"] is None
    states = [each["state"] for each in entries]
    assert states == ["Ongoing", "Ongoing", "CompleteCommit", "PrepareCommit", "Ongoing", "Empty"]
    offsets = [each["offset"] for each in entries]
    assert offsets == sorted(set(offsets), reverse=True)


async def test_an_id_whose_records_are_far_back_is_looked_for_as_far_as_the_bound(
    parts: ConsoleParts, broker: tidelog.Broker, opened: tidelog.Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another id fills the same partition of the log."""
    own = await transaction_log.TransactionLog(parts, "till/1").partition(await parts.cluster.admin())
    other = ""
    for number in range(100):
        other = f"other-{number}"
        if await transaction_log.TransactionLog(parts, other).partition(await parts.cluster.admin()) == own:
            break
    async with tidelog.Producer(broker.bootstrap_servers, transactional_id=other) as producer:
        await producer.init_transactions()
        for _ in range(10):
            async with producer.transaction():
                await producer.send(TOPIC, "more", partition=1)
    monkeypatch.setattr(transaction_log, "_WINDOW", 4)
    monkeypatch.setattr(transaction_log, "_FEW_ENTRIES", 0)
    monkeypatch.setattr(transaction_log, "MOST_READ", 12)
    timeline = read(await TransactionReader(parts, "till/1").read())["timeline"]
    assert timeline["entries"] == []
    found = 0
    while timeline["older_before"] is not None:
        log = transaction_log.TransactionLog(parts, "till/1")
        old = await log.before(timeline["older_before"])
        assert old.since < timeline["older_before"], "each look gets further"
        found += len(old.records)
        timeline = {"older_before": old.since if old.may_be_older else None}
    assert found == 6


async def test_an_unknown_id_is_no_error(parts: ConsoleParts, opened: tidelog.Producer) -> None:
    shown = read(await TransactionReader(parts, "nobody").read())
    assert (shown["described"], shown["partitions"], shown["timeline"]["entries"]) == (None, [], [])


async def test_a_timeline_that_may_not_be_read_is_left_out_with_a_word(
    parts: ConsoleParts, opened: tidelog.Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(_: Any) -> None:
        raise ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "not you")

    monkeypatch.setattr(transaction_log.TransactionLog, "newest", refused)
    shown = read(await TransactionReader(parts, "till/1").read())
    assert shown["timeline"] is None
    assert shown["timeline_problem"]["problem"] == "unsupported"
    assert "may not read the topic __transaction_state" in shown["timeline_problem"]["message"]
    assert shown["described"]["state"] == "Ongoing"


# -- the end of an open one -----------------------------------------------------------------------------------------


def asked(shown: Any) -> dict[str, Any]:
    found = shown["described"]
    return {
        "id": shown["id"],
        "producer_id": found["producer_id"],
        "producer_epoch": found["producer_epoch"],
        "start_ms": found["start_ms"],
    }


async def test_an_open_transaction_is_aborted_and_its_producer_fenced(
    console: Console, opened: tidelog.Producer
) -> None:
    shown = read(await TransactionReader(console.parts, "till/1").read())
    answer = await post(console, "transaction/abort", asked(shown))
    assert answer.status == 200, answer.text
    assert answer.document["producer_epoch"] > shown["described"]["producer_epoch"]

    async def readers_go_on() -> None:
        assert (await stable(console.parts, FIRST), await stable(console.parts, SECOND)) == (4, 2)

    await eventually(readers_go_on)
    with pytest.raises(FencedError):
        await opened.commit_transaction()


async def test_what_has_ended_in_the_meantime_is_not_aborted(console: Console, opened: tidelog.Producer) -> None:
    shown = read(await TransactionReader(console.parts, "till/1").read())
    await opened.commit_transaction()
    answer = await post(console, "transaction/abort", asked(shown))
    assert answer.status == 409
    assert "the transaction has ended in the meantime: till/1 is now" in answer.document["message"]


async def test_another_transaction_than_the_shown_one_is_not_aborted(
    console: Console, opened: tidelog.Producer
) -> None:
    shown = read(await TransactionReader(console.parts, "till/1").read())
    await opened.commit_transaction()
    await opened.begin_transaction()
    await (await opened.send(TOPIC, "next", partition=0))
    answer = await post(console, "transaction/abort", asked(shown))
    assert answer.status == 409
    assert "this is not the transaction any more that was shown" in answer.document["message"]
    await opened.commit_transaction()


async def test_an_unknown_id_is_not_created_by_an_abort(console: Console, opened: tidelog.Producer) -> None:
    body = {"id": "nobody", "producer_id": 1, "producer_epoch": 0, "start_ms": None}
    answer = await post(console, "transaction/abort", body)
    assert answer.status == 404
    admin = await console.parts.cluster.admin()
    assert [each.transactional_id for each in await admin.list_transactions()] == ["till/1"]


# -- hanging ones ---------------------------------------------------------------------------------------------------


@pytest.fixture
async def hanging(broker: tidelog.Broker, console: Console) -> int:
    """The producer id of one that has written to the topic without telling its coordinator."""
    async with raw_client(broker.bootstrap_servers) as client:
        producer = RawProducer(client, "forgetful")
        assert await producer.init() == 0
        assert await producer.produce(TOPIC, "hangs") == 0
        return producer.producer_id


async def searched(search: HangingSearch) -> Any:
    for _ in range(100):
        shown = read(await search.read())
        if shown["done"]:
            return shown
    raise AssertionError("the search has no end")


def meant(row: Any) -> dict[str, Any]:
    return {name: row[name] for name in ("topic", "partition", "producer_id", "producer_epoch", "start_offset")}


async def test_hanging_transactions_are_found_among_all_partitions(
    parts: ConsoleParts, opened: tidelog.Producer, hanging: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hanging_transactions, "AT_ONCE", 2)
    search = HangingSearch(parts, 0)
    first = read(await search.read())
    assert (first["done"], first["asked"]) == (False, 2)
    shown = await searched(search)
    assert shown["asked"] == shown["partitions"] > 2
    assert shown["unknown"] == 0
    (row,) = shown["found"]
    assert (row["topic"], row["partition"], row["producer_id"], row["id"]) == (TOPIC, 0, hanging, "forgetful")
    assert row["why"] == (
        "forgetful is Empty at its coordinator, and payments-0 is not among the partitions of its transaction."
    )
    assert (await searched(HangingSearch(parts, 15)))["found"] == [], "it may be one that takes its time"


async def test_a_hanging_transaction_that_holds_others_back_is_named_by_its_producer(
    parts: ConsoleParts, hanging: int, opened: tidelog.Producer
) -> None:
    """Its partition is looked at because another transaction is open there."""
    reader = TransactionsReader(parts)
    shown = read(await reader.read())
    assert [each["hangs"] for each in shown["holding"]] == [False, False], "it may have begun between two questions"
    shown = read(await reader.read())
    assert {each["id"]: each["hangs"] for each in shown["holding"]} == {"forgetful": True, "till/1": False}
    first, second = shown["holding"]
    assert (first["producer_id"], first["start_ms"]) == (hanging, None)
    assert [(each["partition"], each["offset"], each["queue"]) for each in first["partitions"]] == [(0, 0, 1)]
    assert second["id"] == "till/1"


async def test_a_hanging_transaction_is_aborted_in_its_partition(console: Console, hanging: int) -> None:
    (row,) = (await searched(HangingSearch(console.parts, 0)))["found"]
    assert await stable(console.parts, FIRST) == 0
    answer = await post(console, "transactions/hanging/abort", meant(row))
    assert answer.status == 200, answer.text
    assert await stable(console.parts, FIRST) == 2
    assert (await searched(HangingSearch(console.parts, 0)))["found"] == []
    again = await post(console, "transactions/hanging/abort", meant(row))
    assert again.status == 409
    assert "is not open any more in payments-0" in again.document["message"]


async def test_a_transaction_that_its_coordinator_will_end_is_not_aborted_as_a_hanging_one(
    console: Console, opened: tidelog.Producer
) -> None:
    admin = await console.parts.cluster.admin()
    (producer,) = admin.raise_any(await admin.describe_producers([FIRST]))[FIRST]
    body = {
        "topic": TOPIC,
        "partition": 0,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.producer_epoch,
        "start_offset": producer.transaction_start,
    }
    answer = await post(console, "transactions/hanging/abort", body)
    assert answer.status == 409
    assert "does not hang: its coordinator will end it" in answer.document["message"]
    assert await stable(console.parts, FIRST) == 2
    await opened.commit_transaction()


async def test_a_transaction_whose_id_this_client_may_not_see_is_not_taken_for_one_that_hangs() -> None:
    """Coordinators say nothing of an id that somebody may not describe, so it looks like one that has expired."""
    properties = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
    }
    async with tidelog.Broker(port=0, properties=properties) as broker, console_of(broker) as console:
        admin = await console.parts.cluster.admin()
        async with tidelog.Producer(broker.bootstrap_servers, transactional_id="till") as producer:
            await producer.init_transactions()
            await producer.begin_transaction()
            await (await producer.send(TOPIC, "open", partition=0))
            await commit(console.parts, "readers", p0=0)
            # From now on others than this user have no rights with transactional ids.
            everything = ResourcePattern(resource_type=AclResourceType.TRANSACTIONAL_ID, name="*")
            entry = AccessControlEntry(
                principal="User:somebody", operation=Operation.DESCRIBE, permission_type=PermissionType.ALLOW
            )
            allow = AclBinding(pattern=everything, entry=entry)
            admin.raise_any(await admin.create_acls([allow]))
            assert await admin.list_transactions() == []

            group = GroupReader(console.parts, "readers")
            for _ in range(2):
                shown = read(await group.read())
                (holding,) = shown["holding"]
                assert (holding["id"], holding["hangs"], holding["hidden"]) == (None, False, True)

            (row,) = (await searched(HangingSearch(console.parts, 0)))["found"]
            assert row["may_go_on"]
            assert "Perhaps it does not hang" in row["why"]
            answer = await post(console, "transactions/hanging/abort", meant(row))
            assert answer.status == 409
            assert "nobody can tell whether the transaction" in answer.document["message"]
            assert await stable(console.parts, FIRST) == 0
            answer = await post(console, "transactions/hanging/abort", {**meant(row), "may_go_on": True})
            assert answer.status == 200, answer.text
            assert await stable(console.parts, FIRST) == 2


# -- coordinators that are away, and those that do not answer ---------------------------------------------------------


@pytest.fixture
def coordinator_is_away(opened: tidelog.Producer, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a crash of the only replica: no partition of the log has a leader, and nobody lists its ids."""
    fetch = Cluster.fetch_metadata

    async def without_leaders(self: Cluster, topics: Any, **options: Any) -> ClusterMetadata:
        found = await fetch(self, topics, **options)
        logs = {
            name: replace(
                topic,
                partitions=tuple(replace(each, leader=-1, replicas=(7,), in_sync=()) for each in topic.partitions),
            )
            for name, topic in found.topics.items()
            if name == TRANSACTION_STATE_TOPIC
        }
        return replace(found, topics={**found.topics, **logs})

    async def knows_none(*_: Any) -> list[TransactionListing]:
        return []

    monkeypatch.setattr(Cluster, "fetch_metadata", without_leaders)
    monkeypatch.setattr(Admin, "_list_transactions_of", knows_none)


@pytest.mark.usefixtures("coordinator_is_away")
async def test_a_transaction_whose_coordinator_is_away_does_not_hang(parts: ConsoleParts) -> None:
    await commit(parts, "readers", p0=0)
    transactions, group, producers = (
        TransactionsReader(parts),
        GroupReader(parts, "readers"),
        ProducersReader(parts, FIRST),
    )
    for _ in range(2):
        shown = read(await transactions.read())
        assert (shown["transactions"], shown["leaderless"]) == ([], 4)
        (holding,) = read(await group.read())["holding"]
        assert (holding["id"], holding["hangs"], holding["hidden"], holding["leaderless"]) == (None, False, False, 4)
    assert read(await producers.read())["ids_leaderless"] == 4


@pytest.mark.usefixtures("coordinator_is_away")
async def test_a_transaction_whose_coordinator_is_away_is_neither_offered_nor_aborted(console: Console) -> None:
    """The coordinator may come back and commit it: with an abort marker the transaction would be in parts."""
    shown = await searched(HangingSearch(console.parts, 0))
    assert (shown["found"], shown["undecided"]) == ([], 2)
    assert shown["away"] == "4 partitions of __transaction_state have no leader. Bring back broker 7"
    admin = await console.parts.cluster.admin()
    (producer,) = admin.raise_any(await admin.describe_producers([FIRST]))[FIRST]
    body = {
        "topic": TOPIC,
        "partition": 0,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.producer_epoch,
        "start_offset": producer.transaction_start,
    }
    for may_go_on in (False, True):
        answer = await post(console, "transactions/hanging/abort", {**body, "may_go_on": may_go_on})
        assert answer.status == 409
        assert "nobody can tell whether the transaction of producer" in answer.document["message"]
        assert "Bring back broker 7 and look again" in answer.document["message"]
    assert await stable(console.parts, FIRST) == 2


async def test_groups_whose_coordinator_is_away_are_left_out_with_a_word(
    parts: ConsoleParts, monkeypatch: pytest.MonkeyPatch
) -> None:
    await commit(parts, "readers", p0=0)
    assert read(await GroupsReader(parts).read())["leaderless"] == 0
    fetch = Cluster.fetch_metadata

    async def without_a_leader(self: Cluster, topics: Any, **options: Any) -> ClusterMetadata:
        found = await fetch(self, topics, **options)
        log = found.topics.get(CONSUMER_OFFSETS_TOPIC)
        if log is None:
            return found
        first, *others = log.partitions
        log = replace(log, partitions=(replace(first, leader=-1), *others))
        return replace(found, topics={**found.topics, log.name: log})

    monkeypatch.setattr(Cluster, "fetch_metadata", without_a_leader)
    assert read(await GroupsReader(parts).read())["leaderless"] == 1


async def test_a_description_that_fails_is_no_sign_of_a_hanging_transaction(
    parts: ConsoleParts, broker: tidelog.Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other transaction makes the page look at the partition."""
    await commit(parts, "readers", p0=0)
    silence = ApiError(ErrorCode.REQUEST_TIMED_OUT, "the coordinator has not answered")
    async with (
        tidelog.Producer(broker.bootstrap_servers, transactional_id="first") as first,
        tidelog.Producer(broker.bootstrap_servers, transactional_id="second") as second,
    ):
        for producer in (first, second):
            await producer.init_transactions()
            await producer.begin_transaction()
            await (await producer.send(TOPIC, "open", partition=0))
        admin = await parts.cluster.watcher()
        describe = admin.describe_transactions

        async def silent_about_the_first(ids: list[str]) -> Any:
            return {**await describe(ids), **({"first": silence} if "first" in ids else {})}

        monkeypatch.setattr(admin, "describe_transactions", silent_about_the_first)
        transactions, group = TransactionsReader(parts), GroupReader(parts, "readers")
        for _ in range(3):
            for document in (await transactions.read(), await group.read()):
                (holding,) = read(document)["holding"]
                assert (holding["id"], holding["hangs"]) == ("first", False)


# -- producers of a partition ---------------------------------------------------------------------------------------


async def test_producers_with_their_last_batches(
    parts: ConsoleParts, broker: tidelog.Broker, opened: tidelog.Producer
) -> None:
    async with tidelog.Producer(broker.bootstrap_servers) as producer:
        for number in range(7):
            await (await producer.send(TOPIC, str(number), partition=0))
    shown = read(await ProducersReader(parts, FIRST).read())
    assert (shown["last_stable_offset"], shown["high_watermark"]) == (2, 10)
    assert shown["batches_told"]
    first, second = shown["producers"]
    assert (first["transactional_id"], first["open_since"], first["last_sequence"]) == ("till/1", 2, 0)
    assert (second["transactional_id"], second["open_since"], second["last_sequence"]) == (None, None, 6)
    assert [(each["base_sequence"], each["last_sequence"], each["last_offset"]) for each in second["batches"]] == [
        (number, number, 3 + number) for number in range(2, 7)
    ]


async def test_producers_are_bounded_and_open_transactions_stay(
    parts: ConsoleParts, broker: tidelog.Broker, opened: tidelog.Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with tidelog.Producer(broker.bootstrap_servers) as producer:
        await (await producer.send(TOPIC, "later", partition=0))
    monkeypatch.setattr("tidelog.console.pages.producers.MOST_PRODUCERS", 1)
    shown = read(await ProducersReader(parts, FIRST).read())
    assert [each["transactional_id"] for each in shown["producers"]] == ["till/1"]
    assert shown["left_out"] == 1


async def test_producers_of_a_partition_that_is_not_there(parts: ConsoleParts) -> None:
    with pytest.raises(ApiError, match="only 0 to 1"):
        await ProducersReader(parts, TopicPartition(TOPIC, 7)).read()


async def test_a_partition_without_answer_is_left_out_with_a_word(
    parts: ConsoleParts, opened: tidelog.Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = await parts.cluster.watcher()
    describe = admin.describe_producers

    async def one_is_missing(partitions: Any, **options: Any) -> Any:
        return {**await describe(partitions, **options), SECOND: ApiError(ErrorCode.LEADER_NOT_AVAILABLE, "no leader")}

    monkeypatch.setattr(admin, "describe_producers", one_is_missing)
    shown = read(await TransactionsReader(parts).read())
    assert shown["partitions_unknown"] == ["payments-1"]
    (holding,) = shown["holding"]
    assert [each["partition"] for each in holding["partitions"]] == [0]
    one = read(await TransactionReader(parts, "till/1").read())
    assert "no leader" in one["partitions"][1]["problem"]
    assert one["partitions"][1]["high_watermark"] is None


def test_states_of_open_transactions_are_the_coordinators() -> None:
    states = {TransactionState.ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT}
    assert {state.label for state in states} == set(OPEN_STATES)


def test_bounds_have_sense() -> None:
    assert transaction_log._WINDOW < transaction_log.MOST_READ
    assert open_transactions._NEAR < 1000
