"""Files and directories that are out of use and wait to be removed.

They have already been renamed, so a restart removes what a process did not get to. The delay (file.delete.delay.ms)
lets readers that hold such a file finish.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.storage.files.filesystem import FileSystem


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRemoval:
    """To be run, in any thread, from `due_ms` on. A failure leaves files behind and is harmless."""

    paths: Sequence[str]
    due_ms: int

    def run(self, filesystem: FileSystem) -> None:
        for path in self.paths:
            filesystem.remove(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryRemoval:
    """The directory of a partition that has been deleted."""

    path: str
    due_ms: int

    def run(self, filesystem: FileSystem) -> None:
        if not filesystem.exists(self.path):
            return
        for name in filesystem.list_names(self.path):
            filesystem.remove(f"{self.path}/{name}")
        filesystem.remove_directory(self.path)
