"""`bootstrap.checkpoint` in the directory of the metadata log: what the first controller of a new cluster writes first.

`tidelog format` and Apache Kafka's kafka-storage write it, as a snapshot. All of it is taken over, credentials above
all, except for the levels of features: those are what this version begins with.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.metadata.snapshot_file import CorruptSnapshot, decode_snapshot, encode_snapshot
from tidelog.protocol.messages.feature_level_record import FeatureLevelRecord
from tidelog.protocol.schema import Message
from tidelog.storage.files.file_names import BOOTSTRAP_CHECKPOINT
from tidelog.storage.files.filesystem import FileSystem, read_whole, replace_file
from tidelog.storage.recovery.damage import DamagedLog


def write_first_records(filesystem: FileSystem, directory: str, records: Sequence[Message], *, now_ms: int) -> None:
    pieces = encode_snapshot(records, epoch=0, timestamp_ms=0, now_ms=now_ms)
    replace_file(filesystem, f"{directory}/{BOOTSTRAP_CHECKPOINT}", b"".join(pieces))


def read_first_records(filesystem: FileSystem, directory: str) -> tuple[Message, ...]:
    """None of them if there is no file. Raises DamagedLog."""
    path = f"{directory}/{BOOTSTRAP_CHECKPOINT}"
    try:
        records = decode_snapshot(read_whole(filesystem, path)).records
    except FileNotFoundError:
        return ()
    except CorruptSnapshot as problem:
        raise DamagedLog(path, str(problem)) from problem
    return tuple(record for record in records if not isinstance(record, FeatureLevelRecord))
