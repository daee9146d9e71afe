"""What `load(...)` names: partition directories, log directories, segments, globs; and the segments that are in there.

Everything is found out in the driver, once: sizes are those of this moment, so that a broker that goes on writing does
not change what a query reads. Nothing here writes.
"""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from tidelog.model.ids import TopicPartition
from tidelog.spark.source.options import unknown_options
from tidelog.storage.files.file_names import (
    LOG_SUFFIX,
    SWAP_SUFFIX,
    directory_mark,
    offset_of_name,
    parse_partition_directory,
)

DEFAULT_MAX_BATCH_BYTES = 256 * 1024 * 1024
_LARGEST_BATCH = 1 << 30
_OPTIONS = ("path", "paths", "maxBatchBytes")
_EXAMPLE = 'such as load("/data/orders-0"), load("/data/orders-*"), load(["/a/t-0", "/b/t-0"]) or load("/data")'


class InvalidLogFiles(ValueError):
    """Options or paths that cannot be read, all of them at once, with what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFilesOptions:
    """What was asked for, checked."""

    paths: tuple[str, ...]
    max_batch_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentFile:
    """One segment as it was when the query was planned. Picklable: it travels to the workers."""

    directory: str
    topic_partition: TopicPartition
    base_offset: int
    size: int
    # Tells the file from another one that a broker has put in its place.
    inode: int
    # The first offset of the next segment.
    following: int | None
    # The last segment of the partition: its first offset, and how much of it counts.
    last_base_offset: int
    last_size: int
    # Instead of rows: what is wrong with the directory.
    problem: str | None = None

    @property
    def name(self) -> str:
        return f"{self.base_offset:020d}{LOG_SUFFIX}"

    @property
    def path(self) -> str:
        return f"{self.directory}/{self.name}"


def log_files_options(given: Mapping[str, str]) -> LogFilesOptions:
    """Raises InvalidLogFiles."""
    values = {name.lower(): value for name, value in given.items()}
    problems = unknown_options(values, _OPTIONS, "tidelog-log")
    paths = _paths(values, problems)
    limit = values.get("maxbatchbytes", str(DEFAULT_MAX_BATCH_BYTES)).strip()
    if not limit.isascii() or not limit.isdigit() or not 1 <= int(limit) <= _LARGEST_BATCH:
        problems.append(f"maxBatchBytes={limit} must be a whole number from 1 to {_LARGEST_BATCH}")
    if problems:
        raise InvalidLogFiles("; ".join(problems))
    return LogFilesOptions(paths=paths, max_batch_bytes=int(limit))


def find_segments(options: LogFilesOptions) -> list[SegmentFile]:
    """All segments that the paths name, each once. Raises InvalidLogFiles if a path names none."""
    chosen: dict[str, set[str] | None] = {}
    for path in options.paths:
        for directory, name in _resolve(path):
            if name is None:
                chosen[directory] = None
            elif (names := chosen.setdefault(directory, set())) is not None:
                names.add(name)
    segments: list[SegmentFile] = []
    for directory, wanted in sorted(chosen.items()):
        segments += [segment for segment in _segments_of(directory) if wanted is None or segment.name in wanted]
    return segments


def _paths(values: Mapping[str, str], problems: list[str]) -> tuple[str, ...]:
    given = [values["path"]] if "path" in values else []
    if "paths" in values:
        try:
            several = json.loads(values["paths"])
        except ValueError:
            several = None
        if not isinstance(several, list) or not all(isinstance(path, str) for path in several):
            problems.append(f"paths={values['paths']} must be a JSON array of strings")
        else:
            given += several
    if not given:
        problems.append(f"no path is given: name the directories to read, {_EXAMPLE}")
    local = [_local_path(path, problems) for path in given]
    return tuple(path for path in local if path)


def _local_path(path: str, problems: list[str]) -> str:
    if not path.strip():
        problems.append(f"a path is empty: name the directories to read, {_EXAMPLE}")
        return ""
    parts = urlsplit(path)
    if "://" in path or parts.scheme == "file":
        if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
            problems.append(
                f"{path}: only local files are read (every executor must see them at the same path): copy the "
                "directory, or mount it"
            )
            return ""
        path = unquote(parts.path)
    return os.path.abspath(path)


def _resolve(path: str) -> list[tuple[str, str | None]]:
    """(partition directory, one segment's name or None for all) of everything that a path names."""
    if os.path.lexists(path):
        return _resolve_named(path)
    matches = sorted(glob.glob(path)) if glob.has_magic(path) else []
    found = [place for match in matches for place in _resolve_match(match)]
    if found:
        return found
    if matches:
        raise InvalidLogFiles(f"{path} matches no partition's directory (<topic>-<partition>), but {matches[0]}")
    what = "matches nothing" if glob.has_magic(path) else "does not exist"
    raise InvalidLogFiles(f"{path} {what}. The driver and every executor must see the files at the same path")


def _resolve_named(path: str) -> list[tuple[str, str | None]]:
    if not os.path.isdir(path):
        if _is_segment(path):
            return [(os.path.dirname(path), os.path.basename(path))]
        raise InvalidLogFiles(f"{path} is not a segment (<20 digits>.log in a partition's directory): {_EXAMPLE}")
    # A directory that waits for its deletion is read where it is named.
    if partition_of(path) is not None and (_has_segments(path) or not _partitions_in(path)):
        return [(path, None)]
    inside = _partitions_in(path)
    if inside:
        return [(directory, None) for directory in inside]
    if _has_segments(path):
        raise InvalidLogFiles(
            f"{path} has segments, but its name does not say of which topic and partition: rename the copy to "
            "<topic>-<partition>, such as orders-0"
        )
    raise InvalidLogFiles(f"{path} is neither a partition's directory nor a log directory with some in it: {_EXAMPLE}")


def _resolve_match(path: str) -> list[tuple[str, str | None]]:
    """Of a glob: what belongs to no partition, or waits for its deletion, is passed over."""
    if os.path.isdir(path):
        return [(path, None)] if parse_partition_directory(os.path.basename(path)) is not None else []
    return [(os.path.dirname(path), os.path.basename(path))] if _is_segment(path) else []


def partition_of(directory: str) -> TopicPartition | None:
    """Whose directory this is, by its name; a mark behind the name (`-delete`, `-stray`, `-future`) does not count."""
    name = os.path.basename(directory)
    if directory_mark(name) is not None:
        name = name.rpartition(".")[0]
    return parse_partition_directory(name)


def _is_segment(path: str) -> bool:
    name = os.path.basename(path)
    return (
        name.endswith(LOG_SUFFIX)
        and name.removesuffix(LOG_SUFFIX).isdigit()
        and partition_of(os.path.dirname(path)) is not None
    )


def _has_segments(directory: str) -> bool:
    return any(name.endswith(LOG_SUFFIX) for name in os.listdir(directory))


def _partitions_in(directory: str) -> list[str]:
    return [
        entry.path
        for entry in sorted(os.scandir(directory), key=lambda entry: entry.name)
        if entry.is_dir() and parse_partition_directory(entry.name) is not None
    ]


def _segments_of(directory: str) -> Iterator[SegmentFile]:
    topic_partition = partition_of(directory)
    assert topic_partition is not None
    names = os.listdir(directory)
    found: list[tuple[int, os.stat_result]] = []
    for name in names:
        offset = offset_of_name(name) if name.endswith(LOG_SUFFIX) else None
        if offset is not None:
            try:
                found.append((offset, os.stat(f"{directory}/{name}")))
            except FileNotFoundError:
                # A broker has removed it since the names were read.
                continue
    found.sort(key=lambda one: one[0])
    for number, (base_offset, status) in enumerate(found):
        yield SegmentFile(
            directory=directory,
            topic_partition=topic_partition,
            base_offset=base_offset,
            size=status.st_size,
            inode=status.st_ino,
            following=found[number + 1][0] if number + 1 < len(found) else None,
            last_base_offset=found[-1][0],
            last_size=found[-1][1].st_size,
        )
    yield from _interrupted_exchanges(directory, topic_partition, names)


def _interrupted_exchanges(
    directory: str, topic_partition: TopicPartition, names: Sequence[str]
) -> Iterator[SegmentFile]:
    for name in sorted(names):
        base_offset = offset_of_name(name)
        if name.endswith(LOG_SUFFIX + SWAP_SUFFIX) and base_offset is not None:
            yield SegmentFile(
                directory=directory,
                topic_partition=topic_partition,
                base_offset=base_offset,
                size=0,
                inode=0,
                following=None,
                last_base_offset=base_offset,
                last_size=0,
                problem=f"the cleaner was about to put {name} into the place of segments when this was read. Rows may "
                "be missing here: start the broker once, which finishes the exchange. If it is running, read again",
            )
