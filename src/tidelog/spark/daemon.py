"""Spark's daemon for Python workers, with what tidelog's workers need loaded before they are forked.

Spark starts this with `spark.python.daemon.module` (see `tidelog.spark.session`) and forks every worker from it, two or
more for each micro-batch. What is imported here costs nothing in them. Only modules that start no thread may be: a fork
copies one thread, and locks that others hold stay locked for ever. That is why Spark's own daemon loads nothing, and
why numpy and pyarrow are not loaded here.

Spark starts a daemon for each kind of worker, one after the other while a query starts, and names the kind as the first
argument. So each loads what its own workers use: a lookup of data sources needs nothing of ours, and must not wait for
the client.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Mapping, Sequence

from pyspark.daemon import manager

from tidelog.spark.versions.refusals import NoDataSources

_READING = ("asyncio", "ssl", "tidelog.client.offsets", "tidelog.spark.options", "tidelog.spark.source_cluster")
_COMMITTING = ("asyncio", "concurrent.futures.thread", "ssl", "uvloop", "tidelog.client.admin", "tidelog.spark.sink")

# What workers of a kind use. Kinds that are not here begin with Spark's own modules alone.
LOADED: Mapping[str, Sequence[str]] = {
    "pyspark.worker": (
        *_COMMITTING,
        *_READING,
        "tidelog.client.arrow",
        "tidelog.client.fetched",
        "tidelog.spark.foreach_batch",
    ),
    "pyspark.sql.worker.create_data_source": ("tidelog.spark.options",),
    "pyspark.sql.worker.plan_data_source_read": _READING,
    "pyspark.sql.worker.data_source_pushdown_filters": _READING,
    "pyspark.sql.worker.write_into_data_source": _COMMITTING,
    "pyspark.sql.worker.python_streaming_sink_runner": _COMMITTING,
    "pyspark.sql.worker.commit_data_source_write": _COMMITTING,
}


def load_for(kind: str) -> None:
    for module in LOADED.get(kind, ()):
        # Spark 3.5 has no data sources, and only `tidelog.spark.foreach_batch` writes there.
        with contextlib.suppress(NoDataSources):
            importlib.import_module(module)


if __name__ == "__main__":
    # Spark 3.5 has one kind, and does not name it.
    load_for(sys.argv[1] if len(sys.argv) > 1 else "pyspark.worker")
    manager()
