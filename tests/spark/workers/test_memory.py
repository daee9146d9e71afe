"""Only processes of Spark's have their garbage collector changed, and only once."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

_CALL = """
import gc
from tidelog.spark.workers.memory import freeze_loaded
freeze_loaded()
first = gc.get_freeze_count()
more = [[] for _ in range(100)]
freeze_loaded()
print(first > 0, gc.get_freeze_count() == first)
"""


@pytest.mark.parametrize(
    ("environment", "printed"), [({"PYTHON_WORKER_FACTORY_SECRET": "x"}, "True True"), ({}, "False True")]
)
def test_modules_are_left_out_of_collections_in_workers_of_spark_alone(
    environment: dict[str, str], printed: str
) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON_WORKER_FACTORY_")}
    done = subprocess.run(
        [sys.executable, "-c", _CALL],
        env={**clean, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )

    assert done.stdout.strip() == printed
