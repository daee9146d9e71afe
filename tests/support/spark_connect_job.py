"""A job on Spark Connect that tests run in a process of its own: one process is either a client of it or a classic one.

spark_connect_job.py SERVERS SOURCE TARGET COUNTS FOLDER: copies the topic SOURCE to TARGET through both data sources,
and counts its values into COUNTS in output mode update, with exactly_once_batch.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pyspark_tidelog import DefaultSource
from tidelog.spark import exactly_once_batch
from tidelog.spark.session.session import LOOPBACK, local_settings, use_this_python

QUERY_SECONDS = 180


def main() -> None:
    servers, source, target, counts, folder = sys.argv[1:]
    use_this_python()
    os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    builder = SparkSession.builder.remote("local[2]")
    for key, value in {**local_settings(driver_memory="512m"), "spark.log.level": "ERROR"}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    if pyspark.__version__ >= "4.1":
        # A server whose Python has tidelog finds it by itself. Registering is for a client that brings it along; Spark
        # 4.0 refuses that where both are the case.
        session.dataSource.register(DefaultSource)
    common = {"kafka.bootstrap.servers": servers}
    options = {"subscribe": source, "startingOffsets": "earliest", **common}

    def rows() -> DataFrame:
        return session.readStream.format("tidelog").options(**options).load()

    copies = Path(folder, "copies")
    for _ in range(2):
        copy = rows().select("value").writeStream.format("tidelog").options(topic=target, **common)
        finish(copy.option("checkpointLocation", str(copies)).trigger(availableNow=True).start())
        # As if the server had died before Spark took note of the commit: the second run finds the rows in the topic.
        newest = max((copies / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
        newest.unlink()
        newest.with_name(f".{newest.name}.crc").unlink(missing_ok=True)

    checkpoint = str(Path(folder, "counts"))
    counted = rows().groupBy("value").count().selectExpr("concat(CAST(value AS STRING), count) AS value")
    function = exactly_once_batch(topic=counts, checkpointLocation=checkpoint, **common)
    update = counted.writeStream.outputMode("update").foreachBatch(function)
    finish(update.option("checkpointLocation", checkpoint).trigger(availableNow=True).start())
    forgetful = counted.writeStream.outputMode("update").foreachBatch(exactly_once_batch(topic=counts, **common))
    try:
        finish(forgetful.option("checkpointLocation", f"{checkpoint}-2").trigger(availableNow=True).start())
    except Exception as error:
        print("refused:", "with Spark Connect, exactly_once_batch needs the option checkpointLocation" in str(error))
    written = session.read.format("tidelog").options(subscribe=target, **common).load()
    print("rows:", written.count(), flush=True)
    # Nothing is left to be done, and the JVM takes its time to end.
    os._exit(0)


def finish(query: StreamingQuery) -> None:
    if not query.awaitTermination(QUERY_SECONDS):
        raise TimeoutError("the query did not end")


if __name__ == "__main__":
    main()
