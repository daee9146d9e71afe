"""What the tests of storage are given: a log directory to play with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.default_settings import log_config
from support.log_harness import Harness, MakeHarness, UnsyncedFileSystem

from tidelog.storage.files.filesystem import FileSystem
from tidelog.storage.log.config import LogConfig


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[MakeHarness]:
    made: list[Harness] = []

    def make(
        config: LogConfig | None = None, *, filesystem: FileSystem | None = None, path: str | None = None
    ) -> Harness:
        created = Harness(path or str(tmp_path / "logs"), filesystem or UnsyncedFileSystem(), config or log_config())
        made.append(created)
        return created

    yield make
    for created in made:
        if created.directory is not None:
            created.directory.abandon()
