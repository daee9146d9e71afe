"""Records as a file, piece by piece: JSON Lines, CSV or an Arrow file, with an end that the user has set.

What became of the last downloads is remembered for a while: a file cannot say why it ends where it does, but the page
that asked for it can.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from enum import StrEnum
from io import RawIOBase
from typing import TYPE_CHECKING, Any, Protocol

from tidelog.client.arrow import ArrowMissing, arrow_schema
from tidelog.client.browsing import RecordEntry
from tidelog.console.findings import exports
from tidelog.console.records.directed_logs import size_of
from tidelog.console.records.portions import PortionEnd, PortionReading
from tidelog.console.replies import ConsoleRefusal
from tidelog.model.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

MOST_RECORDS = 100_000
MOST_MIB = 256
# Of those whose end is remembered.
_REMEMBERED = 100
# Of one piece of a file.
_PIECE_RECORDS = 500
_PIECE_BYTES = 1 << 20
_UNSUPPORTED = 501


class FileFormat(StrEnum):
    JSON_LINES = "jsonl"
    CSV = "csv"
    ARROW = "arrow"


MEDIA_TYPES = {
    FileFormat.JSON_LINES: "application/x-ndjson",
    FileFormat.CSV: "text/csv; charset=utf-8; header=present",
    FileFormat.ARROW: "application/vnd.apache.arrow.file",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadLimits:
    """Of what is in the file: records, and about the bytes of their keys, values and headers."""

    records: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadEnd:
    """Why it has ended (None: a limit of its own was reached), and the positions where another one would go on.

    With a problem the file is not whole. What is not in it either: damaged batches (`unreadable` of them), partitions
    that could not be read, each with the reason, and those beyond the bound of what is read together.
    """

    records: int
    scanned: int
    ended: PortionEnd | None
    after: Mapping[int, int]
    problem: str | None
    unreadable: int
    silent: Mapping[int, str]
    partitions_left_out: int


class DownloadEnds:
    def __init__(self) -> None:
        self._ends: OrderedDict[str, DownloadEnd | None] = OrderedDict()

    def begin(self, name: str) -> None:
        self._ends[name] = None
        while len(self._ends) > _REMEMBERED:
            self._ends.popitem(last=False)

    def end(self, name: str, end: DownloadEnd) -> None:
        if name in self._ends:
            self._ends[name] = end

    def __getitem__(self, name: str) -> DownloadEnd | None:
        """None while it goes on. Raises KeyError for one that is not remembered."""
        return self._ends[name]


class FileEncoder(Protocol):
    def encode(self, records: Sequence[tuple[int, RecordEntry]]) -> bytes: ...

    def finish(self) -> bytes: ...


def encoder_for(kind: FileFormat, topic: str) -> FileEncoder:
    """Raises ConsoleRefusal if pyarrow is needed and not there."""
    match kind:
        case FileFormat.JSON_LINES:
            return JsonLinesEncoder(topic)
        case FileFormat.CSV:
            return CsvEncoder(topic)
        case FileFormat.ARROW:
            try:
                return ArrowFileEncoder(topic)
            except ArrowMissing as problem:
                raise ConsoleRefusal(
                    "an Arrow file needs pyarrow, which is not installed where this console runs: "
                    'pip install "tidelog[arrow]"',
                    _UNSUPPORTED,
                ) from problem


class RecordsFile:
    """The pieces of one file. Afterwards `reading` tells where it ends, and why; no reason if a limit was reached."""

    def __init__(self, encoder: FileEncoder, limits: DownloadLimits) -> None:
        self.records = 0
        self._bytes = 0
        self._encoder = encoder
        self._limits = limits

    async def pieces(self, reading: PortionReading) -> AsyncIterator[bytes]:
        limits = self._limits
        while self.records < limits.records and self._bytes < limits.bytes and reading.ended is None:
            part = await reading.next_part(
                min(_PIECE_RECORDS, limits.records - self.records), min(_PIECE_BYTES, limits.bytes - self._bytes)
            )
            chosen = [(each.partition, each.entry) for each in part if isinstance(each.entry, RecordEntry)]
            self.records += len(chosen)
            self._bytes += sum(size_of(entry) for _, entry in chosen)
            piece = self._encoder.encode(chosen) if chosen else b""
            if piece:
                yield piece
        yield self._encoder.finish()


class JsonLinesEncoder:
    def __init__(self, topic: str) -> None:
        self._topic = topic

    def encode(self, records: Sequence[tuple[int, RecordEntry]]) -> bytes:
        return b"".join(exports.json_line(self._topic, partition, entry) for partition, entry in records)

    def finish(self) -> bytes:
        return b""


class CsvEncoder:
    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._head = exports.csv_header()

    def encode(self, records: Sequence[tuple[int, RecordEntry]]) -> bytes:
        head, self._head = self._head, b""
        return head + b"".join(exports.csv_row(self._topic, partition, entry) for partition, entry in records)

    def finish(self) -> bytes:
        """Without records there still are the names of the columns."""
        return self.encode(())


class ArrowFileEncoder:
    """An Arrow IPC file, in the columns of Spark's Kafka source and `transaction`."""

    def __init__(self, topic: str) -> None:
        """Raises ArrowMissing."""
        self._schema = arrow_schema(with_headers=True)
        import pyarrow as pa

        self._schema = self._schema.append(pa.field("transaction", pa.string()))
        self._topic = topic
        self._written = _Written()
        self._writer = pa.ipc.new_file(pa.PythonFile(self._written, mode="w"), self._schema)

    def encode(self, records: Sequence[tuple[int, RecordEntry]]) -> bytes:
        self._writer.write_batch(self._batch(records))
        return self._written.take()

    def finish(self) -> bytes:
        self._writer.close()
        return self._written.take()

    def _batch(self, records: Sequence[tuple[int, RecordEntry]]) -> pa.RecordBatch:
        import pyarrow as pa

        entries = [entry for _, entry in records]
        headers = [[{"key": name, "value": value} for name, value in entry.headers] for entry in entries]
        columns: dict[str, Any] = {
            "key": [entry.key for entry in entries],
            "value": [entry.value for entry in entries],
            "topic": [self._topic] * len(entries),
            "partition": [partition for partition, _ in records],
            "offset": [entry.offset for entry in entries],
            # Producers may write any number.
            "timestamp": pa.array([entry.timestamp_ms for entry in entries], pa.timestamp("ms", tz="UTC")).cast(
                self._schema.field("timestamp").type, safe=False
            ),
            "timestampType": [int(entry.log_append_time) for entry in entries],
            "headers": headers,
            "transaction": [None if entry.outcome is None else entry.outcome.value for entry in entries],
        }
        arrays = [
            column if isinstance(column, pa.Array) else pa.array(column, self._schema.field(name).type)
            for name, column in columns.items()
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


class _Written(RawIOBase):
    """What a writer has written, until it is taken. Its positions are those of the whole file."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._position = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        part = bytes(data)
        self._parts.append(part)
        self._position += len(part)
        return len(part)

    def tell(self) -> int:
        return self._position

    def take(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)
