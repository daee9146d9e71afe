"""Hands out what has been fetched: as lists, one by one, or undecoded. Moves positions as it does. No I/O.

What was handed out counts as processed when the reader comes back; the position behind it may be committed then.

A reader on another thread is lent whole replies (`lend`), and decodes them there. Positions move when it gives them
back (`take_back`), so that nothing is committed that it has not got.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from typing import Any, Final

from tidelog.client.consumer.fetched import BatchChunk, Chunk, ConsumerRecord, FetchedPartition
from tidelog.client.consumer.positions import NO_EPOCH, PartitionPosition, Positions
from tidelog.client.errors import ClientError
from tidelog.model.ids import TopicPartition
from tidelog.records.batch import CorruptBatch

_OFFSET: Final = ConsumerRecord._fields.index("offset")
_LEADER_EPOCH: Final = ConsumerRecord._fields.index("leader_epoch")

# Batches are taken by the number of their records; what was fetched is in memory anyway.
_ANY_SIZE = sys.maxsize


class Lent:
    """What waited for one partition, for a reader on another thread. Nobody else looks at it until it is back."""

    __slots__ = ("entry", "fetched", "jumps", "leader_epoch", "position", "ready", "taken")

    def __init__(self, entry: PartitionPosition, ready: Chunk | None, fetched: FetchedPartition | None) -> None:
        self.entry = entry
        self.jumps = entry.jumps
        # Decoded records come first, then the reply. None when nothing is left.
        self.ready = ready
        self.fetched = fetched
        # Behind what was taken, as the position will be.
        self.position: int | None = entry.position
        self.leader_epoch = entry.leader_epoch
        self.taken = 0

    def take(self, limit: int) -> list[ConsumerRecord]:
        """Up to `limit` records; none when nothing is left. Raises CorruptBatch and ClientError, each time anew."""
        ready, fetched = self.ready, self.fetched
        if ready is not None:
            records = ready.records[:limit]
            if len(records) == len(ready.records):
                self.ready = None
                self.position, self.leader_epoch = ready.next_offset, ready.leader_epoch
            else:
                self.ready = ready._replace(records=ready.records[limit:])
                self.position, self.leader_epoch = records[-1].offset + 1, records[-1].leader_epoch
        elif fetched is not None:
            chunk = fetched.take(limit)
            records = chunk.records
            self.position, self.leader_epoch = chunk.next_offset, chunk.leader_epoch
            if fetched.exhausted:
                self.fetched = None
        else:
            records = []
        self.taken += len(records)
        return records


class Reader:
    def __init__(
        self, positions: Positions, chunk_size: int, on_taken: Callable[[int], None] = lambda records: None
    ) -> None:
        """An iteration takes `chunk_size` records of one partition before it turns to the next."""
        self._positions = positions
        self._chunk_size = chunk_size
        # Whether a reply has been read to its end, so that more may be fetched.
        self.used_up = False
        # Whether an iteration has handed out a whole chunk: time for the event loop to send and receive.
        self.chunk_is_done = False
        # Whether an iteration may go on without looking around first.
        self.undisturbed = False
        self._on_taken = on_taken
        # The iteration's chunk: whose it is, at which jump of the partition it was taken, and the next record in it.
        self._entry: PartitionPosition | None = None
        self._jumps = 0
        self._chunk = Chunk([], 0, -1)
        self._at = 0

    def take(self, limit: int, of: Collection[TopicPartition] = ()) -> list[ConsumerRecord]:
        """Up to `limit` records from as many partitions as it takes.

        What cannot be read is reported when it is the first in line; what was taken before it is handed out.
        """
        self._put_back()
        taken: list[ConsumerRecord] = []
        for entry in self._positions:
            if of and entry.partition not in of:
                continue
            try:
                while len(taken) < limit and (chunk := self._chunk_of(entry, limit - len(taken))) is not None:
                    entry.move(chunk.next_offset, chunk.leader_epoch)
                    taken += chunk.records
                    self._positions.rotate(entry)
            except ClientError:
                if not taken:
                    raise
                break
            if len(taken) >= limit:
                break
        if taken:
            self._on_taken(len(taken))
        return taken

    def take_batches(self, limit: int) -> list[tuple[TopicPartition, BatchChunk]]:
        """Undecoded batches with up to `limit` records in all."""
        self._put_back()
        taken: list[tuple[TopicPartition, BatchChunk]] = []
        for entry in self._positions:
            if entry.put_back is not None:
                # They are decoded already. Who mixes the two ways of reading gets them fetched once more.
                entry.drop_fetched()
            while limit > 0 and entry.fetched and not entry.paused:
                fetched = entry.fetched[0]
                try:
                    chunk = fetched.take_batches(_ANY_SIZE, limit)
                except (CorruptBatch, ClientError) as error:
                    self.used_up = True
                    problem = _unreadable(entry, error)
                    if taken:
                        return taken
                    raise problem from error
                if fetched.exhausted:
                    entry.fetched.popleft()
                    self.used_up = True
                entry.move(chunk.next_offset, chunk.leader_epoch)
                self._positions.rotate(entry)
                if chunk.batches:
                    taken.append((entry.partition, chunk))
                    records = min(
                        chunk.next_offset - chunk.first_offset, sum(header.record_count for header, _ in chunk.batches)
                    )
                    self._on_taken(records)
                    limit -= records
        return taken

    def return_batches(self, batches: list[tuple[TopicPartition, BatchChunk]]) -> None:
        """They were not handed out after all: go back to where they begin, and fetch them again."""
        for partition, chunk in reversed(batches):
            entry = self._positions.of(partition)
            entry.move(chunk.first_offset, NO_EPOCH)
            entry.drop_fetched()
            self.used_up = True

    def lend(self) -> list[Lent]:
        """What comes next of each partition, for a reader on another thread. It has to be back before more is lent."""
        self._put_back()
        lent: list[Lent] = []
        for entry in self._positions:
            assert not entry.lent, "what was lent before is not back"
            if entry.has_records and not entry.paused:
                ready, entry.put_back = entry.put_back, None
                fetched = None
                if entry.fetched:
                    fetched = entry.fetched.popleft()
                    entry.lent = True
                lent.append(Lent(entry, ready, fetched))
        return lent

    def take_back(self, lent: Collection[Lent], unread: Collection[ConsumerRecord]) -> None:
        """The reader has got what was taken of these, except for the records of `unread`."""
        rests: dict[TopicPartition, list[ConsumerRecord]] = {}
        for record in unread:
            rests.setdefault(record.topic_partition, []).append(record)
        for each in lent:
            entry = each.entry
            entry.lent = False
            self.used_up = True
            rest = rests.get(entry.partition, [])
            if each.taken > len(rest):
                self._on_taken(each.taken - len(rest))
            if entry.jumps != each.jumps:
                # A seek or a rebalance has made it worthless.
                continue
            entry.move(each.position, each.leader_epoch)
            if each.fetched is not None:
                entry.fetched.appendleft(each.fetched)
            entry.put_back = each.ready
            if rest:
                behind = Chunk([], each.position or 0, each.leader_epoch) if each.ready is None else each.ready
                entry.put_back = behind._replace(records=rest + behind.records)
                entry.move(rest[0].offset, NO_EPOCH)

    def unreadable(self, lent: Lent, error: Exception) -> ClientError:
        """What to raise about what is back from another thread, and could not be read there."""
        problem = _unreadable(lent.entry, error)
        problem.__cause__ = error
        return problem

    def next_record(self) -> ConsumerRecord | None:
        """The next record of the iteration, None when nothing has been fetched."""
        while True:
            entry = self._entry
            if entry is not None and entry.jumps == self._jumps:
                records = self._chunk.records
                if self._at < len(records):
                    record = records[self._at]
                    self._at += 1
                    if self._at == len(records):
                        self.chunk_is_done = True
                        entry.move(self._chunk.next_offset, self._chunk.leader_epoch)
                    else:
                        # By number, which is quicker than by name: this runs for each record.
                        fields: tuple[Any, ...] = record
                        entry.move(fields[_OFFSET] + 1, fields[_LEADER_EPOCH])
                    return record
            if not self._next_chunk():
                return None

    def pause(self, partition: TopicPartition) -> None:
        """Keep what the iteration has taken of it for later."""
        if self._entry is not None and self._entry.partition == partition:
            self._put_back()
        self._positions.of(partition).paused = True

    def _next_chunk(self) -> bool:
        self._entry = None
        for entry in self._positions:
            chunk = self._chunk_of(entry, self._chunk_size)
            if chunk is None:
                continue
            self._positions.rotate(entry)
            if not chunk.records:
                entry.move(chunk.next_offset, chunk.leader_epoch)
                continue
            self._on_taken(len(chunk.records))
            self._entry, self._jumps, self._chunk, self._at = entry, entry.jumps, chunk, 0
            return True
        return False

    def _put_back(self) -> None:
        """What an iteration has left over comes first when the partition is read again."""
        entry, self._entry = self._entry, None
        if entry is not None and entry.jumps == self._jumps and self._at < len(self._chunk.records):
            rest = self._chunk._replace(records=self._chunk.records[self._at :])
            assert entry.put_back is None or entry.put_back.records[0].offset > rest.records[-1].offset
            if entry.put_back is not None:
                rest = entry.put_back._replace(records=rest.records + entry.put_back.records)
            entry.put_back = rest

    def _chunk_of(self, entry: PartitionPosition, limit: int) -> Chunk | None:
        waiting = len(entry.fetched)
        try:
            chunk = entry.take(limit)
        except (CorruptBatch, ClientError) as error:
            self.used_up = True
            raise _unreadable(entry, error) from error
        if len(entry.fetched) < waiting:
            self.used_up = True
        return chunk


def _unreadable(entry: PartitionPosition, error: Exception) -> ClientError:
    # Fetched again with the next call, in case the damage happened on the way.
    entry.drop_fetched()
    return ClientError(
        f"partition {entry.partition} cannot be read at offset {entry.position}: {error}. seek() past it to go on "
        "without it"
    )
