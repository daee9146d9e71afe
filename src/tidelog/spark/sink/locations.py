"""Files and folders in the places that options name: on this machine, or wherever Arrow's file systems reach.

Local ones do without Arrow. The driver's process that commits needs it for nothing else, and loading it takes a quarter
of a second of the first micro-batch.
"""

from __future__ import annotations

import mmap
import os
import shutil
from pathlib import Path
from typing import Any, Protocol


class Files(Protocol):
    """What the sink does with files. Raises OSError, and FileNotFoundError where nothing is."""

    def make_folder(self, path: str) -> None:
        """With those above it."""

    def remove_folder(self, path: str) -> None:
        """With all that is in it."""

    def names(self, path: str) -> list[str]:
        """What is in a folder; nothing if there is no such folder."""

    def open_new(self, path: str) -> Any:
        """A file to write to, in a folder that is there."""

    def read(self, path: str) -> memoryview:
        """The whole file. May be writable, and then belongs to the caller."""


def resolve(location: str) -> tuple[Files, str]:
    """The file system and the path on it. Raises ValueError for a kind of file system that Arrow does not know."""
    if "://" in location and not location.startswith("file:"):
        # Hadoop's names for S3.
        for scheme in ("s3a://", "s3n://"):
            location = location.replace(scheme, "s3://", 1) if location.startswith(scheme) else location
        from pyarrow import fs

        filesystem, path = fs.FileSystem.from_uri(location)
        return ArrowFiles(filesystem), path
    local = location.removeprefix("file:")
    # file:/a, file:///a and /a are the same place.
    while local.startswith("//"):
        local = local[1:]
    return LocalFiles(), str(Path(local).absolute())


class LocalFiles:
    def make_folder(self, path: str) -> None:
        Path(path).mkdir(parents=True, exist_ok=True)

    def remove_folder(self, path: str) -> None:
        shutil.rmtree(path)

    def names(self, path: str) -> list[str]:
        try:
            return os.listdir(path)
        except FileNotFoundError:
            return []

    def open_new(self, path: str) -> Any:
        return Path(path).open("wb")

    def read(self, path: str) -> memoryview:
        """Into memory of its own, which is writable: `bytes` would be copied before they can be stamped."""
        with Path(path).open("rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                return memoryview(b"")
            # Pages that are zero until they are used, where a bytearray would be filled with zeros first.
            content = memoryview(mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
            filled = 0
            while filled < size and (count := file.readinto(content[filled:])):
                filled += count
        return content[:filled]


class ArrowFiles:
    def __init__(self, filesystem: Any) -> None:
        self._filesystem = filesystem

    def make_folder(self, path: str) -> None:
        self._filesystem.create_dir(path, recursive=True)

    def remove_folder(self, path: str) -> None:
        self._filesystem.delete_dir(path)

    def names(self, path: str) -> list[str]:
        from pyarrow import fs

        entries = self._filesystem.get_file_info(fs.FileSelector(path, allow_not_found=True))
        return [entry.base_name for entry in entries]

    def open_new(self, path: str) -> Any:
        return self._filesystem.open_output_stream(path)

    def read(self, path: str) -> memoryview:
        with self._filesystem.open_input_file(path) as file:
            return memoryview(file.read_buffer())
