"""Two clusters, compared record by record; what a mirror has done is done here by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

import pytest
from support.filled_topics import FilledTopics
from support.tidelog_command import run_tidelog

from tidelog.client.admin import Admin
from tidelog.client.offsets.committed import OffsetAndMetadata
from tidelog.model.ids import TopicPartition
from tidelog.spark.mirror.comparison import PartitionResult
from tidelog.spark.mirror.progress import MirrorRefused
from tidelog.spark.mirror.topics import MirroredTopics
from tidelog.spark.mirror.verify import verify_mirror
from tidelog.testing.broker_thread import BrokerThread

GROUP = "tidelog-mirror-m"


@pytest.fixture(scope="module")
def clusters() -> Iterator[tuple[str, str]]:
    with BrokerThread() as source, BrokerThread() as target:
        yield source.bootstrap_servers, target.bootstrap_servers


def commit(servers: str, group: str, offsets: Mapping[TopicPartition, int]) -> None:
    async def change() -> None:
        async with Admin(servers) as admin:
            positions = {part: OffsetAndMetadata(offset=offset, metadata="") for part, offset in offsets.items()}
            await admin.alter_group_offsets(group, positions)

    asyncio.run(change())


def verify(clusters: tuple[str, str], topic: str, groups: str = "") -> list[PartitionResult]:
    topics = MirroredTopics(source={"bootstrap.servers": clusters[0]}, names=(topic,), pattern="", prefix="")
    target = {"bootstrap.servers": clusters[1]}
    return asyncio.run(verify_mirror(topics, target, mirror_group=GROUP, groups=groups))


def test_both_sides_are_compared_up_to_where_the_mirror_is(clusters: tuple[str, str]) -> None:
    here, there = FilledTopics(clusters[0]), FilledTopics(clusters[1])
    topic = here.create("verified", partitions=2)
    there.create(name=topic, partitions=2)
    with pytest.raises(MirrorRefused, match="has no offsets"):
        verify(clusters, topic)
    here.transaction(topic, ["gone"], commit=False)
    for side in (here, there):
        side.fill(topic, [f"{number}" for number in range(500)], key=b"k", headers=[("h", b"1")], timestamp=1234)
    # Records at offset 2 (the aborted one and its marker are before them) and on; two were not mirrored yet.
    here.fill(topic, ["later", "and later"])
    commit(clusters[1], GROUP, {TopicPartition(topic, 0): 502})
    commit(clusters[0], "readers", {TopicPartition(topic, 0): 102})
    commit(clusters[1], "readers", {TopicPartition(topic, 0): 100})
    first, second = verify(clusters, topic, "readers")
    assert first.is_equal
    assert second.is_equal
    assert (first.equal, first.waiting, second.equal, second.waiting) == (500, 2, 0, 0)

    # The group would begin one record too late.
    commit(clusters[1], "readers", {TopicPartition(topic, 0): 101})
    (first, _) = verify(clusters, topic, "readers")
    assert "group 'readers' is 1 records ahead at the target" in first.differences[0]

    # Retention has removed records on both sides, and not as many.
    here.delete_records(topic, 0, 102)
    there.delete_records(topic, 0, 50)
    (first, _) = verify(clusters, topic)
    assert first.is_equal
    assert (first.equal, first.left_out) == (400, 50)


def test_what_differs_is_told_and_the_command_fails(clusters: tuple[str, str]) -> None:
    here, there = FilledTopics(clusters[0]), FilledTopics(clusters[1])
    topic = here.create("differing")
    there.create(name=topic)
    here.fill(topic, ["a", "b", "c", "d"], timestamp=1)
    there.fill(topic, ["a", "c", "D"], timestamp=1)
    commit(clusters[1], GROUP, {TopicPartition(topic, 0): 4})
    command = ["pipeline", "mirror", "--name", "m", "--topic", topic, "--verify"]
    command += ["--bootstrap-server", clusters[0], "--to-bootstrap-server", clusters[1]]
    done = run_tidelog(*command, code=1)
    lines = done.stdout.splitlines()
    assert lines[0] == f"{topic}-0: 2 records are equal, 2 differences"
    assert lines[1].startswith(f"{topic}-0: the target lacks source offset 1")
    assert lines[2].startswith(f"{topic}-0: source offset 3 and target offset 2 differ in value")
    assert "the target differs from the source" in done.stderr
