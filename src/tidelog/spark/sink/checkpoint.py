"""Reads Spark's checkpoint: which offsets a micro-batch reads, and whether another driver has gone further.

The driver looks when it plans a micro-batch, at which moment Spark has just written its offsets; what a stopped driver
has planned stays what it was, whatever somebody does to the checkpoint meanwhile. What follows from it is decided
elsewhere (`tidelog.spark.sink.note`).
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from tidelog.spark.sink.batch_identity import (
    Reads,
    file_log_number,
    files_of,
    parse_offset_log,
    reads_between,
)
from tidelog.spark.sink.errors import PublishFenced
from tidelog.spark.sink.locations import resolve
from tidelog.spark.sink.note import overtaken

logger = logging.getLogger(__name__)

OFFSETS = "offsets"
COMMITS = "commits"
SOURCES = "sources"
METADATA = "metadata"
DEFAULT_LOCATION = "spark.sql.streaming.checkpointLocation"
_DESCRIPTION = "spark.job.description"
# Arrow's errors are ValueErrors, such as about a kind of file system that it does not know. So is UnknownOffsetLog.
_READ_ERRORS = (OSError, ValueError)


class NoCheckpoint(Exception):
    """There is no checkpoint of a query in that place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedBatch:
    """What the checkpoint said when micro-batch `batch` was planned."""

    checkpoint: str
    batch: int
    reads: Reads


def planned_batch(location: str | None) -> PlannedBatch | None:
    """The micro-batch whose offsets Spark has written last; for the driver, when it plans."""
    if location is None:
        return None
    newest = newest_batch(location)
    return None if newest is None else read_batch(location, newest)


def planned_in(
    planned: PlannedBatch | None, query_id: str, batch: int, property_of: Callable[[str], str | None]
) -> PlannedBatch | None:
    """For a task: what its micro-batch reads, as it was when the driver planned it. None where nobody knows.

    `property_of` gives the local properties of Spark's jobs: they say where the checkpoint is if no option does.
    """
    if planned is None:
        location = default_checkpoint(property_of, query_id)
        return None if location is None else read_batch(location, batch)
    if planned.batch > batch:
        raise PublishFenced(
            f"micro-batch {batch} was planned when the checkpoint {planned.checkpoint} was already at micro-batch "
            f"{planned.batch}: another driver runs the same query, and is ahead. This one stops"
        )
    # If the offsets of this micro-batch were not there yet, nothing is known of them.
    return planned if planned.batch == batch else None


def stop_if_overtaken(planned: PlannedBatch | None) -> None:
    """For the driver, before it touches anything that another one may be using. Raises PublishFenced."""
    if planned is not None:
        refusal = overtaken(
            planned.batch, begun=newest_batch(planned.checkpoint), committed=newest_batch(planned.checkpoint, COMMITS)
        )
        if refusal is not None:
            raise PublishFenced(refusal.problem)


def read_batch(location: str, batch: int) -> PlannedBatch | None:
    """What a micro-batch reads; None, and a warning in the log, where that cannot be found out."""
    try:
        start = None if batch == 0 else _offsets(location, batch - 1)
        return PlannedBatch(checkpoint=location, batch=batch, reads=reads_between(start, _offsets(location, batch)))
    except (*_READ_ERRORS, KeyError, TypeError) as error:
        logger.warning("the offset log of the checkpoint %s cannot be read: %s", location, error)
        return None


def newest_batch(location: str, log: str = OFFSETS) -> int | None:
    """The number of the last micro-batch whose offsets are in the checkpoint, or whose end (`log` is COMMITS)."""
    try:
        files, path = resolve(f"{location.rstrip('/')}/{log}")
        names = files.names(path)
    except _READ_ERRORS as error:
        logger.warning("the checkpoint %s cannot be read: %s", location, error)
        return None
    # Beside them lie checksums and files that are being written.
    return max((int(name) for name in names if name.isdecimal()), default=None)


def default_checkpoint(property_of: Callable[[str], str | None], query_id: str) -> str | None:
    """The checkpoint of a query that has no option checkpointLocation, if the session has a place for all of them.

    Spark makes it a folder there with the name of the query. A query without a name gets a folder with a name that it
    never finds again: what it left behind does not matter, for nobody can continue it.
    """
    root = property_of(DEFAULT_LOCATION)
    name = _query_name(property_of(_DESCRIPTION) or "")
    if not root or not name:
        return None
    location = f"{root.rstrip('/')}/{name}"
    try:
        return location if checkpoint_owner(location) == query_id else None
    except NoCheckpoint:
        return None


def checkpoint_owner(location: str) -> str:
    """The id of the query that a checkpoint belongs to. Raises NoCheckpoint."""
    file = f"{location.rstrip('/')}/{METADATA}"
    try:
        return str(json.loads(_text(file))["id"])
    except (*_READ_ERRORS, KeyError, TypeError) as error:
        raise NoCheckpoint(f"{file} does not say which query it belongs to: {error}") from error


def _query_name(description: str) -> str | None:
    """Spark describes the jobs of a query with `name`, `id = `, `runId = ` and `batch = `, one below the other.

    Older ones do so in HTML.
    """
    found = re.match(r"(.+?)(?:\n|<br/>)id = ", description, re.DOTALL)
    return None if found is None else found[1]


def _offsets(location: str, batch: int) -> tuple[str, ...]:
    """Of all sources. Those that read files have only a number there, and the files elsewhere in the checkpoint."""
    root = location.rstrip("/")
    offsets = list(parse_offset_log(_text(f"{root}/{OFFSETS}/{batch}")))
    for index, offset in enumerate(offsets):
        # From version 2 of the log on there is the name of the source before the offset.
        name, _, named = offset.partition(":") if not offset.startswith("{") else (str(index), "", offset)
        number = file_log_number(named)
        if number is None:
            continue
        for ending in ("", ".compact"):
            with suppress(FileNotFoundError):
                noted = files_of(_text(f"{root}/{SOURCES}/{name}/{number}{ending}"), number)
                offsets[index] = f"{offset} {noted}"
                break
    return tuple(offsets)


def _text(location: str) -> str:
    files, path = resolve(location)
    return bytes(files.read(path)).decode()
