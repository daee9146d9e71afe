"""Rows of `tidelog-log` without Spark, and the lines that `dump-log` prints for what they hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tidelog.cli.commands.dump_log import dump
from tidelog.cli.dump_log.decoders import decode_text
from tidelog.cli.dump_log.options import DumpOptions
from tidelog.spark.log_files.columns import ARROW_TYPES
from tidelog.spark.log_files.reading import read_segment
from tidelog.spark.log_files.segments import SegmentFile, find_segments, log_files_options

Row = dict[str, Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def rows_of(path: Path | str, columns: Sequence[str] = tuple(ARROW_TYPES), **options: str) -> list[Row]:
    chosen = log_files_options({"path": str(path), **options})
    return [row for place in find_segments(chosen) for row in rows_of_segment(place, columns, chosen.max_batch_bytes)]


def rows_of_segment(place: SegmentFile, columns: Sequence[str], max_batch_bytes: int) -> list[Row]:
    return [row for batch in read_segment(place, columns, max_batch_bytes) for row in batch.to_pylist()]


def milliseconds(row: Row) -> int:
    return int((row["timestamp"] - _EPOCH) // timedelta(milliseconds=1))


def dumped_records(files: Iterable[Path | str]) -> list[str]:
    """The lines of all records in files, as our tool prints them."""
    lines: list[str] = []
    names = [str(file) for file in files]
    dump(names, DumpOptions(print_data_log=True), write=lines.append, write_error=lambda _line: None)
    return record_lines(lines)


def record_lines(lines: Iterable[str]) -> list[str]:
    """Of a dump: without what the quorum's control records say, which a row has as bytes."""
    records = [line for line in lines if line.startswith("| ")]
    kept = []
    for line in records:
        quorum_control = line.partition("] ")[2]
        is_message = quorum_control.startswith(("LeaderChange", "Snapshot", "KRaft"))
        kept.append(line.partition("] ")[0] + "]" if is_message else line)
    return kept


def as_dump_line(row: Row) -> str:
    kind = "LogAppendTime" if row["timestampType"] else "CreateTime"
    keys = ",".join(header["key"] for header in row["headers"] or ())
    sequence = -1 if row["sequence"] is None else row["sequence"]
    line = (
        f"| offset: {row['offset']} {kind}: {milliseconds(row)} keySize: {_size(row['key'])} "
        f"valueSize: {_size(row['value'])} sequence: {sequence} headerKeys: [{keys}]"
    )
    if row["controlType"] in ("COMMIT", "ABORT"):
        return f"{line} endTxnMarker: {row['controlType']} coordinatorEpoch: {row['coordinatorEpoch']}"
    if row["controlType"] is not None:
        return line
    if row["key"] is not None:
        line += f" key: {decode_text(row['key'])}"
    return line if row["value"] is None else f"{line} payload: {decode_text(row['value'])}"


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)
