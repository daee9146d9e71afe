"""The job that is killed: a Spark driver in a process of its own. Reads orders, works out totals, writes them.

Only the delivery differs between the two runs that are compared.
"""

from __future__ import annotations

import argparse

from tidelog.spark.demo.orders import TRANSFORM
from tidelog.spark.session import spark_session

_SETTINGS = {
    # What happens is told by whoever started the job; Spark's own words go to its log file.
    "spark.log.level": "ERROR",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.sql.streaming.pollingDelay": "10ms",
}


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("servers", "source", "target", "checkpoint", "delivery", "orders-per-batch"):
        parser.add_argument(f"--{name}", required=True)
    given = parser.parse_args()
    session = spark_session("orders", master="local[2]", settings=_SETTINGS)
    query = (
        session.readStream.format("tidelog")
        .option("kafka.bootstrap.servers", given.servers)
        .option("subscribe", given.source)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", given.orders_per_batch)
        .load()
        .selectExpr(*TRANSFORM)
        .writeStream.format("tidelog")
        .option("kafka.bootstrap.servers", given.servers)
        .option("topic", given.target)
        .option("delivery", given.delivery)
        .option("checkpointLocation", given.checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    session.stop()


if __name__ == "__main__":
    main()
