"""The last offset of each key, in a table of fixed size, which bounds the cleaner's memory.

A slot is 24 bytes, a 128-bit hash of the key and an offset, as in Apache Kafka, so that
log.cleaner.dedupe.buffer.size holds the same number of keys. A dictionary of Python objects takes nearly six times as
much for each key. Two keys with one hash would cost the older one its last value: nobody can construct such keys on
purpose, because the hash depends on secrets that each map draws for itself.

The map takes the records of a batch some at a time. The loops over them are in `tidelog.records.filtering`.
"""

from __future__ import annotations

import mmap
import os
from array import array
from collections.abc import Iterator
from hashlib import blake2b
from struct import Struct
from typing import Final

from tidelog.records.batch import BatchHeader, Buffer
from tidelog.records.implementation import COMPILED, filtering
from tidelog.records.spans import damage_of

SLOT_SIZE = 24
# Compiled loops take less than 0.2 ms for so many and keep nobody waiting. The plain ones do.
RECORDS_PER_STEP: Final = 1024 if COMPILED else 64

NO_OFFSET = filtering.NO_OFFSET

_HASH_SIZE = 16
_HASH_WORDS = Struct("<QQ")


class KeyMap:
    """Open addressing with a second hash as the step, which stays quick up to the usual load factor of 0.9."""

    __slots__ = ("_hashes", "_secrets", "_spans", "_state", "_table", "capacity")

    def __init__(self, memory_bytes: int, load_factor: float) -> None:
        slots = _largest_prime(memory_bytes // SLOT_SIZE)
        # Never quite full: the search for an unknown key ends at an empty slot.
        self.capacity = min(int(slots * load_factor), slots - 1)
        if self.capacity < 1:
            raise ValueError(f"{memory_bytes} bytes are not enough for the map of keys")
        # Not a bytearray: the system allocates these pages as they are touched, and gets them back at once.
        self._table = memoryview(mmap.mmap(-1, slots * SLOT_SIZE)).cast("Q")
        self._secrets = memoryview(os.urandom(_HASH_SIZE)).cast("Q")
        self._state = memoryview(array("q", [0, NO_OFFSET]))
        # Of the records of a step: where they are, and the hashes of their keys.
        self._spans = memoryview(array("q", bytes(8 * filtering.FIELDS * RECORDS_PER_STEP)))
        self._hashes = memoryview(array("Q", bytes(_HASH_SIZE * RECORDS_PER_STEP)))

    @property
    def size(self) -> int:
        size: int = self._state[filtering.SIZE]
        return size

    @property
    def full(self) -> bool:
        return self.size >= self.capacity

    # The records of a batch

    def steps(self, header: BatchHeader, payload: Buffer) -> Iterator[int]:
        """Go through the records of a batch. Yields of how many records the next call is about. Raises CorruptBatch."""
        find_records, spans = filtering.find_records, self._spans
        position = 0
        left = header.record_count
        while left > 0:
            count = min(left, RECORDS_PER_STEP)
            position = find_records(payload, position, count, spans)
            if position < 0:
                raise damage_of(header, payload)
            self._hash_keys(payload, count)
            yield count
            left -= count
        if position != len(payload):
            raise damage_of(header, payload)

    def put_step(self, count: int, *, base_offset: int, first_offset: int) -> tuple[bool, int]:
        """Put the offsets of the records of this step, from `first_offset` on, as long as there is room.

        (Whether there was room for all of them, the last offset that was put; -1 if none was.)
        """
        state = self._state
        state[filtering.LAST_OFFSET] = NO_OFFSET
        had_room = filtering.put_offsets(
            count, self._spans, self._hashes, self._table, self.capacity, base_offset, first_offset, state
        )
        return had_room, state[filtering.LAST_OFFSET]

    def keep_step(
        self,
        payload: Buffer,
        count: int,
        *,
        base_offset: int,
        mapped_up_to: int,
        keeps_tombstones: bool,
        output: bytearray,
        totals: memoryview,
    ) -> None:
        """Copy the records of this step that stay, see `filtering.keep_records`."""
        filtering.keep_records(
            payload,
            count,
            self._spans,
            self._hashes,
            self._table,
            base_offset,
            mapped_up_to,
            keeps_tombstones,
            output,
            totals,
        )

    # Single keys

    def put(self, key: bytes, offset: int) -> None:
        """Remember a later offset of a key. The caller checks `full` first."""
        self._look_at(key)
        if self.full and filtering.last_offset(self._hashes, self._table) == NO_OFFSET:
            raise ValueError("the map of keys is full")
        filtering.put_offsets(1, self._spans, self._hashes, self._table, self.capacity + 1, offset, 0, self._state)

    def get(self, key: bytes) -> int:
        """The last offset that was put for the key; -1 if there is none."""
        self._look_at(key)
        offset: int = filtering.last_offset(self._hashes, self._table)
        return offset

    def _look_at(self, key: bytes) -> None:
        """As if the key were a whole batch: of one record, with nothing but a key, at the base offset."""
        for field, number in enumerate((0, len(key), 0, 0, 0, len(key), 1)):
            self._spans[field] = number
        self._hash_keys(key, 1)

    def _hash_keys(self, payload: Buffer, count: int) -> None:
        if COMPILED:
            filtering.hash_keys(payload, count, self._spans, self._secrets, self._hashes)
            return
        # In plain Python a hash of the standard library is twenty times as fast.
        spans, hashes = self._spans, self._hashes
        for number in range(count):
            start, length = spans[number * filtering.FIELDS + 4], spans[number * filtering.FIELDS + 5]
            if length >= 0:
                digest = blake2b(payload[start : start + length], digest_size=_HASH_SIZE, key=self._secrets).digest()
                hashes[2 * number], hashes[2 * number + 1] = _HASH_WORDS.unpack(digest)


def _largest_prime(limit: int) -> int:
    """The largest prime that is not above `limit`; 1 or less where there is none."""
    candidate = limit
    while candidate > 2:
        if candidate % 2 and all(candidate % divisor for divisor in range(3, int(candidate**0.5) + 1, 2)):
            return candidate
        candidate -= 1
    return candidate
