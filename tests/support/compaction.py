"""Compactions in tests: run in one go, and what readers of committed data find afterwards."""

from __future__ import annotations

from collections.abc import Iterator

from support.default_settings import compaction_limits

from tidelog.records.batch import BatchHeader, iterate_headers
from tidelog.records.record import Record, decode_batch
from tidelog.storage.cleaner.compaction import Compaction, CompactionLimits
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.directories.removal import FileRemoval
from tidelog.storage.log.compacting import plan_compaction, start_compaction
from tidelog.storage.log.log import Log
from tidelog.storage.log.reader import aborted_transactions, read_records
from tidelog.storage.log.results import ReadResult


def compact(
    directory: LogDirectory,
    log: Log,
    now_ms: int,
    limits: CompactionLimits | None = None,
    removals: list[FileRemoval] | None = None,
) -> Compaction:
    """All steps of a compaction in the order in which the server takes them, whether it is worth it or not."""
    compaction = start_compaction(log, plan_compaction(log, now_ms), limits or compaction_limits(), now_ms)
    for _ in compaction.map_keys():
        pass
    for group in compaction.groups():
        for _ in compaction.write_group(group):
            pass
        segment, removal = log.exchange.swap_in(compaction, now_ms)
        if removals is not None:
            removals.append(removal)
        log.exchange.sync_names(compaction)
        log.exchange.finish(segment)
    log.end_compaction(compaction, complete=True)
    directory.checkpoints.write_cleaned()
    return compaction


def batches(log: Log, upper_bound: int | None = None) -> Iterator[tuple[BatchHeader, bytes]]:
    """All batches from the start of the log on, as a fetch finds them."""
    offset = log.log_start_offset
    end = log.log_end_offset if upper_bound is None else upper_bound
    while offset < end:
        result = read_records(log, offset, max_bytes=4096, upper_bound=end)
        assert isinstance(result, ReadResult)
        headers = list(iterate_headers(result.records))
        if not headers:
            return
        for position, header in headers:
            yield header, result.records[position : position + header.size]
        offset = headers[-1][1].next_offset


def records(log: Log) -> list[Record]:
    """Everything that a reader of uncommitted data sees."""
    found: list[Record] = []
    for header, batch in batches(log, log.high_watermark):
        if not header.is_control:
            found += [record for record in decode_batch(batch) if record.offset >= log.log_start_offset]
    return found


def committed_records(log: Log) -> list[Record]:
    """Everything that a reader of committed data sees, filtered as clients do it."""
    found: list[Record] = []
    bound = log.last_stable_offset
    aborted = sorted(
        aborted_transactions(log, log.log_start_offset, upper_bound=bound), key=lambda each: each.first_offset
    )
    ongoing: set[int] = set()
    for header, batch in batches(log, bound):
        while aborted and aborted[0].first_offset <= header.last_offset:
            ongoing.add(aborted.pop(0).producer_id)
        if header.is_control:
            ongoing.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in ongoing):
            found += [record for record in decode_batch(batch) if record.offset >= log.log_start_offset]
    return found
