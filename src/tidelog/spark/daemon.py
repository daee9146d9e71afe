"""Spark's daemon for Python workers, with what tidelog's workers need loaded before they are forked.

Spark starts this with `spark.python.daemon.module` (see `tidelog.spark.session.session`) and forks every worker from
it, two or more for each micro-batch. What is imported here costs nothing in them. Only modules that start no thread may
be: a fork copies one thread, and locks that others hold stay locked for ever. That is why Spark's own daemon loads
nothing. numpy starts threads unless OMP_NUM_THREADS is 1, which Spark sets to the cores of a task; pyarrow starts one
for an allocator that it does not use, and a setting prevents that.

Spark forks the workers that plan queries from daemons of its own, whatever this setting says.
"""

from __future__ import annotations

import gc
import importlib
import os
from contextlib import suppress

from pyspark.daemon import manager

from tidelog.spark.versions.refusals import NoDataSources

# All that tasks use, of the source and of the sink.
LOADED = (
    "pyspark.worker",
    "asyncio",
    "concurrent.futures.thread",
    "ssl",
    "uvloop",
    "tidelog.client.offsets.listing",
    "tidelog.client.producer.producer",
    "tidelog.spark.sink.foreach_batch",
    "tidelog.spark.source.options",
    "tidelog.spark.sink.writers",
    "tidelog.spark.source.ranges",
)
# With numpy and pyarrow. pandas is loaded by pyarrow when Spark hands a task's answer to it.
LOADED_WITH_ARROW = (
    "pandas",
    "pyarrow.compute",
    "tidelog.client.arrow",
    "tidelog.spark.sink.encode",
    "tidelog.spark.source.readers",
)


def load() -> None:
    for module in LOADED:
        # Spark 3.5 has none, and only `tidelog.spark.sink.foreach_batch` writes there.
        with suppress(NoDataSources):
            importlib.import_module(module)
    if os.environ.get("OMP_NUM_THREADS") != "1":
        return
    os.environ.setdefault("JE_ARROW_MALLOC_CONF", "background_thread:false")
    for module in LOADED_WITH_ARROW:
        with suppress(ModuleNotFoundError, NoDataSources):
            importlib.import_module(module)


if __name__ == "__main__":
    load()
    # Workers have this from the start (`tidelog.spark.workers.memory`).
    gc.freeze()
    manager()
