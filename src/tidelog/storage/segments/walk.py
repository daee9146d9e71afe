"""Iterating over all of a segment, whatever is in it: its good batches, what cannot be read between them, and why.

For tools that read files without a broker and must change nothing. Recovery, which truncates a log at its first bad
batch, is in `tidelog.storage.recovery.segment_recovery`; `tidelog verify` is in `tidelog.storage.verification`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tidelog.records.batch import CURRENT_MAGIC, HEADER_SIZE, BatchHeader, CorruptBatch, parse_header
from tidelog.storage.files.filesystem import Readable
from tidelog.storage.segments.batch_scan import GoodBatch, UnsupportedFormat, scan_batches, valid_batch_behind

# Offsets of a segment are kept in its index as 32-bit numbers.
_MAX_OFFSETS = (1 << 31) - 1
_ZEROS_READ = 1 << 20


class WalkedSegment(NamedTuple):
    """What is to be read: a file, and what its neighbours say of it."""

    file: Readable
    base_offset: int
    # How many of the bytes count. A file that is being written may have more.
    size: int
    # The first offset of the next segment; None for the last one, which may end in the middle of a write.
    following: int | None


class BadStretch(NamedTuple):
    """Bytes that are not a good batch: one bad batch if its length is plausible, else all up to the next good one."""

    position: int
    size: int
    reason: str
    # What the bytes claim to be; None if they do not even look like a batch.
    header: BatchHeader | None
    # At the end of the last segment: a write in progress, or one that a crash has interrupted.
    is_torn_end: bool = False


def walk_segment(segment: WalkedSegment, *, largest_batch: int) -> Iterator[GoodBatch | BadStretch]:
    """Everything in the segment, in its order."""
    held: GoodBatch | None = None
    least = segment.base_offset
    for found in _walk_bytes(segment, largest_batch):
        if isinstance(found, BadStretch):
            if held is not None:
                yield held
                least, held = held.header.next_offset, None
            yield found
            continue
        # No checksum covers a base offset. One batch is held back: the next one shows which of two is wrong.
        header = found.header
        if held is not None:
            if header.base_offset > held.header.last_offset:
                yield held
                least = held.header.next_offset
            elif held.header.base_offset > least <= header.base_offset:
                # The one that leaves a gap behind it, too.
                yield _misplaced(held, f"offset {header.base_offset} follows its offset {held.header.last_offset}")
            else:
                yield held
                least = held.header.next_offset
        held = None
        problem = _offset_problem(header, least, segment)
        if problem is None:
            held = found
        else:
            yield _misplaced(found, problem)
    if held is not None:
        yield held


def _offset_problem(header: BatchHeader, least: int, segment: WalkedSegment) -> str | None:
    if header.base_offset < least:
        return f"its offset {header.base_offset} is below {least}, which comes next"
    if header.last_offset - segment.base_offset > _MAX_OFFSETS:
        return f"its offset {header.last_offset} is too far from the segment's first, {segment.base_offset}"
    if segment.following is not None and header.last_offset >= segment.following:
        return f"its offset {header.last_offset} belongs to the next segment, which begins at {segment.following}"
    return None


def _misplaced(batch: GoodBatch, reason: str) -> BadStretch:
    return BadStretch(batch.position, batch.header.size, reason, batch.header)


def _walk_bytes(segment: WalkedSegment, largest_batch: int) -> Iterator[GoodBatch | BadStretch]:
    """By lengths and checksums alone."""
    file, _, size, following = segment
    position = 0
    while position < size:
        try:
            for batch in scan_batches(file, position, size, largest=largest_batch):
                yield batch
                position = batch.position + batch.header.size
            return
        except UnsupportedFormat as problem:
            reason, claimed = str(problem), None
        except CorruptBatch as problem:
            position, reason = problem.position, problem.reason
            claimed = believable_header(file, position, size=size, base_offset=segment.base_offset)
        if claimed is not None:
            yield BadStretch(position, claimed.size, reason, claimed)
            position += claimed.size
            continue
        # From the segment's first offset on: what was read before may have had a wrong offset.
        resume = valid_batch_behind(file, position, end=size, least_offset=segment.base_offset, largest=largest_batch)
        until = size if resume is None else resume
        is_end = resume is None and following is None
        if is_end:
            reason = _describe_end(file, position, size=size, reason=reason)
        yield BadStretch(position, until - position, reason, None, is_torn_end=is_end)
        position = until


def believable_header(file: Readable, position: int, *, size: int, base_offset: int) -> BatchHeader | None:
    """The header of a bad batch, if its length is right: it is followed by another batch, or by the end."""
    start = file.read(position, min(HEADER_SIZE, size - position))
    if len(start) < HEADER_SIZE:
        return None
    header = parse_header(start)
    behind = position + header.size
    if header.magic != CURRENT_MAGIC or not position + HEADER_SIZE <= behind <= size:
        return None
    if behind == size:
        return header
    following = file.read(behind, min(HEADER_SIZE, size - behind))
    if len(following) < HEADER_SIZE:
        return None
    next_header = parse_header(following)
    looks_right = (
        next_header.magic == CURRENT_MAGIC
        and next_header.size >= HEADER_SIZE
        and 0 <= next_header.base_offset - base_offset <= _MAX_OFFSETS
    )
    return header if looks_right else None


def _describe_end(file: Readable, position: int, *, size: int, reason: str) -> str:
    rest = size - position
    if _only_zeros(file, position, size):
        return f"the last {rest} bytes are zeros: preallocated space (preallocate), or left by a crash"
    return f"the last {rest} bytes are not a whole batch: a write in progress, or left by a crash ({reason})"


def _only_zeros(file: Readable, position: int, size: int) -> bool:
    while position < size:
        block = file.read(position, min(_ZEROS_READ, size - position))
        if not block:
            return True
        if block.count(0) != len(block):
            return False
        position += len(block)
    return True
