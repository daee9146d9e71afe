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
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crc32c import crc32c

from tidelog.spark.sink.errors import StagingFailed

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
        filesystem, path = resolve(folder.path)
        filesystem.create_dir(path, recursive=True)
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
        filesystem, path = resolve(f"{self.folder.path}/{self.name}")
        try:
            return filesystem.open_output_stream(path)
        except FileNotFoundError as error:
            raise StagingFailed(
                f"the folder {self.folder.path}, which the driver has created for this micro-batch, is not visible to "
                "its tasks: either the micro-batch is over, or tasks run on machines that do not share this location "
                "with the driver. For the latter, set the option stagingLocation to a location that all of them share, "
                "such as s3://bucket/folder or a network drive"
            ) from error


def read_staged(staged: StagedFile) -> memoryview:
    """The content of a file, checked; for the driver."""
    filesystem, path = resolve(staged.path)
    try:
        with filesystem.open_input_file(path) as file:
            content = file.read_buffer()
    except FileNotFoundError as error:
        raise StagingFailed(
            f"{staged.path}, which a task has written, is not visible to the driver. Set the option stagingLocation to "
            "a location that the driver and all workers share, such as s3://bucket/folder or a network drive"
        ) from error
    view = memoryview(content)
    if len(view) != staged.size or crc32c(view) != staged.checksum:
        raise StagingFailed(
            f"{staged.path} holds {len(view)} bytes, which differ from the {staged.size} bytes that its task has "
            "written"
        )
    return view


def remove_folder(path: str) -> None:
    """A zombie may be writing into it at this moment; whoever comes next removes what is left."""
    filesystem, resolved = resolve(path)
    try:
        filesystem.delete_dir(resolved)
    except OSError:
        return


def remove_others(folder: StagingFolder, query_id: str) -> None:
    """Remove what earlier drivers of the same query left behind. Only for a driver that has fenced them."""
    from pyarrow import fs

    filesystem, parent = resolve(folder.parent)
    for entry in filesystem.get_file_info(fs.FileSelector(parent, allow_not_found=True)):
        if entry.base_name == folder.name:
            continue
        if not folder.exclusive:
            # Others stage here too. Tasks begin the names of their files with the query.
            files = filesystem.get_file_info(fs.FileSelector(entry.path, allow_not_found=True))
            if not any(file.base_name.startswith(f"{query_id}.") for file in files):
                continue
        remove_folder(f"{folder.parent}/{entry.base_name}")


def resolve(location: str) -> tuple[Any, str]:
    """The file system and the path on it."""
    from pyarrow import fs

    if "://" in location and not location.startswith("file:"):
        # Hadoop's names for S3.
        for scheme in ("s3a://", "s3n://"):
            location = location.replace(scheme, "s3://", 1) if location.startswith(scheme) else location
        filesystem, path = fs.FileSystem.from_uri(location)
        return filesystem, path
    local = location.removeprefix("file:")
    # file:/a, file:///a and /a are the same place.
    while local.startswith("//"):
        local = local[1:]
    return fs.LocalFileSystem(), str(Path(local).absolute())
