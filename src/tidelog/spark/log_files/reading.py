"""What one task does: a segment as Arrow batches, with the outcome of each transaction.

The outcome of a transaction that goes on behind the segment is in later segments. The task looks ahead, but only until
it has found the markers of those transactions that are open at its segment's end. So no task depends on another, and
the driver reads no segment at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from struct import error as StructError
from typing import TYPE_CHECKING, Literal, cast

from tidelog.partition.transactions import AbortedTransaction
from tidelog.records.batch import CorruptBatch
from tidelog.spark.log_files.columns import (
    TRANSACTION_STATE,
    RowMaker,
    StatedBatch,
)
from tidelog.spark.log_files.outcomes import TransactionOutcomes
from tidelog.spark.log_files.segments import SegmentFile
from tidelog.spark.source.batches import ROWS_PER_ARROW_BATCH, bounded_groups
from tidelog.storage.files.file_names import DELETED_SUFFIX, LOG_SUFFIX, TRANSACTION_INDEX_SUFFIX, offset_of_name
from tidelog.storage.indexes.transaction_index import TRANSACTION_ENTRY
from tidelog.storage.segments.batch_scan import GoodBatch
from tidelog.storage.segments.walk import BadStretch, WalkedSegment, walk_segment

if TYPE_CHECKING:
    import pyarrow as pa


class SegmentChanged(Exception):
    """A segment is not the file any more that it was when the query was planned."""


class ReadOnlyFile:
    """A file that is only looked at. Its name may go while it is read, its content not."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    @property
    def status(self) -> os.stat_result:
        return os.fstat(self._descriptor)

    def read(self, position: int, size: int) -> bytes:
        pieces = []
        while size > 0 and (piece := os.pread(self._descriptor, size, position)):
            pieces.append(piece)
            position += len(piece)
            size -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def __enter__(self) -> ReadOnlyFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        os.close(self._descriptor)


def read_segment(place: SegmentFile, wanted: Sequence[str], max_batch_bytes: int) -> Iterator[pa.RecordBatch]:
    """All rows of a segment, in the order of the file."""
    rows = RowMaker(place, wanted, max_batch_bytes)
    if place.problem is not None:
        yield rows.problem(place.problem)
        return
    with _open_planned(place) as file:
        segment = WalkedSegment(file, place.base_offset, place.size, place.following)
        outcomes = TransactionOutcomes()
        if TRANSACTION_STATE in wanted:
            outcomes = _find_outcomes(place, segment, max_batch_bytes)
        yield from _rows(rows, segment, outcomes, max_batch_bytes)


def _open_planned(place: SegmentFile) -> ReadOnlyFile:
    """The file that was planned for. A broker that deletes or cleans a segment leaves it for a minute, under a mark."""
    for path in (place.path, place.path + DELETED_SUFFIX):
        try:
            file = ReadOnlyFile(path)
        except FileNotFoundError:
            continue
        if file.status.st_ino == place.inode:
            return file
        file.close()
    raise SegmentChanged(
        f"{place.path} was removed or replaced since the query was planned: a broker has deleted or cleaned it. "
        "Run the query again, or read a copy of the directory"
    )


def _rows(
    rows: RowMaker, segment: WalkedSegment, outcomes: TransactionOutcomes, max_batch_bytes: int
) -> Iterator[pa.RecordBatch]:
    for kind, run in groupby(walk_segment(segment, largest_batch=max_batch_bytes), key=_kind):
        if kind == "bad":
            while errors := list(islice(cast("Iterator[BadStretch]", run), ROWS_PER_ARROW_BATCH)):
                yield rows.errors(errors)
            continue
        stated = (StatedBatch(found, outcomes.state(found.header)) for found in cast("Iterator[GoodBatch]", run))
        groups = (
            bounded_groups(stated, lambda one: one.batch.header) if kind == "records" else ([one] for one in stated)
        )
        for group in groups:
            yield from _records(rows, group)


def _kind(found: GoodBatch | BadStretch) -> Literal["bad", "quorum", "records"]:
    if isinstance(found, BadStretch):
        return "bad"
    return "quorum" if _is_of_quorum(found) else "records"


def _records(rows: RowMaker, group: Sequence[StatedBatch]) -> Iterator[pa.RecordBatch]:
    """All at once, or, if one of them cannot be decoded, one by one."""
    try:
        made = rows.control_records(group[0]) if _is_of_quorum(group[0].batch) else rows.records(group)
    except (CorruptBatch, ValueError) as problem:
        if len(group) > 1:
            for one in group:
                yield from _records(rows, [one])
            return
        # The checksum of the batch is right, and its records cannot be read all the same.
        position, header, _ = group[0].batch
        reason = problem.reason if isinstance(problem, CorruptBatch) else str(problem)
        made = rows.errors([BadStretch(position, header.size, f"its records cannot be read: {reason}", header)])
    if made.num_rows:
        yield made


def _is_of_quorum(batch: GoodBatch) -> bool:
    """Its records are of several types; a transaction's marker is the only record of its batch."""
    return batch.header.is_control and not batch.header.is_transactional


# Transactions


def _find_outcomes(place: SegmentFile, segment: WalkedSegment, max_batch_bytes: int) -> TransactionOutcomes:
    outcomes = TransactionOutcomes()
    _pass(outcomes, segment, max_batch_bytes, wants_its_states=True)
    looked_at = [place.base_offset]
    if outcomes.undecided:
        for base_offset, following in _later_segments(place):
            looked_at.append(base_offset)
            try:
                file = ReadOnlyFile(f"{place.directory}/{base_offset:020d}{LOG_SUFFIX}")
            except FileNotFoundError:
                # A running broker has just removed it.
                continue
            with file:
                size = file.status.st_size
                if base_offset == place.last_base_offset:
                    size = min(size, place.last_size)
                _pass(
                    outcomes, WalkedSegment(file, base_offset, size, following), max_batch_bytes, wants_its_states=False
                )
            if not outcomes.undecided:
                break
    if outcomes.has_damage:
        for base_offset in looked_at:
            outcomes.add_aborted(_read_aborted(f"{place.directory}/{base_offset:020d}{TRANSACTION_INDEX_SUFFIX}"))
    return outcomes


def _pass(
    outcomes: TransactionOutcomes, segment: WalkedSegment, max_batch_bytes: int, *, wants_its_states: bool
) -> None:
    for found in walk_segment(segment, largest_batch=max_batch_bytes):
        if isinstance(found, GoodBatch):
            outcomes.pass_good(found, wants_its_state=wants_its_states)
            if not wants_its_states and not outcomes.undecided:
                return
        else:
            outcomes.pass_bad(found)


def _later_segments(place: SegmentFile) -> Iterator[tuple[int, int | None]]:
    """(first offset, that of the next one) of those behind, up to the last one that was planned for."""
    offsets = sorted(
        offset
        for name in os.listdir(place.directory)
        if name.endswith(LOG_SUFFIX)
        and (offset := offset_of_name(name)) is not None
        and place.base_offset < offset <= place.last_base_offset
    )
    yield from zip(offsets, [*offsets[1:], None], strict=False)


def _read_aborted(path: str) -> list[AbortedTransaction]:
    try:
        with ReadOnlyFile(path) as file:
            content = file.read(0, file.status.st_size)
    except FileNotFoundError:
        return []
    whole = content[: len(content) // TRANSACTION_ENTRY.size * TRANSACTION_ENTRY.size]
    try:
        return [AbortedTransaction._make(fields) for _, *fields in TRANSACTION_ENTRY.iter_unpack(whole)]
    except StructError:
        return []
