"""`tidelog dump-log`: what is in the files of a partition's directory, in the lines of Kafka's `kafka-dump-log`.

This module tells the kinds of files apart and sums up what is wrong with them. What is printed for each kind lives
in `dump_log_batches` and `dump_log_indexes`, the ways to read keys and values in `dump_log_decoders`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tidelog.cli.dump_log.batches import UNLIMITED_BYTES, BatchOptions, DumpFailure, Write, dump_batches
from tidelog.cli.dump_log.decoders import (
    RecordDecoder,
    group_decoder,
    metadata_decoder,
    plain_decoder,
    transaction_decoder,
    value_decoder,
)
from tidelog.cli.dump_log.indexes import (
    IndexFindings,
    IndexOptions,
    dump_leader_epochs,
    dump_offset_index,
    dump_producer_snapshot,
    dump_time_index,
    dump_transaction_index,
)
from tidelog.storage.files.file_names import (
    LEADER_EPOCH_CHECKPOINT,
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
)

METADATA_SNAPSHOT_SUFFIX = ".checkpoint"
DEFAULT_MAX_MESSAGE_SIZE = 5 * 1024 * 1024
DEFAULT_DECODER_CLASS = "org.apache.kafka.tools.api.StringDecoder"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    batches: BatchOptions
    indexes: IndexOptions


def dump(
    files: Sequence[str],
    *,
    write: Write,
    write_error: Write,
    print_data_log: bool = False,
    deep_iteration: bool = False,
    skip_record_metadata: bool = False,
    max_bytes: int = UNLIMITED_BYTES,
    max_message_size: int = DEFAULT_MAX_MESSAGE_SIZE,
    verify_index_only: bool = False,
    index_sanity_check: bool = False,
    offsets_decoder: bool = False,
    transaction_log_decoder: bool = False,
    cluster_metadata_decoder: bool = False,
    key_decoder_class: str | None = None,
    value_decoder_class: str | None = None,
) -> int:
    """Print the files one after the other; return 0, or 1 if a file was damaged or did not fit to its neighbours.

    Unlike Kafka's tool it goes on with the next file after one that cannot be read. Raises ValueError for a decoder
    class that does not exist.
    """
    decoder = _choose_decoder(
        print_data_log=print_data_log,
        offsets=offsets_decoder,
        transactions=transaction_log_decoder,
        metadata=cluster_metadata_decoder,
        key_class=key_decoder_class,
        value_class=value_decoder_class,
    )
    options = _Options(
        batches=BatchOptions(
            deep_iteration=deep_iteration or decoder is not None,
            skip_record_metadata=skip_record_metadata,
            max_bytes=max_bytes,
            decoder=decoder,
        ),
        indexes=IndexOptions(
            sanity_check_only=index_sanity_check,
            verify_only=verify_index_only,
            max_message_size=max_message_size,
        ),
    )
    summary: list[str] = []
    failed = False
    for name in files:
        write(f"Dumping {name}")
        try:
            problems = _dump_file(Path(name), options, write, write_error)
        except DumpFailure as failure:
            write_error(str(failure))
            failed = True
        except OSError as error:
            write_error(f"{name}: {error.strerror or error}")
            failed = True
        else:
            summary += problems
    for line in summary:
        write_error(line)
    return 1 if failed or summary else 0


def _dump_file(path: Path, options: _Options, write: Write, write_error: Write) -> list[str]:
    """Print one file; return the lines about what does not fit together."""
    suffix = path.suffix
    if suffix in (LOG_SUFFIX, METADATA_SNAPSHOT_SUFFIX):
        gaps = dump_batches(path, options.batches, write)
        return _report(f"Non-consecutive offsets in {path.absolute()}", "  {} is followed by {}", gaps)
    if suffix == OFFSET_INDEX_SUFFIX:
        return _report_findings(path, dump_offset_index(path, options.indexes, write))
    if suffix == TIME_INDEX_SUFFIX:
        return _report_findings(path, dump_time_index(path, options.indexes, write))
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
    place = path.absolute()
    return [
        *_report(
            f"Mismatches in :{place}",
            "  Index offset: {}, log offset: {}",
            findings.offset_mismatches,
        ),
        *_report(
            f"Found timestamp mismatch in :{place}",
            "  Index timestamp: {}, log timestamp: {}",
            findings.timestamp_mismatches,
        ),
        *_report(
            f"Found out of order timestamp in :{place}",
            "  Index timestamp: {}, Previously indexed timestamp: {}",
            findings.timestamps_out_of_order,
        ),
        *_report(
            f"The following indexed offsets are not found in :{place}",
            "Indexed offset: {}, found log offset: {}",
            findings.offsets_not_found,
        ),
    ]


def _report(title: str, template: str, pairs: Sequence[tuple[int, int]]) -> list[str]:
    return [title, *(template.format(*pair) for pair in pairs)] if pairs else []


def _choose_decoder(
    *,
    print_data_log: bool,
    offsets: bool,
    transactions: bool,
    metadata: bool,
    key_class: str | None,
    value_class: str | None,
) -> RecordDecoder | None:
    if offsets:
        return group_decoder()
    if transactions:
        return transaction_decoder()
    if metadata:
        return metadata_decoder()
    if print_data_log or key_class or value_class:
        return plain_decoder(
            key=value_decoder(key_class or DEFAULT_DECODER_CLASS),
            value=value_decoder(value_class or DEFAULT_DECODER_CLASS),
        )
    return None


def dump_log(
    files: Annotated[str, typer.Option("--files", help="The files to show, separated by commas.", metavar="FILE,...")],
    print_data_log: Annotated[
        bool, typer.Option("--print-data-log", help="Show keys and values. Implied by any decoder option.")
    ] = False,
    deep_iteration: Annotated[
        bool, typer.Option("--deep-iteration", help="Show each record, not only the batches.")
    ] = False,
    skip_record_metadata: Annotated[
        bool, typer.Option("--skip-record-metadata", help="Show only the key and value of each record.")
    ] = False,
    max_bytes: Annotated[
        int, typer.Option("--max-bytes", min=0, help="Show only the batches in the first bytes of a log.")
    ] = UNLIMITED_BYTES,
    max_message_size: Annotated[
        int, typer.Option("--max-message-size", min=0, help="The largest batch that an index entry may point to.")
    ] = DEFAULT_MAX_MESSAGE_SIZE,
    verify_index_only: Annotated[
        bool, typer.Option("--verify-index-only", help="Compare indexes with their log without showing them.")
    ] = False,
    index_sanity_check: Annotated[
        bool, typer.Option("--index-sanity-check", help="Check indexes only as a broker does when it starts.")
    ] = False,
    offsets_decoder: Annotated[
        bool, typer.Option("--offsets-decoder", help="Read the records of __consumer_offsets.")
    ] = False,
    transaction_log_decoder: Annotated[
        bool, typer.Option("--transaction-log-decoder", help="Read the records of __transaction_state.")
    ] = False,
    cluster_metadata_decoder: Annotated[
        bool, typer.Option("--cluster-metadata-decoder", help="Read the records of __cluster_metadata.")
    ] = False,
    key_decoder_class: Annotated[
        str | None, typer.Option("--key-decoder-class", help="StringDecoder, IntegerDecoder, LongDecoder.")
    ] = None,
    value_decoder_class: Annotated[
        str | None, typer.Option("--value-decoder-class", help="StringDecoder, IntegerDecoder, LongDecoder.")
    ] = None,
) -> None:
    """Show what is in the files of a partition: the same lines as Kafka's kafka-dump-log.

    Knows .log, .index, .timeindex, .txnindex, .snapshot, .checkpoint and leader-epoch-checkpoint.

    \b
    Examples:
      tidelog dump-log --files tidelog-data/orders-0/00000000000000000000.log --print-data-log
      tidelog dump-log --files tidelog-data/orders-0/00000000000000000000.index --index-sanity-check
      tidelog dump-log --files tidelog-data/__consumer_offsets-1/00000000000000000000.log --offsets-decoder
    """
    try:
        code = dump(
            [name.strip() for name in files.split(",") if name.strip()],
            write=_line_writer(sys.stdout.buffer.write),
            write_error=_line_writer(sys.stderr.buffer.write),
            print_data_log=print_data_log,
            deep_iteration=deep_iteration,
            skip_record_metadata=skip_record_metadata,
            max_bytes=max_bytes,
            max_message_size=max_message_size,
            verify_index_only=verify_index_only,
            index_sanity_check=index_sanity_check,
            offsets_decoder=offsets_decoder,
            transaction_log_decoder=transaction_log_decoder,
            cluster_metadata_decoder=cluster_metadata_decoder,
            key_decoder_class=key_decoder_class,
            value_decoder_class=value_decoder_class,
        )
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    sys.stdout.flush()
    raise typer.Exit(code)


def _line_writer(write: Callable[[bytes], int]) -> Write:
    """Records hold any bytes: what is printed is UTF-8 whatever the terminal's locale says."""

    def write_line(line: str) -> None:
        write(line.encode() + b"\n")

    return write_line
