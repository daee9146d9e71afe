"""A disk in memory that keeps a journal of what was done to it, and all states in which a crash could leave it.

The model of a disk, which is harsher than most file systems:

- A sync of a file brings its content and size to the device, nothing else. Before that each block of it has any of
  the contents that it went through since the last sync, independently of the other blocks; and the file has any of
  the sizes, so that it may end in zeroes.
- A truncation stays in order: what came before it is on the device if it is, what comes after it is not if it is not.
- A sync of a directory brings its names to the device. Before that each creation, renaming and removal has happened
  or not, independently of the others and of the contents of the files.
"""

from __future__ import annotations

import errno
import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tidelog.records.batch import Buffer
from tidelog.storage.files.filesystem import File, Lock

# Small, so that batches of a hundred bytes are torn.
BLOCK_BYTES = 64

Names = dict[str, int]


class Write(NamedTuple):
    inode: int
    position: int
    data: bytes


class Truncate(NamedTuple):
    inode: int
    size: int


class Sync(NamedTuple):
    inode: int


class Rename(NamedTuple):
    """Creations, renamings and removals: names and what they stand for afterwards, None for nothing."""

    directory: str
    names: tuple[tuple[str, int | None], ...]


class SyncDirectory(NamedTuple):
    directory: str


Operation = Write | Truncate | Sync | Rename | SyncDirectory

# Path to content, of all files.
Image = dict[str, bytes]


class MemoryDisk:
    """The disk as programs see it. Made from an image, or empty."""

    def __init__(self, image: Image | None = None, directories: tuple[str, ...] = ()) -> None:
        self.journal: list[Operation] = []
        self._inodes: dict[int, bytearray] = {}
        self._numbers = itertools.count()
        self._directories: dict[str, Names] = {}
        for directory in directories:
            self.make_directory(directory)
        for path, content in (image or {}).items():
            directory, _, name = path.rpartition("/")
            self.make_directory(directory)
            inode = next(self._numbers)
            self._inodes[inode] = bytearray(content)
            self._directories[directory][name] = inode

    def image(self) -> Image:
        return {
            f"{directory}/{name}": bytes(self._inodes[inode])
            for directory, names in self._directories.items()
            for name, inode in names.items()
        }

    @property
    def directories(self) -> tuple[str, ...]:
        return tuple(self._directories)

    def record(self, operation: Operation) -> None:
        """What has been done, or is about to be: a fault can be injected here."""
        self.journal.append(operation)

    def before(self, kind: str) -> None:
        """Called before anything is done or read: a fault can be injected here."""

    # The port

    def open(self, path: str, *, create: bool = False) -> File:
        directory, _, name = path.rpartition("/")
        self.before("create" if create else "open")
        inode = self._names(directory, path).get(name)
        if inode is None:
            if not create:
                raise FileNotFoundError(errno.ENOENT, "no such file", path)
            inode = next(self._numbers)
            self._inodes[inode] = bytearray()
            self._directories[directory][name] = inode
            self.record(Rename(directory, ((path, inode),)))
        return _MemoryFile(self, inode, self._inodes[inode])

    def exists(self, path: str) -> bool:
        directory, _, name = path.rpartition("/")
        return name in self._directories.get(directory, ()) or path in self._directories

    def is_directory(self, path: str) -> bool:
        return path in self._directories

    def size(self, path: str) -> int:
        directory, _, name = path.rpartition("/")
        return len(self._inodes[self._names(directory, path)[name]])

    def modified_ms(self, path: str) -> int:
        return 0

    def list_names(self, path: str) -> list[str]:
        nested = [name.rpartition("/")[2] for name in self._directories if name.rpartition("/")[0] == path]
        return sorted([*self._names(path, path), *nested])

    def rename(self, source: str, target: str) -> None:
        self.before("rename")
        directory, _, name = source.rpartition("/")
        inode = self._names(directory, source).pop(name)
        new_directory, _, new_name = target.rpartition("/")
        self._directories[new_directory][new_name] = inode
        self.record(Rename(directory, ((source, None), (target, inode))))

    def remove(self, path: str) -> None:
        self.before("remove")
        directory, _, name = path.rpartition("/")
        if self._directories.get(directory, {}).pop(name, None) is not None:
            self.record(Rename(directory, ((path, None),)))

    def make_directory(self, path: str) -> None:
        self.before("make_directory")
        self._directories.setdefault(path, {})

    def remove_directory(self, path: str) -> None:
        self.before("remove_directory")
        self._directories.pop(path, None)

    def sync_directory(self, path: str) -> None:
        self.before("sync_directory")
        self._names(path, path)
        self.record(SyncDirectory(path))

    def capacity(self, path: str) -> tuple[int, int] | None:
        return None

    def boot_id(self) -> str:
        """Unknown: every crash is a loss of power."""
        return ""

    def lock(self, path: str) -> Lock | None:
        return _MemoryLock()

    def _names(self, directory: str, path: str) -> Names:
        names = self._directories.get(directory)
        if names is None:
            raise FileNotFoundError(errno.ENOENT, "no such directory", path)
        return names


class _MemoryLock:
    def release(self) -> None:
        pass


class _MemoryFile:
    __slots__ = ("_content", "_disk", "_inode")

    def __init__(self, disk: MemoryDisk, inode: int, content: bytearray) -> None:
        self._disk = disk
        self._inode = inode
        self._content = content

    def read(self, position: int, size: int) -> bytes:
        self._disk.before("read")
        return bytes(self._content[position : position + size])

    def write(self, position: int, data: Buffer) -> None:
        try:
            self._disk.before("write")
        except OSError:
            # A write that fails has often been done in part.
            self._write(position, bytes(data[: len(data) // 2]))
            raise
        self._write(position, bytes(data))

    def _write(self, position: int, data: bytes) -> None:
        _write(self._content, position, data)
        self._disk.record(Write(self._inode, position, data))

    def truncate(self, size: int) -> None:
        self._disk.before("truncate")
        _truncate(self._content, size)
        self._disk.record(Truncate(self._inode, size))

    def sync(self) -> None:
        self._disk.before("sync")
        self._disk.record(Sync(self._inode))

    def size(self) -> int:
        return len(self._content)

    def close(self) -> None:
        pass


def _write(content: bytearray, position: int, data: bytes) -> None:
    if len(content) < position:
        content.extend(bytes(position - len(content)))
    content[position : position + len(data)] = data


def _truncate(content: bytearray, size: int) -> None:
    del content[size:]
    content.extend(bytes(size - len(content)))


# Crash states


@dataclass(slots=True)
class _Device:
    """What is on the device for sure, and what may or may not be."""

    contents: dict[int, bytes] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    pending_data: dict[int, list[Write | Truncate]] = field(default_factory=dict)
    pending_names: dict[str, list[Rename]] = field(default_factory=dict)

    def apply(self, operation: Operation) -> None:
        match operation:
            case Write() | Truncate():
                self.pending_data.setdefault(operation.inode, []).append(operation)
            case Sync(inode):
                content = bytearray(self.contents.get(inode, b""))
                for pending in self.pending_data.pop(inode, ()):
                    _apply(content, pending)
                self.contents[inode] = bytes(content)
            case Rename():
                self.pending_names.setdefault(operation.directory, []).append(operation)
            case SyncDirectory(directory):
                for renaming in self.pending_names.pop(directory, ()):
                    _rename(self.names, renaming)


def _apply(content: bytearray, operation: Write | Truncate) -> None:
    if isinstance(operation, Write):
        _write(content, operation.position, operation.data)
    else:
        _truncate(content, operation.size)


def _rename(names: dict[str, int], renaming: Rename) -> None:
    for path, inode in renaming.names:
        if inode is None:
            names.pop(path, None)
        else:
            names[path] = inode


class _Choice:
    """One thing that may or may not have reached the device: it has `options` states, the last is that it has."""

    options: int


class _NameChoice(_Choice):
    def __init__(self, renaming: Rename) -> None:
        self.renaming = renaming
        self.options = 2


class _CutChoice(_Choice):
    """How many of a file's truncations have reached the device."""

    def __init__(self, inode: int, operations: list[Write | Truncate]) -> None:
        self.inode = inode
        # What reaches the device together with each of them.
        self.parts: list[list[Write | Truncate]] = [[]]
        for operation in operations:
            if isinstance(operation, Truncate):
                self.parts.append([])
            self.parts[-1].append(operation)
        self.options = len(self.parts) + 1


class _SizeChoice(_Choice):
    def __init__(self, inode: int, sizes: list[int]) -> None:
        self.inode = inode
        self.sizes = sizes
        self.options = len(sizes)


class _BlockChoice(_Choice):
    def __init__(self, inode: int, number: int, versions: list[bytes]) -> None:
        self.inode = inode
        self.number = number
        self.versions = versions
        self.options = len(versions)


def crash_images(
    journal: list[Operation], start: Image, *, most_per_point: int, seed: int = 0, stride: int = 1
) -> Iterator[tuple[int, Image]]:
    """(number of operations before the crash, what is left) for every point of the journal.

    `start` is on the device. All combinations are made of what was pending, if that are no more than
    `most_per_point`; else the simple ones (nothing, everything, all but one, only one) and random others.
    """
    device = _Device()
    for inode, (path, content) in enumerate(start.items()):
        device.contents[inode] = content
        device.names[path] = inode
    rng = random.Random(seed)
    for point in range(len(journal) + 1):
        if point:
            device.apply(journal[point - 1])
        if point % stride == 0 or point == len(journal):
            for image in _images(device, most_per_point, rng):
                yield point, image


def _images(device: _Device, most: int, rng: random.Random) -> Iterator[Image]:
    choices = _choices_of(device)
    seen = set()
    for picked in _combinations(choices, most, rng):
        image = _materialise(device, choices, picked)
        identity = hash(frozenset(image.items()))
        if identity not in seen:
            seen.add(identity)
            yield image


def _combinations(choices: list[_Choice], most: int, rng: random.Random) -> Iterator[tuple[int, ...]]:
    total = 1
    for choice in choices:
        total *= choice.options
        if total > most:
            break
    if total <= most:
        yield from itertools.product(*(range(choice.options) for choice in choices))
        return
    nothing = (0,) * len(choices)
    everything = tuple(choice.options - 1 for choice in choices)
    yield nothing
    yield everything
    given = 2
    for at in range(len(choices)):
        if given >= most:
            return
        yield (*everything[:at], 0, *everything[at + 1 :])
        yield (*nothing[:at], everything[at], *nothing[at + 1 :])
        given += 2
    while given < most:
        yield tuple(rng.randrange(choice.options) for choice in choices)
        given += 1


def _choices_of(device: _Device) -> list[_Choice]:
    choices: list[_Choice] = [
        _NameChoice(renaming) for pending in device.pending_names.values() for renaming in pending
    ]
    for inode, operations in device.pending_data.items():
        cuts = _CutChoice(inode, operations)
        if len(cuts.parts) > 1:
            # Truncations are rare: whole files from before or after them.
            choices.append(cuts)
            continue
        choices += _block_choices(inode, device.contents.get(inode, b""), operations)
    return choices


def _block_choices(inode: int, durable: bytes, operations: list[Write | Truncate]) -> list[_Choice]:
    content = bytearray(durable)
    sizes = [len(content)]
    blocks: dict[int, list[bytes]] = {}
    for operation in operations:
        assert isinstance(operation, Write)
        first = operation.position // BLOCK_BYTES
        last = (operation.position + len(operation.data) - 1) // BLOCK_BYTES
        for number in range(first, last + 1):
            if number not in blocks:
                blocks[number] = [bytes(content[number * BLOCK_BYTES : (number + 1) * BLOCK_BYTES])]
        _write(content, operation.position, operation.data)
        for number in range(first, last + 1):
            blocks[number].append(bytes(content[number * BLOCK_BYTES : (number + 1) * BLOCK_BYTES]))
        if len(content) != sizes[-1]:
            sizes.append(len(content))
    choices: list[_Choice] = [_BlockChoice(inode, number, versions) for number, versions in blocks.items()]
    if len(sizes) > 1:
        choices.append(_SizeChoice(inode, sizes))
    return choices


def _materialise(device: _Device, choices: list[_Choice], picked: tuple[int, ...]) -> Image:
    names = dict(device.names)
    contents: dict[int, bytearray] = {}

    def content_of(inode: int) -> bytearray:
        if inode not in contents:
            contents[inode] = bytearray(device.contents.get(inode, b""))
        return contents[inode]

    sizes: dict[int, int] = {}
    for choice, option in zip(choices, picked, strict=True):
        match choice:
            case _NameChoice():
                if option:
                    _rename(names, choice.renaming)
            case _CutChoice():
                content = content_of(choice.inode)
                for part in choice.parts[:option]:
                    for operation in part:
                        _apply(content, operation)
            case _BlockChoice():
                _write(content_of(choice.inode), choice.number * BLOCK_BYTES, choice.versions[option])
            case _SizeChoice():
                sizes[choice.inode] = choice.sizes[option]
    for inode, size in sizes.items():
        _truncate(content_of(inode), size)
    return {
        path: bytes(contents[inode]) if inode in contents else device.contents.get(inode, b"")
        for path, inode in names.items()
    }
