"""What is loaded before workers are forked must not have started a thread."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tidelog.spark.daemon import LOADED

_LOOK = """
import os, sys
from tidelog.spark.daemon import load_for
load_for(sys.argv[1])
print(len(os.listdir("/proc/self/task")), sorted({"numpy", "pandas", "pyarrow"} & sys.modules.keys()))
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted with Linux's /proc")
@pytest.mark.parametrize("kind", LOADED)
def test_loading_the_daemon_starts_no_thread(kind: str) -> None:
    done = subprocess.run([sys.executable, "-c", _LOOK, kind], capture_output=True, text=True, timeout=120, check=True)

    assert done.stdout.split(maxsplit=1) == ["1", "[]\n"]


def test_workers_are_forked_with_the_client_in_them(spark: SparkSession) -> None:
    def loaded(batches: object) -> object:
        import sys

        import pyarrow as pa

        found = "tidelog.client.producer" in sys.modules
        for _ in batches:  # type: ignore[attr-defined]
            yield pa.RecordBatch.from_pydict({"found": [found]})

    rows = spark.range(1).mapInArrow(loaded, "found boolean").collect()

    assert {row.found for row in rows} == {True}
