"""Removing the oldest segments of a log: by age, by size, and because the log's start has passed them."""

from __future__ import annotations

from collections.abc import Callable

from tidelog.storage.directories.removal import FileRemoval
from tidelog.storage.files.file_names import DELETED_SUFFIX
from tidelog.storage.files.filesystem import DiskFull
from tidelog.storage.log.appending import roll
from tidelog.storage.log.log import Log
from tidelog.storage.segments.segment import Segment


def delete_old_segments(log: Log, now_ms: int) -> list[FileRemoval]:
    """Take expired segments out of the log; the returned work then removes the files."""
    log.require_open()
    with log.guard:
        deletable = _deletable_segments(log, now_ms)
        if not deletable:
            return []
        if deletable[-1] is log.segments.active:
            try:
                roll(log, now_ms)
            except DiskFull:
                # Removing the others makes space for that.
                deletable.pop()
                if not deletable:
                    raise
        following = log.segments.after(deletable[-1])
        assert following is not None, "a log is never without a segment"
        log.advance_log_start(following.base_offset)
        log.exchange.revoke()
        paths = []
        for segment in deletable:
            log.segments.remove(segment)
            paths += segment.rename_files(DELETED_SUFFIX)
            log.snapshots.remove(segment.base_offset)
        return [FileRemoval(paths=paths, due_ms=now_ms + log.config.file_delete_delay_ms)]


def _deletable_segments(log: Log, now_ms: int) -> list[Segment]:
    """The oldest segments, as many as any of the rules allows. The active segment can be among them if it has data.

    Nothing at or above the high watermark goes: otherwise the log's start could pass it.
    """
    config = log.config

    def oldest_while(rule: Callable[[Segment, int | None], bool]) -> list[Segment]:
        found = []
        for segment in log.segments:
            following = log.segments.after(segment)
            end = log.log_end_offset if following is None else following.base_offset
            if following is None and segment.size == 0:
                break
            if log.high_watermark < end or not rule(segment, None if following is None else end):
                break
            found.append(segment)
        return found

    candidates = [oldest_while(lambda _, end: end is not None and end <= log.log_start_offset)]
    if config.delete and config.retention_bytes >= 0:
        excess = log.segments.size - config.retention_bytes

        def exceeds_size(segment: Segment, _: int | None) -> bool:
            nonlocal excess
            excess -= segment.size
            return excess >= 0

        candidates.append(oldest_while(exceeds_size))
    if config.delete and config.retention_ms >= 0:
        candidates.append(oldest_while(lambda segment, _: now_ms - segment.largest_timestamp() > config.retention_ms))
    # All of them begin with the oldest segment.
    return max(candidates, key=len)
