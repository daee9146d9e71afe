"""A log of entries in memory, read as `LogBrowser` reads one: in pages of so many entries or so many bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from tidelog.client.browsing import Entry, Gap, LogBrowser, LogPage, RecordEntry
from tidelog.console.records.directed_logs import last_offset_of, size_of
from tidelog.console.records.places import ReadPlace
from tidelog.model.ids import TopicPartition


class MemoryLogs:
    """`entries` in the order of their offsets. Offsets that no entry has become gaps, as they do in a page of a log."""

    def __init__(self, entries: Mapping[int, Sequence[Entry]], *, topic: str = "orders") -> None:
        self.topic = topic
        self.pages = 0
        self.read_bytes = 0
        self._entries = {partition: list(theirs) for partition, theirs in entries.items()}

    @property
    def browser(self) -> LogBrowser:
        return cast(LogBrowser, self)

    @property
    def place(self) -> ReadPlace:
        return ReadPlace(
            topic=self.topic,
            internal=False,
            partition_count=len(self._entries),
            starts=dict.fromkeys(self._entries, 0),
            ends={partition: self.end(partition) for partition in self._entries},
            silent={},
        )

    def end(self, partition: int) -> int:
        theirs = self._entries[partition]
        return last_offset_of(theirs[-1]) + 1 if theirs else 0

    def add(self, partition: int, *entries: Entry) -> None:
        self._entries[partition] += entries

    def all(self, partition: int) -> list[Entry]:
        """With the gaps."""
        return self._from(partition, 0)

    async def page(
        self,
        partition: TopicPartition,
        offset: int,
        *,
        max_entries: int = 100,
        max_bytes: int = 1 << 20,
        max_unpacked_bytes: int = 1 << 25,
    ) -> LogPage:
        self.pages += 1
        found: list[Entry] = []
        size = 0
        for entry in self._from(partition.partition, offset):
            if len(found) == max_entries or (found and size >= max_bytes and not isinstance(found[-1], Gap)):
                break
            found.append(entry)
            size += size_of(entry)
        self.read_bytes += size
        end = self.end(partition.partition)
        return LogPage(
            entries=tuple(found),
            next_offset=last_offset_of(found[-1]) + 1 if found else offset,
            log_start_offset=0,
            last_stable_offset=end,
            high_watermark=end,
        )

    def _from(self, partition: int, offset: int) -> list[Entry]:
        found: list[Entry] = []
        position = offset
        for entry in self._entries[partition]:
            if last_offset_of(entry) < offset:
                continue
            if entry.offset > position:
                found.append(Gap(offset=position, last_offset=entry.offset - 1))
            found.append(entry)
            position = last_offset_of(entry) + 1
        return found


def values(rows: Sequence[tuple[int, Entry]]) -> list[str]:
    """As tests compare them: partition and offset of records, gaps with their end."""
    return [_words(partition, entry) for partition, entry in rows]


def _words(partition: int, entry: Entry) -> str:
    if isinstance(entry, RecordEntry):
        return f"{partition}:{entry.offset}"
    if isinstance(entry, Gap):
        return f"{partition}:gap {entry.offset}-{entry.last_offset}"
    return f"{partition}:{type(entry).__name__} {entry.offset}"
