"""Damage below what is known to be committed: refused in words, told to readers, or fetched again (scenario 35)."""

from __future__ import annotations

from pathlib import Path

import pytest
from server.conftest import create_topic
from support.damaged_files import DELETED_BELOW, node_on, read_partition, write_corpus
from support.nodes_in_process import Nodes, nodes
from support.raw_client import raw_client

from tidelog.model.errors import ErrorCode
from tidelog.server.failures import StartFailure
from tidelog.server.startup import RunningNode

ROLES = dict.fromkeys((1, 2, 3), "broker,controller")
METADATA = "__cluster_metadata-0"


def content_of(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in directory.rglob("*") if path.is_file() and path.name != ".lock"}


def flip(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 0x10
    path.write_bytes(content)


async def refusal_of(node: RunningNode) -> str:
    with pytest.raises(StartFailure) as refused:
        await node.start()
    return str(refused.value)


@pytest.mark.parametrize("stop", ["clean", "killed"])
async def test_scenario_35_flipped_byte_in_the_metadata_log_is_refused_and_nothing_is_changed(
    tmp_path: Path, stop: str
) -> None:
    stored = await write_corpus(tmp_path)
    directory = tmp_path / stop
    (log,) = sorted((directory / METADATA).glob("*.log"))[-1:]
    before = log.read_bytes()
    flip(log, len(before) // 2)
    damaged = content_of(directory)
    for _ in range(2):
        # As often as somebody tries.
        refusal = await refusal_of(node_on(directory))
        assert f"{log} is damaged: at byte" in refusal
        assert "(offset" in refusal
        assert "restore the file from a copy" in refusal
    assert content_of(directory) == damaged
    log.write_bytes(before)
    node = node_on(directory)
    await node.start()
    async with raw_client(f"{node.addresses[0][0]}:{node.addresses[0][1]}") as client:
        for topic, expected in stored.items():
            reading = await read_partition(client, topic, max(expected) + 1, committed=True)
            assert reading.values == expected
    await node.abandon()
    assert not [path for path in directory.iterdir() if "stray" in path.name]


async def test_scenario_35_lost_metadata_log_makes_no_strays(tmp_path: Path) -> None:
    await write_corpus(tmp_path)
    directory = tmp_path / "clean"
    for name in (".kafka_cleanshutdown", ".tidelog-state", "recovery-point-offset-checkpoint"):
        (directory / name).unlink()
    (directory / "replication-offset-checkpoint").unlink()
    (directory / METADATA).rename(tmp_path / "elsewhere")
    names = sorted(path.name for path in directory.iterdir())
    refusal = await refusal_of(node_on(directory))
    assert METADATA in refusal
    assert "is missing" in refusal
    assert sorted(path.name for path in directory.iterdir()) == names


async def test_scenario_35_sealed_segment_cut_in_half_is_an_error_to_readers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stored = await write_corpus(tmp_path)
    segment = sorted((tmp_path / "clean" / "events-0").glob("*.log"))[1]
    content = segment.read_bytes()
    segment.write_bytes(content[: len(content) // 2])
    node = node_on(tmp_path / "clean")
    await node.start()
    async with raw_client(f"{node.addresses[0][0]}:{node.addresses[0][1]}") as client:
        reading = await read_partition(client, "events", max(stored["events"]) + 1, committed=True)
        again = await read_partition(client, "events", max(stored["events"]) + 1, committed=True)
        assert reading.error is ErrorCode.CORRUPT_MESSAGE
        assert int(segment.stem) <= reading.offset
        assert reading == again
        assert all(stored["events"][offset] == value for offset, value in reading.values.items())
        others = await read_partition(client, "shortened", max(stored["shortened"]) + 1, committed=True)
        assert min(others.values) == DELETED_BELOW
        # What is behind can be read, and the partition can be written to.
        behind = await client.produce("events", b"more")
        assert behind.error_code == 0
    assert caplog.text.count(f"{segment} is damaged") >= 1
    assert node.node.metrics.registry().get_sample_value("tidelog_damaged_partitions") == 1
    await node.abandon()


async def test_garbage_quorum_state_of_a_lone_controller_is_written_again(tmp_path: Path) -> None:
    await write_corpus(tmp_path)
    path = tmp_path / "clean" / METADATA / "quorum-state"
    path.write_bytes(b"\x00garbage")
    node = node_on(tmp_path / "clean")
    await node.start()
    assert b"leaderEpoch" in path.read_bytes()
    await node.abandon()


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["garbage", "missing"])
async def test_scenario_35_lost_quorum_state_of_one_of_several_controllers_is_refused(
    tmp_path: Path, damage: str
) -> None:
    async with nodes(tmp_path, ROLES) as cluster:
        await cluster.stop(3)
        path = cluster.log_directory(3) / METADATA / "quorum-state"
        if damage == "garbage":
            path.write_bytes(b"[[[")
        else:
            path.unlink()
        refusal = await refusal_of(RunningNode(cluster.config(3)))
        assert str(path) in refusal
        assert "tidelog format" in refusal


@pytest.mark.slow
async def test_scenario_35_damaged_replica_is_fetched_again_from_the_leader(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with nodes(tmp_path, ROLES) as cluster:
        async with raw_client(cluster.address(1)) as client:
            await create_topic(client, "events", replication_factor=3, min_insync_replicas="2")
        leader = await leader_of(cluster)
        async with raw_client(cluster.address(leader)) as client:
            for number in range(20):
                answer = await client.produce("events", b"%d" % number * 50)
                assert answer.error_code == 0
        victim = next(number for number in ROLES if number != leader)
        await cluster.stop(victim)
        path = cluster.log_directory(victim) / "events-0" / f"{0:020d}.log"
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 3])
        await cluster.start(victim)
        replica = cluster.running[victim].node.replicas.get("events", 0)
        assert replica is not None
        await cluster.until(lambda: replica.log.log_end_offset == 20, "the replica has caught up")
        await cluster.until(lambda: in_sync(cluster, leader) == [1, 2, 3], "the replica is in sync")
    assert path.read_bytes() == content
    assert "the rest is fetched again from the leader" in caplog.text


async def leader_of(cluster: Nodes) -> int:
    def leaders() -> list[int]:
        found = []
        for number, node in cluster.running.items():
            replica = node.node.replicas.get("events", 0)
            if replica is not None and replica.is_leader and in_sync(cluster, number) == [1, 2, 3]:
                found.append(number)
        return found

    await cluster.until(lambda: bool(leaders()), "a leader with all replicas in sync")
    return leaders()[0]


def in_sync(cluster: Nodes, leader: int) -> list[int]:
    replica = cluster.running[leader].node.replicas.get("events", 0)
    return [] if replica is None or replica.progress is None else sorted(replica.progress.in_sync)
