"""The files of a Spark checkpoint that say what micro-batches are, written as Spark writes them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

METADATA = {"batchWatermarkMs": 0, "batchTimestampMs": 0, "conf": {"spark.sql.shuffle.partitions": "200"}}


class CheckpointFiles:
    """The checkpoint of a query with one source, whose offset is a number."""

    def __init__(self, folder: Path, query_id: str = "4f6ad5d2-7a38-4a4c-9a35-6f5d5e0d0b3a") -> None:
        self.folder = folder
        for name in ("offsets", "commits"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "metadata").write_text(json.dumps({"id": query_id}))
        self._times = 0

    def begin(self, batch: int, *ends: object, version: str = "v1") -> None:
        """The micro-batch is planned to read up to there: an offset for each source."""
        # The time differs whenever it is planned, and is no part of what is read.
        self._times += 1
        metadata = json.dumps({**METADATA, "batchTimestampMs": 1_700_000_000_000 + self._times})
        lines = [version, metadata, *map(str, ends)]
        (self.folder / "offsets" / str(batch)).write_text("\n".join(lines))
        (self.folder / "offsets" / f".{batch}.crc").write_bytes(b"crc")

    def finish(self, batch: int) -> None:
        (self.folder / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')

    def forget_from(self, batch: int, *logs: str) -> None:
        """The newest files are gone, as after a power cut."""
        for log in logs or ("offsets", "commits"):
            for path in (self.folder / log).iterdir():
                if path.name.isdecimal() and int(path.name) >= batch:
                    path.unlink()

    def copy(self, target: Path) -> Path:
        return Path(shutil.copytree(self.folder, target))

    def restore(self, copy: Path) -> None:
        shutil.rmtree(self.folder)
        shutil.copytree(copy, self.folder)
