"""What becomes of a batch in a compaction, record by record in plain Python: what the compiled loops are held to."""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.records.batch import NO_TIMESTAMP, TIMESTAMP_TYPE_MASK, BatchHeader
from tidelog.records.compression import Compression, compress
from tidelog.records.record import assemble_batch, decode_records, encode_retained, read_payload
from tidelog.records.spans import RecordSpan, iterate_spans
from tidelog.storage.cleaner.batch_filter import RetentionRules


def reference_filter(
    header: BatchHeader, batch: bytes, last_offsets: Mapping[bytes, int], rules: RetentionRules
) -> bytes | None:
    """What stays of a batch of data that no transaction has aborted; None if nothing does. Raises CorruptBatch."""
    payload = read_payload(header, batch)
    kept = [span for span in iterate_spans(header, payload) if _stays(header, span, last_offsets, rules)]
    remaining = b"".join(payload[span[0] : span[1]] for span in kept)
    if not kept:
        return encode_retained(header, ()) if header.next_offset == rules.end_offset else None
    if not all(span[5] for span in kept) and not header.has_delete_horizon:
        records = decode_records(header._replace(record_count=len(kept)), remaining)
        return encode_retained(header, records, delete_horizon_ms=rules.now_ms + rules.delete_retention_ms)
    if len(kept) == header.record_count:
        return batch
    max_timestamp = max(NO_TIMESTAMP, header.base_timestamp + max(span[3] for span in kept))
    if header.attributes & TIMESTAMP_TYPE_MASK:
        max_timestamp = header.max_timestamp
    return assemble_batch(
        header._replace(max_timestamp=max_timestamp, record_count=len(kept)),
        compress(Compression(header.compression), remaining),
    )


def _stays(header: BatchHeader, span: RecordSpan, last_offsets: Mapping[bytes, int], rules: RetentionRules) -> bool:
    _, _, offset_delta, _, key, has_value = span
    offset = header.base_offset + offset_delta
    if offset > rules.mapped_up_to:
        return True
    if key is None or offset < last_offsets.get(key, -1):
        return False
    return has_value or not header.has_delete_horizon or rules.now_ms < header.base_timestamp
