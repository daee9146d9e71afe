"""A log read towards newer and towards older entries: the same entries, in parts of bounded size."""

from __future__ import annotations

import asyncio
from typing import cast

from hypothesis import given
from hypothesis import strategies as st
from support.log_entries import marker_entry, record_entry
from support.memory_log import MemoryLogs

from tidelog.client.browsing import Entry, Gap, LogBrowser, LogPage, RecordEntry, Unreadable
from tidelog.client.browsing.page import end_of
from tidelog.client.browsing.page import entries_of as entries_of_page
from tidelog.console.records.directed_logs import DirectedLog, NewerLog, OlderLog, last_offset_of
from tidelog.model.ids import TopicPartition
from tidelog.records.batch import iterate_headers, parse_header
from tidelog.records.compression import Compression
from tidelog.records.record import decode_batch, encode_batch, encode_retained

ORDERS = TopicPartition("orders", 0)
PAGE_BYTES = 2000


async def entries_of(log: DirectedLog) -> list[Entry]:
    found: list[Entry] = []
    while not log.is_done or log.entries:
        if not log.entries:
            await log.fill()
            assert log.entries or log.is_done
        found += log.entries
        log.entries.clear()
    return found


async def newer(logs: MemoryLogs, position: int = 0) -> list[Entry]:
    return await entries_of(NewerLog(logs.browser, ORDERS, position, PAGE_BYTES))


async def older(logs: MemoryLogs, position: int, start: int = 0) -> list[Entry]:
    found = await entries_of(OlderLog(logs.browser, ORDERS, position, PAGE_BYTES, start=start))
    return found[::-1]


# Steps between offsets, and sizes of values: most records small, some larger than a page.
logs_of_any_kind = st.lists(
    st.tuples(st.sampled_from([1, 1, 1, 2, 40, 5000]), st.sampled_from([0, 10, 10, 300, 5000])), max_size=60
).map(
    lambda steps: MemoryLogs(
        {
            0: [
                record_entry(sum(step for step, _ in steps[: index + 1]) - 1, b"x" * size)
                for index, (_, size) in enumerate(steps)
            ]
        }
    )
)


@given(logs_of_any_kind)
def test_both_ways_give_all_entries(logs: MemoryLogs) -> None:
    expected = logs.all(0)
    assert asyncio.run(newer(logs)) == expected
    backwards = asyncio.run(older(logs, logs.end(0)))
    assert joined(backwards) == expected


@given(logs_of_any_kind, st.integers(0, 1000), st.integers(0, 1000))
def test_what_is_older_than_a_position_ends_there(logs: MemoryLogs, place: int, first: int) -> None:
    end = logs.end(0)
    position = place % (end + 1)
    start = first % (position + 1)
    found = asyncio.run(older(logs, position, start))
    offsets = {each for entry in found for each in range(entry.offset, last_offset_of(entry) + 1)}
    assert offsets == set(range(start, position)), "every offset is accounted for"


def joined(entries: list[Entry]) -> list[Entry]:
    """Where what is before a gap is too large to be read together with it, the gap is in two parts."""
    found: list[Entry] = []
    for entry in entries:
        if found and isinstance(entry, Gap) and isinstance(last := found[-1], Gap):
            found[-1] = Gap(offset=last.offset, last_offset=entry.last_offset)
        else:
            found.append(entry)
    return found


async def test_a_long_gap_is_one_gap_and_costs_few_reads() -> None:
    logs = MemoryLogs({0: [*map(record_entry, range(100)), record_entry(10_000_000)]})
    found = await older(logs, 10_000_001)
    assert found[-2:] == [Gap(offset=100, last_offset=9_999_999), record_entry(10_000_000)]
    assert len(found) == 102
    assert logs.pages < 30


async def test_small_records_are_read_in_few_windows() -> None:
    logs = MemoryLogs({0: [record_entry(offset, b"") for offset in range(5000)]})
    log = OlderLog(logs.browser, ORDERS, 5000, 1 << 20, start=0)
    assert len(await entries_of(log)) == 5000
    assert logs.pages < 12


async def test_the_last_records_are_found_without_reading_much_before_them() -> None:
    logs = MemoryLogs({0: [record_entry(offset, b"x" * 100_000) for offset in range(500)]})
    log = OlderLog(logs.browser, ORDERS, 500, 1 << 20, start=0)
    await log.fill()
    assert log.entries[0].offset == 499
    assert logs.read_bytes < 2_000_000


async def test_where_records_become_larger_windows_become_smaller() -> None:
    large = [record_entry(offset, b"x" * 50_000) for offset in range(1000)]
    small = [record_entry(offset, b"") for offset in range(1000, 3000)]
    logs = MemoryLogs({0: [*large, *small]})
    log = OlderLog(logs.browser, ORDERS, 3000, PAGE_BYTES, start=0)
    assert len(await entries_of(log)) == 3000
    assert logs.read_bytes < 1.5 * 1000 * 50_000


async def test_time_is_that_of_the_next_entry_that_has_one() -> None:
    logs = MemoryLogs({0: [record_entry(5, timestamp_ms=70), marker_entry(9, timestamp_ms=90)]})
    log = NewerLog(logs.browser, ORDERS, 0, PAGE_BYTES)
    await log.fill()
    times = []
    while log.entries:
        times.append(log.head_time())
        log.entries.popleft()
    assert times == [70, 70, 90, 90]


async def test_what_cannot_be_read_is_there_once_both_ways() -> None:
    damaged = Unreadable(offset=20, last_offset=4000, reason="torn")
    logs = MemoryLogs({0: [*map(record_entry, range(20)), damaged, *map(record_entry, range(4001, 4100))]})
    assert await newer(logs) == logs.all(0)
    assert await older(logs, 4100) == logs.all(0)
    (last, *_) = (await older(logs, 3000))[::-1]
    assert last == Unreadable(offset=20, last_offset=2999, reason="torn"), "it ends at the position"
    assert (await older(logs, 4100, 3000))[0] == damaged


class PackedLog:
    """Batches as `LogBrowser` fetches them: whole ones from an offset on, one at least."""

    def __init__(self, *batches: bytes) -> None:
        self._batches = batches
        self.end = end_of(b"".join(batches), 0)

    @property
    def browser(self) -> LogBrowser:
        return cast(LogBrowser, self)

    async def page(
        self, partition: TopicPartition, offset: int, *, max_entries: int, max_bytes: int, max_unpacked_bytes: int
    ) -> LogPage:
        data = b""
        for batch in self._batches:
            ((_, header),) = iterate_headers(batch)
            if header.next_offset > offset and (not data or len(data) + len(batch) <= max_bytes):
                data += batch
        entries, following = entries_of_page(
            data,
            offset=offset,
            aborted=(),
            open_since={},
            last_stable_offset=self.end,
            max_entries=max_entries,
            max_unpacked_bytes=max_unpacked_bytes,
        )
        return LogPage(
            entries=tuple(entries),
            next_offset=following,
            log_start_offset=0,
            last_stable_offset=self.end,
            high_watermark=self.end,
        )


def packed(offset: int, sizes: list[int]) -> bytes:
    return encode_batch(
        [(0, None, bytes(size), ()) for size in sizes], base_offset=offset, compression=Compression.ZSTD
    )


async def test_what_unpacks_to_much_is_read_in_parts_both_ways() -> None:
    whole = packed(30_010, [10, 2 << 20, 10, 2 << 20])
    torn = bytearray(packed(30_014, [1, 2, 3]))
    torn[-1] ^= 1
    log = PackedLog(
        packed(0, [10] * 30_000),
        packed(30_000, [1 << 20] * 5),
        packed(30_005, [33 << 20]),
        packed(30_006, [3 << 20]),
        encode_retained(parse_header(whole), decode_batch(whole)[::2]),
        bytes(torn),
        packed(30_017, [1] * 100),
    )
    there = await entries_of(NewerLog(log.browser, ORDERS, 0, PAGE_BYTES, unpacked_bytes=1 << 20))
    back = await entries_of(OlderLog(log.browser, ORDERS, log.end, PAGE_BYTES, start=0, unpacked_bytes=1 << 20))
    assert joined(back[::-1]) == joined(there)
    offsets = [each for entry in there for each in range(entry.offset, last_offset_of(entry) + 1)]
    assert offsets == list(range(log.end))
    others = [entry for entry in there if not isinstance(entry, RecordEntry)]
    assert [(type(entry), entry.offset) for entry in others] == [
        (Unreadable, 30_005),
        (Gap, 30_007),
        (Gap, 30_011),
        (Gap, 30_013),
        (Unreadable, 30_014),
    ]
