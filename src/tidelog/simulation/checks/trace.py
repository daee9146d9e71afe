"""What happened, as a hash to compare runs by, and as lines to read when one of them failed."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable

from tidelog.records.batch import Buffer


class Trace:
    """Two runs with the same hash saw the same bytes at the same times in the same order."""

    def __init__(self, write_line: Callable[[str], None] | None = None) -> None:
        self._hash = hashlib.blake2b(digest_size=16)
        self._write_line = write_line
        # What was covered: faults, error codes, things that connections and disks did.
        self.counts: Counter[str] = Counter()

    def bytes_moved(self, time: float, where: str, data: Buffer) -> None:
        """For the many small things: bytes on a connection or a disk."""
        self._hash.update(f"{time!r} {where} {len(data)}\n".encode())
        self._hash.update(data)
        if self._write_line is not None:
            self._write_line(f"{time:12.6f} {where} {len(data)} bytes")

    def event(self, time: float, kind: str, detail: str = "") -> None:
        """For what a reader wants to see: faults, starts, ends; counted by kind."""
        self.counts[kind] += 1
        self._hash.update(f"{time!r} {kind} {detail}\n".encode())
        if self._write_line is not None:
            self._write_line(f"{time:12.6f} {kind} {detail}")

    def digest(self) -> str:
        return self._hash.hexdigest()
