"""What the ready pipelines say on a Spark that cannot run them."""

from __future__ import annotations

import pyspark
import pytest

from tidelog.spark.pipelines.failure import PipelineFailed
from tidelog.spark.pipelines.spark_version import check_spark

VERSION = tuple(int(part) for part in pyspark.__version__.split(".")[:2])


@pytest.mark.parametrize("once", [False, True])
def test_pipelines_refuse_a_spark_that_cannot_run_them(once: bool) -> None:
    if VERSION < (4, 0):
        with pytest.raises(PipelineFailed, match=r"need Spark 4\.0 or newer, and pyspark 3\.5"):
            check_spark(once=once)
    elif VERSION < (4, 2) and once:
        with pytest.raises(PipelineFailed, match=r"once = true needs Spark 4\.2 or newer"):
            check_spark(once=once)
    else:
        check_spark(once=once)
