"""Beginning a compaction of a log. Its steps, and how their results get into the log, are in `storage.cleaner`."""

from __future__ import annotations

from tidelog.partition.leader_epochs import LeaderEpochs
from tidelog.storage.cleaner.batch_filter import LastRecord
from tidelog.storage.cleaner.compaction import Compaction, CompactionLimits, CompactionTask
from tidelog.storage.cleaner.selection import CleanableRange, cleanable_range
from tidelog.storage.log.log import Log
from tidelog.storage.log.reader import aborted_transactions


def plan_compaction(log: Log, now_ms: int) -> CleanableRange:
    """What a compaction would cover. Raises StorageFailure, and CorruptBatch if the log is damaged."""
    with log.guard:
        return cleanable_range(
            list(log.segments),
            log.config,
            cleaned_up_to=log.cleaned_up_to,
            log_start_offset=log.log_start_offset,
            log_end_offset=log.log_end_offset,
            last_stable_offset=log.last_stable_offset,
            now_ms=now_ms,
        )


def start_compaction(log: Log, planned: CleanableRange, limits: CompactionLimits, now_ms: int) -> Compaction:
    """Begin a compaction: its steps are then run, and each segment it has written is put in place by `log.exchange`.

    Whatever truncates or shortens the log meanwhile revokes it. One at a time.
    """
    log.require_open()
    end_offset = planned.first_uncleanable_offset
    task = CompactionTask(
        directory=log.directory,
        config=log.config,
        segments=log.segments.below(end_offset),
        first_dirty_offset=planned.first_dirty_offset,
        end_offset=end_offset,
        aborted=aborted_transactions(log, log.segments.first.base_offset, upper_bound=end_offset),
        last_records={
            entry.producer_id: LastRecord(entry.epoch, entry.batches[-1].last_offset if entry.batches else None)
            for entry in log.producer_states
        },
        epochs=LeaderEpochs(log.leader_epochs.entries),
        now_ms=now_ms,
    )
    return log.exchange.begin(task, limits)
