"""The command-line tools that come with Apache Kafka administer a cluster of tidelog nodes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.apache_kafka import kafka_jars, run_tool
from support.clients.json_lines import JavaClient
from support.cluster_processes import NUMBERS, ClusterProcesses
from support.download_cache import Unavailable
from support.processes import ProcessFailed

pytestmark = [pytest.mark.slow, pytest.mark.maven, pytest.mark.xdist_group("cluster")]

TOPICS = "org.apache.kafka.tools.TopicCommand"
LEADER_ELECTION = "org.apache.kafka.tools.LeaderElectionCommand"
REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
CLUSTER = "org.apache.kafka.tools.ClusterTool"
FEATURES = "org.apache.kafka.tools.FeatureCommand"


@pytest.fixture(scope="module")
def jars() -> Path:
    try:
        return kafka_jars()
    except Unavailable as error:
        pytest.skip(f"Apache Kafka's jars cannot be had from Maven Central: {error}")


@pytest.fixture(scope="module")
def java(
    jars: Path, shared_cluster: ClusterProcesses, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[JavaClient]:
    log = tmp_path_factory.mktemp("java") / "client.log"
    client = JavaClient(shared_cluster.bootstrap_servers, jars=jars, log=log)
    yield client
    client.close()


def described(java: JavaClient, topic: str) -> list[dict[str, str]]:
    """The fields of each partition's line."""
    _, *lines = java.run_tool(TOPICS, "--describe", "--topic", topic).rstrip("\n").split("\n")
    return [dict(field.split(": ", 1) for field in line.strip().split("\t") if ": " in field) for line in lines]


def test_topics_are_spread_over_the_nodes(java: JavaClient, cluster: ClusterProcesses, topic: str) -> None:
    java.run_tool(TOPICS, "--create", "--topic", topic, "--partitions", "6", "--replication-factor", "3")
    for number in NUMBERS:
        cluster.wait_for(topic, lambda partition: partition.leader is not None, at=number)
    partitions = described(java, topic)
    assert sorted(one["Leader"] for one in partitions) == ["1", "1", "2", "2", "3", "3"]
    assert all(sorted(one["Replicas"].split(",")) == ["1", "2", "3"] for one in partitions)
    assert all(set(one["Isr"].split(",")) == {"1", "2", "3"} for one in partitions)
    assert java.run_tool(TOPICS, "--describe", "--under-replicated-partitions").strip() == ""
    with pytest.raises(ProcessFailed, match="replication factor"):
        java.run_tool(TOPICS, "--create", "--topic", f"{topic}-b", "--replication-factor", "4")


def test_preferred_leaders_are_elected(java: JavaClient, cluster: ClusterProcesses, topic: str) -> None:
    cluster.create_topic(topic, (1, 2, 3))
    of_partition = ("--election-type", "preferred", "--topic", topic, "--partition", "0")
    assert "Valid replica already elected" in java.run_tool(LEADER_ELECTION, *of_partition)
    cluster.shut_down(1)
    cluster.wait_for(topic, lambda partition: partition.leader == 2, at=2)
    cluster.start(1)
    cluster.wait_for_in_sync(topic, NUMBERS, at=2)
    output = java.run_tool(LEADER_ELECTION, *of_partition)
    assert f"Successfully completed leader election (PREFERRED) for partitions {topic}-0" in output
    for number in NUMBERS:
        cluster.wait_for(topic, lambda partition: partition.leader == 1, at=number)
    assert described(java, topic)[0]["Leader"] == "1"
    assert "Valid replica already elected" in java.run_tool(LEADER_ELECTION, *of_partition)


def test_partitions_are_reassigned(java: JavaClient, cluster: ClusterProcesses, topic: str, tmp_path: Path) -> None:
    cluster.create_topic(topic, (1, 2))
    plan = tmp_path / "plan.json"
    target = {"topic": topic, "partition": 0, "replicas": [3, 2]}
    plan.write_text(json.dumps({"version": 1, "partitions": [target]}))
    from_file = ("--reassignment-json-file", str(plan))
    assert f"Successfully started partition reassignment for {topic}-0" in java.run_tool(
        REASSIGN, "--execute", *from_file
    )
    for number in NUMBERS:
        cluster.wait_for(
            topic, lambda partition: partition.replicas == (3, 2) and set(partition.in_sync) == {2, 3}, at=number
        )
    assert f"Reassignment of partition {topic}-0 is completed." in java.run_tool(REASSIGN, "--verify", *from_file)
    assert "No partition reassignments found." in java.run_tool(REASSIGN, "--list")
    assert described(java, topic)[0]["Replicas"] == "3,2"


def test_the_quorum_is_described(java: JavaClient, jars: Path, cluster: ClusterProcesses) -> None:
    status = java.run_tool(QUORUM, "describe", "--status")
    facts = {name: value.strip() for name, _, value in (line.partition(":") for line in status.splitlines())}
    assert int(facts["LeaderId"]) in NUMBERS
    assert int(facts["LeaderEpoch"]) >= 1
    assert sorted(voter["id"] for voter in json.loads(facts["CurrentVoters"])) == list(NUMBERS)
    assert json.loads(facts["CurrentObservers"]) == []
    header, *rows = java.run_tool(QUORUM, "describe", "--replication").strip().splitlines()
    table = [dict(zip(header.split(), row.split(), strict=True)) for row in rows]
    assert sorted(int(row["NodeId"]) for row in table) == list(NUMBERS)
    assert sorted(row["Status"] for row in table) == ["Follower", "Follower", "Leader"]
    told = run_tool(jars, CLUSTER, "cluster-id", "--bootstrap-server", cluster.bootstrap_servers).stdout.decode()
    assert told.strip() == f"Cluster ID: {facts['ClusterId']}"


def test_features_are_raised_and_lowered(jars: Path, cluster: ClusterProcesses) -> None:
    def feature_command(*arguments: str) -> str:
        return run_tool(jars, FEATURES, "--bootstrap-server", cluster.bootstrap_servers, *arguments).stdout.decode()

    def level() -> str:
        (line,) = [line for line in feature_command("describe").splitlines() if feature in line]
        return line.split("FinalizedVersionLevel: ")[1].split()[0]

    feature = "eligible.leader.replicas.version"
    feature_command("upgrade", "--feature", f"{feature}=1")
    assert level() == "1"
    feature_command("downgrade", "--feature", f"{feature}=0")
    with pytest.raises(subprocess.CalledProcessError):
        feature_command("upgrade", "--feature", f"{feature}=2")
