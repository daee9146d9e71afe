"""The options of `tidelog dump-log` but for the files: which of their content is shown, and how."""

from __future__ import annotations

from typing import Annotated

import typer

from tidelog.model.lazy_dataclasses import dataclass

UNLIMITED_BYTES = 2_147_483_647
DEFAULT_MAX_MESSAGE_SIZE = 5 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpOptions:
    print_data_log: Annotated[
        bool, typer.Option("--print-data-log", help="Show keys and values. Implied by any decoder option.")
    ] = False
    deep_iteration: Annotated[
        bool, typer.Option("--deep-iteration", help="Show each record, not only the batches.")
    ] = False
    skip_record_metadata: Annotated[
        bool, typer.Option("--skip-record-metadata", help="Show only the key and value of each record.")
    ] = False
    max_bytes: Annotated[
        int, typer.Option("--max-bytes", min=0, help="Show only the batches in the first bytes of a log.")
    ] = UNLIMITED_BYTES
    max_message_size: Annotated[
        int, typer.Option("--max-message-size", min=0, help="The largest batch that an index entry may point to.")
    ] = DEFAULT_MAX_MESSAGE_SIZE
    verify_index_only: Annotated[
        bool, typer.Option("--verify-index-only", help="Compare indexes with their log without showing them.")
    ] = False
    index_sanity_check: Annotated[
        bool, typer.Option("--index-sanity-check", help="Check indexes only as a broker does when it starts.")
    ] = False
    offsets_decoder: Annotated[
        bool, typer.Option("--offsets-decoder", help="Read the records of __consumer_offsets.")
    ] = False
    transaction_log_decoder: Annotated[
        bool, typer.Option("--transaction-log-decoder", help="Read the records of __transaction_state.")
    ] = False
    cluster_metadata_decoder: Annotated[
        bool, typer.Option("--cluster-metadata-decoder", help="Read the records of __cluster_metadata.")
    ] = False
    key_decoder_class: Annotated[
        str | None, typer.Option("--key-decoder-class", help="StringDecoder, IntegerDecoder, LongDecoder.")
    ] = None
    value_decoder_class: Annotated[
        str | None, typer.Option("--value-decoder-class", help="StringDecoder, IntegerDecoder, LongDecoder.")
    ] = None
