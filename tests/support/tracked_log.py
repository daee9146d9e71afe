"""A log with a plain model beside it that says, at every moment, what a crash may take and what it must leave."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from support.compaction import batches, compact

from tidelog.model.ids import TopicPartition, Uuid
from tidelog.partition.producers import AppendOrigin, ProducerStates
from tidelog.records.batch import BatchHeader, parse_header
from tidelog.records.control import EndTransactionMarker, encode_end_transaction_marker
from tidelog.records.record import decode_batch, encode_batch
from tidelog.storage.cleaner.compaction import CompactionLimits
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.directories.removal import FileRemoval
from tidelog.storage.files.filesystem import FileSystem
from tidelog.storage.log.appending import append_as_leader, roll
from tidelog.storage.log.compacting import plan_compaction
from tidelog.storage.log.config import LogConfig
from tidelog.storage.log.log import Log
from tidelog.storage.log.results import AppendResult
from tidelog.storage.log.retention import delete_old_segments

PATH = "/logs"
PARTITION = TopicPartition("topic", 0)
TOPIC_ID = Uuid(bytes(range(16)))
NOW = 1_700_000_000_000

Pair = tuple[bytes | None, bytes | None]


class SeededRandomness:
    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)

    def random_bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)

    def uniform(self, low: float, high: float) -> float:
        return self._random.uniform(low, high)

    def below(self, bound: int) -> int:
        return self._random.randrange(bound)


@dataclass(frozen=True, slots=True)
class ModelRecord:
    key: bytes | None
    value: bytes | None
    producer_id: int = -1
    # None while the transaction is open, and for records outside of transactions.
    aborted: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """What a log may hold and what it must."""

    records: Mapping[int, ModelRecord] = field(default_factory=dict)
    # Those that no compaction has made superfluous; all of them that lie below the end of the log must be there.
    required: frozenset[int] = frozenset()
    start: int = 0
    end: int = 0
    # Everything below it was synced.
    durable_end: int = 0

    def append(self, added: Mapping[int, ModelRecord], end: int) -> Model:
        return replace(self, records={**self.records, **added}, required=self.required | set(added), end=end)

    def truncate(self, offset: int) -> Model:
        return replace(
            self,
            records={at: record for at, record in self.records.items() if at < offset},
            required=frozenset(at for at in self.required if at < offset),
            start=min(self.start, offset),
            end=offset,
            durable_end=min(self.durable_end, offset),
        )

    def decide(self, producer_id: int, *, aborted: bool, end: int) -> Model:
        """A marker: the producer's undecided records are decided."""
        records = dict(self.records)
        for offset, record in self.records.items():
            if record.producer_id == producer_id and record.aborted is None:
                records[offset] = replace(record, aborted=aborted)
        return replace(self, records=records, end=end)

    def compact(self, first_uncleanable: int, *, drops_tombstones: bool) -> Model:
        """The last value of each key, the plain way."""
        last: dict[bytes, int] = {}
        for offset, record in sorted(self.records.items()):
            if offset < first_uncleanable and offset >= self.start and not record.aborted and record.key is not None:
                last[record.key] = offset
        kept = frozenset(
            offset
            for offset in self.required
            if offset >= first_uncleanable
            or (
                last.get(self.records[offset].key or b"") == offset
                and not (drops_tombstones and self.records[offset].value is None)
            )
        )
        return replace(self, required=kept)


class TrackedLog:
    """One log on any file system. Each method tells beforehand what the log is about to become."""

    def __init__(
        self,
        filesystem: FileSystem,
        config: LogConfig,
        *,
        model: Model | None = None,
        told: Callable[[Model, Model], None] | None = None,
    ) -> None:
        self.filesystem = filesystem
        self.config = config
        self.model = model or Model()
        # Between these two a crash happens.
        self.between = (self.model, self.model)
        self.now = NOW
        self.epoch = 0
        self.sequences: dict[int, int] = {}
        self.removals: list[FileRemoval] = []
        self._told = told or (lambda before, after: None)
        self.directory: LogDirectory = None  # type: ignore[assignment]

    @property
    def log(self) -> Log:
        return self.directory.logs[PARTITION]

    # Life

    def open(self) -> Log:
        with self._becoming(self.model):
            self.directory = LogDirectory.open(PATH, self.filesystem, SeededRandomness())
            self.directory.load(lambda _: self.config, self.now)
            log = self.directory.open_log(PARTITION, TOPIC_ID, self.config, self.now)
        log.update_high_watermark(log.log_end_offset)
        return log

    def close(self) -> None:
        with self._becoming(replace(self.model, durable_end=self.model.end)):
            self.directory.close(self.now, broker_epoch=7)

    # Writing

    def append(self, *pairs: Pair, producer_id: int = -1, transactional: bool = False, **options: object) -> None:
        sequence = -1
        if producer_id >= 0:
            sequence = self.sequences.get(producer_id, 0)
        data = bytearray(
            encode_batch(
                [(self.now, key, value, ()) for key, value in pairs],
                producer_id=producer_id,
                producer_epoch=0 if producer_id >= 0 else -1,
                base_sequence=sequence,
                transactional=transactional,
                **options,  # type: ignore[arg-type]
            )
        )
        first = self.model.end
        added = {
            first + at: ModelRecord(key, value, producer_id if transactional else -1)
            for at, (key, value) in enumerate(pairs)
        }
        with self._becoming(self.model.append(added, first + len(pairs))):
            result = append_as_leader(self.log, data, [parse_header(data)], self.epoch, now_ms=self.now)
        assert isinstance(result, AppendResult), result
        assert result.base_offset == first
        if producer_id >= 0:
            self.sequences[producer_id] = sequence + len(pairs)
        self.log.update_high_watermark(self.log.log_end_offset)

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        marker = EndTransactionMarker(commit=commit, coordinator_epoch=0)
        data = bytearray(
            encode_end_transaction_marker(marker, producer_id=producer_id, producer_epoch=0, timestamp=self.now)
        )
        with self._becoming(self.model.decide(producer_id, aborted=not commit, end=self.model.end + 1)):
            result = append_as_leader(
                self.log, data, [parse_header(data)], self.epoch, now_ms=self.now, origin=AppendOrigin.COORDINATOR
            )
        assert isinstance(result, AppendResult), result
        self.log.update_high_watermark(self.log.log_end_offset)

    def roll(self) -> None:
        with self._becoming(self.model):
            roll(self.log, self.now)

    def flush(self) -> None:
        with self._becoming(replace(self.model, durable_end=self.model.end)):
            self.log.flush(self.now)

    def flush_sealed(self) -> None:
        """What the broker does by itself, soon after a segment is full."""
        with self._becoming(
            replace(self.model, durable_end=max(self.model.durable_end, self.log.segments.active.base_offset))
        ):
            flush = self.log.start_flush(self.now)
            if flush is not None:
                flush.run()
                self.log.finish_flush(flush)

    def write_checkpoints(self) -> None:
        with self._becoming(self.model):
            self.directory.checkpoints.write_recovery_points()
            self.directory.checkpoints.write_high_watermarks()
            self.directory.checkpoints.write_log_starts()
            self.directory.checkpoints.write_cleaned()

    # Shortening

    def truncate(self, offset: int) -> None:
        with self._becoming(self.model.truncate(offset)):
            self.removals += self.directory.truncate(PARTITION, offset, now_ms=self.now)
        self.log.update_high_watermark(self.log.log_end_offset)
        self.epoch += 1

    def delete_records(self, offset: int) -> None:
        with self._becoming(replace(self.model, start=offset)):
            self.log.advance_log_start(offset)
            self.directory.checkpoints.write_log_starts()

    def delete_old_segments(self) -> None:
        """By retention; the model cannot foresee how far that goes."""
        with self._becoming(replace(self.model, start=self.model.end)):
            self.removals += delete_old_segments(self.log, self.now)
            self.directory.checkpoints.write_log_starts()
        self._settle(replace(self.model, start=self.log.log_start_offset))

    def remove_files(self) -> None:
        with self._becoming(self.model):
            for removal in self.removals:
                removal.run(self.filesystem)
            self.removals.clear()

    def compact(self, limits: CompactionLimits | None = None, *, drops_tombstones: bool = False) -> None:
        first_uncleanable = plan_compaction(self.log, self.now).first_uncleanable_offset
        with self._becoming(self.model.compact(first_uncleanable, drops_tombstones=drops_tombstones)):
            compact(self.directory, self.log, self.now, limits, self.removals)

    @contextmanager
    def _becoming(self, after: Model) -> Iterator[None]:
        self.between = (self.model, after)
        self._told(self.model, after)
        yield
        self._settle(after)

    def _settle(self, model: Model) -> None:
        self.model = model
        self.between = (model, model)
        self._told(model, model)


# What must hold of a log that has been recovered


def check_recovered(log: Log, before: Model, after: Model) -> None:
    """The log is what it was before an interrupted step, or after it, or on the way from the one to the other."""
    found: dict[int, tuple[bytes | None, bytes | None]] = {}
    headers: list[BatchHeader] = []
    raw: list[bytes] = []
    for header, batch in batches(log):
        headers.append(header)
        raw.append(batch)
        if not header.is_control:
            for record in decode_batch(batch):
                if record.offset >= log.log_start_offset:
                    found[record.offset] = (record.key, record.value)
    start, end = log.log_start_offset, log.log_end_offset
    assert min(before.start, after.start) <= start <= max(before.start, after.start), "the start"
    durable_end = min(before.durable_end, after.durable_end)
    assert end >= durable_end, f"the log ends at {end}, but everything below {durable_end} was synced"
    possible = [before, after]
    if before.records == after.records and before.end == after.end:
        # Of a compaction, a part may be done.
        possible.append(replace(before, required=before.required & after.required))
    reasons = [_difference(model, found, start, end) for model in possible]
    assert None in reasons, reasons
    _check_epochs(log, headers)
    _check_producers(log, headers, raw)


def _difference(model: Model, found: Mapping[int, Pair], start: int, end: int) -> str | None:
    if end > max(model.end, start):
        return f"it ends at {end} instead of {model.end}"
    for offset, pair in found.items():
        record = model.records.get(offset)
        if record is None or (record.key, record.value) != pair:
            return f"{pair} at offset {offset} instead of {record}"
    missing = [offset for offset in model.required if start <= offset < end and offset not in found]
    return f"the offsets {sorted(missing)} are missing" if missing else None


def _check_epochs(log: Log, headers: list[BatchHeader]) -> None:
    for header in headers:
        if header.base_offset >= log.log_start_offset:
            known = log.leader_epochs.epoch_for_offset(header.base_offset)
            assert known == header.partition_leader_epoch, (log.leader_epochs, header)


def _check_producers(log: Log, headers: list[BatchHeader], raw: list[bytes]) -> None:
    replayed = ProducerStates(end_offset=log.log_start_offset)
    for header, batch in zip(headers, raw, strict=True):
        if header.has_producer_id:
            replayed.replay(header, batch if header.is_control else b"")
    for entry in replayed:
        known = log.producer_states.get(entry.producer_id)
        if entry.batches:
            assert known is not None
            assert known.last_sequence == entry.last_sequence
            assert known.transaction_first_offset == entry.transaction_first_offset or (
                known.transaction_first_offset < log.log_start_offset
            )
    for known in log.producer_states:
        assert known.last_sequence < 0 or known.batches[-1].last_offset < log.log_end_offset
