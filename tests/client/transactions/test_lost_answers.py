"""Transactions over connections that are cut: what was lost is asked for again, and what is not known is said to be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from support.client_reading import read_committed
from support.cutting_proxy import CuttingProxy, running_proxy
from support.processes import HANG_SECONDS, free_port

from tidelog import Broker
from tidelog.client.admin import Admin
from tidelog.client.errors import AbortableError, DeliveryFailed, FatalError, FencedError, OutcomeUnknown
from tidelog.client.producer.producer import Producer
from tidelog.client.transactions import transactions
from tidelog.client.transactions.coordinator_requests import TRANSACTIONS, Asking, CoordinatorRequests
from tidelog.client.transactions.verdicts import RequestKind
from tidelog.model.ids import TopicPartition

PRODUCE = 0
INIT_PRODUCER_ID = 22
ADD_PARTITIONS = 24
ADD_OFFSETS = 25
END = 26
TXN_OFFSET_COMMIT = 28
FOR_EVER = 100_000


@pytest.fixture(params=["second", "first"])
def protocol(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "first":
        monkeypatch.setattr(transactions, "SECOND_PROTOCOL", 99)
    return str(request.param)


@pytest.fixture
async def cut_broker() -> AsyncIterator[tuple[CuttingProxy, str]]:
    """A tidelog broker that is reached through a proxy, with a topic "t" of two partitions."""
    async with running_proxy() as (proxy, port):
        advertised = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}"}
        proxy.target = ("127.0.0.1", free_port())
        async with Broker(port=proxy.target[1], properties=advertised):
            servers = f"127.0.0.1:{port}"
            async with Admin(servers) as admin:
                await admin.create_topic("t", partitions=2)
            yield proxy, servers


def quick(servers: str, **options: object) -> Producer:
    backoff = {"retry_backoff_ms": 5, "retry_backoff_max_ms": 20, "reconnect_backoff_ms": 5}
    return Producer(servers, transactional_id="x", **backoff, **options)  # type: ignore[arg-type]


@contextmanager
def impatient(producer: Producer) -> Iterator[None]:
    """A short max.block.ms for the calls in the block; those before and after may take their time."""
    assert producer._transactions is not None
    coordinator = producer._transactions._coordinator
    patient = coordinator._config
    coordinator._config = replace(patient, max_block_ms=400)
    try:
        yield
    finally:
        coordinator._config = patient


async def test_lost_requests_and_answers_are_sent_again(cut_broker: tuple[CuttingProxy, str], protocol: str) -> None:
    """Scenario 10 within transactions: each request is lost, and each answer."""
    proxy, servers = cut_broker
    expected: list[bytes] = []
    async with quick(servers) as producer:
        proxy.cut_replies[INIT_PRODUCER_ID] = 1
        await producer.init_transactions()
        for api_key in (PRODUCE, ADD_PARTITIONS, ADD_OFFSETS, TXN_OFFSET_COMMIT, END):
            for cuts in (proxy.cut_requests, proxy.cut_replies):
                cuts[api_key] = 1
                value = b"%d" % len(expected)
                async with producer.transaction():
                    await producer.send("t", value, partition=0)
                    await producer.send_offsets({TopicPartition("t", 1): len(expected)}, "group")
                expected.append(value)
                # What the protocol does not use stays uncut.
                cuts[api_key] = 0
    assert proxy.cuts >= 7
    assert await read_committed(servers, "t") == expected


async def test_many_cuts_lose_nothing_and_repeat_nothing(cut_broker: tuple[CuttingProxy, str], protocol: str) -> None:
    proxy, servers = cut_broker
    expected: dict[int, list[bytes]] = {0: [], 1: []}
    async with quick(servers, batch_size=200, linger_ms=0) as producer:
        await producer.init_transactions()
        for number in range(8):
            proxy.cut_requests[PRODUCE] += 1
            proxy.cut_replies[PRODUCE] += 1
            async with producer.transaction():
                for record in range(60):
                    value = b"%d.%d" % (number, record)
                    await producer.send("t", value, partition=record % 2)
                    expected[record % 2].append(value)
                    if record % 10 == 0:
                        await asyncio.sleep(0.002)
    assert proxy.cuts >= 8
    assert await read_committed(servers, "t") == expected[0] + expected[1]


async def test_a_commit_without_an_answer_is_of_unknown_outcome_and_can_be_repeated(
    cut_broker: tuple[CuttingProxy, str], protocol: str
) -> None:
    proxy, servers = cut_broker
    async with quick(servers) as producer:
        await producer.init_transactions()
        await producer.begin_transaction()
        await producer.send("t", "x", partition=0)
        await producer.flush()
        proxy.cut_replies[END] = FOR_EVER
        unknown = r"not known whether the transaction is committed.*max\.block\.ms=400"
        with impatient(producer), pytest.raises(OutcomeUnknown, match=unknown):
            await producer.commit_transaction()
        with pytest.raises(Exception, match="call commit_transaction again, or init_transactions"):
            await producer.abort_transaction()
        proxy.cut_replies[END] = 0
        await producer.commit_transaction()
        async with producer.transaction():
            await producer.send("t", "y", partition=0)
    assert await read_committed(servers, "t") == [b"x", b"y"]


async def test_after_an_unknown_outcome_one_can_start_anew(cut_broker: tuple[CuttingProxy, str], protocol: str) -> None:
    proxy, servers = cut_broker
    async with quick(servers) as producer:
        await producer.init_transactions()
        await producer.begin_transaction()
        await producer.send("t", "x", partition=0)
        proxy.cut_requests[END] = FOR_EVER
        with impatient(producer), pytest.raises(OutcomeUnknown):
            await producer.commit_transaction()
        proxy.cut_requests[END] = 0
        await producer.init_transactions()
        assert await read_committed(servers, "t") == [], "what never arrived is aborted by the next start"
        async with producer.transaction():
            await producer.send("t", "y", partition=0)
    assert await read_committed(servers, "t") == [b"y"]


async def test_a_refusal_after_a_lost_answer_leaves_the_outcome_unknown(
    cut_broker: tuple[CuttingProxy, str], protocol: str
) -> None:
    """The first try commits; another producer comes; the second try is fenced, which says nothing about the first."""
    proxy, servers = cut_broker
    async with quick(servers) as producer, quick(servers) as other:
        await producer.init_transactions()
        await producer.begin_transaction()
        await producer.send("t", "x", partition=0)
        await producer.flush()
        proxy.cut_replies[END] = FOR_EVER
        commit = asyncio.create_task(producer.commit_transaction())
        async with asyncio.timeout(HANG_SECONDS):
            while await read_committed(servers, "t") != [b"x"]:
                await asyncio.sleep(0.01)
            await other.init_transactions()
            proxy.cut_replies[END] = 0
            with pytest.raises(OutcomeUnknown) as unknown:
                await commit
        assert isinstance(unknown.value.cause, FencedError)
        with pytest.raises(FencedError):
            await producer.begin_transaction()


async def test_a_commit_that_finds_no_coordinator_did_not_happen(cut_broker: tuple[CuttingProxy, str]) -> None:
    proxy, servers = cut_broker
    async with quick(servers, socket_connection_setup_timeout_ms=1000) as producer:
        await producer.init_transactions()
        await producer.begin_transaction()
        await (await producer.send("t", "x", partition=0))
        target, proxy.target = proxy.target, ("127.0.0.1", 1)
        proxy.cut_all()
        async with asyncio.timeout(HANG_SECONDS):
            while producer._cluster.open_connection_to(1, TRANSACTIONS) is not None:
                await asyncio.sleep(0.01)
        with impatient(producer), pytest.raises(AbortableError, match="the commit did not reach the coordinator"):
            await producer.commit_transaction()
        proxy.target = target
        await producer.abort_transaction()
    assert await read_committed(servers, "t") == []


# Scenario 18, KAFKA-17754.
async def test_a_commit_delayed_from_one_transaction_is_refused_in_the_next(
    cut_broker: tuple[CuttingProxy, str],
) -> None:
    _, servers = cut_broker
    async with quick(servers) as producer:
        await producer.init_transactions()
        assert producer._transactions is not None
        first = producer._transactions.identity
        async with producer.transaction():
            await producer.send("t", "first", partition=0)
        await producer.begin_transaction()
        await producer.send("t", "second", partition=0)
        await producer.flush()
        assert producer._transactions.identity.epoch > first.epoch
        late = CoordinatorRequests(producer._cluster, producer._config, "x")
        # Told of as done, because it is the repeated commit of the first transaction; the second one is not touched.
        with pytest.raises(FatalError):
            await late.end(Asking(RequestKind.END), first, commit=True, second_protocol=True)
        await producer.abort_transaction()
    assert await read_committed(servers, "t") == [b"first"]


async def test_records_that_cannot_be_delivered_in_time_fail_the_transaction_and_the_next_one_works(
    cut_broker: tuple[CuttingProxy, str], protocol: str
) -> None:
    proxy, servers = cut_broker
    times = {"delivery_timeout_ms": 400, "request_timeout_ms": 300, "linger_ms": 0}
    async with quick(servers, **times) as producer:
        await producer.init_transactions()
        await producer.begin_transaction()
        await (await producer.send("t", "stored", partition=0))
        proxy.cut_requests[PRODUCE] = FOR_EVER
        delivery = await producer.send("t", "never", partition=0)
        with pytest.raises(DeliveryFailed, match="may or may not be stored"):
            await delivery
        with pytest.raises(AbortableError, match=r"delivery\.timeout\.ms=400"):
            await producer.commit_transaction()
        proxy.cut_requests[PRODUCE] = 0
        await producer.abort_transaction()
        for value in ("next", "and next"):
            async with producer.transaction():
                await producer.send("t", value, partition=0)
    assert await read_committed(servers, "t") == [b"next", b"and next"]


async def test_offsets_of_unknown_fate_fail_the_transaction(
    cut_broker: tuple[CuttingProxy, str], protocol: str
) -> None:
    proxy, servers = cut_broker
    async with quick(servers) as producer:
        await producer.init_transactions()
        await producer.begin_transaction()
        proxy.cut_replies[TXN_OFFSET_COMMIT] = FOR_EVER
        unknown = "not known whether the offsets are part of the transaction"
        with impatient(producer), pytest.raises(AbortableError, match=unknown):
            await producer.send_offsets({TopicPartition("t", 0): 5}, "group")
        with pytest.raises(AbortableError, match="commit_transaction is refused"):
            await producer.commit_transaction()
        proxy.cut_replies[TXN_OFFSET_COMMIT] = 0
        await producer.abort_transaction()
    async with Admin(servers) as admin:
        assert not await admin.list_group_offsets("group")


async def test_an_interrupted_abort_can_be_repeated_or_started_over(
    cut_broker: tuple[CuttingProxy, str], protocol: str
) -> None:
    _, servers = cut_broker
    async with quick(servers, batch_size=100, linger_ms=0) as producer:
        await producer.init_transactions()
        for again in (producer.abort_transaction, producer.init_transactions):
            await producer.begin_transaction()
            for number in range(200):
                await producer.send("t", b"%d" % number, partition=number % 2)
            abort = asyncio.create_task(producer.abort_transaction())
            await asyncio.sleep(0)
            abort.cancel()
            with pytest.raises(asyncio.CancelledError):
                await abort
            await again()
        async with producer.transaction():
            await producer.send("t", "after", partition=0)
    assert await read_committed(servers, "t") == [b"after"]


async def test_an_interrupted_commit_goes_on_being_an_open_transaction(
    cut_broker: tuple[CuttingProxy, str], protocol: str
) -> None:
    _, servers = cut_broker
    async with quick(servers) as producer:
        await producer.init_transactions()
        await producer.begin_transaction()
        for number in range(50):
            await producer.send("t", b"%d" % number, partition=0)
        commit = asyncio.create_task(producer.commit_transaction())
        # It waits for the deliveries: nothing has been decided yet.
        await asyncio.sleep(0)
        with pytest.raises(Exception, match="await the call before"):
            await producer.send("t", "too late")
        commit.cancel()
        with pytest.raises(asyncio.CancelledError):
            await commit
        await producer.send("t", "one more", partition=0)
        await producer.commit_transaction()
    assert (await read_committed(servers, "t"))[-2:] == [b"49", b"one more"]
