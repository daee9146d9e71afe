"""What every worker begins with can be loaded on every version of Spark."""

from __future__ import annotations

import subprocess
import sys

_LOOK = """
import sys
from tidelog.spark import daemon
daemon.load()
print("tidelog.spark.sink.foreach_batch" in sys.modules)
"""


def test_daemon_of_workers_can_be_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", _LOOK], capture_output=True, text=True, timeout=120, check=False)

    assert done.stdout == "True\n", done.stderr
