"""Where tasks leave what is too large to be handed to the driver through Spark: files that live for one micro-batch.

The driver makes a folder when it plans a micro-batch, tasks write into it and name their files to the driver, and the
driver removes the folder as a whole once the micro-batch is through. So files of attempts that lost, or of zombies, go
with it, and a zombie that writes later finds no folder. Folders that a driver left behind when it died are removed by
its successor, which knows that it is alone: it has fenced everybody else.

Files need not survive a power cut: what is not there, or has another checksum, makes the micro-batch run again.
"""

from __future__ import annotations

import tempfile
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tidelog.records.checksum import crc32c
from tidelog.spark.sink.errors import StagingFailed
from tidelog.spark.sink.locations import resolve

if TYPE_CHECKING:
    from tidelog.spark.sink.options import SinkOptions

_FOLDER_NAME = "tidelog-staging"


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedFile:
    """What a task has written, as it tells the driver."""

    path: str
    size: int
    checksum: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StagingFolder:
    """The folder of one micro-batch. `parent` holds nothing but folders of the same query, if `exclusive`."""

    parent: str
    name: str
    exclusive: bool

    @property
    def path(self) -> str:
        return f"{self.parent}/{self.name}"


def plan_folder(options: SinkOptions) -> StagingFolder:
    """Choose and make the folder; for the driver. Under the checkpoint, unless an option says where."""
    # Without a checkpoint that we know of, the machine's own folder does for local[n]; tasks on other machines will say
    # that they do not see it.
    root = options.staging_location or options.checkpoint_location or tempfile.gettempdir()
    folder = StagingFolder(
        parent=f"{root.rstrip('/') or '/'}/{_FOLDER_NAME}",
        name=uuid.uuid4().hex,
        exclusive=bool(options.checkpoint_location and not options.staging_location),
    )
    try:
        files, path = resolve(folder.path)
        files.make_folder(path)
    except (OSError, ValueError) as error:
        # Arrow's errors are ValueErrors, such as about a kind of file system that it does not know.
        raise StagingFailed(
            f"the folder {folder.path}, through which tasks hand large outputs to the driver, cannot be created: "
            f"{error}. Set the option stagingLocation to a location that the driver and all workers share, such as "
            "s3://bucket/folder or a network drive"
        ) from error
    return folder


@dataclass(slots=True)
class StagingWriter:
    """One task attempt's output: kept in memory as long as it is small, written to a file from then on."""

    folder: StagingFolder
    name: str
    inline_bytes: int
    size: int = 0
    _pieces: list[bytes] = field(default_factory=list)
    _stream: Any = None
    _checksum: int = 0

    def append(self, piece: bytes) -> int:
        """Where the piece begins."""
        position = self.size
        self.size += len(piece)
        self._checksum = crc32c(piece, self._checksum)
        if self._stream is None and self.size <= self.inline_bytes:
            self._pieces.append(piece)
            return position
        if self._stream is None:
            self._stream = self._open()
            self._stream.write(b"".join(self._pieces))
            self._pieces.clear()
        self._stream.write(piece)
        return position

    def finish(self) -> bytes | StagedFile:
        """The content itself, or the file that holds it."""
        if self._stream is None:
            return b"".join(self._pieces)
        self._stream.close()
        return StagedFile(path=f"{self.folder.path}/{self.name}", size=self.size, checksum=self._checksum)

    def discard(self) -> None:
        """After a failure. The file goes with its folder."""
        if self._stream is not None:
            self._stream.close()

    def _open(self) -> Any:
        files, path = resolve(f"{self.folder.path}/{self.name}")
        try:
            return files.open_new(path)
        except FileNotFoundError as error:
            raise StagingFailed(
                f"the folder {self.folder.path}, which the driver has created for this micro-batch, is not visible to "
                "its tasks: either the micro-batch is over, or tasks run on machines that do not share this location "
                "with the driver. For the latter, set the option stagingLocation to a location that all of them share, "
                "such as s3://bucket/folder or a network drive"
            ) from error


def read_staged(staged: StagedFile) -> memoryview:
    """The content of a file, checked; for the driver. It may be writable, and then belongs to the caller."""
    files, path = resolve(staged.path)
    try:
        view = files.read(path)
    except FileNotFoundError as error:
        raise StagingFailed(
            f"{staged.path}, which a task has written, is not visible to the driver. Set the option stagingLocation to "
            "a location that the driver and all workers share, such as s3://bucket/folder or a network drive"
        ) from error
    if len(view) != staged.size or crc32c(view) != staged.checksum:
        raise StagingFailed(
            f"{staged.path} holds {len(view)} bytes, which differ from the {staged.size} bytes that its task has "
            "written"
        )
    return view


def remove_folder(path: str) -> None:
    """A zombie may be writing into it at this moment; whoever comes next removes what is left."""
    files, resolved = resolve(path)
    try:
        files.remove_folder(resolved)
    except OSError:
        return


def remove_others(folder: StagingFolder, query_id: str) -> None:
    """Remove what earlier drivers of the same query left behind. Only for a driver that has fenced them."""
    files, parent = resolve(folder.parent)
    for name in files.names(parent):
        if name == folder.name:
            continue
        if not folder.exclusive:
            # Others stage here too. Tasks begin the names of their files with the query.
            staged = files.names(f"{parent}/{name}")
            if not any(file.startswith(f"{query_id}.") for file in staged):
                continue
        remove_folder(f"{folder.parent}/{name}")
