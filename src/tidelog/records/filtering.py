"""The loops of compaction: where records lie, the hashes of their keys, the last offset of each key, and who stays.

Compiled where a C compiler is available: `filtering.pxd` gives the variables their C types. The compiled loops release
the interpreter's lock, so they touch nothing but buffers: what a step found goes into arrays of numbers for the next
one. They raise nothing: -1 says that the records are damaged, and `tidelog.records.spans` how. The table of offsets
belongs to `tidelog.storage.cleaner.key_map`, the decisions to `tidelog.storage.cleaner.batch_filter`.

Of each record, `find_records` notes FIELDS numbers: where it begins and ends, offset delta, timestamp delta, where its
key begins, the key's length (-1: null), and whether it has a value. Of each key, `hash_keys` notes two words of 64
bits. The table has three words per slot: the hash of the key, and the offset. An empty slot has the hash 0.
"""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import TYPE_CHECKING

from tidelog.records.batch import Buffer

if TYPE_CHECKING:
    import cython
else:
    # In C this is the compiler's own, and it is where the lock is released.
    cython = SimpleNamespace(nogil=nullcontext())

FIELDS = 7
# What `put_offsets` goes on counting: keys in the table, and the last offset that was put.
SIZE = 0
LAST_OFFSET = 1
# What `keep_records` goes on counting: records that stay, tombstones among them, their largest timestamp delta, and
# the bytes they have.
KEPT = 0
TOMBSTONES = 1
MAX_DELTA = 2
WRITTEN = 3

NO_OFFSET = -1

_FIELDS = 7
_SMALLEST_BODY = 6
_LAST_SHIFT = 63
_MOST = 0x7FFFFFFFFFFFFFFF
_MASK = 0xFFFFFFFFFFFFFFFF

# Of SipHash: "somepseudorandomlygeneratedbytes".
_SIP_0 = 0x736F6D6570736575
_SIP_1 = 0x646F72616E646F6D
_SIP_2 = 0x6C7967656E657261
_SIP_3 = 0x7465646279746573


def find_records(data: Buffer, position: int, count: int, spans: memoryview) -> int:
    """Note where `count` records lie that begin at `position`. The position behind them; -1 if they are damaged."""
    with cython.nogil:
        found = _find_records(data, position, count, spans)
    # A Python number, which cannot be made without the lock.
    return found  # noqa: RET504


def hash_keys(data: Buffer, count: int, spans: memoryview, secrets: memoryview, hashes: memoryview) -> None:
    """SipHash-2-4 of each key, 128 bits. Nobody who does not know the two secrets can make two keys with one hash."""
    with cython.nogil:
        for number in range(count):
            length = spans[number * _FIELDS + 5]
            if length >= 0:
                _hash(data, spans[number * _FIELDS + 4], length, secrets, hashes, number * 2)


def put_offsets(
    count: int,
    spans: memoryview,
    hashes: memoryview,
    table: memoryview,
    capacity: int,
    base_offset: int,
    first_offset: int,
    state: memoryview,
) -> bool:
    """Put the offsets of keys into the table, those from `first_offset` on. Whether there was room for all.

    A table with as many keys as it may have takes no more offsets, even of keys that it has.
    """
    with cython.nogil:
        had_room = _put_offsets(count, spans, hashes, table, capacity, base_offset, first_offset, state)
    return had_room != 0


def keep_records(
    data: Buffer,
    count: int,
    spans: memoryview,
    hashes: memoryview,
    table: memoryview,
    base_offset: int,
    mapped_up_to: int,
    keeps_tombstones: int,
    output: bytearray,
    totals: memoryview,
) -> None:
    """Copy the records that stay to `output`, behind those that are there already, and add them to the totals.

    One behind `mapped_up_to` stays. So does one with a key that has no later offset, unless it is a tombstone and these
    go. The output has room for all of `data`.
    """
    with cython.nogil:
        _keep_records(data, count, spans, hashes, table, base_offset, mapped_up_to, keeps_tombstones, output, totals)


def last_offset(hashes: memoryview, table: memoryview) -> int:
    """Of the key with the first of these hashes; -1 if it is not in the table."""
    at = _slot_of(hashes[0], hashes[1], table)
    return table[at + 2] if table[at] or table[at + 1] else NO_OFFSET


def _find_records(data: Buffer, position: int, count: int, spans: memoryview) -> int:
    size = len(data)
    at = 0
    for _ in range(count):
        # In each step: one or two bytes in place, longer numbers by calls. Nothing is read behind the last byte.
        spans[at] = position
        if position + 1 >= size:
            return -1
        byte = data[position]
        high = data[position + 1]
        if byte < 0x80:
            position += 1
            length = (byte >> 1) ^ -(byte & 1)
        elif high < 0x80:
            position += 2
            byte = byte & 0x7F | high << 7
            length = (byte >> 1) ^ -(byte & 1)
        else:
            behind = _number_end(data, position, size)
            if behind < 0:
                return -1
            length = _number(data, position, behind)
            position = behind
        if length < _SMALLEST_BODY or length > size - position:
            return -1
        end = position + length
        spans[at + 1] = end

        # The attributes are one byte, and not of interest.
        position += 1
        byte = data[position]
        if byte < 0x80:
            position += 1
            spans[at + 3] = (byte >> 1) ^ -(byte & 1)
        else:
            behind = _number_end(data, position, size)
            if behind < 0:
                return -1
            spans[at + 3] = _number(data, position, behind)
            position = behind

        # At least the two lengths of key and value are still to come.
        if position + 1 >= size:
            return -1
        byte = data[position]
        high = data[position + 1]
        if byte < 0x80:
            position += 1
            spans[at + 2] = (byte >> 1) ^ -(byte & 1)
        elif high < 0x80:
            position += 2
            byte = byte & 0x7F | high << 7
            spans[at + 2] = (byte >> 1) ^ -(byte & 1)
        else:
            behind = _number_end(data, position, size)
            if behind < 0:
                return -1
            spans[at + 2] = _number(data, position, behind)
            position = behind

        if position >= size:
            return -1
        byte = data[position]
        if byte < 0x80:
            position += 1
            length = (byte >> 1) ^ -(byte & 1)
        else:
            behind = _number_end(data, position, size)
            if behind < 0:
                return -1
            length = _number(data, position, behind)
            position = behind
        if length < -1 or length >= end - position:
            return -1
        spans[at + 4] = position
        spans[at + 5] = length
        if length > 0:
            position += length
        if position >= size:
            return -1
        # -1, a value that is null, is one byte: 0x01.
        spans[at + 6] = data[position] != 0x01
        position = end
        at += _FIELDS
    return position


def _number_end(data: Buffer, position: int, size: int) -> int:
    """The position behind a number; -1 if it is cut short or has more than 64 bits."""
    shift = 0
    while position < size:
        byte = data[position]
        position += 1
        if shift == _LAST_SHIFT and byte > 1:
            return -1
        if byte < 0x80:
            return position
        shift += 7
    return -1


def _number(data: Buffer, position: int, end: int) -> int:
    folded = 0
    shift = 0
    while position < end:
        bits = data[position]
        folded |= (bits & 0x7F) << shift
        shift += 7
        position += 1
    return (folded >> 1) ^ -(folded & 1)


def _hash(data: Buffer, start: int, length: int, secrets: memoryview, hashes: memoryview, at: int) -> None:
    v0 = secrets[0] ^ _SIP_0
    v1 = secrets[1] ^ _SIP_1 ^ 0xEE
    v2 = secrets[0] ^ _SIP_2
    v3 = secrets[1] ^ _SIP_3
    position = start
    end = start + length
    # After the words of the key, of which the last has the key's length in it, come two steps, one for each word of
    # the hash.
    words = (length >> 3) + 1
    for step in range(words + 2):
        word = 0
        rounds = 2
        if step < words:
            shift = 0
            stop = position + 8
            if step == words - 1:
                bits = length & 0xFF
                word = bits << 56
                stop = end
            while position < stop:
                bits = data[position]
                word |= bits << shift
                shift += 8
                position += 1
        elif step == words:
            v2 ^= 0xEE
            rounds = 4
        else:
            hashes[at] = v0 ^ v1 ^ v2 ^ v3
            v1 ^= 0xDD
            rounds = 4
        v3 ^= word
        for _ in range(rounds):
            v0 = v0 + v1 & _MASK
            v2 = v2 + v3 & _MASK
            v1 = (v1 << 13 & _MASK | v1 >> 51) ^ v0
            v3 = (v3 << 16 & _MASK | v3 >> 48) ^ v2
            v0 = v0 << 32 & _MASK | v0 >> 32
            v2 = v2 + v1 & _MASK
            v0 = v0 + v3 & _MASK
            v1 = (v1 << 17 & _MASK | v1 >> 47) ^ v2
            v3 = (v3 << 21 & _MASK | v3 >> 43) ^ v0
            v2 = v2 << 32 & _MASK | v2 >> 32
        v0 ^= word
    hashes[at + 1] = v0 ^ v1 ^ v2 ^ v3


def _slot_of(first: int, second: int, table: memoryview) -> int:
    """Where in the table the slot of a key is, or the empty one where it would be. One slot is always empty."""
    slots = len(table) // 3
    slot = first % slots
    at = slot * 3
    if (table[at] == first and table[at + 1] == second) or (table[at] == 0 and table[at + 1] == 0):
        return at
    # The number of slots is prime, so any step leads through all of them.
    step = 1 + second % (slots - 1)
    while True:
        slot += step
        if slot >= slots:
            slot -= slots
        at = slot * 3
        if (table[at] == first and table[at + 1] == second) or (table[at] == 0 and table[at + 1] == 0):
            return at


def _put_offsets(
    count: int,
    spans: memoryview,
    hashes: memoryview,
    table: memoryview,
    capacity: int,
    base_offset: int,
    first_offset: int,
    state: memoryview,
) -> int:
    for number in range(count):
        if spans[number * _FIELDS + 5] < 0:
            continue
        delta = spans[number * _FIELDS + 2]
        # What no offset can be is behind everything; it must not wrap.
        offset = base_offset + delta if delta <= _MOST - base_offset else _MOST
        if offset < first_offset:
            continue
        if state[0] >= capacity:
            return 0
        first = hashes[number * 2]
        second = hashes[number * 2 + 1]
        at = _slot_of(first, second, table)
        if table[at] == 0 and table[at + 1] == 0:
            table[at] = first
            table[at + 1] = second
            state[0] += 1
        table[at + 2] = offset
        state[1] = offset
    return 1


def _keep_records(
    data: Buffer,
    count: int,
    spans: memoryview,
    hashes: memoryview,
    table: memoryview,
    base_offset: int,
    mapped_up_to: int,
    keeps_tombstones: int,
    output: bytearray,
    totals: memoryview,
) -> None:
    # The stretch of records that stay one after the other, not copied yet.
    begin = 0
    end = 0
    written = totals[3]
    for number in range(count):
        at = number * _FIELDS
        delta = spans[at + 2]
        offset = base_offset + delta if delta <= _MOST - base_offset else _MOST
        if offset <= mapped_up_to:
            if spans[at + 5] < 0 or not (spans[at + 6] or keeps_tombstones):
                continue
            slot = _slot_of(hashes[number * 2], hashes[number * 2 + 1], table)
            last = -1
            if table[slot] or table[slot + 1]:
                last = table[slot + 2]
            if offset < last:
                continue
        if totals[0] == 0 or spans[at + 3] > totals[2]:
            totals[2] = spans[at + 3]
        totals[0] += 1
        if not spans[at + 6]:
            totals[1] += 1
        if spans[at] != end:
            if begin < end:
                output[written : written + end - begin] = data[begin:end]
                written += end - begin
            begin = spans[at]
        end = spans[at + 1]
    if begin < end:
        output[written : written + end - begin] = data[begin:end]
        written += end - begin
    totals[3] = written
