"""The records of one transactional id in `__transaction_state`: the newest, older ones, and those that follow.

All ids of a partition of that topic share its log, so the records of one id are looked for from the end backwards, as
far as a bound allows. Whoever follows reads on from where the last reading ended.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from tidelog.client.admin import Admin
from tidelog.client.browsing import LogBrowser, RecordEntry
from tidelog.client.browsing.page import Entry
from tidelog.console.findings.transaction_timeline import TransactionRecord, read_record, record_key
from tidelog.console.parts import ConsoleParts
from tidelog.coordinators.placement import partition_for
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.topics import TRANSACTION_STATE_TOPIC

# Of one id: so many are shown at once, and so many are remembered while the page follows.
SHOWN = 50
_MOST_KEPT = 500
# Of the log of all ids: so many entries, or requests, and no more are read to find them.
MOST_READ = 20_000
_MOST_REQUESTS = 60
# Offsets that are read together, going backwards. Where compaction has left little, more are.
_WINDOW = 1000
_LARGEST_WINDOW = 1 << 40
_FEW_ENTRIES = 200
_FETCH_BYTES = 1 << 20
_BEHIND_THE_END = (1 << 63) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class OldRecords:
    """In the order of the log. All records of the id from `since` on are there; `log_start` is the log's own start."""

    partition: TopicPartition
    records: list[TransactionRecord]
    since: int
    log_start: int
    end: int

    @property
    def may_be_older(self) -> bool:
        return self.since > self.log_start


class TransactionLog:
    """Of one id."""

    def __init__(self, parts: ConsoleParts, transactional_id: str) -> None:
        self._parts = parts
        self._id = transactional_id
        self._key = record_key(transactional_id)
        self._partition: TopicPartition | None = None
        # What follows is of the log that was read last.
        self._records: deque[TransactionRecord] = deque(maxlen=_MOST_KEPT)
        self._since = 0
        self._log_start = 0
        self._next: int | None = None

    async def partition(self, admin: Admin) -> TopicPartition:
        """Raises ApiError if there is no such topic, because there has been no transaction yet, or it is hidden."""
        if self._partition is None:
            metadata = await admin.cluster.fetch_metadata([TRANSACTION_STATE_TOPIC])
            count = metadata.partition_count(TRANSACTION_STATE_TOPIC)
            if count is None:
                code = metadata.topic_errors.get(TRANSACTION_STATE_TOPIC, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                raise ApiError(code, f"topic {TRANSACTION_STATE_TOPIC!r}")
            self._partition = TopicPartition(TRANSACTION_STATE_TOPIC, partition_for(self._id, count))
        return self._partition

    async def newest(self) -> OldRecords:
        """All that is known, the newest included. Raises ApiError and others where the log may not be read."""
        browser = await self._parts.cluster.log_browser()
        partition = await self.partition(await self._parts.cluster.reader())
        if self._next is not None:
            await self._follow(browser, partition, self._next)
        if self._next is None:
            found = await self.before(None)
            self._records.clear()
            self._records.extend(found.records)
            self._since, self._log_start, self._next = found.since, found.log_start, found.end
        if len(self._records) == _MOST_KEPT:
            # Perhaps some were forgotten; the page shows that there are older ones.
            self._since = max(self._since, self._records[0].offset)
        return OldRecords(
            partition=partition,
            records=list(self._records),
            since=self._since,
            log_start=self._log_start,
            end=self._next,
        )

    async def before(self, offset: int | None) -> OldRecords:
        """The last records in front of `offset`, or of the log: some more than are shown, or fewer if the bounds of
        what is read come first."""
        browser = await self._parts.cluster.log_browser()
        partition = await self.partition(await self._parts.cluster.reader())
        last = await browser.page(partition, _BEHIND_THE_END if offset is None else offset, max_entries=1, max_bytes=1)
        start, end = last.log_start_offset, last.high_watermark
        low = end if offset is None else min(offset, end)
        found: list[TransactionRecord] = []
        reading = _Reading()
        window = _WINDOW
        while low > start and len(found) <= SHOWN and not reading.is_enough:
            begin, already = max(start, low - window), reading.entries
            # The first one is read whole, or there would be no progress.
            more = await self._records_between(browser, partition, begin, low, reading, whole=already == 0)
            if more is None:
                break
            found[:0] = more
            low = begin
            if reading.entries - already < _FEW_ENTRIES:
                window = min(window * 8, _LARGEST_WINDOW)
        return OldRecords(partition=partition, records=found, since=low, log_start=start, end=end)

    async def _follow(self, browser: LogBrowser, partition: TopicPartition, position: int) -> None:
        """Read on to the end; if that is too far, or the log has become another one, begin again."""
        reading = _Reading()
        end: int | None = None
        while end is None or position < end:
            page = await browser.page(partition, position, max_entries=_WINDOW, max_bytes=_FETCH_BYTES)
            end = page.high_watermark
            reading.note(len(page.entries))
            if end < position or page.log_start_offset > position or reading.is_enough:
                self._next = None
                return
            self._log_start = page.log_start_offset
            self._records.extend(self._ours(page.entries, end))
            if page.next_offset <= position:
                break
            position = page.next_offset
        self._next = position

    async def _records_between(
        self, browser: LogBrowser, partition: TopicPartition, position: int, end: int, reading: _Reading, *, whole: bool
    ) -> list[TransactionRecord] | None:
        """None if there is more than may be read, unless it is to be read whole."""
        found: list[TransactionRecord] = []
        while position < end:
            page = await browser.page(partition, position, max_entries=_WINDOW, max_bytes=_FETCH_BYTES)
            reading.note(len(page.entries))
            found += self._ours(page.entries, end)
            if page.next_offset <= position:
                break
            position = page.next_offset
            if reading.is_enough and position < end and not whole:
                return None
        return found

    def _ours(self, entries: tuple[Entry, ...], end: int) -> Iterator[TransactionRecord]:
        for entry in entries:
            if isinstance(entry, RecordEntry) and entry.key == self._key and entry.offset < end:
                record = read_record(entry.offset, entry.timestamp_ms, entry.key, entry.value)
                if record is not None:
                    yield record


class _Reading:
    """How much of the log has been read."""

    def __init__(self) -> None:
        self.entries = 0
        self._requests = 0

    def note(self, entries: int) -> None:
        self.entries += entries
        self._requests += 1

    @property
    def is_enough(self) -> bool:
        return self.entries >= MOST_READ or self._requests >= _MOST_REQUESTS
