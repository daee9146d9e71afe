"""`spark.read.format("tidelog-log")` in a real session: tasks, columns, paths, what is wrong, and a backfill."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.filled_topics import FilledTopics
from support.log_file_rows import rows_of

from tidelog.testing.broker_thread import BrokerThread

pytestmark = pytest.mark.slow

WRITTEN_BY_KAFKA = Path(__file__).parents[2] / "cli" / "dump_log_samples" / "files"


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return Path(shutil.copytree(WRITTEN_BY_KAFKA, tmp_path / "data"))


def test_a_directory_is_a_table(spark: SparkSession, copied: Path) -> None:
    table = spark.read.format("tidelog-log").load(str(copied))
    segments = sorted(copied.glob("*/*.log"))
    assert table.rdd.getNumPartitions() == len(segments)
    expected = rows_of(copied)
    fields = ("topic", "offset", "key", "value", "producerId", "sequence", "transactionState", "controlType", "error")
    rows = [tuple(_plain(value) for value in row) for row in table.select(*fields).collect()]
    assert sorted(map(repr, rows)) == sorted(repr(tuple(row[name] for name in fields)) for row in expected)
    headers = table.where("headers is not null").select("headers").first()
    assert headers is not None
    assert [(header.key, header.value) for header in headers.headers] == [("h", b"1"), ("이름", None)]


def _plain(value: object) -> object:
    """Binary columns are bytearray up to Spark 4.0, and bytes since."""
    return bytes(value) if isinstance(value, bytearray) else value


def test_a_schema_chooses_columns_and_several_paths_are_one_table(spark: SparkSession, copied: Path) -> None:
    reader = spark.read.format("tidelog-log").schema("error STRING, offset BIGINT, topic STRING")
    table = reader.load([str(copied / "txn-0"), str(copied / "comp*-0")])
    assert table.columns == ["error", "offset", "topic"]
    counts = {row.topic: row["count"] for row in table.groupBy("topic").count().collect()}
    assert counts == {"txn": len(rows_of(copied / "txn-0")), "compacted": len(rows_of(copied / "compacted-0"))}


def test_the_files_say_who_wrote_a_record(spark: SparkSession, copied: Path) -> None:
    """As the guide does it: by the producer id, through the files of __transaction_state."""
    ids = (
        spark.read.format("tidelog-log")
        .load(str(copied / "__transaction_state-*"))
        .where("controlType IS NULL AND value IS NOT NULL")
        .selectExpr(
            "CAST(substring(key, 5) AS STRING) AS transactionalId",
            "CAST(conv(hex(substring(value, 3, 8)), 16, 10) AS BIGINT) AS producerId",
        )
        .distinct()
    )
    log = spark.read.format("tidelog-log").load(str(copied / "txn-0"))
    written = log.where("controlType IS NULL").join(ids, "producerId").select("transactionalId", "value").collect()
    assert written
    # The transactional ids are tx0, tx1 and tx2; only one of the two partitions of __transaction_state is here.
    assert {(row.transactionalId, bytes(row.value)[:2]) for row in written} == {("tx1", b"t1")}


def test_damage_is_rows_and_mistakes_are_told_at_load(spark: SparkSession, copied: Path) -> None:
    segment = copied / "txn-0" / "00000000000000000000.log"
    content = bytearray(segment.read_bytes())
    content[70] ^= 1
    segment.write_bytes(content)
    table = spark.read.format("tidelog-log").load(str(segment.parent))
    assert [row.error for row in table.where("error is not null").collect()] == ["the checksum does not match"]
    for path, options, message in (
        (copied / "gone-0", {}, "gone-0 does not exist"),
        (segment.parent, {"maxBatchBites": "1"}, "maxbatchbites is not an option of tidelog-log"),
    ):
        with pytest.raises(Exception, match=message):
            spark.read.format("tidelog-log").options(**options).load(str(path))


def test_a_backfill_brings_committed_records_back(
    spark: SparkSession, broker: BrokerThread, topics: FilledTopics, copied: Path
) -> None:
    restored_topic = topics.create("restored")
    kept = spark.read.format("tidelog-log").load(str(copied / "txn-0"))
    records = kept.where("controlType is null and (transactionState is null or transactionState = 'committed')")
    (
        records.orderBy("offset")
        .coalesce(1)
        .select("key", "value", "headers")
        .write.format("tidelog")
        .option("kafka.bootstrap.servers", broker.bootstrap_servers)
        .option("topic", restored_topic)
        .mode("append")
        .save()
    )
    restored = (
        spark.read.format("tidelog")
        .option("kafka.bootstrap.servers", broker.bootstrap_servers)
        .option("subscribe", restored_topic)
        .load()
    )
    wanted = [
        row["value"]
        for row in rows_of(copied / "txn-0")
        if row["controlType"] is None and row["transactionState"] in (None, "committed")
    ]
    assert [bytes(row.value) for row in restored.orderBy("offset").collect()] == wanted
