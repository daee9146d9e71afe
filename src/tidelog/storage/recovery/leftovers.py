"""What a crash can leave in a partition's directory besides good files, and what is done with it.

- `.deleted`: was waiting for removal, is removed.
- `.cleaned`: the cleaner was still writing it, is removed.
- `.swap`: complete, and about to take the place of the segments it was made from. They are removed, it is renamed.
  Except those at or above a `.cleaned` file: they belong to a split of a segment that did not finish.
- indexes without a log, and files that were about to replace others: are removed.

Each step can be repeated, so a crash in here is harmless.
"""

from __future__ import annotations

import logging
from contextlib import closing

from tidelog.records.batch import CorruptBatch
from tidelog.storage.files.file_names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    INDEX_SUFFIXES,
    LOG_SUFFIX,
    SEGMENT_SUFFIXES,
    SWAP_SUFFIX,
    offset_of_name,
)
from tidelog.storage.files.filesystem import FileSystem
from tidelog.storage.segments.batch_scan import scan_headers

logger = logging.getLogger(__name__)

_TEMPORARY_SUFFIX = ".tmp"
# Snapshots of the metadata log that are to be deleted; their owner does that.
_METADATA_SNAPSHOT_DELETED = ".checkpoint" + DELETED_SUFFIX


def settle_leftovers(filesystem: FileSystem, directory: str) -> list[str]:
    """Clean up the directory; returns the names that are in it then."""
    names = filesystem.list_names(directory)
    kept = _remove_unfinished(filesystem, directory, names)
    swaps = [name for name in kept if name.endswith(SWAP_SUFFIX)]
    if swaps:
        kept = _finish_swap(filesystem, directory, kept, swaps)
    logs = {offset_of_name(name) for name in kept if name.endswith(LOG_SUFFIX)}
    orphans = [name for name in kept if name.endswith(INDEX_SUFFIXES) and offset_of_name(name) not in logs]
    for name in orphans:
        logger.warning("removing the index %s/%s, which has no log", directory, name)
        filesystem.remove(f"{directory}/{name}")
    kept = [name for name in kept if name not in orphans]
    if kept != names:
        filesystem.sync_directory(directory)
    return kept


def _remove_unfinished(filesystem: FileSystem, directory: str, names: list[str]) -> list[str]:
    cleaned_offsets = [offset_of_name(name) or 0 for name in names if name.endswith(CLEANED_SUFFIX)]
    invalid_swaps_from = min(cleaned_offsets, default=None)
    kept = []
    for name in names:
        offset = offset_of_name(name)
        if (
            (name.endswith(DELETED_SUFFIX) and not name.endswith(_METADATA_SNAPSHOT_DELETED))
            or name.endswith((CLEANED_SUFFIX, _TEMPORARY_SUFFIX))
            or (
                name.endswith(SWAP_SUFFIX)
                and invalid_swaps_from is not None
                and offset is not None
                and offset >= invalid_swaps_from
            )
        ):
            filesystem.remove(f"{directory}/{name}")
        else:
            kept.append(name)
    return kept


def _finish_swap(filesystem: FileSystem, directory: str, names: list[str], swaps: list[str]) -> list[str]:
    covered: list[tuple[int, int]] = []
    for name in swaps:
        offset = offset_of_name(name)
        if offset is not None and name.endswith(LOG_SUFFIX + SWAP_SUFFIX):
            covered.append((offset, _next_offset(filesystem, f"{directory}/{name}", offset)))
    if covered:
        first = min(start for start, _ in covered)
        end = max(end for _, end in covered)
        for name in names:
            offset = offset_of_name(name)
            if name.endswith(SEGMENT_SUFFIXES) and offset is not None and first <= offset < end:
                logger.info("removing %s/%s, which was replaced before the crash", directory, name)
                filesystem.remove(f"{directory}/{name}")
    # The log last: as long as it is a swap file, this is repeated.
    for name in sorted(swaps, key=lambda swap: swap.endswith(LOG_SUFFIX + SWAP_SUFFIX)):
        filesystem.rename(f"{directory}/{name}", f"{directory}/{name.removesuffix(SWAP_SUFFIX)}")
    return filesystem.list_names(directory)


def _next_offset(filesystem: FileSystem, path: str, base_offset: int) -> int:
    next_offset = base_offset
    with closing(filesystem.open(path)) as file:
        try:
            for _, header in scan_headers(file, 0, file.size()):
                next_offset = header.next_offset
        except CorruptBatch as problem:
            # It was synced before it got this name, so only a failing disk can do this; recovery will cut it.
            logger.error("%s, which is about to replace other segments, is damaged: %s", path, problem)
    return next_offset
