"""What `Admin` tells about transactions, and how it ends one that is open."""

from __future__ import annotations

import pytest
from support.eventually import eventually

import tidelog
from tidelog.client.admin import Admin, TransactionDescription, transactions
from tidelog.client.errors import FencedError
from tidelog.client.offsets.committed import OffsetAndMetadata
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.offset_times import LATEST


async def is_stable_up_to(admin: Admin, partition: TopicPartition, offset: int) -> None:
    """Markers are committed a moment after the coordinator has answered."""

    async def check() -> None:
        found = Admin.raise_any(await admin.list_offsets({partition: LATEST}, read_committed=True))
        assert found[partition].offset == offset

    await eventually(check)


async def test_an_open_transaction_is_terminated_and_its_producer_fenced(
    admin: Admin, servers: str, unique: str
) -> None:
    await admin.create_topic(unique, partitions=1)
    partition = TopicPartition(unique, 0)
    async with tidelog.Producer(servers, transactional_id=unique) as producer:
        await producer.init_transactions()
        await producer.begin_transaction()
        await (await producer.send(unique, "never seen", partition=0))
        before = Admin.raise_any(await admin.describe_transactions([unique]))[unique]
        assert (before.state, before.partitions) == ("Ongoing", (partition,))
        await is_stable_up_to(admin, partition, 0)

        producer_id, epoch = await admin.force_terminate_transaction(unique)
        assert producer_id == before.producer_id
        assert epoch > before.producer_epoch
        after = Admin.raise_any(await admin.describe_transactions([unique]))[unique]
        assert (after.state, after.start_ms, after.partitions) == ("Empty", None, ())
        # The record and the marker.
        await is_stable_up_to(admin, partition, 2)
        with pytest.raises(FencedError):
            await producer.commit_transaction()


async def test_a_successor_of_a_terminated_producer_goes_on(admin: Admin, servers: str, unique: str) -> None:
    await admin.create_topic(unique, partitions=1)
    async with tidelog.Producer(servers, transactional_id=unique) as producer:
        await producer.init_transactions()
    await admin.force_terminate_transaction(unique)
    async with tidelog.Producer(servers, transactional_id=unique) as producer:
        await producer.init_transactions()
        async with producer.transaction():
            await producer.send(unique, "seen", partition=0)
    await is_stable_up_to(admin, TopicPartition(unique, 0), 2)


async def test_many_transactional_ids_are_described_together(
    admin: Admin, servers: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "_DESCRIBED_AT_ONCE", 2)
    ids = [f"{unique}-{number}" for number in range(5)]
    for transactional_id in ids:
        async with tidelog.Producer(servers, transactional_id=transactional_id) as producer:
            await producer.init_transactions()
    missing = f"{unique}-nobody"
    described = await admin.describe_transactions([*ids, missing])
    unknown = described.pop(missing)
    assert isinstance(unknown, ApiError)
    assert unknown.code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert list(described) == ids
    for transactional_id, found in described.items():
        assert isinstance(found, TransactionDescription)
        assert (found.transactional_id, found.state, found.partitions) == (transactional_id, "Empty", ())
    assert await admin.describe_transactions([]) == {}


async def test_offsets_of_many_groups_for_some_partitions(admin: Admin, unique: str) -> None:
    await admin.create_topic(unique, partitions=2)
    first, second = TopicPartition(unique, 0), TopicPartition(unique, 1)
    groups = [f"{unique}-{number}" for number in range(3)]
    for number, group in enumerate(groups):
        offsets = {first: OffsetAndMetadata(offset=number), second: OffsetAndMetadata(offset=7)}
        await admin.alter_group_offsets(group, offsets)

    async def check() -> None:
        found = Admin.raise_any(await admin.list_offsets_of_groups(groups, [first]))
        assert {group: {at: place.offset for at, place in theirs.items()} for group, theirs in found.items()} == {
            group: {first: number} for number, group in enumerate(groups)
        }

    await eventually(check)
