"""The small text files that keep offsets and epochs across restarts.

    0                    version
    2                    number of entries
    topic-a 0 27         topic, partition, offset       (the offset checkpoints of a log directory)
    3 27                 epoch, start offset            (leader-epoch-checkpoint of a partition)

Each is replaced as a whole: written under another name, synced, renamed, and the directory synced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from tidelog.model.ids import TopicPartition
from tidelog.storage.files.filesystem import FileSystem, read_whole, replace_file

T = TypeVar("T")

_VERSION = 0


class CorruptCheckpoint(Exception):
    """A checkpoint that is not as it was written. Names the file and the reason."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"checkpoint {path}: {reason}")
        self.path = path
        self.reason = reason


def write_offset_checkpoint(filesystem: FileSystem, path: str, offsets: Mapping[TopicPartition, int]) -> None:
    _write(filesystem, path, [f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()])


def read_offset_checkpoint(filesystem: FileSystem, path: str) -> dict[TopicPartition, int]:
    """Empty if there is no such file. Raises CorruptCheckpoint."""

    def parse(line: str) -> tuple[TopicPartition, int]:
        topic, partition, offset = line.split()
        return TopicPartition(topic, int(partition)), int(offset)

    return dict(_read(filesystem, path, parse))


def write_leader_epoch_checkpoint(filesystem: FileSystem, path: str, entries: Iterable[tuple[int, int]]) -> None:
    _write(filesystem, path, [f"{epoch} {start_offset}" for epoch, start_offset in entries])


def read_leader_epoch_checkpoint(filesystem: FileSystem, path: str) -> list[tuple[int, int]]:
    """Empty if there is no such file. Raises CorruptCheckpoint."""

    def parse(line: str) -> tuple[int, int]:
        epoch, start_offset = line.split()
        return int(epoch), int(start_offset)

    return _read(filesystem, path, parse)


def _write(filesystem: FileSystem, path: str, lines: Sequence[str]) -> None:
    text = "\n".join([str(_VERSION), str(len(lines)), *lines, ""])
    replace_file(filesystem, path, text.encode())


def _read(filesystem: FileSystem, path: str, parse: Callable[[str], T]) -> list[T]:
    try:
        lines = read_whole(filesystem, path).decode().splitlines()
    except FileNotFoundError:
        return []
    except UnicodeDecodeError as error:
        raise CorruptCheckpoint(path, "it is not text") from error
    if lines and lines[0] != str(_VERSION):
        raise CorruptCheckpoint(path, f"version {lines[0]!r} is unknown")
    # Kafka creates the file before it has entries.
    if len(lines) < 2:
        return []
    if lines[1] != str(len(lines) - 2):
        raise CorruptCheckpoint(path, f"it declares {lines[1]!r} entries but has {len(lines) - 2}")
    entries = []
    for line in lines[2:]:
        try:
            entries.append(parse(line))
        except ValueError as error:
            raise CorruptCheckpoint(path, f"{line!r} is not an entry") from error
    return entries
