"""A Spark session as tidelog's jobs and tests want it: this Python in the workers, nothing listening but on loopback.

On a cluster `spark-submit` decides all this; `spark_session` then only asks for what it was told.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.spark.session.java import require_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOPBACK = "127.0.0.1"

_WORKER_PYTHON = Path(__file__).with_name("worker-python")

_SETTINGS: Mapping[str, str] = {
    # Workers are forked with tidelog's modules in them, which saves them half of the time that they need to start.
    "spark.python.daemon.module": "tidelog.spark.daemon",
    # What Spark itself takes for secret, and what kafka.* options have besides.
    "spark.redaction.regex": r"(?i)secret|password|passphrase|token|access[.]?key|sasl[.]jaas|keystore[.]key",
    "spark.sql.redaction.options.regex": r"(?i)url|sasl[.]jaas|password|keystore[.]key",
}

_LOCAL_SETTINGS: Mapping[str, str] = {
    **_SETTINGS,
    # A driver on one's own machine talks to itself only.
    "spark.driver.host": LOOPBACK,
    "spark.driver.bindAddress": LOOPBACK,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # 200 tasks for each shuffle are meant for a cluster.
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
}


def local_settings(*, driver_memory: str = "1g") -> dict[str, str]:
    """For Spark inside of one machine. `driver_memory` counts only where it starts the JVM."""
    return {**_LOCAL_SETTINGS, "spark.driver.memory": driver_memory}


def use_this_python(*, on_this_machine: bool = False) -> None:
    """Let workers run on this interpreter. Spark takes `python3` from the path otherwise, which may be another one.

    Workers that run `on_this_machine` start faster from the files of Spark's modules than from its archives.
    """
    started_as = sys.executable
    if on_this_machine and os.access(_WORKER_PYTHON, os.X_OK) and _spark_is_installed_as_files():
        os.environ["TIDELOG_WORKER_PYTHON"] = sys.executable
        started_as = str(_WORKER_PYTHON)
    os.environ.setdefault("PYSPARK_PYTHON", started_as)
    # Spark plans with data sources on this one.
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", started_as)


def _spark_is_installed_as_files() -> bool:
    return all(
        spec is not None and spec.origin is not None and Path(spec.origin).is_file()
        for spec in (find_spec("pyspark"), find_spec("py4j"))
    )


def spark_session(
    name: str,
    *,
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
    driver_memory: str = "1g",
) -> SparkSession:
    """The session of this process. On one machine (`local[...]`, the default) it is set up for that.

    Under `spark-submit` the master is the one that was given there, unless another is asked for here.
    """
    require_java()
    chosen = master if master is not None or _was_submitted() else "local[*]"
    use_this_python(on_this_machine=chosen is not None and chosen.startswith("local"))
    from pyspark.sql import SparkSession

    from tidelog.spark.session.query_progress import report_metrics

    builder = SparkSession.builder.appName(name)
    options = dict(_SETTINGS)
    if chosen is not None:
        builder = builder.master(chosen)
        if chosen.startswith("local"):
            options = local_settings(driver_memory=driver_memory)
            # The JVM binds to what its machine's name resolves to, before it has read any setting.
            os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    for key, value in {**options, **(settings or {})}.items():
        builder = builder.config(key, value)
    session: SparkSession = builder.getOrCreate()
    report_metrics(session)
    return session


def _was_submitted() -> bool:
    """Whether `spark-submit` has started this process, beside a JVM that is running already."""
    return "PYSPARK_GATEWAY_PORT" in os.environ
