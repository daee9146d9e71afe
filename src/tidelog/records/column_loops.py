"""The loops between record batches and columns: no object is created per record.

Compiled where a C compiler is available: `column_loops.pxd` gives the variables their C types. Buffers are passed as
views of the right kind (bytes, int32, int64) and filled in place; `tidelog.records.columns` creates them, and says what
the columns are. About reading memory safely, see `tidelog.records.decoding`: the same holds here.
"""

from __future__ import annotations

from tidelog.records.batch import HEADER_SIZE, CorruptBatch

_SMALLEST_BODY = 6
_LAST_SHIFT = 63
_MOST = (1 << 63) - 1
_LEAST = -_MOST - 1

# What `locate_records` notes of each row beside offset and timestamp: six numbers that say where its fields lie in the
# payload. Start and length of the key, start and length of the value, start and count of the headers.
_FIELDS = 6
FIELDS = _FIELDS
KEY = 0
VALUE = 2
HEADERS = 4


# Reading


def locate_records(
    payload: bytes,
    record_count: int,
    base_offset: int,
    base_timestamp: int,
    max_timestamp: int,
    timestamp_type: int,
    last_offset_delta: int,
    wanted_from: int,
    wanted_until: int,
    row: int,
    offsets: memoryview,
    timestamps: memoryview,
    timestamp_types: memoryview,
    places: memoryview,
) -> int:
    """Note the wanted records of a payload in the rows from `row` on, and return the row behind the last one.

    `places` gets FIELDS numbers a row; the length of a key or value that is null is -1. Raises CorruptBatch.
    """
    data = payload
    size = len(payload)
    position = 0
    last_delta = -1
    for _ in range(record_count):
        length, position = read_long(data, position, size)
        if length < _SMALLEST_BODY or length > size - position:
            raise CorruptBatch(HEADER_SIZE + position, f"a record claims {length} bytes, {size - position} are left")
        end = position + length
        delta, position = read_long(data, position + 1, end)
        timestamp = base_timestamp + delta
        if timestamp > _MOST or timestamp < _LEAST:
            timestamp = (timestamp - _LEAST) % (1 << 64) + _LEAST
        delta, position = read_long(data, position, end)
        if delta <= last_delta or delta > last_offset_delta:
            raise CorruptBatch(
                HEADER_SIZE + position,
                f"offset delta {delta} follows {last_delta}, and the last is {last_offset_delta}",
            )
        last_delta = delta
        key_length, position = read_long(data, position, end)
        key_start = position
        if key_length < -1 or key_length > end - position:
            raise CorruptBatch(HEADER_SIZE + position, f"a key cannot have {key_length} bytes")
        if key_length > 0:
            position += key_length
        value_length, position = read_long(data, position, end)
        value_start = position
        if value_length < -1 or value_length > end - position:
            raise CorruptBatch(HEADER_SIZE + position, f"a value cannot have {value_length} bytes")
        if value_length > 0:
            position += value_length
        header_count, position = read_long(data, position, end)
        if header_count < 0 or header_count > (end - position) // 2:
            raise CorruptBatch(HEADER_SIZE + position, f"{end - position} bytes cannot hold {header_count} headers")
        headers_start = position
        for _ in range(header_count):
            length, position = read_long(data, position, end)
            if length < 0 or length > end - position:
                raise CorruptBatch(HEADER_SIZE + position, f"a header's key cannot have {length} bytes")
            position += length
            length, position = read_long(data, position, end)
            if length < -1 or length > end - position:
                raise CorruptBatch(HEADER_SIZE + position, f"a header's value cannot have {length} bytes")
            if length > 0:
                position += length
        if position != end:
            raise CorruptBatch(HEADER_SIZE + position, f"a record should end at {end}, its fields end at {position}")
        offset = base_offset + delta
        if offset >= wanted_from and offset < wanted_until:
            offsets[row] = offset
            # 1 is LogAppendTime: the broker has stamped the batch, and the largest timestamp is that of all records.
            timestamps[row] = max_timestamp if timestamp_type == 1 else timestamp
            timestamp_types[row] = timestamp_type
            at = row * _FIELDS
            places[at] = key_start
            places[at + 1] = key_length
            places[at + 2] = value_start
            places[at + 3] = value_length
            places[at + 4] = headers_start
            places[at + 5] = header_count
            row += 1
    if position != size:
        raise CorruptBatch(HEADER_SIZE + position, f"{size - position} bytes follow the last record")
    return row


def lay_out(places: memoryview, field: int, count: int, offsets: memoryview, validity: memoryview) -> int:
    """Fill a column's offsets and validity from the lengths in `places`; the number of nulls."""
    total = 0
    nulls = 0
    offsets[0] = 0
    for row in range(count):
        length = places[row * _FIELDS + field + 1]
        if length >= 0:
            total += length
            validity[row >> 3] |= 1 << (row & 7)
        else:
            nulls += 1
        offsets[row + 1] = total
    return nulls


def copy_fields(
    payload: memoryview,
    places: memoryview,
    field: int,
    row: int,
    until: int,
    offsets: memoryview,
    target: memoryview,
) -> None:
    """Copy the keys, or the values, of rows that lie in one payload to where the column's offsets say."""
    while row < until:
        at = offsets[row]
        length = offsets[row + 1] - at
        if length:
            start = places[row * _FIELDS + field]
            target[at : at + length] = payload[start : start + length]
        row += 1


def total_of(places: memoryview, field: int, count: int) -> int:
    """The sum of the lengths (or counts) of one field over all rows; what is null does not count."""
    total = 0
    for row in range(count):
        number = places[row * _FIELDS + field + 1]
        if number > 0:
            total += number
    return total


def locate_headers(
    payload: bytes, places: memoryview, row: int, until: int, header: int, header_places: memoryview
) -> int:
    """The same as `locate_records` for the headers of rows in one payload: rows of their own, from `header` on.

    A header's key and value are noted in the places of key and value. The record loop has checked the lengths.
    """
    data = payload
    size = len(payload)
    while row < until:
        position = places[row * _FIELDS + 4]
        remaining = places[row * _FIELDS + 5]
        while remaining > 0:
            at = header * _FIELDS
            length, position = read_long(data, position, size)
            header_places[at] = position
            header_places[at + 1] = length
            position += length
            length, position = read_long(data, position, size)
            header_places[at + 2] = position
            header_places[at + 3] = length
            if length > 0:
                position += length
            header += 1
            remaining -= 1
        row += 1
    return header


def read_long(data: bytes, position: int, end: int) -> tuple[int, int]:
    """(number of any length, position behind it). Reads nothing from `end` on."""
    folded = 0
    shift = 0
    while True:
        if position >= end:
            raise CorruptBatch(HEADER_SIZE + position, "a record is shorter than its fields")
        byte = data[position]
        position += 1
        if shift == _LAST_SHIFT and byte > 1:
            raise CorruptBatch(HEADER_SIZE + position, "a number does not fit into 64 bits")
        folded |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (folded >> 1) ^ -(folded & 1), position
        shift += 7


# Writing


def measure_rows(
    rows: memoryview,
    row: int,
    until: int,
    key_lengths: memoryview,
    value_lengths: memoryview,
    header_sizes: memoryview,
    timestamps: memoryview,
    count: int,
    most_bytes: int,
    sizes: memoryview,
) -> tuple[int, int]:
    """(row behind the last that fits into `most_bytes`, bytes of these); at least one fits. `sizes` gets each body's.

    `rows` says which row of the columns comes at each place. Offsets count from the first row, timestamps too.
    """
    first = row
    base_timestamp = 0
    total = 0
    while row < until:
        index = rows[row]
        if index < 0 or index >= count:
            raise IndexError(f"row {index} does not exist, the number of rows is {count}")
        if row == first:
            base_timestamp = timestamps[index]
        body = 1 + size_of(timestamps[index] - base_timestamp) + size_of(row - first) + header_sizes[index]
        length = key_lengths[index]
        body += size_of(length)
        if length > 0:
            body += length
        length = value_lengths[index]
        body += size_of(length)
        if length > 0:
            body += length
        whole = body + size_of(body)
        if total + whole > most_bytes and row > first:
            break
        sizes[row] = body
        total += whole
        row += 1
    return row, total


def write_rows(
    target: bytearray,
    rows: memoryview,
    row: int,
    until: int,
    sizes: memoryview,
    key_starts: memoryview,
    key_lengths: memoryview,
    keys: memoryview,
    value_starts: memoryview,
    value_lengths: memoryview,
    values: memoryview,
    header_starts: memoryview,
    header_sizes: memoryview,
    headers: memoryview,
    timestamps: memoryview,
) -> int:
    """Write the records of rows that have been measured; the largest timestamp."""
    first = row
    base_timestamp = timestamps[rows[row]]
    max_timestamp = base_timestamp
    out = target
    view = memoryview(target)
    position = 0
    while row < until:
        index = rows[row]
        timestamp = timestamps[index]
        if timestamp > max_timestamp:
            max_timestamp = timestamp
        position = write_long(out, position, sizes[row])
        out[position] = 0
        position = write_long(out, position + 1, timestamp - base_timestamp)
        position = write_long(out, position, row - first)
        length = key_lengths[index]
        position = write_long(out, position, length)
        if length > 0:
            start = key_starts[index]
            view[position : position + length] = keys[start : start + length]
            position += length
        length = value_lengths[index]
        position = write_long(out, position, length)
        if length > 0:
            start = value_starts[index]
            view[position : position + length] = values[start : start + length]
            position += length
        length = header_sizes[index]
        start = header_starts[index]
        view[position : position + length] = headers[start : start + length]
        position += length
        row += 1
    return max_timestamp


def lengths_of(
    validity: memoryview | None,
    offsets: memoryview,
    size: int,
    first: int,
    count: int,
    starts: memoryview,
    lengths: memoryview,
) -> None:
    """Where in its data of `size` bytes each row of a column begins and how long it is; -1 if it is null."""
    for row in range(count):
        index = first + row
        start = offsets[index]
        stop = offsets[index + 1]
        if start < 0 or stop < start or stop > size:
            raise ValueError(f"row {row} of a column cannot span bytes {start} to {stop} of {size}")
        starts[row] = start
        if validity is None or validity[index >> 3] >> (index & 7) & 1:
            lengths[row] = stop - start
        else:
            lengths[row] = -1


def measure_headers(
    validity: memoryview | None,
    offsets: memoryview,
    first: int,
    count: int,
    header_count: int,
    key_lengths: memoryview,
    value_lengths: memoryview,
    starts: memoryview,
    sizes: memoryview,
) -> int:
    """Bytes that the headers of each row take with their count, and of all. The lengths are those of single headers."""
    total = 0
    for row in range(count):
        index = first + row
        start = offsets[index]
        until = offsets[index + 1]
        if start < 0 or until < start or until > header_count:
            raise ValueError(f"row {row} cannot have headers {start} to {until} of {header_count}")
        if not (validity is None or validity[index >> 3] >> (index & 7) & 1):
            until = start
        size = size_of(until - start)
        while start < until:
            length = key_lengths[start]
            if length < 0:
                length = 0
            size += size_of(length) + length
            length = value_lengths[start]
            size += size_of(length)
            if length > 0:
                size += length
            start += 1
        starts[row] = total
        sizes[row] = size
        total += size
    return total


def write_headers(
    target: bytearray,
    validity: memoryview | None,
    offsets: memoryview,
    first: int,
    count: int,
    key_starts: memoryview,
    key_lengths: memoryview,
    keys: memoryview,
    value_starts: memoryview,
    value_lengths: memoryview,
    values: memoryview,
) -> None:
    """The headers of all rows, one row behind the other, as they stand in a record."""
    out = target
    view = memoryview(target)
    position = 0
    for row in range(count):
        index = first + row
        header = offsets[index]
        until = offsets[index + 1]
        if not (validity is None or validity[index >> 3] >> (index & 7) & 1):
            until = header
        position = write_long(out, position, until - header)
        while header < until:
            length = key_lengths[header]
            if length < 0:
                length = 0
            position = write_long(out, position, length)
            start = key_starts[header]
            view[position : position + length] = keys[start : start + length]
            position += length
            length = value_lengths[header]
            position = write_long(out, position, length)
            if length > 0:
                start = value_starts[header]
                view[position : position + length] = values[start : start + length]
                position += length
            header += 1


def size_of(number: int) -> int:
    """Bytes of the zigzag varint of a number."""
    folded = number << 1
    if number < 0:
        folded = ~folded
    size = 1
    while folded > 0x7F:
        folded >>= 7
        size += 1
    return size


def write_long(target: bytearray, position: int, number: int) -> int:
    """Write a zigzag varint; the position behind it."""
    folded = number << 1
    if number < 0:
        folded = ~folded
    while folded > 0x7F:
        target[position] = folded & 0x7F | 0x80
        folded >>= 7
        position += 1
    target[position] = folded
    return position + 1


# Partitions


def spread_rows(
    key_lengths: memoryview,
    value_lengths: memoryview,
    count: int,
    partition_count: int,
    run_bytes: int,
    partition: int,
    partitions: memoryview,
) -> int:
    """Assign partitions to rows without one (-1): one after the other, each for a run of about `run_bytes` (KIP-480).

    Starts with `partition` and returns the one to continue with.
    """
    used = 0
    for row in range(count):
        if partitions[row] < 0:
            if used >= run_bytes:
                partition = (partition + 1) % partition_count
                used = 0
            partitions[row] = partition
            length = key_lengths[row] + value_lengths[row]
            used += 8 + length
    return partition


def sort_rows(partitions: memoryview, count: int, starts: memoryview, rows: memoryview) -> None:
    """Put the rows of each partition together, in their order: those of p are rows[starts[p]:starts[p + 1]].

    `starts` has two entries more than there are partitions, all zero.
    """
    partition_count = len(starts) - 2
    for row in range(count):
        if partitions[row] < 0 or partitions[row] >= partition_count:
            raise ValueError(f"partition {partitions[row]} of row {row} is not in [0, {partition_count})")
        starts[partitions[row] + 2] += 1
    at = 0
    for partition in range(len(starts)):
        at += starts[partition]
        starts[partition] = at
    for row in range(count):
        slot = partitions[row] + 1
        rows[starts[slot]] = row
        starts[slot] += 1
