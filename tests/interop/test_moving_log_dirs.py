"""Apache Kafka's kafka-reassign-partitions moves a replica of tidelog to another log directory, throttled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.apache_kafka import run_tool
from support.processes import wait_until
from support.tidelog_process import running_tidelog

from tidelog.client.admin import Admin, NewTopic
from tidelog.sync.admin import Admin as SyncAdmin
from tidelog.sync.producer import Producer as SyncProducer

pytestmark = [pytest.mark.slow, pytest.mark.maven]

REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"


def test_a_replica_moves_to_another_log_directory(jars: Path, tmp_path: Path) -> None:
    directories = [tmp_path / "first", tmp_path / "second"]
    with running_tidelog(tmp_path, {"log.dirs": ",".join(map(str, directories))}) as broker:
        with SyncAdmin(broker.bootstrap_servers) as admin:
            Admin.raise_any(admin.create_topics([NewTopic(name="t", partitions=1)]))
            node = admin.describe_cluster().nodes[0].node_id
        with SyncProducer(broker.bootstrap_servers) as producer:
            for number in range(500):
                producer.send("t", b"%d" % number + bytes(1_000))
            producer.flush()
        (source,) = [directory for directory in directories if (directory / "t-0").is_dir()]
        (target,) = [directory for directory in directories if directory != source]
        plan = tmp_path / "plan.json"
        moved = {"topic": "t", "partition": 0, "replicas": [node], "log_dirs": [str(target)]}
        plan.write_text(json.dumps({"version": 1, "partitions": [moved]}))
        common = ("--bootstrap-server", broker.bootstrap_servers, "--reassignment-json-file", str(plan))
        throttle = ("--replica-alter-log-dirs-throttle", "10000000")
        started = run_tool(jars, REASSIGN, *common, "--execute", *throttle).stdout.decode()
        assert f"Successfully started moving log directory to {target} for replica t-0" in started, started
        wait_until(
            lambda: (target / "t-0").is_dir() and not (source / "t-0").exists(),
            what="that the replica is in the other directory",
        )
        verified = run_tool(jars, REASSIGN, *common, "--verify").stdout.decode()
        assert f"Reassignment of replica t-0-{node} completed successfully" in verified, verified
        with SyncAdmin(broker.bootstrap_servers) as admin:
            stored = Admin.raise_any(admin.describe_log_dirs())[node]
        where = {each.path: [replica.topic_partition.topic for replica in each.replicas] for each in stored}
        assert "t" in where[str(target)]
        assert "t" not in where[str(source)]
