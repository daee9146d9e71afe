"""Which Spark the ready pipelines run on: from 4.0 on, and from 4.2 on with `once = true`."""

from __future__ import annotations

import pyspark

from tidelog.spark.pipelines.failure import PipelineFailed
from tidelog.spark.versions.refusals import NoDataSources


def check_spark(*, once: bool) -> None:
    """Raises PipelineFailed with what to do instead."""
    try:
        from tidelog.spark.versions.data_sources import HAS_READ_LIMITS
    except NoDataSources as error:
        raise PipelineFailed(
            f"the ready pipelines need Spark 4.0 or newer, and pyspark {pyspark.__version__} is installed: {error}"
        ) from error
    if once and not HAS_READ_LIMITS:
        raise PipelineFailed(
            f"once = true needs Spark 4.2 or newer, and pyspark {pyspark.__version__} is installed: it would end after "
            "a single micro-batch, whatever there is to read. Leave out `once` and stop the pipeline with a signal, or "
            "install pyspark>=4.2"
        )
