"""The loops of a digest of rows that does not depend on their order, nor on the pieces that they come in.

Each row has a 64-bit state, through which its fields go one after the other: their length first, so that no two fields
can be taken for others, then their bytes, eight at a time. A field that is null is neither empty nor absent. The digest
is the sum of the finished states, twice, the second time after they were mixed once more: 128 bits. Addition is why
order and division do not matter. It detects accidents, not forgeries: whoever chooses the bytes can find collisions.

Compiled where a C compiler is available: `row_digest.pxd` gives the variables their C types. In plain Python the masks
keep numbers within 64 bits, in C they cost nothing. `tidelog.records.content_digest` is for callers.
"""

from __future__ import annotations

_MASK = 0xFFFFFFFFFFFFFFFF
# Odd numbers without a pattern, the fractions of square roots: of 2, 3, 5 and 7.
_M = 0x6A09E667F3BCC909
_SECOND = 0xBB67AE8584CAA73B
_THIRD = 0x3C6EF372FE94F82B
_FOURTH = 0xA54FF53A5F1D36F1
_NULL = 0xFFFFFFFFFFFFFFFF


def mix_fields(
    starts: memoryview, lengths: memoryview, data: memoryview, words: memoryview, count: int, states: memoryview
) -> None:
    """One field of each row. A length of -1 is null; the others are within the data, which the caller has checked.

    `words` are the same data as numbers of eight bytes, as many as there are whole ones. Where a field does not begin
    with one of them, its words are put together from two each.
    """
    whole = len(words) - 1
    for row in range(count):
        length = lengths[row]
        state = states[row]
        if length < 0:
            state = (state ^ _NULL) * _M & _MASK
            states[row] = state ^ state >> 32
            continue
        position = starts[row]
        end = position + length
        state = (state ^ length) * _M & _MASK
        state ^= state >> 32
        index = position >> 3
        if length >= 8 and index < whole:
            right = (position & 7) << 3
            # Shifted by one and then by the rest, because C does not define what a shift by 64 is.
            left = 63 - right
            this = words[index]
            if length >= 64:
                # Four at a time do not wait for each other.
                second = state ^ _SECOND
                third = state ^ _THIRD
                fourth = state ^ _FOURTH
                while position + 32 <= end and index + 3 < whole:
                    following = words[index + 1]
                    state = (state ^ (this >> right | (following << 1 & _MASK) << left & _MASK)) * _M & _MASK
                    this = words[index + 2]
                    second = (second ^ (following >> right | (this << 1 & _MASK) << left & _MASK)) * _M & _MASK
                    following = words[index + 3]
                    third = (third ^ (this >> right | (following << 1 & _MASK) << left & _MASK)) * _M & _MASK
                    this = words[index + 4]
                    fourth = (fourth ^ (following >> right | (this << 1 & _MASK) << left & _MASK)) * _M & _MASK
                    state ^= state >> 32
                    second ^= second >> 32
                    third ^= third >> 32
                    fourth ^= fourth >> 32
                    index += 4
                    position += 32
                # The last words of the data have none behind them. What comes here ends with the data.
                while position + 32 <= end:
                    state = (state ^ word_at(data, position)) * _M & _MASK
                    second = (second ^ word_at(data, position + 8)) * _M & _MASK
                    third = (third ^ word_at(data, position + 16)) * _M & _MASK
                    fourth = (fourth ^ word_at(data, position + 24)) * _M & _MASK
                    state ^= state >> 32
                    second ^= second >> 32
                    third ^= third >> 32
                    fourth ^= fourth >> 32
                    index += 4
                    position += 32
                state = joined(state, second, third, fourth)
            while position + 8 <= end and index < whole:
                following = words[index + 1]
                state = (state ^ (this >> right | (following << 1 & _MASK) << left & _MASK)) * _M & _MASK
                state ^= state >> 32
                this = following
                index += 1
                position += 8
        while position + 8 <= end:
            state = (state ^ word_at(data, position)) * _M & _MASK
            state ^= state >> 32
            position += 8
        if position < end:
            word = 0
            shift = 0
            while position < end:
                last = data[position]
                word |= last << shift
                shift += 8
                position += 1
            state = (state ^ word) * _M & _MASK
            state ^= state >> 32
        states[row] = state


def joined(first: int, second: int, third: int, fourth: int) -> int:
    first = (first ^ second) * _M & _MASK
    first ^= first >> 32
    first = (first ^ third) * _M & _MASK
    first ^= first >> 32
    first = (first ^ fourth) * _M & _MASK
    return first ^ first >> 32


def mix_numbers(numbers: memoryview, count: int, states: memoryview) -> None:
    """One number (int64) of each row."""
    for row in range(count):
        state = (states[row] ^ (numbers[row] & _MASK)) * _M & _MASK
        states[row] = state ^ state >> 32


def add_up(states: memoryview, count: int, totals: memoryview) -> None:
    """Add the rows to the two totals."""
    low = totals[0]
    high = totals[1]
    for row in range(count):
        state = states[row]
        state = (state ^ state >> 29) * _THIRD & _MASK
        state = (state ^ state >> 32) * _FOURTH & _MASK
        state ^= state >> 29
        low = low + state & _MASK
        state = (state ^ _SECOND) * _M & _MASK
        state = (state ^ state >> 32) * _THIRD & _MASK
        high = high + (state ^ state >> 29) & _MASK
    totals[0] = low
    totals[1] = high


def word_at(data: memoryview, position: int) -> int:
    """Eight bytes as a number, for where they cannot be read at once."""
    b0 = data[position]
    b1 = data[position + 1]
    b2 = data[position + 2]
    b3 = data[position + 3]
    b4 = data[position + 4]
    b5 = data[position + 5]
    b6 = data[position + 6]
    b7 = data[position + 7]
    return b0 | b1 << 8 | b2 << 16 | b3 << 24 | b4 << 32 | b5 << 40 | b6 << 48 | b7 << 56
