"""A small streaming job that tests run in a process of its own, to kill it: text files in, a topic out.

One file makes one micro-batch. Lines are `key value`; the file's lines are divided over as many tasks as the master has
cores, so that another `local[n]` gives another plan for the same micro-batch. With `--counts` it keeps state instead:
how many lines each key has had so far, in output mode update.
"""

from __future__ import annotations

import argparse
import os

from tidelog.spark import exactly_once_batch
from tidelog.spark.session.session import spark_session

# Small and quickly started: it moves hundreds of rows.
_SETTINGS = {
    "spark.sql.files.openCostInBytes": "1",
    "spark.sql.streaming.pollingDelay": "10ms",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.log.level": "ERROR",
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--master", required=True)
    parser.add_argument("--input", required=True)
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--setting", action="append", default=[])
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--foreach-batch", action="store_true")
    parser.add_argument("--counts", action="store_true")
    arguments = parser.parse_args()
    settings = {**_SETTINGS, **dict(setting.split("=", 1) for setting in arguments.setting)}
    session = spark_session("sink job", master=arguments.master, settings=settings, driver_memory="512m")
    # Spark 3.5 does not know the setting.
    session.sparkContext.setLogLevel("ERROR")
    lines = session.readStream.format("text").option("maxFilesPerTrigger", "1").load(arguments.input)
    if arguments.counts:
        counts = lines.selectExpr("split(value, ' ')[0] AS key").groupBy("key").count()
        writer = counts.selectExpr("key", "concat(key, ' ', count) AS value").writeStream.outputMode("update")
    else:
        writer = lines.selectExpr(
            "split(value, ' ')[0] AS key",
            "value",
            "array(named_struct('key', 'source', 'value', encode('sink job', 'utf-8'))) AS headers",
        ).writeStream
    options = dict(option.split("=", 1) for option in arguments.option)
    if arguments.foreach_batch:
        writer = writer.foreachBatch(exactly_once_batch(options))
    else:
        writer = writer.format("tidelog").options(**options)
    writer = writer.option("checkpointLocation", arguments.checkpoint)
    writer.trigger(availableNow=True).start().awaitTermination()
    # Nothing is left to be done, and the JVM takes its time to end.
    os._exit(0)


if __name__ == "__main__":
    main()
