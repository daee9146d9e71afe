"""The small text files in which offsets and epochs outlive the process.

    0                    version
    2                    number of entries
    topic-a 0 27         topic, partition, offset       (the offset checkpoints of a log directory)
    3 27                 epoch, start offset            (leader-epoch-checkpoint of a partition)

Each is replaced as a whole: written beside, synced, renamed, and the directory synced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tidelog.model.ids import TopicPartition
from tidelog.storage.files.filesystem import FileSystem, read_whole, replace_file

_VERSION = 0


class CorruptCheckpoint(Exception):
    """A checkpoint that says something else than it was written to say. Names the file and the reason."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"checkpoint {path}: {reason}")
        self.path = path
        self.reason = reason


def write_offset_checkpoint(
    filesystem: FileSystem, path: str, offsets: Mapping[TopicPartition, int], *, sync: bool = True
) -> None:
    lines = [f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()]
    _write(filesystem, path, lines, sync=sync)


def read_offset_checkpoint(filesystem: FileSystem, path: str) -> dict[TopicPartition, int]:
    """Empty if there is no such file. Raises CorruptCheckpoint."""
    offsets = {}
    for fields in _read(filesystem, path, fields_per_line=3):
        try:
            offsets[TopicPartition(fields[0], int(fields[1]))] = int(fields[2])
        except ValueError as error:
            raise CorruptCheckpoint(path, f"{' '.join(fields)!r} is not an entry") from error
    return offsets


def write_leader_epoch_checkpoint(
    filesystem: FileSystem, path: str, entries: Iterable[tuple[int, int]], *, sync: bool = True
) -> None:
    _write(filesystem, path, [f"{epoch} {start_offset}" for epoch, start_offset in entries], sync=sync)


def read_leader_epoch_checkpoint(filesystem: FileSystem, path: str) -> list[tuple[int, int]]:
    """Empty if there is no such file. Raises CorruptCheckpoint."""
    entries = []
    for fields in _read(filesystem, path, fields_per_line=2):
        try:
            entries.append((int(fields[0]), int(fields[1])))
        except ValueError as error:
            raise CorruptCheckpoint(path, f"{' '.join(fields)!r} is not an entry") from error
    return entries


def _write(filesystem: FileSystem, path: str, lines: Sequence[str], *, sync: bool) -> None:
    text = "\n".join([str(_VERSION), str(len(lines)), *lines, ""])
    replace_file(filesystem, path, text.encode(), sync=sync)


def _read(filesystem: FileSystem, path: str, *, fields_per_line: int) -> list[list[str]]:
    try:
        content = read_whole(filesystem, path)
    except FileNotFoundError:
        return []
    try:
        lines = content.decode().splitlines()
    except UnicodeDecodeError as error:
        raise CorruptCheckpoint(path, "it is not text") from error
    # Kafka creates the file before it has something to say.
    if len(lines) < 2:
        if lines and lines[0] != str(_VERSION):
            raise CorruptCheckpoint(path, f"version {lines[0]!r} is unknown")
        return []
    if lines[0] != str(_VERSION):
        raise CorruptCheckpoint(path, f"version {lines[0]!r} is unknown")
    entries = [line.split() for line in lines[2:]]
    if lines[1] != str(len(entries)):
        raise CorruptCheckpoint(path, f"it declares {lines[1]!r} entries but has {len(entries)}")
    for fields in entries:
        if len(fields) != fields_per_line:
            raise CorruptCheckpoint(path, f"{' '.join(fields)!r} is not an entry")
    return entries
