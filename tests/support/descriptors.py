"""A process that has no descriptor left for files."""

from __future__ import annotations

import errno
import os

import pytest


def exhaust_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on a file of storage gets a descriptor only after another one was closed."""
    real_open = os.open

    def open_count() -> int:
        # Listing them takes one itself.
        return len(os.listdir("/proc/self/fd")) - 1

    def limited(path: str, flags: int, mode: int = 0o777, **options: object) -> int:
        if open_count() >= limit:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return real_open(path, flags, mode)

    limit = open_count()
    monkeypatch.setattr("tidelog.storage.files.open_files.os.open", limited)
