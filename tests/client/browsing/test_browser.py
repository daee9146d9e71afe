"""`LogBrowser` against tidelog and Apache Kafka."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest
from support.eventually import eventually

import tidelog
from tidelog.client.admin import Admin
from tidelog.client.browsing import ControlEntry, Entry, LogBrowser, RecordEntry, TransactionOutcome
from tidelog.client.browsing import browser as browser_module
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition


def shown(entries: tuple[Entry, ...]) -> list[object]:
    """The kind of a control record, or value and outcome of a record."""
    lines: list[object] = []
    for entry in entries:
        if isinstance(entry, ControlEntry):
            lines.append(entry.kind)
        else:
            assert isinstance(entry, RecordEntry), entry
            lines.append((entry.value, entry.outcome))
    return lines


async def test_transactions_are_marked_on_their_records(admin: Admin, servers: str, unique: str) -> None:
    await admin.create_topic(unique, partitions=1)
    partition = TopicPartition(unique, 0)
    browser = LogBrowser(admin)

    async def write(producer: tidelog.Producer, value: bytes) -> None:
        await (await producer.send(unique, value, partition=0))

    async def expect(expected: Sequence[object]) -> None:
        async def check() -> None:
            page = await browser.page(partition, 0)
            assert shown(page.entries) == list(expected)
            assert page.next_offset == page.high_watermark == len(expected)

        await eventually(check)

    async with (
        tidelog.Producer(bootstrap_servers=servers) as plain,
        tidelog.Producer(bootstrap_servers=servers, transactional_id=f"{unique}-a") as a,
        tidelog.Producer(bootstrap_servers=servers, transactional_id=f"{unique}-b") as b,
    ):
        await expect([])
        await write(plain, b"plain")
        await a.init_transactions()
        await b.init_transactions()
        await a.begin_transaction()
        await write(a, b"a1")
        await a.abort_transaction()
        before = [(b"plain", None), (b"a1", TransactionOutcome.ABORTED), "ABORT"]
        await expect(before)
        await a.begin_transaction()
        await write(a, b"a2")
        # What ends behind an open transaction is known before the last stable offset gets there.
        for commit in (True, False):
            await b.begin_transaction()
            await write(b, b"b1")
            await (b.commit_transaction() if commit else b.abort_transaction())
        behind = [(b"b1", TransactionOutcome.COMMITTED), "COMMIT", (b"b1", TransactionOutcome.ABORTED), "ABORT"]
        await expect([*before, (b"a2", TransactionOutcome.OPEN), *behind])
        page = await browser.page(partition, 0)
        assert page.last_stable_offset == 3
        # On a page of its own, too: the markers are on the next one.
        entries = [
            entry for number in range(8) for entry in (await browser.page(partition, number, max_entries=1)).entries
        ]
        assert shown(tuple(entries)) == [*before, (b"a2", TransactionOutcome.OPEN), *behind]
        await a.commit_transaction()
        await expect([*before, (b"a2", TransactionOutcome.COMMITTED), *behind, "COMMIT"])
        assert (await browser.page(partition, 0)).last_stable_offset == 9


async def test_pages_follow_each_other(admin: Admin, servers: str, unique: str) -> None:
    await admin.create_topic(unique, partitions=1)
    partition = TopicPartition(unique, 0)
    async with tidelog.Producer(bootstrap_servers=servers, linger_ms=100) as producer:
        for number in range(25):
            await producer.send(unique, b"%d" % number, partition=0)
    browser = LogBrowser(admin)
    found: list[object] = []
    position = 0
    while (page := await browser.page(partition, position, max_entries=10)).entries:
        assert len(page.entries) <= 10
        found += shown(page.entries)
        position = page.next_offset
    assert found == [(b"%d" % number, None) for number in range(25)]

    Admin.raise_any(await admin.delete_records({partition: 20}))
    # What is no longer there, or not yet, stands for the nearest offset that is.
    for offset, first in ((0, 20), (19, 20), (22, 22)):
        page = await browser.page(partition, offset)
        assert page.entries[0].offset == first
        assert page.log_start_offset == 20
    beyond = await browser.page(partition, 1_000)
    assert (beyond.entries, beyond.next_offset) == ((), 25)


async def test_what_unpacks_to_much_is_read_page_by_page_and_off_the_loop(
    admin: Admin, servers: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await admin.create_topic(unique, partitions=1)
    partition = TopicPartition(unique, 0)
    async with tidelog.Producer(bootstrap_servers=servers, compression_type="gzip", linger_ms=0) as producer:
        for _ in range(4):
            await (await producer.send(unique, bytes(900_000), partition=0))
    threads: list[threading.Thread] = []
    decode = vars(browser_module)["entries_of"]

    def noting(*arguments: Any, **named: Any) -> Any:
        threads.append(threading.current_thread())
        return decode(*arguments, **named)

    monkeypatch.setattr(browser_module, "entries_of", noting)
    found = []
    position = 0
    while position < 4:
        page = await LogBrowser(admin).page(partition, position, max_unpacked_bytes=2_000_000)
        found.append([entry.offset for entry in page.entries])
        position = page.next_offset
    assert found == [[0, 1], [2, 3]]
    assert threading.main_thread() not in threads


async def test_what_is_not_there_is_said(admin: Admin, unique: str) -> None:
    with pytest.raises(ApiError) as raised:
        await LogBrowser(admin).page(TopicPartition(unique, 0), 0)
    assert raised.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
