"""The leader of the partition that a task reads dies in the middle of it: the task goes on with the next one."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from support.cluster_processes import running_cluster
from support.filled_topics import FilledTopics

from tidelog.spark.source.readers import batch_reader
from tidelog.spark.source.schema import source_columns

pytestmark = [pytest.mark.slow]

RECORDS = 3000
RECORDS_PER_BATCH = 100


def test_a_task_reads_every_record_once_although_the_leader_is_killed(tmp_path: Path) -> None:
    with running_cluster(tmp_path) as cluster:
        cluster.create_topic("orders", [1, 2, 3])
        topics = FilledTopics(cluster.bootstrap_servers)
        topics.transaction("orders", ["aborted"], commit=False)
        for start in range(0, RECORDS, RECORDS_PER_BATCH):
            topics.fill("orders", [f"{number:050d}" for number in range(start, start + RECORDS_PER_BATCH)])
        cluster.wait_for_in_sync("orders", [1, 2, 3], at=2)
        given = {
            "kafka.bootstrap.servers": cluster.bootstrap_servers,
            "subscribe": "orders",
            "kafka.max.partition.fetch.bytes": "5000",
        }
        reader = batch_reader(given, source_columns(include_headers=False))
        (task,) = reader.partitions()
        reading = reader.read(task)

        rows = next(reading).to_pylist()
        assert len(rows) <= RECORDS // 2
        cluster.kill(1)
        rows += itertools.chain.from_iterable(batch.to_pylist() for batch in reading)

    assert [int(row["value"]) for row in rows] == list(range(RECORDS))
