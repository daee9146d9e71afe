"""The loop that checks each record a producer has sent: is it well formed, and does the topic accept it?

The same loop finds a record by its timestamp, in a batch from the log.

Compiled where a C compiler is available: `checking.pxd` gives the variables their C types
(`tidelog.records.implementation` decides which of the two runs). Nothing is copied and no object is created per record.
The bytes arrive in pieces, as a codec unpacks them, and a record may span pieces: `_whole_records` processes those that
lie within one piece, and `_next_fields` steps through the others field by field, skipping keys and values. So memory
does not grow with what a batch claims to hold.

What is checked is what Kafka's own consumer would fail on: lengths, counts, that the fields of a record fill it
exactly, that no bytes are left over; and that offset deltas count up from zero. The error codes and messages of
refusals are in `tidelog.records.validation`.
"""

from __future__ import annotations

from tidelog.records.batch import HEADER_SIZE, NO_TIMESTAMP, Buffer, CorruptBatch

_SMALLEST_BODY = 6
_MOST = (1 << 63) - 1
_LEAST = -_MOST - 1
# The largest values of the fifth byte of a 32-bit number and of the tenth byte of a 64-bit one.
_FIFTH_SHIFT = 28
_FIFTH_MOST = 0x0F
_TENTH_SHIFT = 63
_TENTH_MOST = 1

# Which field comes next.
_LENGTH = 0
_ATTRIBUTES = 1
_TIMESTAMP = 2
_OFFSET = 3
_KEY = 4
_VALUE = 5
_HEADERS = 6
_HEADER_KEY = 7
_HEADER_VALUE = 8
_END = 9

# Why a well-formed record can be refused.
_NO_KEY = 1
_TIME_OUT_OF_RANGE = 2
_TIME_ALREADY_SET = 3
NO_KEY = _NO_KEY
TIME_OUT_OF_RANGE = _TIME_OUT_OF_RANGE
TIME_ALREADY_SET = _TIME_ALREADY_SET

_NO_TIMESTAMP = NO_TIMESTAMP


class RecordCheck:
    """The check of one batch: `feed` it all pieces in order, then `finish`. Both raise CorruptBatch."""

    def __init__(
        self,
        record_count: int,
        base_timestamp: int,
        *,
        stamped_ms: int | None = None,
        needs_key: bool = False,
        limits_time: bool = False,
        now_ms: int = 0,
        before_max_ms: int = 0,
        after_max_ms: int = 0,
        max_listed: int = 0,
        sought_ms: int | None = None,
        sought_from: int = 0,
    ) -> None:
        """`stamped_ms` is the timestamp of all records, if the batch says that a broker has set it.

        `limits_time` asks for timestamps not older than `before_max_ms` and not later than `after_max_ms` from now.
        `sought_ms` turns the check into a search, in a batch from the log: for the first record that is not older, from
        the offset delta `sought_from` on. Compaction may have removed some of the records of such a batch.
        """
        self.max_timestamp = _NO_TIMESTAMP
        # How many records are refused, and (index, why, timestamp, key length, value length) of the first of them.
        self.refused = 0
        self.listed: list[tuple[int, int, int, int, int]] = []
        # What a search has found: then the rest of the pieces need not be fed.
        self.found = False
        self.found_delta = -1
        self.found_timestamp = _NO_TIMESTAMP
        self._seeks = sought_ms is not None
        self._sought_ms = 0 if sought_ms is None else sought_ms
        self._sought_from = sought_from
        self._last_delta = -1
        self._max_listed = max_listed
        self._count = record_count
        self._base_timestamp = base_timestamp
        self._stamped = stamped_ms is not None
        self._stamped_ms = 0 if stamped_ms is None else stamped_ms
        self._needs_key = needs_key
        self._limits_time = limits_time
        self._now_ms = now_ms
        self._before_max_ms = before_max_ms
        self._after_max_ms = after_max_ms
        # Without any of these, every well-formed record is accepted.
        self._judges = needs_key or limits_time or self._stamped or self._seeks
        # How many records are done, and how many bytes came before the current piece.
        self._index = 0
        self._fed = 0
        # The record that spans pieces.
        self._field = _LENGTH
        self._folded = 0
        self._shift = 0
        self._skip = 0
        self._left = 0
        self._headers = 0
        self._timestamp = 0
        self._key_length = 0
        self._value_length = 0

    def feed(self, piece: Buffer) -> None:
        size = len(piece)
        position = 0
        while position < size and not self.found:
            if self._field == _LENGTH and self._shift == 0:
                if self._index >= self._count:
                    raise CorruptBatch(
                        HEADER_SIZE + self._fed + position,
                        f"{size - position} bytes or more follow the last of {self._count} records",
                    )
                position = self._whole_records(piece, position, size)
            if position < size and self._index < self._count and not self.found:
                position = self._next_fields(piece, position, size)
        self._fed += size

    def finish(self) -> None:
        """Call after the last piece."""
        if self.found:
            return
        if self._index < self._count or self._field != _LENGTH or self._shift:
            raise CorruptBatch(
                HEADER_SIZE + self._fed, f"the records end within record {self._index + 1} of {self._count}"
            )

    def _whole_records(self, piece: Buffer, position: int, size: int) -> int:
        """The position of the first record that the piece does not hold completely."""
        data = piece
        index = self._index
        count = self._count
        base_timestamp = self._base_timestamp
        max_timestamp = self.max_timestamp
        judges = self._judges
        # Numbers of one or two bytes are read in place, longer ones by a call.
        while index < count and position < size:
            start = position
            folded = data[position]
            if folded < 0x80:
                position += 1
                length = (folded >> 1) ^ -(folded & 1)
            elif position + 1 < size and data[position + 1] < 0x80:
                folded = folded & 0x7F | data[position + 1] << 7
                position += 2
                length = (folded >> 1) ^ -(folded & 1)
            else:
                if size - position < 5 and not _is_whole(data, position, size):
                    position = start
                    break
                length, position = _read_int(data, position, size, self._fed)
            if length < _SMALLEST_BODY:
                raise _bad(self._fed + position, f"a record cannot have {length} bytes")
            if length > size - position:
                position = start
                break
            end = position + length

            position += 1
            folded = data[position]
            if folded < 0x80:
                position += 1
                delta = (folded >> 1) ^ -(folded & 1)
            else:
                delta, position = _read_long(data, position, end, self._fed)
            timestamp = base_timestamp + delta
            if timestamp > _MOST or timestamp < _LEAST:
                # As in Java. In C it has wrapped by itself.
                timestamp = (timestamp - _LEAST) % (1 << 64) + _LEAST

            if position < end and data[position] < 0x80:
                folded = data[position]
                position += 1
                length = (folded >> 1) ^ -(folded & 1)
            elif position + 1 < end and data[position + 1] < 0x80:
                folded = data[position] & 0x7F | data[position + 1] << 7
                position += 2
                length = (folded >> 1) ^ -(folded & 1)
            else:
                length, position = _read_int(data, position, end, self._fed)
            if length != index:
                if not self._seeks:
                    raise _bad(self._fed + position, f"offset delta {length} should be {index}")
                if length <= self._last_delta:
                    raise _bad(self._fed + position, f"offset delta {length} follows {self._last_delta}")
            self._last_delta = length

            if position < end and data[position] < 0x80:
                folded = data[position]
                position += 1
                key_length = (folded >> 1) ^ -(folded & 1)
            elif position + 1 < end and data[position + 1] < 0x80:
                folded = data[position] & 0x7F | data[position + 1] << 7
                position += 2
                key_length = (folded >> 1) ^ -(folded & 1)
            else:
                key_length, position = _read_int(data, position, end, self._fed)
            if key_length < -1 or key_length > end - position:
                raise _bad(self._fed + position, f"a key cannot have {key_length} bytes")
            if key_length > 0:
                position += key_length

            if position < end and data[position] < 0x80:
                folded = data[position]
                position += 1
                value_length = (folded >> 1) ^ -(folded & 1)
            elif position + 1 < end and data[position + 1] < 0x80:
                folded = data[position] & 0x7F | data[position + 1] << 7
                position += 2
                value_length = (folded >> 1) ^ -(folded & 1)
            else:
                value_length, position = _read_int(data, position, end, self._fed)
            if value_length < -1 or value_length > end - position:
                raise _bad(self._fed + position, f"a value cannot have {value_length} bytes")
            if value_length > 0:
                position += value_length

            if position < end and data[position] == 0:
                position += 1
            else:
                position = _skip_headers(data, position, end, self._fed)
            if position != end:
                raise _bad(self._fed + position, f"{end - position} bytes of a record are left after its fields")

            if judges:
                self._index = index
                timestamp = self._judge(timestamp, key_length, value_length)
                if self.found:
                    break
            if timestamp > max_timestamp:
                max_timestamp = timestamp
            index += 1
        self._index = index
        self.max_timestamp = max_timestamp
        return position

    def _next_fields(self, piece: Buffer, position: int, size: int) -> int:
        """Continue with a record that spans pieces, up to its end or that of this piece."""
        data = piece
        while position < size:
            if self._skip:
                step = self._skip if self._skip < size - position else size - position
                position += step
                self._skip -= step
                if self._skip:
                    break
                if self._field == _END:
                    self._end_record(position)
                    break
                continue
            byte = data[position]
            position += 1
            if self._field != _LENGTH:
                if self._left <= 0:
                    raise _bad(self._fed + position, "a record is shorter than its fields")
                self._left -= 1
            if self._field == _ATTRIBUTES:
                self._field = _TIMESTAMP
                continue
            most = 0xFF
            if self._field != _TIMESTAMP:
                if self._shift == _FIFTH_SHIFT:
                    most = _FIFTH_MOST
            elif self._shift == _TENTH_SHIFT:
                most = _TENTH_MOST
            if byte > most:
                raise _bad(self._fed + position, "a number is too large")
            self._folded |= (byte & 0x7F) << self._shift
            if byte >= 0x80:
                self._shift += 7
                continue
            number = (self._folded >> 1) ^ -(self._folded & 1)
            self._folded = 0
            self._shift = 0
            self._take(number, position)
            if self._field == _END and not self._skip:
                self._end_record(position)
                break
        return position

    def _take(self, number: int, position: int) -> None:
        """A number is complete: what it means for the fields that follow."""
        field = self._field
        if field == _LENGTH:
            if number < _SMALLEST_BODY:
                raise _bad(self._fed + position, f"a record cannot have {number} bytes")
            self._left = number
            self._field = _ATTRIBUTES
        elif field == _TIMESTAMP:
            timestamp = self._base_timestamp + number
            if timestamp > _MOST or timestamp < _LEAST:
                timestamp = (timestamp - _LEAST) % (1 << 64) + _LEAST
            self._timestamp = timestamp
            self._field = _OFFSET
        elif field == _OFFSET:
            if number != self._index:
                if not self._seeks:
                    raise _bad(self._fed + position, f"offset delta {number} should be {self._index}")
                if number <= self._last_delta:
                    raise _bad(self._fed + position, f"offset delta {number} follows {self._last_delta}")
            self._last_delta = number
            self._field = _KEY
        elif field in (_KEY, _VALUE):
            if number < -1 or number > self._left:
                what = "key" if field == _KEY else "value"
                raise _bad(self._fed + position, f"a {what} cannot have {number} bytes")
            if field == _KEY:
                self._key_length = number
                self._field = _VALUE
            else:
                self._value_length = number
                self._field = _HEADERS
            self._pass_over(number)
        elif field == _HEADERS:
            if number < 0 or number > self._left // 2:
                raise _bad(self._fed + position, f"{self._left} bytes cannot hold {number} headers")
            self._headers = number
            self._field = _HEADER_KEY if number else _END
        elif field == _HEADER_KEY:
            if number < 0 or number > self._left:
                raise _bad(self._fed + position, f"a header's key cannot have {number} bytes")
            self._field = _HEADER_VALUE
            self._pass_over(number)
        else:
            if number < -1 or number > self._left:
                raise _bad(self._fed + position, f"a header's value cannot have {number} bytes")
            self._headers -= 1
            self._field = _HEADER_KEY if self._headers else _END
            self._pass_over(number)

    def _pass_over(self, length: int) -> None:
        if length > 0:
            self._skip = length
            self._left -= length

    def _end_record(self, position: int) -> None:
        if self._left:
            raise _bad(self._fed + position, f"{self._left} bytes of a record are left after its fields")
        timestamp = self._timestamp
        if self._judges:
            timestamp = self._judge(timestamp, self._key_length, self._value_length)
        if timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
        self._index += 1
        self._field = _LENGTH

    def _judge(self, timestamp: int, key_length: int, value_length: int) -> int:
        """The record's timestamp. Notes why the topic refuses the record, if it does."""
        why = 0
        if self._stamped:
            timestamp = self._stamped_ms
        if self._seeks:
            if timestamp >= self._sought_ms and self._last_delta >= self._sought_from:
                self.found = True
                self.found_delta = self._last_delta
                self.found_timestamp = timestamp
            return timestamp
        if self._needs_key and key_length < 0:
            why = _NO_KEY
        elif self._limits_time and timestamp != _NO_TIMESTAMP:
            age = self._now_ms - timestamp
            if age > _MOST or age < _LEAST:
                age = (age - _LEAST) % (1 << 64) + _LEAST
            # Wraps as in Java, where the least number is its own negative.
            ahead = -age if age != _LEAST else age
            if age > self._before_max_ms or ahead > self._after_max_ms:
                why = _TIME_OUT_OF_RANGE
        elif self._stamped:
            why = _TIME_ALREADY_SET
        if why:
            self.refused += 1
            if self.refused <= self._max_listed:
                self.listed.append((self._index, why, timestamp, key_length, value_length))
        return timestamp


def _skip_headers(data: Buffer, position: int, end: int, fed: int) -> int:
    count, position = _read_int(data, position, end, fed)
    if count < 0 or count > (end - position) // 2:
        raise _bad(fed + position, f"{end - position} bytes cannot hold {count} headers")
    for _ in range(count):
        length, position = _read_int(data, position, end, fed)
        if length < 0 or length > end - position:
            raise _bad(fed + position, f"a header's key cannot have {length} bytes")
        position += length
        length, position = _read_int(data, position, end, fed)
        if length < -1 or length > end - position:
            raise _bad(fed + position, f"a header's value cannot have {length} bytes")
        if length > 0:
            position += length
    return position


def _is_whole(data: Buffer, position: int, size: int) -> bool:
    """Whether the number ends within the piece."""
    while position < size:
        if data[position] < 0x80:
            return True
        position += 1
    return False


def _read_int(data: Buffer, position: int, end: int, fed: int) -> tuple[int, int]:
    """(number of at most 32 bits, position behind it). Reads nothing from `end` on."""
    folded = 0
    shift = 0
    while True:
        if position >= end:
            raise _bad(fed + position, "a record is shorter than its fields")
        byte = data[position]
        position += 1
        if shift == _FIFTH_SHIFT and byte > _FIFTH_MOST:
            raise _bad(fed + position, "a number does not fit into 32 bits")
        folded |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (folded >> 1) ^ -(folded & 1), position
        shift += 7


def _read_long(data: Buffer, position: int, end: int, fed: int) -> tuple[int, int]:
    """(number of at most 64 bits, position behind it). Reads nothing from `end` on."""
    folded = 0
    shift = 0
    while True:
        if position >= end:
            raise _bad(fed + position, "a record is shorter than its fields")
        byte = data[position]
        position += 1
        if shift == _TENTH_SHIFT and byte > _TENTH_MOST:
            raise _bad(fed + position, "a number does not fit into 64 bits")
        folded |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (folded >> 1) ^ -(folded & 1), position
        shift += 7


def _bad(position: int, reason: str) -> CorruptBatch:
    return CorruptBatch(HEADER_SIZE + position, reason)
