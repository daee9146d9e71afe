"""The newest records of a topic, reading by reading.

A reading asks where the partitions end, which is one request to each of their leaders, and fetches only what is new. If
more has come than a page can show, the older part of it is skipped, and counted.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.console.connection import ClusterConnection
from tidelog.console.findings.entry_documents import row_of
from tidelog.console.findings.live_window import LiveWindow
from tidelog.console.findings.payload_forms import Form
from tidelog.console.findings.record_filter import MessageFilter
from tidelog.console.records.filtering import PlacedEntry, RecordTester
from tidelog.console.records.patterns import TOO_SLOW, PatternTooSlow
from tidelog.console.records.places import ReadPlace, look_at
from tidelog.console.records.portions import PortionEnd, ReadBounds, newer_reading, read_older
from tidelog.console.replies import Json
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition
from tidelog.model.offset_times import LATEST

KEPT_ROWS = 200
# What is there when somebody begins to look.
_FIRST_ROWS = 20
# Offsets of all partitions together that one reading fetches; what is older than that is skipped.
MOST_OFFSETS = 2000
_BOUNDS = ReadBounds(records=MOST_OFFSETS, bytes=8 << 20, seconds=2.0)
# A search in what was there before is short, or live data would begin late.
_FIRST_BOUNDS = ReadBounds(records=MOST_OFFSETS, bytes=4 << 20, seconds=1.0)
_EVERYTHING = MessageFilter()


class LiveRecords:
    def __init__(
        self, cluster: ClusterConnection, topic: str, partitions: str, wanted: MessageFilter, form: Form
    ) -> None:
        self._cluster = cluster
        self._topic = topic
        self._partitions = partitions
        self._wanted = wanted
        self._form = form
        self._place: ReadPlace | None = None
        self._positions: dict[int, int] = {}
        self._window = LiveWindow(KEPT_ROWS)
        self._skipped = 0
        self._problem: str | None = None

    async def read(self) -> Json:
        if self._place is None:
            await self._begin()
        else:
            ends = await self._ends()
            if any(ends[each] < position for each, position in self._positions.items() if each in ends):
                # Offsets only go back if the topic was deleted and recreated, or an unclean leader has cut its log.
                await self._begin()
            else:
                await self._follow(ends)
        assert self._place is not None
        return {
            "rows": [row_of(self._topic, partition, entry, self._form) for partition, entry in self._window.rows],
            "seen": self._window.seen,
            "found": self._window.found,
            "skipped": self._skipped,
            "kept": KEPT_ROWS,
            "partitions": list(self._place.partitions),
            "partition_count": self._place.partition_count,
            "silent": {str(partition): reason for partition, reason in self._place.silent.items()},
            "problem": self._problem,
        }

    async def _begin(self) -> None:
        """At the end, with the last records before it."""
        place = await look_at(await self._cluster.reader(), self._topic, self._partitions)
        self._window = LiveWindow(KEPT_ROWS)
        self._skipped = 0
        browser = await self._cluster.log_browser()
        before = await read_older(
            browser, place, place.ends, rows=_FIRST_ROWS, wanted=self._wanted, bounds=_FIRST_BOUNDS
        )
        self._window.note((each.partition, each.entry, True) for each in before.rows)
        self._window.seen = self._window.found = 0
        self._positions = dict(place.ends)
        self._place = place
        self._problem = TOO_SLOW if before.ended is PortionEnd.PATTERN else None

    async def _ends(self) -> dict[int, int]:
        """Of the partitions that answer; the others are looked at by the next reading."""
        admin = await self._cluster.reader()
        found = await admin.list_offsets({TopicPartition(self._topic, each): LATEST for each in self._positions})
        return {
            partition.partition: answer.offset
            for partition, answer in found.items()
            if not isinstance(answer, ApiError)
        }

    async def _follow(self, ends: Mapping[int, int]) -> None:
        new = {each: end - self._positions[each] for each, end in ends.items() if end > self._positions[each]}
        if not new:
            return
        assert self._place is not None
        begin = {}
        share = max(1, MOST_OFFSETS // len(new))
        for each, count in new.items():
            too_many = max(0, count - share)
            self._skipped += too_many
            begin[each] = self._positions[each] + too_many
        # The filter decides what is shown, but markers end transactions of what is shown already.
        reading = newer_reading(await self._cluster.log_browser(), self._place, begin, _EVERYTHING, _BOUNDS)
        came: list[PlacedEntry] = []
        async with reading:
            while reading.ended is None:
                came += await reading.next_part(MOST_OFFSETS)
        self._positions.update(reading.positions)
        verdicts = await self._verdicts(came)
        self._window.note((each.partition, each.entry, wanted) for each, wanted in zip(came, verdicts, strict=True))

    async def _verdicts(self, came: list[PlacedEntry]) -> list[bool]:
        self._problem = None
        try:
            async with RecordTester(self._topic, self._wanted) as tester:
                return await tester.verdicts(came)
        except PatternTooSlow:
            self._problem = TOO_SLOW
            return [False] * len(came)
