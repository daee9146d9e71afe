"""A small streaming job that tests run in a process of its own, to kill it: text files in, a topic out.

One file makes one micro-batch. Lines are `key value`; the file's lines are divided over as many tasks as the master has
cores, so that another `local[n]` gives another plan for the same micro-batch.
"""

from __future__ import annotations

import argparse
import os

from tidelog.spark.session import spark_session

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
    arguments = parser.parse_args()
    settings = {**_SETTINGS, **dict(setting.split("=", 1) for setting in arguments.setting)}
    session = spark_session("sink job", master=arguments.master, settings=settings, driver_memory="512m")
    lines = session.readStream.format("text").option("maxFilesPerTrigger", "1").load(arguments.input)
    records = lines.selectExpr(
        "split(value, ' ')[0] AS key",
        "value",
        "array(named_struct('key', 'source', 'value', encode('sink job', 'utf-8'))) AS headers",
    )
    writer = records.writeStream.format("tidelog").option("checkpointLocation", arguments.checkpoint)
    for option in arguments.option:
        name, _, value = option.partition("=")
        writer = writer.option(name, value)
    writer.trigger(availableNow=True).start().awaitTermination()
    # Nothing is left to be done, and the JVM takes its time to end.
    os._exit(0)


if __name__ == "__main__":
    main()
