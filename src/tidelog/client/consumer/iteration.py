"""`async for record in consumer`: one step for each record.

Compiled, because a step takes longer than making the record it hands out. Everything that happens less often than for
each record is in `tidelog.client.consumer.consumer`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from tidelog.client.consumer.fetched import ConsumerRecord
from tidelog.client.consumer.reader import Reader


class Iteration:
    """The state is in the reader, so that the next loop goes on where this one ends."""

    def __init__(
        self,
        reader: Reader,
        look_around: Callable[[], Coroutine[Any, Any, ConsumerRecord]],
        fetch_more: Callable[[], None],
    ) -> None:
        """`look_around` gets the next record when there is something else to be done first."""
        self._reader = reader
        self._look_around = look_around
        self._fetch_more = fetch_more
        # What a member of a group does before each record.
        self.keep_up: Callable[[], None] | None = None

    def __aiter__(self) -> Iteration:
        return self

    async def __anext__(self) -> ConsumerRecord:
        # Whoever is cancelled loses no record: nothing is awaited between taking one and returning it.
        reader = self._reader
        if reader.undisturbed and not reader.chunk_is_done:
            if self.keep_up is not None:
                self.keep_up()
            record = reader.next_record()
            if reader.used_up:
                self._fetch_more()
            if record is not None:
                return record
        return await self._look_around()
