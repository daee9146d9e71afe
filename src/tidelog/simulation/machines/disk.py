"""A disk in memory: what programs see, and what would be left of it after a loss of power.

A killed process loses nothing that it has written: the kernel still has it. A machine that loses power keeps what was
synced; of the rest any part may have reached the device, torn at any byte or with holes of whole sectors. Names in a
directory follow the journal of that directory: after a loss of power a prefix of what was not synced is there.

The disk belongs to a machine; the file system port on top of it belongs to one process and is `ProcessFileSystem`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import field

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.simulation.machines.process import Process

SECTOR_BYTES = 512
UNLIMITED_BYTES = 1 << 40
# Seconds that a sync takes on a good day, from and to.
SYNC_SECONDS = (0.0005, 0.005)


@dataclass(slots=True, eq=False)
class DiskFile:
    """The content as the kernel has it, and as the device has it."""

    modified_ms: int
    content: bytearray = field(default_factory=bytearray)
    durable: bytearray = field(default_factory=bytearray)
    # The lowest position that differs, as far as the kernel knows; None when all is synced.
    dirty_from: int | None = None

    def write(self, position: int, data: bytes | bytearray | memoryview) -> None:
        content = self.content
        end = len(content)
        if end < position:
            content.extend(bytes(position - end))
            self._touch(end)
        content[position : position + len(data)] = data
        self._touch(position)

    def truncate(self, size: int) -> None:
        end = len(self.content)
        if size < end:
            del self.content[size:]
        else:
            self.content.extend(bytes(size - end))
        self._touch(min(size, end))

    def _touch(self, position: int) -> None:
        if self.dirty_from is None or position < self.dirty_from:
            self.dirty_from = position

    def sync(self) -> None:
        low = self.dirty_from
        if low is None:
            return
        durable = self.durable
        if len(durable) < low:
            # A sync before has failed: its pages are gone, and nobody will write them again.
            durable.extend(bytes(low - len(durable)))
        durable[low:] = self.content[low:]
        self.dirty_from = None

    def fail_sync(self) -> None:
        """The kernel gives up on the pages: they count as written and are not."""
        self.dirty_from = None

    def lose_power(self, chance: random.Random) -> None:
        self.content = bytearray(self._left_over(chance))
        self.durable = bytearray(self.content)
        self.dirty_from = None

    def _left_over(self, chance: random.Random) -> bytes | bytearray:
        if self.dirty_from is None:
            return self.durable
        now, before = self.content, self.durable
        fate = chance.randrange(4)
        if fate == 0:
            return before
        if fate == 1:
            return now
        if fate == 2:
            cut = chance.randrange(self.dirty_from, len(now) + 1)
            return now[:cut] if cut >= len(before) else now[:cut] + before[cut:]
        return self._with_holes(chance)

    def _with_holes(self, chance: random.Random) -> bytearray:
        """The new size, but of the sectors only some."""
        now, before = self.content, self.durable
        assert self.dirty_from is not None
        result = bytearray(now)
        for start in range(self.dirty_from // SECTOR_BYTES * SECTOR_BYTES, len(now), SECTOR_BYTES):
            if chance.random() < 0.5:
                end = min(start + SECTOR_BYTES, len(now))
                old = before[start:end]
                result[start:end] = old + bytes(end - start - len(old))
        return result


# What one operation does to names, all of it or nothing: None takes a name away.
_Change = tuple[tuple[str, "DiskFile | DiskDirectory | None"], ...]


@dataclass(slots=True, eq=False)
class DiskDirectory:
    """Names, as the kernel has them, and the journal of what has happened to them since the last sync."""

    entries: dict[str, DiskFile | DiskDirectory] = field(default_factory=dict)
    _durable: dict[str, DiskFile | DiskDirectory] = field(default_factory=dict)
    _journal: list[_Change] = field(default_factory=list)

    def change(self, *names: tuple[str, DiskFile | DiskDirectory | None]) -> None:
        _apply(self.entries, names)
        self._journal.append(names)

    def sync(self) -> None:
        for change in self._journal:
            _apply(self._durable, change)
        self._journal.clear()

    def lose_power(self, chance: random.Random) -> None:
        if self._journal:
            # Nothing and everything are as likely as all that is in between.
            kept = chance.choice((0, len(self._journal), chance.randrange(len(self._journal) + 1)))
            for change in self._journal[:kept]:
                _apply(self._durable, change)
            self._journal.clear()
            self.entries = dict(self._durable)
        for _, entry in sorted(self.entries.items()):
            entry.lose_power(chance)


def _apply(names: dict[str, DiskFile | DiskDirectory], change: _Change) -> None:
    for name, entry in change:
        if entry is None:
            names.pop(name, None)
        else:
            names[name] = entry


@dataclass(slots=True, eq=False)
class Disk:
    """The disk of one machine. Its faults are set by the world and met by `ProcessFileSystem`."""

    chance: random.Random
    now_ms: Callable[[], int]
    root: DiskDirectory = field(default_factory=DiskDirectory)
    # Who has locked a path. A dead process holds no locks.
    locks: dict[str, Process] = field(default_factory=dict)
    capacity_bytes: int = UNLIMITED_BYTES
    used_bytes: int = 0
    # Kinds of calls that fail with EIO: read, write, sync.
    failing: frozenset[str] = frozenset()
    # Where they fail: paths begin with it.
    failing_under: str = ""
    # How often the machine has been started.
    boots: int = 1
    # The chance that a process of this machine gets no descriptor for a file.
    refused_descriptors: float = 0.0
    # Seconds that a sync takes, from and to.
    sync_seconds: tuple[float, float] = SYNC_SECONDS

    def make_directory(self, path: str) -> None:
        """One that was always there."""
        directory = self.root
        for name in filter(None, path.split("/")):
            made = DiskDirectory()
            directory.change((name, made))
            directory.sync()
            directory = made

    def replace(self, path: str) -> None:
        """Another, empty one is there now."""
        self.make_directory(path)
        self.locks = {locked: holder for locked, holder in self.locks.items() if not locked.startswith(f"{path}/")}
        self.used_bytes = sum(len(file.content) for file in _files(self.root))

    def lose_power(self) -> None:
        self.boots += 1
        self.root.lose_power(self.chance)
        self.used_bytes = sum(len(file.content) for file in _files(self.root))

    @property
    def full(self) -> bool:
        return self.capacity_bytes < UNLIMITED_BYTES

    def fill(self, room_bytes: int) -> None:
        """Somebody else has taken all but this."""
        self.capacity_bytes = self.used_bytes + room_bytes

    def heal(self) -> None:
        self.failing = frozenset()
        self.failing_under = ""
        self.capacity_bytes = UNLIMITED_BYTES
        self.refused_descriptors = 0.0
        self.sync_seconds = SYNC_SECONDS


class FlippedByte:
    """One byte of one file is another one, and somebody may turn it back later."""

    def __init__(self, path: str, file: DiskFile, position: int, mask: int) -> None:
        self.path = path
        self.position = position
        self._file = file
        self._mask = mask
        self._flip()
        self._before = bytes(file.content[: position + 1])

    def __str__(self) -> str:
        return f"byte {self.position} of {self.path}"

    def turn_back(self) -> None:
        """Unless the file was cut or written again since."""
        if self._file.content[: self.position + 1] == self._before:
            self._flip()

    def _flip(self) -> None:
        # Somebody has waited for the device before: both are the same there.
        for content in (self._file.content, self._file.durable):
            if self.position < len(content):
                content[self.position] ^= self._mask


def flip_byte(disk: Disk, choice: float) -> FlippedByte | None:
    """Any byte of any file, each kind of file as likely as each other. `choice` is from 0 to 1."""
    kinds: dict[str, list[tuple[str, DiskFile]]] = {}
    for path, file in _named_files(disk.root):
        if file.content and not path.endswith("/.lock"):
            directory, _, name = path.rpartition("/")
            kind = name.rpartition(".")[2] if "." in name.lstrip(".") else name
            kinds.setdefault(f"{'__' in directory}{kind}", []).append((path, file))
    if not kinds:
        return None
    chance = random.Random(choice)
    path, file = chance.choice(kinds[chance.choice(sorted(kinds))])
    return FlippedByte(path, file, chance.randrange(len(file.content)), 1 << chance.randrange(8))


def _named_files(directory: DiskDirectory, path: str = "") -> Iterator[tuple[str, DiskFile]]:
    for name, entry in sorted(directory.entries.items()):
        if isinstance(entry, DiskDirectory):
            yield from _named_files(entry, f"{path}/{name}")
        else:
            yield f"{path}/{name}", entry


def _files(directory: DiskDirectory) -> Iterator[DiskFile]:
    return (file for _, file in _named_files(directory))
