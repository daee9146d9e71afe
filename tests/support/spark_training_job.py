"""Takes Spark once through what the suite's jobs do, so that its JVM has loaded their classes when it ends.

spark_training_job.py JAVA_OPTIONS FOLDER
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamWriter, WriterCommitMessage

from tidelog.spark.session.session import spark_session


class Nowhere(DataSource):
    @classmethod
    def name(cls) -> str:
        return "nowhere"

    def streamWriter(self, schema: object, overwrite: bool) -> DataSourceStreamWriter:
        return NowhereWriter()


class NowhereWriter(DataSourceStreamWriter):
    def write(self, iterator: Iterator[object]) -> WriterCommitMessage:
        for _row in iterator:
            pass
        return WriterCommitMessage()

    def commit(self, messages: object, batchId: int) -> None:
        pass

    def abort(self, messages: object, batchId: int) -> None:
        pass


def main() -> None:
    java_options, folder = sys.argv[1], Path(sys.argv[2])
    source = folder / "source"
    source.mkdir(parents=True)
    for number in range(2):
        (source / f"{number}.txt").write_text("".join(f"k{row % 7} {row}\n" for row in range(100)))
    settings = {"spark.driver.extraJavaOptions": java_options, "spark.log.level": "ERROR"}
    session = spark_session("training", master="local[2]", settings=settings, driver_memory="512m")
    session.dataSource.register(Nowhere)
    _aggregate(session)
    lines = session.readStream.format("text").option("maxFilesPerTrigger", "1").load(str(source))
    records = lines.selectExpr(
        "split(value, ' ')[0] AS key",
        "to_json(named_struct('value', value)) AS value",
        "array(named_struct('key', 'source', 'value', encode('training', 'utf-8'))) AS headers",
    )
    for sink in ("nowhere", "noop"):
        writer = records.writeStream.format(sink).option("checkpointLocation", str(folder / sink))
        writer.trigger(availableNow=True).start().awaitTermination()
    session.stop()


def _aggregate(session: SparkSession) -> None:
    session.range(100).createOrReplaceTempView("numbers")
    session.sql("SELECT id % 7 AS part, count(*), max(id) FROM numbers GROUP BY 1 ORDER BY 1").collect()
    session.range(10).repartition(2).toPandas()


if __name__ == "__main__":
    main()
