"""Transactions that one producer fills and another process ends."""

from __future__ import annotations

import pytest
from support.client_reading import read_committed

from tidelog.client.admin import Admin
from tidelog.client.errors import FencedError
from tidelog.client.producer.producer import Producer
from tidelog.client.transactions.handover import OpenTransaction, end_transaction


async def fill(servers: str, name: str, value: bytes) -> OpenTransaction:
    async with Producer(servers, transactional_id=name) as producer:
        await producer.init_transactions()
        await producer.begin_transaction()
        await producer.send(name, value)
        return await producer.hand_over_transaction()


async def create(servers: str, name: str) -> None:
    async with Admin(servers) as admin:
        await admin.create_topic(name, partitions=1)


@pytest.mark.parametrize("commit", [True, False])
async def test_transaction_outlives_its_producer_until_somebody_ends_it(
    bootstrap_servers: str, unique: str, commit: bool
) -> None:
    await create(bootstrap_servers, unique)
    config = {"bootstrap.servers": bootstrap_servers}

    handed_over = await fill(bootstrap_servers, unique, b"value")
    await end_transaction(config, handed_over, commit=commit)
    await end_transaction(config, await fill(bootstrap_servers, unique, b"next"), commit=True)

    assert await read_committed(bootstrap_servers, unique) == ([b"value", b"next"] if commit else [b"next"])


async def test_transaction_of_a_producer_that_was_replaced_cannot_be_ended_any_more(
    bootstrap_servers: str, unique: str
) -> None:
    await create(bootstrap_servers, unique)
    handed_over = await fill(bootstrap_servers, unique, b"first")
    second = await fill(bootstrap_servers, unique, b"second")

    with pytest.raises(FencedError):
        await end_transaction({"bootstrap.servers": bootstrap_servers}, handed_over, commit=True)
    await end_transaction({"bootstrap.servers": bootstrap_servers}, second, commit=True)

    assert await read_committed(bootstrap_servers, unique) == [b"second"]
