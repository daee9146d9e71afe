"""Truncating a log at an offset, because the leader has something else there, or has nothing left before it.

The lower recovery point must be on the device before that, see `LogDirectory.truncate`.
"""

from __future__ import annotations

from tidelog.storage.directories.removal import FileRemoval
from tidelog.storage.files.file_names import DELETED_SUFFIX
from tidelog.storage.log.appending import new_segment
from tidelog.storage.log.log import Log
from tidelog.storage.log.reader import locate
from tidelog.storage.recovery.segment_recovery import rewind_producers
from tidelog.storage.segments.segment import Segment


def truncate_to(log: Log, offset: int, *, now_ms: int) -> list[FileRemoval]:
    """Cut off the batch that holds `offset` and everything after it. Raises StorageFailure, CorruptBatch."""
    log.require_open()
    if offset >= log.log_end_offset:
        # A leader that wrote nothing in its epoch leaves an entry behind that contradicts the next leader's.
        log.leader_epochs.truncate_from_end(log.log_end_offset)
        return []
    if offset < log.segments.first.base_offset:
        return truncate_fully_and_start_at(log, offset, now_ms=now_ms)
    target = log.segments.floor(offset)
    assert target is not None, "the first segment begins at or before the offset"
    with log.guard:
        # Repairs a misleading index, or fails before anything has changed.
        locate(target, log.config, offset)
        if not log.may_have_gaps:
            # Where a batch has another offset than it had, the cut would leave a hole. And a batch goes as a whole.
            offset = target.boundary_before(offset)
        _require_descriptor(log)
    with log.cut_guard:
        log.exchange.revoke()
        log.flusher.forget_from(offset)
        removals = []
        # The last one first, so that a crash in between leaves no gap in the log.
        for segment in log.segments.above(offset)[::-1]:
            log.segments.remove(segment)
            removals.append(_remove_files(log, segment, now_ms))
        log.snapshots.remove_above(offset)
        target.truncate_to(offset, created_ms=now_ms)
        log.end_at(offset, last_segment=target)
        rewind_producers(
            log.producer_states,
            log.snapshots,
            log.segments,
            log_start_offset=log.log_start_offset,
            end_offset=offset,
            now_ms=now_ms,
        )
        log.filesystem.sync_directory(log.directory)
        log.exchange.gaps.limit_to(offset)
    return removals


def truncate_fully_and_start_at(log: Log, offset: int, *, now_ms: int) -> list[FileRemoval]:
    """Drop all records; the log continues, empty, at `offset`."""
    log.require_open()
    with log.guard:
        _require_descriptor(log)
    with log.cut_guard:
        log.exchange.revoke()
        log.flusher.forget_from(0)
        dropped = list(log.segments)
        # The last one first, as above.
        removals = [_remove_files(log, segment, now_ms) for segment in reversed(dropped)]
        log.snapshots.remove_all()
        # A log is never without a segment, not even one whose disk fails in here.
        log.segments.exchange(dropped, new_segment(log, offset, now_ms=now_ms))
        log.restart_at(offset)
        # The removal of the old segments must be durable before the first record of the new ones is written.
        log.filesystem.sync_directory(log.directory)
        log.exchange.gaps.limit_to(offset)
    return removals


def _remove_files(log: Log, segment: Segment, now_ms: int) -> FileRemoval:
    """Where recovery would take a gap for one of the cleaner, each removal is durable before the next one."""
    paths = segment.rename_files(DELETED_SUFFIX)
    log.snapshots.remove(segment.base_offset)
    if segment.base_offset <= max(log.exchange.gaps.end_offset, log.cleaned_up_to or 0):
        log.filesystem.sync_directory(log.directory)
    return FileRemoval(paths=paths, due_ms=now_ms + log.config.file_delete_delay_ms)


def _require_descriptor(log: Log) -> None:
    """Fails while the process has none left, before anything has changed. Raises OSError."""
    log.filesystem.sync_directory(log.directory)
