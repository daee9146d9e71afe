"""Tests entries against what a user wants to see, off the loop, with regular expressions in their own process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from tidelog.client.browsing import Entry
from tidelog.console.findings.record_filter import MessageFilter, passes, subjects
from tidelog.console.records.patterns import PatternProcess


class PlacedEntry(NamedTuple):
    partition: int
    entry: Entry


class RecordTester:
    """`async with RecordTester(topic, wanted) as tester: await tester.verdicts(entries)`"""

    def __init__(self, topic: str, wanted: MessageFilter) -> None:
        self._topic = topic
        self._wanted = wanted
        self._process: PatternProcess | None = None

    async def __aenter__(self) -> RecordTester:
        """Raises ConsoleRefusal for a wrong regular expression."""
        patterns = [each.text for each in self._wanted.patterns]
        if patterns:
            self._process = await PatternProcess(patterns, ignore_case=self._wanted.ignore_case).__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._process is not None:
            await self._process.end()

    async def verdicts(self, batch: Sequence[PlacedEntry]) -> list[bool]:
        """Raises PatternTooSlow."""
        wanted, topic = self._wanted, self._topic
        if wanted.is_empty:
            return [True] * len(batch)
        # To read JSON of hundreds of records takes its time.
        verdicts = await asyncio.to_thread(lambda: [passes(wanted, topic, placed.entry) for placed in batch])
        if self._process is None:
            return verdicts
        for number, condition in enumerate(wanted.patterns):
            left = [index for index, verdict in enumerate(verdicts) if verdict]
            texts = [subjects(condition, topic, batch[index].entry) for index in left]
            answers = iter(await self._process.found([(number, text) for text in chain.from_iterable(texts)]))
            for index, of_record in zip(left, texts, strict=True):
                # All of them have to be taken, also those behind the first that fits.
                fits = [next(answers) for _ in of_record]
                verdicts[index] = any(fits)
        return verdicts
