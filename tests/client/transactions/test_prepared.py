"""Prepared transactions (KIP-939): decided elsewhere, and kept over a crash of the producer."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from support.client_reading import read_all, read_committed

from tidelog import Broker
from tidelog.client.admin import Admin
from tidelog.client.errors import FatalError, FencedError, WrongTransactionState, WrongUse
from tidelog.client.producer.producer import Producer
from tidelog.client.transactions.prepared import PreparedTransactionState
from tidelog.model.ids import TopicPartition


@pytest.fixture
async def two_phase_servers() -> AsyncIterator[str]:
    async with Broker(properties={"transaction.two.phase.commit.enable": "true"}) as broker:
        async with Admin(broker.bootstrap_servers) as admin:
            await admin.create_topic("t", partitions=1)
        yield broker.bootstrap_servers


def participant(servers: str) -> Producer:
    return Producer(servers, transactional_id="x", transaction_two_phase_commit_enable=True)


async def prepare_and_crash(servers: str) -> PreparedTransactionState:
    """Like a process that dies between preparing and deciding."""
    producer = participant(servers)
    await producer.start()
    await producer.init_transactions()
    await producer.begin_transaction()
    await producer.send("t", "prepared")
    await producer.send_offsets({TopicPartition("t", 0): 7}, "group")
    state = await producer.prepare_transaction()
    await producer.close()
    return state


async def test_a_prepared_transaction_is_committed_or_aborted(two_phase_servers: str) -> None:
    async with participant(two_phase_servers) as producer:
        await producer.init_transactions()
        for value, commit in (("first", True), ("second", False), ("third", True)):
            await producer.begin_transaction()
            await producer.send("t", value)
            state = await producer.prepare_transaction()
            assert not state.is_empty
            assert PreparedTransactionState.parse(str(state)) == state
            with pytest.raises(WrongTransactionState, match="decide it with commit_transaction"):
                await producer.send("t", "too late")
            await (producer.commit_transaction() if commit else producer.abort_transaction())
    assert await read_committed(two_phase_servers, "t") == [b"first", b"third"]


@pytest.mark.parametrize("decided", [True, False], ids=["the decision was stored", "it was not"])
async def test_the_successor_completes_what_was_prepared(two_phase_servers: str, decided: bool) -> None:
    prepared = await prepare_and_crash(two_phase_servers)
    assert len(await read_all(two_phase_servers, "t")) == 1
    stored = prepared if decided else PreparedTransactionState()
    async with participant(two_phase_servers) as successor:
        await successor.init_transactions(keep_prepared=True)
        with pytest.raises(WrongTransactionState, match="complete_transaction"):
            await successor.begin_transaction()
        await successor.complete_transaction(stored)
        async with successor.transaction():
            await successor.send("t", "next")
    expected = [b"prepared", b"next"] if decided else [b"next"]
    assert await read_committed(two_phase_servers, "t") == expected
    async with Admin(two_phase_servers) as admin:
        offsets = await admin.list_group_offsets("group")
    assert ({TopicPartition("t", 0)} if decided else set()) == set(offsets)


async def test_without_keeping_it_a_prepared_transaction_is_aborted(two_phase_servers: str) -> None:
    await prepare_and_crash(two_phase_servers)
    async with participant(two_phase_servers) as successor:
        await successor.init_transactions()
        async with successor.transaction():
            await successor.send("t", "next")
    assert await read_committed(two_phase_servers, "t") == [b"next"]


async def test_the_one_that_prepared_is_fenced_by_the_successor(two_phase_servers: str) -> None:
    async with participant(two_phase_servers) as first, participant(two_phase_servers) as successor:
        await first.init_transactions()
        await first.begin_transaction()
        await first.send("t", "x")
        state = await first.prepare_transaction()
        await successor.init_transactions(keep_prepared=True)
        with pytest.raises(FencedError):
            await first.commit_transaction()
        await successor.complete_transaction(state)
    assert await read_committed(two_phase_servers, "t") == [b"x"]


async def test_with_nothing_prepared_the_producer_is_ready(two_phase_servers: str) -> None:
    async with participant(two_phase_servers) as producer:
        await producer.init_transactions(keep_prepared=True)
        await producer.begin_transaction()
        empty = await producer.prepare_transaction()
        assert empty == PreparedTransactionState()
        assert str(empty) == ""
        await producer.complete_transaction(empty)


async def test_brokers_that_do_not_allow_it_say_so(servers: str, unique: str) -> None:
    """The default of tidelog's, and Apache Kafka's."""
    async with Producer(servers, transactional_id=unique, transaction_two_phase_commit_enable=True) as producer:
        with pytest.raises(FatalError, match=r"two.phase|KIP-939|InitProducerId up to version"):
            await producer.init_transactions(keep_prepared=True)


async def test_it_has_to_be_asked_for_in_the_configuration(servers: str, unique: str) -> None:
    async with Producer(servers, transactional_id=unique) as producer:
        with pytest.raises(WrongUse, match=r"needs transaction\.two\.phase\.commit\.enable=true"):
            await producer.init_transactions(keep_prepared=True)
        await producer.init_transactions()
        await producer.begin_transaction()
        with pytest.raises(WrongUse, match=r"needs transaction\.two\.phase\.commit\.enable=true"):
            await producer.prepare_transaction()


@pytest.mark.parametrize("text", ["x", "1", "1:", ":1", "-1:0", "1:2:3"])
def test_only_the_text_of_a_state_is_one(text: str) -> None:
    with pytest.raises(ValueError, match="is not the state of a prepared transaction"):
        PreparedTransactionState.parse(text)
