"""The newest records of a topic, reading by reading.

A reading asks where the partitions end, which is one request to each of their leaders, and fetches only what is new. If
more has come than a page can show, the older part of it is skipped, and counted.

Now and then, and as long as there are partitions that cannot be read, a reading asks for all partitions instead: those
that were added since are followed from their beginning, and those that have a leader again from where they were.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping

from tidelog.console.connection import ClusterConnection
from tidelog.console.findings.live_window import LiveWindow
from tidelog.console.findings.payload_forms import Form
from tidelog.console.findings.record_filter import MessageFilter
from tidelog.console.lags.log_marks import PATIENCE_MS
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
_LOOK_SECONDS = 12.0


class LiveRecords:
    def __init__(
        self,
        cluster: ClusterConnection,
        topic: str,
        partitions: str,
        wanted: MessageFilter,
        form: Form,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster = cluster
        self._topic = topic
        self._partitions = partitions
        self._wanted = wanted
        self._form = form
        self._clock = clock
        self._place: ReadPlace | None = None
        # When all partitions are looked at again.
        self._look_at = 0.0
        # Also of partitions that cannot be read now.
        self._positions: dict[int, int] = {}
        # How many partitions there were when this began.
        self._first_count = 0
        self._window = self._new_window()
        self._skipped = 0
        self._run = ""
        self._problem: str | None = None

    async def read(self) -> Json:
        before = self._place
        if before is None or before.silent or self._clock() >= self._look_at:
            place = await self._look()
            ends = place.ends
        else:
            place, ends = before, await self._ends(before)
        if before is not None and any(ends[each] < at for each, at in self._positions.items() if each in ends):
            # Offsets only go back if the topic was deleted and recreated, or an unclean leader has cut its log.
            before, place = None, await self._look()
        if before is None:
            await self._begin(place)
        else:
            self._add_partitions(place)
            await self._follow(place, ends)
        self._place = place
        return {
            # Another one where it has begun again: rows of one run follow each other.
            "run": self._run,
            "rows": self._window.rows,
            "seen": self._window.seen,
            "found": self._window.found,
            "skipped": self._skipped,
            "kept": KEPT_ROWS,
            "partitions": list(place.partitions),
            "partition_count": place.partition_count,
            "silent": {str(partition): reason for partition, reason in place.silent.items()},
            "problem": self._problem,
        }

    async def _look(self) -> ReadPlace:
        admin = await self._cluster.reader()
        place = await look_at(admin, self._topic, self._partitions, timeout_ms=PATIENCE_MS)
        self._look_at = self._clock() + _LOOK_SECONDS
        return place

    async def _ends(self, place: ReadPlace) -> dict[int, int]:
        """Of the partitions that answer. If one does not, the next reading looks at all of them."""
        admin = await self._cluster.reader()
        asked = {TopicPartition(self._topic, each): LATEST for each in place.partitions}
        found = await admin.list_offsets(asked, timeout_ms=PATIENCE_MS)
        if any(isinstance(answer, ApiError) for answer in found.values()):
            self._look_at = self._clock()
        return {
            partition.partition: answer.offset
            for partition, answer in found.items()
            if not isinstance(answer, ApiError)
        }

    async def _begin(self, place: ReadPlace) -> None:
        """At the end, with the last records before it."""
        browser = await self._cluster.log_browser()
        before = await read_older(
            browser, place, place.ends, rows=_FIRST_ROWS, wanted=self._wanted, bounds=_FIRST_BOUNDS
        )
        self._run = secrets.token_hex(8)
        self._window = self._new_window()
        self._window.note((each.partition, each.entry, True) for each in before.rows)
        self._window.seen = self._window.found = 0
        self._skipped = 0
        self._positions = dict(place.ends)
        self._first_count = place.partition_count
        self._problem = TOO_SLOW if before.ended is PortionEnd.PATTERN else None

    def _add_partitions(self, place: ReadPlace) -> None:
        """Of those that were there before and could not be read, the last records are shown, as at the beginning."""
        for each in place.partitions:
            if each not in self._positions:
                is_new = each >= self._first_count
                start = place.starts[each]
                self._positions[each] = start if is_new else max(start, place.ends[each] - _FIRST_ROWS)

    def _new_window(self) -> LiveWindow:
        return LiveWindow(KEPT_ROWS, self._topic, self._form)

    async def _follow(self, place: ReadPlace, ends: Mapping[int, int]) -> None:
        new = {each: end - self._positions[each] for each, end in ends.items() if end > self._positions[each]}
        if not new:
            return
        begin = {}
        skipped = 0
        share = max(1, MOST_OFFSETS // len(new))
        for each, count in new.items():
            too_many = max(0, count - share)
            skipped += too_many
            begin[each] = self._positions[each] + too_many
        # The filter decides what is shown, but markers end transactions of what is shown already.
        reading = newer_reading(await self._cluster.log_browser(), place, begin, _EVERYTHING, _BOUNDS)
        came: list[PlacedEntry] = []
        async with reading:
            while reading.ended is None:
                came += await reading.next_part(MOST_OFFSETS)
        verdicts = await self._verdicts(came)
        # Only now: what fails before this is read again.
        self._positions.update(reading.positions)
        self._skipped += skipped
        self._window.note((each.partition, each.entry, wanted) for each, wanted in zip(came, verdicts, strict=True))

    async def _verdicts(self, came: list[PlacedEntry]) -> list[bool]:
        """Raises ConsoleRefusal if too many regular expressions are being tried already."""
        problem: str | None = None
        try:
            async with RecordTester(self._topic, self._wanted) as tester:
                verdicts = await tester.verdicts(came)
        except PatternTooSlow:
            problem, verdicts = TOO_SLOW, [False] * len(came)
        self._problem = problem
        return verdicts
