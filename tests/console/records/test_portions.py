"""Portions of several logs: in the order of time, as many as wanted, and no more read than the bounds allow."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.log_entries import marker_entry, record_entry
from support.memory_log import MemoryLogs, values

from tidelog.client.browsing import Entry, RecordEntry
from tidelog.console.findings.record_filter import Condition, FilterComparison, MessageFilter, RecordPart
from tidelog.console.records.portions import (
    Portion,
    PortionEnd,
    ReadBounds,
    newer_reading,
    read_newer,
    read_older,
)
from tidelog.console.replies import ConsoleRefusal

EVERYTHING = MessageFilter()


def holding(text: str, how: str = "contains") -> MessageFilter:
    return MessageFilter(conditions=(Condition(part=RecordPart.VALUE, how=FilterComparison(how), text=text),))


async def newer(
    logs: MemoryLogs,
    at: dict[int, int],
    rows: int,
    wanted: MessageFilter = EVERYTHING,
    bounds: ReadBounds | None = None,
) -> Portion:
    return await read_newer(logs.browser, logs.place, at, rows=rows, wanted=wanted, bounds=bounds)


async def older(
    logs: MemoryLogs,
    at: dict[int, int],
    rows: int,
    wanted: MessageFilter = EVERYTHING,
    bounds: ReadBounds | None = None,
) -> Portion:
    return await read_older(logs.browser, logs.place, at, rows=rows, wanted=wanted, bounds=bounds)


@pytest.fixture
def logs() -> MemoryLogs:
    """Two partitions whose records are written in turn, and a gap in the second one."""
    first = [record_entry(offset, b"a%d" % offset, timestamp_ms=10 * offset) for offset in range(5)]
    second = [record_entry(offset, b"b%d" % offset, timestamp_ms=10 * offset + 5) for offset in (0, 3, 4)]
    return MemoryLogs({0: first, 1: second})


IN_ORDER = ["0:0", "1:0", "0:1", "0:2", "0:3", "1:gap 1-2", "1:3", "0:4", "1:4"]


async def test_newer_rows_in_the_order_of_time(logs: MemoryLogs) -> None:
    portion = await newer(logs, {0: 0, 1: 0}, 4)
    assert values(portion.rows) == IN_ORDER[:4]
    assert (portion.before, portion.after) == ({0: 0, 1: 0}, {0: 3, 1: 1})
    assert portion.ended is PortionEnd.ROWS
    rest = await newer(logs, dict(portion.after), 100)
    assert values(rest.rows) == IN_ORDER[4:]
    assert (rest.after, rest.ended) == ({0: 5, 1: 5}, PortionEnd.LOG)


async def test_older_rows_are_the_same_in_the_same_order(logs: MemoryLogs) -> None:
    portion = await older(logs, {0: 5, 1: 5}, 3)
    assert values(portion.rows) == IN_ORDER[-3:]
    assert (portion.before, portion.after) == ({0: 4, 1: 3}, {0: 5, 1: 5})
    whole = await older(logs, {0: 5, 1: 5}, 100)
    assert values(whole.rows) == IN_ORDER
    rest = await older(logs, dict(portion.before), 100)
    # What is behind a gap in the log is not known where a portion begins with it: it is as old as what is before it.
    assert values(rest.rows) == ["0:0", "1:0", "1:gap 1-2", "0:1", "0:2", "0:3"]
    assert (rest.before, rest.ended) == ({0: 0, 1: 0}, PortionEnd.LOG)


async def test_what_is_as_old_as_each_other_has_the_same_order_both_ways() -> None:
    logs = MemoryLogs({each: [record_entry(0), record_entry(1)] for each in range(3)})
    there = await newer(logs, {0: 0, 1: 0, 2: 0}, 10)
    back = await older(logs, {0: 2, 1: 2, 2: 2}, 10)
    assert values(there.rows) == values(back.rows)


partitions_of_any_kind = st.lists(
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 50)), max_size=25), min_size=1, max_size=4
).map(lambda partitions: MemoryLogs({number: _entries(steps) for number, steps in enumerate(partitions)}))


def _entries(steps: list[tuple[int, int]]) -> list[Entry]:
    found: list[Entry] = []
    offset = -1
    for step, time in steps:
        offset += step
        found.append(marker_entry(offset, timestamp_ms=time) if time == 7 else record_entry(offset, timestamp_ms=time))
    return found


@given(partitions_of_any_kind, st.integers(1, 30))
def test_going_there_and_back_by_any_steps_gives_every_entry_once(logs: MemoryLogs, step: int) -> None:
    async def walk() -> None:
        position = dict(logs.place.starts)
        there: list[tuple[int, Entry]] = []
        while position != logs.place.ends:
            portion = await newer(logs, position, step)
            assert len(portion.rows) <= step
            there += portion.rows
            position = dict(portion.after)
        back: list[tuple[int, Entry]] = []
        while position != logs.place.starts:
            portion = await older(logs, position, step)
            back = [*portion.rows, *back]
            position = dict(portion.before)
        for partition in logs.place.partitions:
            expected = logs.all(partition)
            assert [entry for number, entry in there if number == partition] == expected
            assert [entry for number, entry in back if number == partition] == expected

    asyncio.run(walk())


async def test_a_search_says_what_it_has_read_and_goes_on_from_there() -> None:
    logs = MemoryLogs({0: [record_entry(offset, b"even" if offset % 2 == 0 else b"odd") for offset in range(3000)]})
    first = await newer(logs, {0: 0}, 10, holding("even"))
    assert values(first.rows) == [f"0:{offset}" for offset in range(0, 20, 2)]
    assert (first.scanned, first.after, first.ended) == (19, {0: 19}, PortionEnd.ROWS)
    second = await newer(logs, dict(first.after), 10, holding("even"))
    assert values(second.rows)[0] == "0:20"


async def test_a_search_for_nothing_ends_at_its_bound_of_records() -> None:
    logs = MemoryLogs({0: [record_entry(offset) for offset in range(9000)]})
    portion = await newer(logs, {0: 0}, 10, holding("nothing"), ReadBounds(records=2500))
    assert portion.ended is PortionEnd.RECORDS
    assert 2500 <= portion.scanned <= 3500
    assert portion.after == {0: portion.scanned}
    back = await older(logs, {0: 9000}, 10, holding("nothing"), ReadBounds(records=2500))
    assert back.ended is PortionEnd.RECORDS
    assert back.before == {0: 9000 - back.scanned}
    assert 2500 <= back.scanned <= 6000


async def test_a_search_ends_at_its_bound_of_bytes() -> None:
    logs = MemoryLogs({0: [record_entry(offset, b"x" * 100_000) for offset in range(1000)]})
    portion = await newer(logs, {0: 0}, 10, holding("nothing"), ReadBounds(bytes=3 << 20))
    assert portion.ended is PortionEnd.BYTES
    assert logs.read_bytes < 6 << 20


async def test_a_search_ends_at_its_bound_of_time() -> None:
    logs = MemoryLogs({0: [record_entry(offset, b"x" * 1000) for offset in range(5000)]})
    portion = await newer(logs, {0: 0}, 10, holding("nothing"), ReadBounds(seconds=0))
    assert portion.ended is PortionEnd.TIME
    assert 0 < portion.scanned < 5000, "something is read in any case, so that the next one goes on"


async def test_rows_of_large_records_are_bounded_by_bytes() -> None:
    logs = MemoryLogs({0: [record_entry(offset, b"x" * 1_000_000) for offset in range(200)]})
    portion = await newer(logs, {0: 0}, 100)
    assert 20 < len(portion.rows) < 50
    assert portion.ended is PortionEnd.BYTES
    back = await older(logs, {0: 200}, 100)
    assert 20 < len(back.rows) < 60


async def test_regular_expressions_find_what_they_describe() -> None:
    logs = MemoryLogs({0: [record_entry(offset, b"order %d" % offset) for offset in range(100)]})
    portion = await newer(logs, {0: 0}, 100, holding(r"order \d*7$", "pattern"))
    assert values(portion.rows) == [f"0:{offset}" for offset in range(7, 100, 10)]


async def test_a_wrong_regular_expression_is_refused() -> None:
    logs = MemoryLogs({0: [record_entry(0)]})
    with pytest.raises(ConsoleRefusal, match="this is not a regular expression: missing \\)"):
        await newer(logs, {0: 0}, 10, holding("(", "pattern"))


@pytest.mark.parametrize("newest_first", [False, True])
async def test_a_regular_expression_that_takes_too_long_stops_in_front_of_the_record(
    newest_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is tested here takes for ever, whatever the bound.
    monkeypatch.setattr("tidelog.console.records.patterns.MOST_SECONDS", 0.5)
    harmless = [record_entry(offset, b"x") for offset in range(600)]
    logs = MemoryLogs({0: [*harmless, record_entry(600, b"a" * 100 + b"!"), *map(record_entry, range(601, 1300))]})
    wanted = holding("^(a+)+$", "pattern")
    portion = await (older(logs, {0: 1300}, 10, wanted) if newest_first else newer(logs, {0: 0}, 10, wanted))
    assert portion.ended is PortionEnd.PATTERN
    assert portion.scanned > 0
    assert (portion.before[0] > 600) if newest_first else (portion.after[0] <= 600)


async def test_parts_of_a_reading_follow_each_other_without_a_hole(logs: MemoryLogs) -> None:
    async with newer_reading(logs.browser, logs.place, {0: 0, 1: 0}, holding(""), ReadBounds()) as reading:
        found = []
        while reading.ended is None:
            part = await reading.next_part(2, most_bytes=1)
            assert len(part) <= 1
            found += part
    assert values(found) == [each for each in IN_ORDER if "gap" not in each]
    assert all(isinstance(each.entry, RecordEntry) for each in found)
    assert reading.positions == {0: 5, 1: 5}
