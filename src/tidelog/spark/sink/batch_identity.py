"""What a micro-batch is: the input that it reads, and the rows that it gives. Pure.

The number of a micro-batch does not say it. A checkpoint that was restored from a copy, or has lost its newest files,
counts the same numbers again for other input. So a sink notes with each micro-batch which offsets it reads, as Spark
has them in the offset log of the checkpoint, and a digest of its rows. Who may conclude what from that is decided in
`tidelog.spark.sink.note` (topics) and `tidelog.spark.databases.progress` (databases). Reading the files is the work of
`tidelog.spark.sink.checkpoint`.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field

# What a source that has no offset yet has in the offset log.
_VOID = "-"
_KNOWN_VERSIONS = ("v1", "v2")
# Before the first micro-batch nothing has been read.
BEGINNING = "beginning"


class UnknownOffsetLog(ValueError):
    """The file is not an offset log, or of a version that is not known here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """Where the input of a micro-batch begins and ends, as digests of what Spark has noted. `until` is for people."""

    start: str
    end: str
    until: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchIdentity:
    """What micro-batch `batch` is.

    `reads` is None where the offset log cannot be read; then nobody can tell whether a micro-batch of the same number
    and content is the same one. A job of `df.write` has no input that is noted (`is_job`): its content is all it is.
    `run` is the start of the query that it belongs to. `content` is None only in notes of earlier versions.
    """

    batch: int
    rows: int
    content: str | None
    reads: Reads | None = None
    run: str = ""
    # Not compared: a note does not say it.
    is_job: bool = field(default=False, compare=False)


def parse_offset_log(text: str) -> tuple[str, ...]:
    """The offsets of all sources, in a form that is equal exactly if they are.

    The first line is the version, the second one holds the time of the micro-batch and settings, which are no part of
    what is read. Then there is a line for each source; from version 2 on with the name of the source before it.
    """
    lines = text.splitlines()
    if len(lines) < 2 or lines[0] not in _KNOWN_VERSIONS:
        raise UnknownOffsetLog(f"expected v1 or v2, and found {text[:20]!r}")
    if lines[0] == "v1":
        return tuple(map(_canonical, lines[2:]))
    named = [line.partition(":") for line in lines[2:]]
    return tuple(sorted(f"{name}:{_canonical(offset)}" for name, _, offset in named))


def offsets_digest(offsets: tuple[str, ...]) -> str:
    return hashlib.blake2b("\n".join(offsets).encode(), digest_size=16).hexdigest()


def reads_between(start: tuple[str, ...] | None, end: tuple[str, ...]) -> Reads:
    """From the offsets of two micro-batches; `start` is None before the first one."""
    return Reads(
        start=BEGINNING if start is None else offsets_digest(start), end=offsets_digest(end), until=" ".join(end)
    )


def file_log_number(offset: str) -> int | None:
    """If this is the offset of a source of files: the number under which it has noted which files they are.

    The number says nothing by itself: after the checkpoint was restored it is given to other files.
    """
    found = re.fullmatch(r'\{"logOffset":(\d+)\}', offset)
    return None if found is None else int(found[1])


def files_of(log: str, number: int) -> str:
    """The files that a source of files has noted under a number, from the text of its log."""
    entries = [json.loads(line) for line in log.splitlines()[1:] if line.strip()]
    return json.dumps(sorted((entry["path"], entry["timestamp"]) for entry in entries if entry["batchId"] == number))


def _canonical(offset: str) -> str:
    """JSON with its names in order: sources need not write them in the same one each time."""
    text = offset.strip()
    if text == _VOID:
        return text
    try:
        return json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))
    except ValueError:
        return text
