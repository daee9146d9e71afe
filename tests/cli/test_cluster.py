"""`tidelog cluster` on real nodes, and `tidelog format` with what `tidelog server` says about directories."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.cluster_processes import ClusterProcesses, running_cluster
from support.processes import free_port, wait_until
from support.tidelog_command import Command

from tidelog.cli.cluster_report import NAMED_PARTITIONS, ClusterReport, report_json, report_lines
from tidelog.client.admin import (
    ClusterDescription,
    NodeDescription,
    PartitionDescription,
    QuorumInfo,
    QuorumReplicaInfo,
    TopicDescription,
)
from tidelog.model.ids import ZERO_UUID


def partition(number: int, leader: int | None, in_sync: tuple[int, ...]) -> PartitionDescription:
    return PartitionDescription(
        partition=number, leader=leader, leader_epoch=0, replicas=(1, 2), in_sync=in_sync, offline=()
    )


def report(*partitions: PartitionDescription, fenced: bool = False) -> ClusterReport:
    replicas = [
        QuorumReplicaInfo(node_id=n, log_end_offset=9 - n, lag=n - 1, last_fetch_ms=None, last_caught_up_ms=None)
        for n in (1, 2)
    ]
    return ClusterReport(
        cluster=ClusterDescription(
            cluster_id="an-id",
            # Brokers name any node here; the quorum's leader is what counts.
            controller=1,
            nodes=(
                NodeDescription(node_id=1, host="one", port=9092, rack="a"),
                NodeDescription(node_id=2, host="two", port=9092, rack=None, fenced=fenced),
            ),
        ),
        quorum=QuorumInfo(leader=2, leader_epoch=5, high_watermark=7, voters=tuple(replicas), observers=()),
        topics=[TopicDescription(name="t", topic_id=ZERO_UUID, internal=False, partitions=partitions)],
    )


def test_nodes_are_shown_with_their_part_in_the_quorum_and_their_load() -> None:
    lines = report_lines(report(partition(0, 1, (1, 2)), partition(1, 1, (1,)), fenced=True))
    assert [line.split() for line in lines[2:5]] == [
        ["NODE", "ADDRESS", "RACK", "STATUS", "CONTROLLER", "LEADERS", "REPLICAS", "IN-SYNC"],
        ["1", "one:9092", "a", "unfenced", "voter", "2", "2", "2"],
        ["2", "two:9092", "-", "fenced", "leader", "0", "2", "1"],
    ]


def test_the_quorum_is_shown_with_the_lag_of_each_voter() -> None:
    lines = report_lines(report())
    assert "Quorum: LeaderId: 2\tLeaderEpoch: 5\tHighWatermark: 7" in lines
    assert ["1", "8", "0", "Follower"] in [line.split() for line in lines]
    assert ["2", "7", "1", "Leader"] in [line.split() for line in lines]


def test_partitions_with_a_problem_are_counted_and_named() -> None:
    lines = report_lines(report(partition(0, 1, (1, 2)), partition(1, 2, (2,)), partition(2, None, (2,)), fenced=True))
    assert lines[-5:] == [
        "Partitions: 3 of 1 topics\tUnderReplicated: 2\tOffline: 2\tNotPreferredLeader: 2",
        "  under-replicated: t-1\tLeader: 2\tReplicas: 1,2\tIsr: 2",
        "  under-replicated: t-2\tLeader: none\tReplicas: 1,2\tIsr: 2",
        # Its leader is fenced, even if nobody has noticed in the partition yet.
        "  offline: t-1\tLeader: 2\tReplicas: 1,2\tIsr: 2",
        "  offline: t-2\tLeader: none\tReplicas: 1,2\tIsr: 2",
    ]


def test_a_long_list_of_problems_is_cut() -> None:
    lines = report_lines(report(*(partition(number, 1, (1,)) for number in range(NAMED_PARTITIONS + 3))))
    assert lines[-1] == "  and 3 more that are under-replicated"


def test_a_report_without_a_quorum_names_the_controller_of_the_brokers() -> None:
    whole = report()
    without = ClusterReport(cluster=whole.cluster, quorum=None, topics=whole.topics)
    assert report_json(without)["quorum"] is None
    assert report_json(without)["controller"] == 1
    assert "Quorum: not reported by the brokers" in report_lines(without)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--elect-leaders", "random", "--all"), "'random' is neither preferred nor unclean"),
        (("--elect-leaders", "preferred"), "either --topic"),
        (("--elect-leaders", "preferred", "--topic", "t", "--all"), "either --topic"),
        (("--cancel",), "either --topic"),
        (("--partition", "1"), "--partition needs --topic"),
        (("--list-reassignments", "--unregister", "3"), "use one at a time"),
        (("--reassign", "t:0"), "topic:partition=1,2,3"),
        (("--reassign", "t:x=1"), "topic:partition=1,2,3"),
        (("--reassign", "t:0=1,b"), "topic:partition=1,2,3"),
    ],
)
def test_wrong_use_is_explained(usage_error: Callable[..., str], arguments: tuple[str, ...], said: str) -> None:
    assert said in usage_error("cluster", *arguments)


def test_a_single_node_is_a_cluster_too(at_broker: Command, topic: str) -> None:
    at_broker("topics", "--create", "--topic", topic, "--partitions", "2")
    state = json.loads(at_broker("cluster", "--json").stdout)
    assert [(node["status"], node["controller"]) for node in state["nodes"]] == [("unfenced", True)]
    assert state["quorum"]["leaderId"] == state["nodes"][0]["id"]
    assert state["partitions"]["underReplicated"] == []
    assert "ClusterId: " in at_broker("cluster").stdout
    assert at_broker("cluster", "--under-replicated-partitions").stdout == ""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is not of the form"),
        ('{"version": 2, "partitions": []}', "version 2 is unknown"),
        ('{"partitions": [{"topic": "t", "partition": 0}]}', "replicas"),
        (
            '{"partitions": [{"topic": "t", "partition": 0, "replicas": [1], "log_dirs": ["/a"]}]}',
            "log_dirs other than",
        ),
        (
            '{"partitions": [{"topic": "t", "partition": 0, "replicas": [1]}, '
            '{"topic": "t", "partition": 0, "replicas": [2]}]}',
            "names a partition twice",
        ),
    ],
)
def test_a_wrong_reassignment_file_is_explained(tidelog: Command, tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "plan.json"
    file.write_text(content)
    assert said in tidelog("cluster", "--reassign-file", str(file), code=1).stderr


def test_what_the_cluster_refuses_is_said_in_one_line(at_broker: Command, topic: str) -> None:
    at_broker("topics", "--create", "--topic", topic)
    failed = at_broker("cluster", "--reassign", f"{topic}:0=77", code=1)
    assert f"{topic}-0" in failed.stderr
    assert "77" in failed.stderr
    assert "nothing to cancel" in at_broker("cluster", "--cancel", "--topic", topic, code=1).stderr
    assert "No partition is being reassigned." in at_broker("cluster", "--list-reassignments").stdout
    assert "was not needed" in at_broker("cluster", "--elect-leaders", "preferred", "--topic", topic).stdout
    assert "77" in at_broker("cluster", "--unregister", "77", code=1).stderr


# -- three nodes -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcesses]:
    with running_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


def state_of(tidelog: Command, nodes: ClusterProcesses) -> Any:
    return json.loads(tidelog("cluster", "-b", nodes.address(1), "--json").stdout)


def statuses(tidelog: Command, nodes: ClusterProcesses) -> dict[int, str]:
    return {node["id"]: node["status"] for node in state_of(tidelog, nodes)["nodes"]}


@pytest.mark.slow
@pytest.mark.xdist_group("cluster")
def test_replicas_are_moved_with_progress_and_leaders_given_back(
    tidelog: Command, nodes: ClusterProcesses, topic: str, tmp_path: Path
) -> None:
    def run(*arguments: str) -> str:
        return tidelog("cluster", "-b", nodes.address(1), *arguments).stdout

    nodes.create_topic(topic, (1, 2))
    moved = run("--reassign", f"{topic}:0=3,1", "--wait")
    assert f"Reassignment of {topic}-0 is complete." in moved
    assert nodes.wait_for(topic, lambda one: one.replicas == (3, 1), at=1).replicas == (3, 1)
    # The line that tells how to undo it is a file for --reassign-file.
    undo = tmp_path / "undo.json"
    undo.write_text(next(line for line in moved.splitlines() if line.startswith("{")))
    run("--reassign-file", str(undo), "--wait")
    back = nodes.wait_for(topic, lambda one: one.replicas == (1, 2), at=1)
    assert set(back.in_sync) == {1, 2}
    run("--elect-leaders", "preferred", "--all")
    nodes.wait_for(topic, lambda one: one.leader == 1, at=1)


@pytest.mark.slow
@pytest.mark.xdist_group("cluster")
def test_a_reassignment_that_cannot_end_is_listed_and_cancelled(
    tidelog: Command, nodes: ClusterProcesses, topic: str
) -> None:
    def run(*arguments: str, code: int = 0) -> str:
        done = tidelog("cluster", "-b", nodes.address(1), *arguments, code=code)
        return done.stdout + done.stderr

    nodes.heal()
    nodes.create_topic(topic, (1, 2))
    nodes.kill(3)
    assert "is still running after 1 s" in run("--reassign", f"{topic}:0=1,3", "--wait", "--timeout", "1", code=1)
    assert f"{topic}-0: replicas: 1,3,2. adding: 3. removing: 2." in run("--list-reassignments")
    assert f"Reassignment of {topic}-0 is cancelled." in run("--cancel", "--topic", topic)
    assert "No partition is being reassigned." in run("--list-reassignments")
    back = nodes.wait_for(topic, lambda one: one.replicas == (1, 2), at=1)
    assert set(back.in_sync) == {1, 2}


@pytest.mark.slow
@pytest.mark.xdist_group("cluster")
def test_an_unclean_election_makes_a_partition_available_whose_in_sync_replicas_are_dead(
    tidelog: Command, nodes: ClusterProcesses, topic: str
) -> None:
    nodes.heal()
    nodes.create_topic(topic, (3, 2))
    nodes.kill(2)
    nodes.wait_for_in_sync(topic, (3,), at=1)
    nodes.kill(3)
    nodes.start(2)
    nodes.wait_for(topic, lambda one: one.leader is None, at=1)
    # A node listens before the controller takes it for alive.
    wait_until(lambda: statuses(tidelog, nodes)[2] == "unfenced", what="that node 2 is back")
    elect = ("--topic", topic, "--partition", "0")
    refused = tidelog("cluster", "-b", nodes.address(1), "--elect-leaders", "preferred", *elect, code=1).stderr
    assert f"{topic}-0" in refused
    done = tidelog("cluster", "-b", nodes.address(1), "--elect-leaders", "unclean", *elect).stdout
    assert f"Leader election (unclean) is complete for {topic}-0." in done
    nodes.wait_for(topic, lambda one: one.leader == 2, at=1)


@pytest.mark.slow
@pytest.mark.xdist_group("cluster")
def test_a_dead_node_is_shown_as_fenced_and_can_be_unregistered(
    tidelog: Command, nodes: ClusterProcesses, topic: str
) -> None:
    nodes.heal()
    nodes.create_topic(topic, (1, 2, 3))
    nodes.kill(3)
    nodes.wait_for_in_sync(topic, (1, 2), at=1)
    # It is out of the in-sync set when it lags, and fenced when its session has ended.
    expected = {1: "unfenced", 2: "unfenced", 3: "fenced"}
    wait_until(lambda: statuses(tidelog, nodes) == expected, what="that the dead node is fenced")
    state = state_of(tidelog, nodes)
    assert topic in [one["topic"] for one in state["partitions"]["underReplicated"]]
    lines = tidelog("cluster", "-b", nodes.address(1), "--under-replicated-partitions").stdout
    assert f"Topic: {topic}\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2" in lines
    tidelog("cluster", "-b", nodes.address(1), "--unregister", "3")
    wait_until(
        lambda: list(statuses(tidelog, nodes)) == [1, 2],
        what="that node 1 has forgotten the dead one",
    )


# -- format ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def config_file(tmp_path: Path) -> Path:
    """Node 1 of a quorum of two."""
    controller, other = free_port(), free_port()
    file = tmp_path / "server.properties"
    file.write_text(
        f"node.id=1\nprocess.roles=broker,controller\ncontroller.listener.names=CONTROLLER\n"
        f"listeners=PLAINTEXT://127.0.0.1:{free_port()},CONTROLLER://127.0.0.1:{controller}\n"
        f"controller.quorum.voters=1@127.0.0.1:{controller},2@127.0.0.1:{other}\n"
        f"log.dirs={tmp_path / 'a'},{tmp_path / 'b'}\n"
    )
    return file


def test_a_voter_of_several_does_not_start_without_a_cluster_id(tidelog: Command, config_file: Path) -> None:
    refused = tidelog("server", "--config", str(config_file), code=1).stderr
    assert "is not formatted" in refused
    assert "tidelog format" in refused


def test_directories_are_formatted_once_for_one_cluster(tidelog: Command, config_file: Path, tmp_path: Path) -> None:
    cluster_id = "MkU3OEVBNTcwNTJENDM2Qg"
    arguments = ("format", "--config", str(config_file))
    tidelog(*arguments, "--cluster-id", cluster_id)
    contents = [(tmp_path / name / "meta.properties").read_text() for name in ("a", "b")]
    assert all(f"cluster.id={cluster_id}\n" in each and "node.id=1\n" in each for each in contents)
    assert contents[0] != contents[1], "each directory has an id of its own"
    assert "already formatted" in tidelog(*arguments, "--cluster-id", cluster_id, code=1).stderr
    assert "belongs to node 1" in tidelog(*arguments, "--ignore-formatted", code=1).stderr
    (tmp_path / "b" / "meta.properties").unlink()
    tidelog(*arguments, "--cluster-id", cluster_id, "--ignore-formatted")
    assert (tmp_path / "a" / "meta.properties").read_text() == contents[0]
    assert f"cluster.id={cluster_id}\n" in (tmp_path / "b" / "meta.properties").read_text()


def test_a_wrong_cluster_id_is_refused(usage_error: Callable[..., str], config_file: Path) -> None:
    assert "is not an id" in usage_error("format", "--config", str(config_file), "--cluster-id", "mine")
