"""`tidelog dump-log`: what is in the files of a partition's directory, in the lines of Kafka's `kafka-dump-log`.

This module tells the kinds of files apart and sums up what is wrong with them. What is printed for each kind, and the
ways to read keys and values, are in `tidelog.cli.dump_log`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from tidelog.cli.dump_log.batches import DumpFailure, Write, dump_batches
from tidelog.cli.dump_log.decoders import RecordDecoder, choose_decoder
from tidelog.cli.dump_log.indexes import (
    IndexFindings,
    dump_leader_epochs,
    dump_offset_index,
    dump_producer_snapshot,
    dump_time_index,
    dump_transaction_index,
)
from tidelog.cli.dump_log.options import DumpOptions
from tidelog.cli.option_groups import with_groups
from tidelog.storage.files.file_names import (
    LEADER_EPOCH_CHECKPOINT,
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
)

METADATA_SNAPSHOT_SUFFIX = ".checkpoint"


@with_groups
def dump_log(
    files: Annotated[str, typer.Option("--files", help="The files to show, separated by commas.", metavar="FILE,...")],
    options: DumpOptions,
) -> None:
    """Show what is in the files of a partition: the same lines as Kafka's kafka-dump-log.

    Knows .log, .index, .timeindex, .txnindex, .snapshot, .checkpoint and leader-epoch-checkpoint.

    \b
    Examples:
      tidelog dump-log --files tidelog-data/orders-0/00000000000000000000.log --print-data-log
      tidelog dump-log --files tidelog-data/orders-0/00000000000000000000.index --index-sanity-check
      tidelog dump-log --files tidelog-data/__consumer_offsets-1/00000000000000000000.log --offsets-decoder
    """
    names = [name.strip() for name in files.split(",") if name.strip()]
    write, write_error = _line_writer(sys.stdout.buffer.write), _line_writer(sys.stderr.buffer.write)
    try:
        code = dump(names, options, write=write, write_error=write_error)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    sys.stdout.flush()
    raise typer.Exit(code)


def _line_writer(write: Callable[[bytes], int]) -> Write:
    """Records hold any bytes: what is printed is UTF-8 whatever the terminal's locale says."""

    def write_line(line: str) -> None:
        write(line.encode() + b"\n")

    return write_line


def dump(files: Sequence[str], options: DumpOptions, *, write: Write, write_error: Write) -> int:
    """Print the files one after the other; return 0, or 1 if a file was damaged or did not fit to its neighbours.

    Unlike Kafka's tool it goes on with the next file after one that cannot be read. Raises ValueError for a decoder
    class that does not exist.
    """
    decoder = choose_decoder(options)
    summary: list[str] = []
    failed = False
    for name in files:
        write(f"Dumping {name}")
        try:
            summary += _dump_file(Path(name), options, decoder, write, write_error)
        except DumpFailure as failure:
            write_error(str(failure))
            failed = True
        except OSError as error:
            write_error(f"{name}: {error.strerror or error}")
            failed = True
    for line in summary:
        write_error(line)
    return 1 if failed or summary else 0


def _dump_file(
    path: Path, options: DumpOptions, decoder: RecordDecoder | None, write: Write, write_error: Write
) -> list[str]:
    """Print one file; return the lines about what does not fit together."""
    suffix = path.suffix
    if suffix in (LOG_SUFFIX, METADATA_SNAPSHOT_SUFFIX):
        gaps = dump_batches(path, options, decoder, write)
        return _report(f"Non-consecutive offsets in {path.absolute()}", "  {} is followed by {}", gaps)
    if suffix == OFFSET_INDEX_SUFFIX:
        return _report_findings(path, dump_offset_index(path, options, write))
    if suffix == TIME_INDEX_SUFFIX:
        return _report_findings(path, dump_time_index(path, options, write))
    if suffix == TRANSACTION_INDEX_SUFFIX:
        dump_transaction_index(path, write)
    elif suffix == SNAPSHOT_SUFFIX:
        dump_producer_snapshot(path, write)
    elif path.name == LEADER_EPOCH_CHECKPOINT:
        dump_leader_epochs(path, write)
    else:
        write_error(f"Ignoring unknown file {path}")
    return []


def _report_findings(path: Path, findings: IndexFindings) -> list[str]:
    reports = (
        ("Mismatches", "  Index offset: {}, log offset: {}", findings.offset_mismatches),
        ("Found timestamp mismatch", "  Index timestamp: {}, log timestamp: {}", findings.timestamp_mismatches),
        (
            "Found out of order timestamp",
            "  Index timestamp: {}, Previously indexed timestamp: {}",
            findings.timestamps_out_of_order,
        ),
        (
            "The following indexed offsets are not found",
            "Indexed offset: {}, found log offset: {}",
            findings.offsets_not_found,
        ),
    )
    return [line for what, form, pairs in reports for line in _report(f"{what} in :{path.absolute()}", form, pairs)]


def _report(title: str, template: str, pairs: Sequence[tuple[int, int]]) -> list[str]:
    return [title, *(template.format(*pair) for pair in pairs)] if pairs else []
