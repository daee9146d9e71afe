"""The last offset of each key, in a table of fixed size, which bounds the cleaner's memory.

A slot is 24 bytes, a 128-bit hash of the key and an offset, as in Apache Kafka, so that
log.cleaner.dedupe.buffer.size holds the same number of keys. A dictionary of Python objects takes nearly six times as
much for each key. Two keys with one hash would cost the older one its last value; the hash is a cryptographic one,
so that nobody can construct such keys on purpose.
"""

from __future__ import annotations

import mmap
from hashlib import blake2b
from struct import Struct

SLOT_SIZE = 24
_HASH_SIZE = 16
_HASH_WORDS = Struct("<QQ")
_OFFSET = Struct("<q")
_EMPTY = bytes(_HASH_SIZE)

NO_OFFSET = -1


class KeyMap:
    """Open addressing with a second hash as the step, which stays quick up to the usual load factor of 0.9."""

    __slots__ = ("_slots", "_table", "capacity", "size")

    def __init__(self, memory_bytes: int, load_factor: float) -> None:
        self._slots = _largest_prime(memory_bytes // SLOT_SIZE)
        # Never quite full: the search for an unknown key ends at an empty slot.
        self.capacity = min(int(self._slots * load_factor), self._slots - 1)
        if self.capacity < 1:
            raise ValueError(f"{memory_bytes} bytes are not enough for the map of keys")
        self.size = 0
        # Not a bytearray: the system allocates these pages as they are touched, and gets them back at once.
        self._table = mmap.mmap(-1, self._slots * SLOT_SIZE)

    @property
    def full(self) -> bool:
        return self.size >= self.capacity

    def put(self, key: bytes, offset: int) -> None:
        """Remember a later offset of a key. The caller checks `full` first."""
        table = self._table
        digest = blake2b(key, digest_size=_HASH_SIZE).digest()
        at, is_new = self._find(digest)
        if is_new:
            if self.size >= self.capacity:
                raise ValueError("the map of keys is full")
            table[at : at + _HASH_SIZE] = digest
            self.size += 1
        _OFFSET.pack_into(table, at + _HASH_SIZE, offset)

    def get(self, key: bytes) -> int:
        """The last offset that was put for the key; -1 if there is none."""
        at, is_new = self._find(blake2b(key, digest_size=_HASH_SIZE).digest())
        if is_new:
            return NO_OFFSET
        offset: int = _OFFSET.unpack_from(self._table, at + _HASH_SIZE)[0]
        return offset

    def _find(self, digest: bytes) -> tuple[int, bool]:
        """(position of the key's slot, whether it is empty still)."""
        table = self._table
        slots = self._slots
        first, second = _HASH_WORDS.unpack(digest)
        slot = first % slots
        at = slot * SLOT_SIZE
        found = table[at : at + _HASH_SIZE]
        if found == digest:
            return at, False
        if found == _EMPTY:
            return at, True
        # The number of slots is prime, so any step leads through all of them.
        step = 1 + second % (slots - 1) if slots > 1 else 1
        while True:
            slot = (slot + step) % slots
            at = slot * SLOT_SIZE
            found = table[at : at + _HASH_SIZE]
            if found == digest:
                return at, False
            if found == _EMPTY:
                return at, True


def _largest_prime(limit: int) -> int:
    """The largest prime that is not above `limit`; 1 or less where there is none."""
    candidate = limit
    while candidate > 2:
        if candidate % 2 and all(candidate % divisor for divisor in range(3, int(candidate**0.5) + 1, 2)):
            return candidate
        candidate -= 1
    return candidate
