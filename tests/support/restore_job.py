"""A driver that runs one of two queries whenever it is asked to, in one Spark session; `soak.restores` kills it.

Asking is a file `<number>.json` in the folder of commands, the answer is `<number>.done` beside it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support.class_archives import small_spark_jvm
from support.pipeline_runs import run_in_session

from tidelog.spark.session.explanations import explain
from tidelog.spark.session.session import spark_session

LOOK_SECONDS = 0.02
MOST_ROWS = "20"


def main(folder: Path) -> None:
    session = spark_session(
        "restores",
        master="local[2]",
        settings={
            "spark.driver.extraJavaOptions": small_spark_jvm(),
            "spark.sql.streaming.pollingDelay": "10ms",
            "spark.sql.shuffle.partitions": "2",
            "spark.log.level": "OFF",
        },
        driver_memory="512m",
    )
    number = len(list(folder.glob("*.json")))
    (folder / "started").touch()
    while True:
        command = folder / f"{number}.json"
        if not command.exists():
            time.sleep(LOOK_SECONDS)
            continue
        asked = json.loads(command.read_text())
        try:
            answer: str | None = None
            _run_topic(session, asked) if asked["kind"] == "topic" else _run_table(session, asked)
        except PySparkException as error:
            answer = explain(str(error))
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        beside = folder / f"{number}.writing"
        beside.write_text(json.dumps(answer))
        os.replace(beside, folder / f"{number}.done")
        number += 1


def _run_topic(session: SparkSession, asked: dict[str, Any]) -> None:
    reader = session.readStream.format("tidelog").option("kafka.bootstrap.servers", asked["servers"])
    reader = reader.option("subscribe", "in").option("startingOffsets", "earliest")
    rows = reader.option("maxOffsetsPerTrigger", MOST_ROWS).load().selectExpr("value")
    writer = rows.writeStream.format("tidelog").option("kafka.bootstrap.servers", asked["servers"])
    writer = writer.option("topic", "out").option("checkpointLocation", asked["checkpoint"])
    writer.trigger(availableNow=True).start().awaitTermination()


def _run_table(session: SparkSession, asked: dict[str, Any]) -> None:
    tables = {
        "run": {"name": "restores"},
        "source": {
            "bootstrap_servers": asked["servers"],
            "topics": ["in"],
            "max_records_per_batch": int(MOST_ROWS),
        },
        "database": {"url": asked["url"], "table": "rows", "columns": ["CAST(value AS STRING) AS text"]},
    }
    run_in_session(session, "sink-db", tables, Path(asked["checkpoint"]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
