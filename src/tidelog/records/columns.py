"""Records as columns in Apache Arrow's memory layout, from and to record batches, without an object per record.

A column is a few flat buffers, as `pyarrow.Array.from_buffers` takes and `pyarrow.Array.buffers` returns them; pyarrow
itself is not needed here (`tidelog.client.arrow` connects the two). The loops are in
`tidelog.records.column_loops`, records as objects in `tidelog.records.record`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from sys import byteorder
from typing import Final, NamedTuple

from tidelog.records.batch import CURRENT_MAGIC, HEADER_SIZE, BatchHeader, Buffer, CorruptBatch
from tidelog.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES, Compression, compress
from tidelog.records.content_digest import ContentDigest, RowStates
from tidelog.records.decoding import SMALLEST_RECORD
from tidelog.records.implementation import column_loops, hashing
from tidelog.records.record import assemble_batch, read_payload

# Offsets into the data of a column are 32-bit numbers with a sign.
MAX_COLUMN_BYTES: Final = (1 << 31) - 1
_EVERYTHING: Final = (1 << 63) - 1
NO_PARTITION: Final = -1


class BinaryColumn(NamedTuple):
    """Values of variable length. Row i has data[offsets[first + i] : offsets[first + i + 1]].

    `offsets` are int32. `validity` has a bit per row, lowest bit first, which is 0 for null; counted from `first`, too.
    It is None if no row is null. `nulls` counts them, and is -1 if they have not been counted.
    """

    validity: Buffer | None
    offsets: Buffer
    data: Buffer
    first: int = 0
    nulls: int = -1


class HeadersColumn(NamedTuple):
    """Row i has the headers from offsets[first + i] to offsets[first + i + 1] in `keys` and `values`; null is none."""

    validity: Buffer | None
    offsets: Buffer
    keys: BinaryColumn
    values: BinaryColumn
    first: int = 0


class Columns(NamedTuple):
    """Records of one partition. Offsets and timestamps (in ms) are int64, timestamp types int32."""

    row_count: int
    offsets: Buffer
    timestamps: Buffer
    timestamp_types: Buffer
    keys: BinaryColumn
    values: BinaryColumn
    headers: HeadersColumn | None


class RowSource(NamedTuple):
    """Rows to be written as records. A column that is None has null in each row; timestamps are int64, in ms.

    Where there are no timestamps, all get `now_ms`.
    """

    row_count: int
    keys: BinaryColumn | None
    values: BinaryColumn | None
    headers: HeadersColumn | None
    timestamps: Buffer | None
    now_ms: int


class FinishedBatch(NamedTuple):
    """A record batch as it goes over the wire, without producer id and sequence, at base offset 0."""

    data: bytes
    record_count: int
    max_timestamp: int


# Reading


def decode_columns(
    batches: Iterable[tuple[BatchHeader, Buffer]],
    *,
    wanted_from: int = 0,
    wanted_until: int = _EVERYTHING,
    with_headers: bool = False,
    check_crc: bool = True,
    max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES,
) -> Columns:
    """The records of whole batches, each with its header, whose offsets are in [wanted_from, wanted_until).

    The caller must leave out control batches and those of aborted transactions. Raises CorruptBatch, and ValueError if
    the batches together hold more than a column can.
    """
    payloads: list[tuple[BatchHeader, bytes]] = []
    total_bytes = 0
    total_rows = 0
    for header, batch in batches:
        payload = read_payload(header, batch, max_decompressed_bytes, check_crc=check_crc)
        if not 0 <= header.record_count * SMALLEST_RECORD <= len(payload):
            raise CorruptBatch(HEADER_SIZE, f"{len(payload)} bytes cannot hold {header.record_count} records")
        if header.base_offset > _EVERYTHING - max(header.last_offset_delta, 0):
            raise CorruptBatch(0, f"offset {header.base_offset} + {header.last_offset_delta} is out of range")
        payloads.append((header, payload))
        total_bytes += len(payload)
        total_rows += header.record_count
    if total_bytes > MAX_COLUMN_BYTES:
        raise ValueError(f"{total_bytes} bytes of records exceed a column's limit of {MAX_COLUMN_BYTES}: pass fewer")
    return _decode(payloads, total_rows, wanted_from, wanted_until, with_headers)


def _decode(
    payloads: list[tuple[BatchHeader, bytes]], most_rows: int, wanted_from: int, wanted_until: int, with_headers: bool
) -> Columns:
    offsets = bytearray(8 * most_rows)
    timestamps = bytearray(8 * most_rows)
    timestamp_types = bytearray(4 * most_rows)
    places = memoryview(bytearray(8 * most_rows * column_loops.FIELDS)).cast("q")
    extents: list[tuple[bytes, int, int]] = []
    row = 0
    with (
        memoryview(offsets).cast("q") as offsets_view,
        memoryview(timestamps).cast("q") as timestamps_view,
        memoryview(timestamp_types).cast("i") as types_view,
    ):
        for header, payload in payloads:
            until = column_loops.locate_records(
                payload,
                header.record_count,
                header.base_offset,
                header.base_timestamp,
                header.max_timestamp,
                header.timestamp_type,
                header.last_offset_delta,
                wanted_from,
                wanted_until,
                row,
                offsets_view,
                timestamps_view,
                types_view,
                places,
            )
            if until > row:
                extents.append((payload, row, until))
            row = until
    del offsets[8 * row :], timestamps[8 * row :], timestamp_types[4 * row :]
    return Columns(
        row,
        offsets,
        timestamps,
        timestamp_types,
        _binary_column(extents, places, column_loops.KEY, row),
        _binary_column(extents, places, column_loops.VALUE, row),
        _headers_column(extents, places, row) if with_headers else None,
    )


def _binary_column(extents: list[tuple[bytes, int, int]], places: memoryview, field: int, count: int) -> BinaryColumn:
    offsets = bytearray(4 * (count + 1))
    validity = bytearray((count + 7) // 8)
    data = bytearray(column_loops.total_of(places, field, count))
    with memoryview(offsets).cast("i") as offsets_view, memoryview(validity) as bits, memoryview(data) as target:
        nulls = column_loops.lay_out(places, field, count, offsets_view, bits)
        for payload, row, until in extents:
            column_loops.copy_fields(memoryview(payload), places, field, row, until, offsets_view, target)
    return BinaryColumn(validity if nulls else None, offsets, data, 0, nulls)


def _headers_column(extents: list[tuple[bytes, int, int]], places: memoryview, count: int) -> HeadersColumn:
    total = column_loops.total_of(places, column_loops.HEADERS, count)
    offsets = bytearray(4 * (count + 1))
    with memoryview(offsets).cast("i") as view:
        column_loops.lay_out(places, column_loops.HEADERS, count, view, memoryview(bytearray((count + 7) // 8)))
    header_places = memoryview(bytearray(8 * total * column_loops.FIELDS)).cast("q")
    header_extents: list[tuple[bytes, int, int]] = []
    header = 0
    for payload, row, until in extents:
        after = column_loops.locate_headers(payload, places, row, until, header, header_places)
        if after > header:
            header_extents.append((payload, header, after))
        header = after
    keys = _binary_column(header_extents, header_places, column_loops.KEY, total)
    values = _binary_column(header_extents, header_places, column_loops.VALUE, total)
    return HeadersColumn(None, offsets, _as_text(keys, total), values)


def _as_text(column: BinaryColumn, count: int) -> BinaryColumn:
    """Kafka's own client reads a header's key that is not UTF-8 with replacement characters."""
    data = bytes(column.data)
    if data.isascii():
        return column
    offsets = memoryview(column.offsets).cast("i")
    texts = [data[offsets[row] : offsets[row + 1]].decode("utf-8", "replace").encode() for row in range(count)]
    new_offsets = bytearray(4 * (count + 1))
    with memoryview(new_offsets).cast("i") as view:
        for row, text in enumerate(texts):
            view[row + 1] = view[row] + len(text)
    return BinaryColumn(None, new_offsets, bytearray(b"".join(texts)), 0, 0)


# Writing


class RowEncoder:
    """Writes rows as finished record batches. Where each row's parts lie is determined once, for all batches."""

    def __init__(self, source: RowSource) -> None:
        self.count = count = source.row_count
        self._keys = _located(source.keys, count)
        self._values = _located(source.values, count)
        self._headers = _written_headers(source.headers, count)
        if source.timestamps is None:
            self._timestamps = memoryview(source.now_ms.to_bytes(8, byteorder, signed=True) * count).cast("q")
        else:
            self._timestamps = _view(source.timestamps, "q")
            if len(self._timestamps) < count:
                raise ValueError(f"{len(self._timestamps)} timestamps are too few for {count} rows")
        self._sizes = memoryview(bytearray(4 * count)).cast("i")

    def partitions(
        self,
        keys: BinaryColumn | None,
        partition_count: int,
        *,
        chosen: Buffer | None = None,
        run_bytes: int,
        first_partition: int,
    ) -> tuple[bytearray, int]:
        """(the partition of each row as int32, the partition to continue with for rows without a key).

        A `chosen` partition (int32) is kept; -1 means none. Then keys decide, as in Java's client, and the rest goes to
        one partition after the other in runs of about `run_bytes`.
        """
        partitions = bytearray(chosen) if chosen is not None else bytearray(b"\xff" * (4 * self.count))
        if len(partitions) < 4 * self.count:
            raise ValueError(f"{len(partitions) // 4} partitions are too few for {self.count} rows")
        with memoryview(partitions).cast("i") as view:
            if keys is not None:
                validity, offsets = _checked_rows(keys, self.count)
                hashing.hash_rows(
                    validity, offsets, _view(keys.data, "B"), keys.first, self.count, partition_count, view
                )
            go_on = column_loops.spread_rows(
                self._keys.lengths,
                self._values.lengths,
                self.count,
                partition_count,
                run_bytes,
                first_partition % partition_count,
                view,
            )
        return partitions, go_on

    def digest(self, *numbers: Buffer, seed: int) -> ContentDigest:
        """Of all rows: key, value, headers, and an int64 a row from each of `numbers`. Times are not part of it."""
        states = RowStates(self.count, seed)
        for fields in (self._keys, self._values, self._headers):
            states.mix_fields(*fields)
        for some in numbers:
            states.mix_numbers(some)
        return states.digest()

    def encode(
        self,
        rows: Buffer,
        *,
        batch_size: int,
        compression: Compression = Compression.NONE,
        level: int | None = None,
    ) -> Iterator[FinishedBatch]:
        """These rows (int32) in this order, in batches of at most `batch_size` bytes before compression.

        A row that is larger than that gets a batch of its own.
        """
        order = _view(rows, "i")
        count = len(order)
        row = 0
        while row < count:
            until, payload_bytes = column_loops.measure_rows(
                order,
                row,
                count,
                self._keys.lengths,
                self._values.lengths,
                self._headers.lengths,
                self._timestamps,
                self.count,
                batch_size - HEADER_SIZE,
                self._sizes,
            )
            payload = bytearray(payload_bytes)
            max_timestamp = column_loops.write_rows(
                payload,
                order,
                row,
                until,
                self._sizes,
                *self._keys,
                *self._values,
                *self._headers,
                self._timestamps,
            )
            taken, start_ms = until - row, self._timestamps[order[row]]
            header = BatchHeader(
                0, 0, -1, CURRENT_MAGIC, 0, int(compression), taken - 1, start_ms, max_timestamp, -1, -1, -1, taken
            )
            packed = compress(compression, payload, level) if compression else payload
            yield FinishedBatch(assemble_batch(header, packed), taken, max_timestamp)
            row = until


def rows_by_partition(partitions: Buffer, count: int, partition_count: int) -> list[tuple[int, memoryview]]:
    """(partition, its rows as int32 in their order) for each partition that has rows."""
    starts = memoryview(bytearray(4 * (partition_count + 2))).cast("i")
    rows = memoryview(bytearray(4 * count)).cast("i")
    view = _view(partitions, "i")
    if len(view) < count:
        raise ValueError(f"{len(view)} partitions are too few for {count} rows")
    column_loops.sort_rows(view, count, starts, rows)
    return [
        (partition, rows[starts[partition] : starts[partition + 1]])
        for partition in range(partition_count)
        if starts[partition + 1] > starts[partition]
    ]


def column_digest(columns: Iterable[BinaryColumn], count: int) -> ContentDigest:
    """Of `count` rows with these fields, in this order."""
    states = RowStates(count)
    for column in columns:
        states.mix_fields(*_located(column, count))
    return states.digest()


class _LocatedRows(NamedTuple):
    """Where each row begins in the data, and how many bytes it has; -1 is null."""

    starts: memoryview
    lengths: memoryview
    data: memoryview


def _located(column: BinaryColumn | None, count: int) -> _LocatedRows:
    starts = memoryview(bytearray(4 * count)).cast("i")
    if column is None:
        return _LocatedRows(starts, memoryview(b"\xff" * (4 * count)).cast("i"), memoryview(b""))
    lengths = memoryview(bytearray(4 * count)).cast("i")
    data = _view(column.data, "B")
    validity, offsets = _checked_rows(column, count)
    column_loops.lengths_of(validity, offsets, len(data), column.first, count, starts, lengths)
    return _LocatedRows(starts, lengths, data)


def _written_headers(column: HeadersColumn | None, count: int) -> _LocatedRows:
    """The headers of all rows as they stand in records."""
    starts = memoryview(bytearray(4 * count)).cast("i")
    if column is None:
        # The same zero byte, a header count of 0, for each row.
        return _LocatedRows(starts, memoryview((1).to_bytes(4, byteorder) * count).cast("i"), memoryview(b"\x00"))
    sizes = memoryview(bytearray(4 * count)).cast("i")
    validity, offsets = _checked_rows(column, count)
    single = offsets[column.first + count] if count else 0
    keys = _located(column.keys, single)
    values = _located(column.values, single)
    total = column_loops.measure_headers(
        validity, offsets, column.first, count, single, keys.lengths, values.lengths, starts, sizes
    )
    target = bytearray(total)
    column_loops.write_headers(target, validity, offsets, column.first, count, *keys, *values)
    return _LocatedRows(starts, sizes, memoryview(target))


def _checked_rows(column: BinaryColumn | HeadersColumn, count: int) -> tuple[memoryview | None, memoryview]:
    """(validity, offsets). Compiled loops do not check that a row exists, so it is checked here."""
    offsets = _view(column.offsets, "i")
    validity = None if column.validity is None else _view(column.validity, "B")
    end = column.first + count
    if column.first < 0 or end >= len(offsets) or (validity is not None and end > 8 * len(validity)):
        raise ValueError(f"a column with {len(offsets)} offsets does not have {count} rows from {column.first} on")
    return validity, offsets


def _view(buffer: Buffer, kind: str) -> memoryview:
    view = memoryview(buffer)
    return view if view.format == kind else view.cast("B").cast(kind)  # type: ignore[call-overload]
