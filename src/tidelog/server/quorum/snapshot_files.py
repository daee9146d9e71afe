"""The files of the metadata snapshots next to the metadata log: `%020d-%010d.checkpoint`, as Kafka names them.

A file has its final name only when all of it is on the device. What a crash leaves behind is removed at the next start.
When snapshots are taken and dropped is decided in `tidelog.consensus.snapshots`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from contextlib import closing, suppress

from tidelog.consensus.effects import SnapshotChunk
from tidelog.consensus.messages import SnapshotId
from tidelog.consensus.snapshots import StoredSnapshot
from tidelog.metadata.snapshot_file import CorruptSnapshot, SnapshotContent, decode_snapshot, read_timestamp_ms
from tidelog.storage.files.filesystem import FileSystem, failing_as, read_whole, sync_file

logger = logging.getLogger(__name__)

SNAPSHOT_SUFFIX = ".checkpoint"
# Two names, so that taking a snapshot and fetching one do not conflict.
_WRITTEN_SUFFIX = "-written.checkpoint.part"
_FETCHED_SUFFIX = "-fetched.checkpoint.part"
_LEFTOVER_SUFFIXES = (".checkpoint.part", ".checkpoint.deleted")
_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
# More than the header of a snapshot takes.
_HEADER_BYTES = 4096


class SnapshotFiles:
    """Those that are complete, in their order."""

    def __init__(self, filesystem: FileSystem, directory: str) -> None:
        self._filesystem = filesystem
        self._directory = directory
        self.stored: list[StoredSnapshot] = []

    @classmethod
    def open(cls, filesystem: FileSystem, directory: str) -> SnapshotFiles:
        """Raises StorageFailure."""
        files = cls(filesystem, directory)
        with failing_as(f"looking for metadata snapshots in {directory}"):
            for name in filesystem.list_names(directory):
                if name.endswith(_LEFTOVER_SUFFIXES):
                    filesystem.remove(f"{directory}/{name}")
                found = _NAME.fullmatch(name)
                if found is not None:
                    files.add(SnapshotId(int(found[1]), int(found[2])))
        return files

    @property
    def ids(self) -> list[SnapshotId]:
        return [snapshot.id for snapshot in self.stored]

    def add(self, snapshot_id: SnapshotId) -> None:
        """A new file."""
        with closing(self._filesystem.open(self._path(snapshot_id))) as file:
            size, timestamp_ms = file.size(), read_timestamp_ms(file.read(0, _HEADER_BYTES))
        kept = [each for each in self.stored if each.id != snapshot_id]
        # One whose age is unknown counts as infinitely old.
        kept.append(StoredSnapshot(id=snapshot_id, size_bytes=size, timestamp_ms=timestamp_ms or 0))
        self.stored = sorted(kept)

    def remove_before(self, snapshot_id: SnapshotId) -> None:
        """Drop the older ones. Raises StorageFailure."""
        for snapshot in [each for each in self.stored if each.id < snapshot_id]:
            self.stored.remove(snapshot)
            path = self._path(snapshot.id)
            with failing_as(f"removing {path}"):
                self._filesystem.remove(path)

    # -- reading -------------------------------------------------------------------------------------------------

    def load(self, snapshot_id: SnapshotId) -> SnapshotContent:
        """Raises CorruptSnapshot, StorageFailure."""
        path = self._path(snapshot_id)
        with failing_as(f"reading {path}"):
            data = read_whole(self._filesystem, path)
        try:
            return decode_snapshot(data)
        except CorruptSnapshot as problem:
            raise CorruptSnapshot(f"{path}: {problem}") from problem

    def read(self, snapshot_id: SnapshotId, position: int, max_bytes: int) -> tuple[int, bytes] | None:
        """(size of the file, bytes from `position` on); None if there is no such snapshot (any more)."""
        if snapshot_id not in self.ids:
            return None
        path = self._path(snapshot_id)
        with failing_as(f"reading {path}"), suppress(FileNotFoundError), closing(self._filesystem.open(path)) as file:
            return file.size(), file.read(position, max_bytes)
        return None

    # -- writing -------------------------------------------------------------------------------------------------

    def write(self, snapshot_id: SnapshotId, pieces: Iterable[bytes]) -> None:
        """May run in a thread; `add` it afterwards. Raises StorageFailure."""
        temporary = self._path(snapshot_id, _WRITTEN_SUFFIX)
        with failing_as(f"writing {temporary}"):
            self._filesystem.remove(temporary)
            with closing(self._filesystem.open(temporary, create=True)) as file:
                position = 0
                for piece in pieces:
                    file.write(position, piece)
                    position += len(piece)
                sync_file(file)
            self._publish(temporary, snapshot_id)

    def write_fetched(self, chunk: SnapshotChunk) -> None:
        """A piece of a snapshot that is being fetched. Raises StorageFailure."""
        temporary = self._path(chunk.snapshot_id, _FETCHED_SUFFIX)
        with failing_as(f"writing {temporary}"):
            if chunk.position == 0:
                self._filesystem.remove(temporary)
            with closing(self._filesystem.open(temporary, create=True)) as file:
                file.write(chunk.position, chunk.data)
                if chunk.is_last:
                    sync_file(file)

    def finish_fetched(self, snapshot_id: SnapshotId) -> SnapshotContent:
        """All pieces are there and on the device. Raises CorruptSnapshot if they are not a snapshot, StorageFailure."""
        temporary = self._path(snapshot_id, _FETCHED_SUFFIX)
        with failing_as(f"completing {temporary}"):
            content = decode_snapshot(read_whole(self._filesystem, temporary))
            self._publish(temporary, snapshot_id)
            self.add(snapshot_id)
        return content

    def _publish(self, temporary: str, snapshot_id: SnapshotId) -> None:
        self._filesystem.rename(temporary, self._path(snapshot_id))
        self._filesystem.sync_directory(self._directory)

    def _path(self, snapshot_id: SnapshotId, suffix: str = SNAPSHOT_SUFFIX) -> str:
        return f"{self._directory}/{snapshot_id.end_offset:020d}-{snapshot_id.epoch:010d}{suffix}"
