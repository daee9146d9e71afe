"""Snapshots of the metadata on real nodes: taken, started from, fetched, and left half done by a crash."""

from __future__ import annotations

from pathlib import Path

import pytest
from server.conftest import create_topic
from support.nodes_in_process import Nodes, nodes
from support.raw_client import raw_client

from tidelog.metadata.image import ClusterImage
from tidelog.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from tidelog.protocol.messages.init_producer_id_request import InitProducerIdRequest
from tidelog.server.failures import StartFailure

BOTH = "broker,controller"
THREE = {1: BOTH, 2: BOTH, 3: BOTH}
# A snapshot after every few topics, and nothing kept that a snapshot contains.
OFTEN = {
    "metadata_log_max_record_bytes_between_snapshots": "1500",
    "metadata_max_retention_bytes": "1",
}


def checkpoints(cluster: Nodes, number: int) -> list[str]:
    directory = cluster.log_directory(number) / "__cluster_metadata-0"
    return sorted(path.name for path in directory.iterdir() if ".checkpoint" in path.name)


def log_start(cluster: Nodes, number: int) -> int:
    return cluster.running[number].node.control.log.start_offset


def image(cluster: Nodes, number: int) -> ClusterImage:
    return cluster.running[number].node.image


async def make_topics(cluster: Nodes, at: int, prefix: str, count: int) -> None:
    async with raw_client(cluster.address(at)) as client:
        for number in range(count):
            await create_topic(client, f"{prefix}-{number}", retention_ms=str(number))


async def test_a_node_starts_from_its_snapshot_and_the_rest_of_the_log(tmp_path: Path) -> None:
    async with nodes(tmp_path, {1: BOTH}, **OFTEN) as cluster:
        async with raw_client(cluster.address(1)) as client:
            assert (await client.ask(InitProducerIdRequest(transactional_id=None))).error_code == 0
        await make_topics(cluster, 1, "t", 30)
        await cluster.until(lambda: log_start(cluster, 1) > 0, "a log without its beginning")
        before = image(cluster, 1)
        await cluster.kill(1)
        # Of each snapshot only the last is kept, and it is whole.
        assert len([name for name in checkpoints(cluster, 1) if name.endswith(".checkpoint")]) in (1, 2)
        segments = sorted(cluster.log_directory(1).glob("__cluster_metadata-0/*.log"))
        assert int(segments[0].stem) > 0
        await cluster.start(1)
        after = image(cluster, 1)
        assert {topic.name: topic.id for topic in after.topics.values()} == {
            topic.name: topic.id for topic in before.topics.values()
        }
        assert after.configs == before.configs
        assert after.next_producer_id == before.next_producer_id
        await make_topics(cluster, 1, "later", 3)


async def test_a_snapshot_is_taken_after_the_interval_if_there_is_something_new(tmp_path: Path) -> None:
    async with nodes(tmp_path, {1: BOTH}, metadata_log_max_snapshot_interval_ms="100") as cluster:
        await make_topics(cluster, 1, "t", 1)
        end = image(cluster, 1).offset + 1
        await cluster.until(
            lambda: any(int(name[:20]) >= end and name.endswith(".checkpoint") for name in checkpoints(cluster, 1)),
            "a snapshot with the topic",
        )
        # Nothing is dropped as long as it is neither large nor old.
        assert log_start(cluster, 1) == 0


async def test_a_node_that_was_away_while_the_log_was_cut_catches_up_with_a_fetched_snapshot(tmp_path: Path) -> None:
    async with nodes(tmp_path, THREE, **OFTEN) as cluster:
        await cluster.until(lambda: cluster.controller() is not None, "an election")
        leader = cluster.controller()
        assert leader is not None
        away = next(number for number in THREE if number != leader)
        await make_topics(cluster, leader, "before", 2)
        await cluster.until(lambda: "before-1" in image(cluster, away).topics, "replication")
        end = cluster.running[away].node.control.log.end_offset
        await cluster.kill(away)
        async with raw_client(cluster.address(leader)) as client:
            state = DeleteTopicState(name="before-0")
            assert (await client.ask(DeleteTopicsRequest(topics=[state], timeout_ms=5000))).responses[0].error_code == 0
        await make_topics(cluster, leader, "meanwhile", 15)
        await cluster.until(
            lambda: cluster.controller() is not None and log_start(cluster, cluster.controller() or 0) > end,
            "a log that begins after what the node that is away has",
        )
        await cluster.start(away)
        assert log_start(cluster, away) > end
        await make_topics(cluster, away, "after", 1)

        def same_everywhere() -> bool:
            images = [image(cluster, number) for number in THREE]
            return "after-0" in images[0].topics and all(each.topics == images[0].topics for each in images)

        await cluster.until(same_everywhere, "the same metadata on all nodes")
        assert "before-0" not in image(cluster, away).topics
        directories = [path.name for path in cluster.log_directory(away).iterdir()]
        assert "before-0-0" not in directories


async def test_a_new_node_without_any_metadata_begins_with_a_snapshot(tmp_path: Path) -> None:
    roles = {1: "controller", 2: "broker", 3: "broker"}
    properties = {**OFTEN, "default_replication_factor": "1", "controller_quorum_fetch_snapshot_max_bytes": "500"}
    async with nodes(tmp_path, roles, **properties) as cluster:
        await cluster.until(lambda: cluster.controller() is not None, "an election")
        await make_topics(cluster, 2, "t", 20)
        await cluster.kill(3)
        # A thread of the killed node may still be removing files that were set aside.
        for path in (cluster.log_directory(3) / "__cluster_metadata-0").iterdir():
            path.unlink(missing_ok=True)
        await cluster.start(3)
        # In many pieces, which came together to what the others know.
        await cluster.until(lambda: image(cluster, 3).topics == image(cluster, 2).topics, "the same metadata")
        assert log_start(cluster, 3) > 0


async def test_a_damaged_snapshot_is_not_started_from(tmp_path: Path) -> None:
    async with nodes(tmp_path, {1: BOTH}, **OFTEN) as cluster:
        await make_topics(cluster, 1, "t", 30)
        await cluster.until(lambda: log_start(cluster, 1) > 0, "a log without its beginning")
        await cluster.kill(1)
        name = [name for name in checkpoints(cluster, 1) if name.endswith(".checkpoint")][-1]
        path = cluster.log_directory(1) / "__cluster_metadata-0" / name
        damaged = bytearray(path.read_bytes())
        damaged[len(damaged) // 2] ^= 0xFF
        path.write_bytes(damaged)
        with pytest.raises(StartFailure, match=name):
            await cluster.start(1)
