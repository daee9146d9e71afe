"""A log directory fails when a partition with one replica has just been made in it.

Until the controller has recorded where the replica is, the metadata names no directory. A replica that nothing was ever
written to begins again in another one. One with records does not, whatever the metadata says meanwhile.
"""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path

import pytest
from server.conftest import create_topic
from support.bad_disk import TwoDisks, two_disks
from support.eventually import eventually
from support.present import present
from support.raw_client import RawClient

from tidelog.metadata.image import NO_LEADER, UNASSIGNED_DIRECTORY, PartitionImage
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from tidelog.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tidelog.server.replication.directories import DirectoryAssignments

EVERYTHING = ("open", "create", "look", "list", "read", "write", "rename", "remove", "make_directory", "sync")
UNCLEAN = 1


class Postbox:
    """What the broker tells the controller about its directories waits until somebody opens it."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self._deliver = DirectoryAssignments._tell

    async def tell(self, sender: DirectoryAssignments) -> bool:
        await self.opened.wait()
        return await self._deliver(sender)


@pytest.fixture
def postbox(monkeypatch: pytest.MonkeyPatch) -> Postbox:
    box = Postbox()
    monkeypatch.setattr(DirectoryAssignments, "_tell", lambda sender: box.tell(sender))
    return box


def partition_of(disks: TwoDisks) -> PartitionImage:
    return present(present(disks.node).node.image.partition("t", 0))


async def change_topic(client: RawClient) -> None:
    """Another image, which says nothing new about the partition."""
    change = AlterableConfig(name="retention.ms", config_operation=0, value="100000000")
    resource = AlterConfigsResource(resource_type=2, resource_name="t", configs=[change])
    reply = await client.ask(IncrementalAlterConfigsRequest(resources=[resource]))
    assert reply.responses[0].error_code == 0


async def elect_uncleanly(client: RawClient) -> None:
    asked = [TopicPartitions(topic="t", partitions=[0])]
    reply = await client.ask(ElectLeadersRequest(election_type=UNCLEAN, topic_partitions=asked, timeout_ms=20_000))
    assert reply.replica_election_results[0].partition_result[0].error_code == 0


async def until_recorded(disks: TwoDisks) -> None:
    async def recorded() -> None:
        assert partition_of(disks).directory_of(1) != UNASSIGNED_DIRECTORY

    await eventually(recorded)


async def test_the_directory_may_fail_at_every_call_of_the_creation(tmp_path: Path) -> None:
    healthy = two_disks(tmp_path / "healthy")
    async with healthy.running() as client:
        healthy.disk.fail_after(1 << 30, errno.EIO)
        await create_topic(client, "t")
        calls = healthy.disk.calls
    assert healthy.partitions(healthy.bad) == [0], "it is made in the directory that fails below"
    for number in range(calls):
        disks = two_disks(tmp_path / str(number))
        async with disks.running() as client:
            disks.disk.fail_after(number, errno.EIO)
            await create_topic(client, "t")
            assert (await client.produce("t", b"x")).error_code == 0
            disks.disk.error = None
        assert disks.partitions(disks.good) == [0]


async def test_the_directory_may_fail_when_a_creation_that_was_postponed_is_made_up_for(tmp_path: Path) -> None:
    disks = two_disks(tmp_path)
    async with disks.running() as client:
        disks.disk.fail(errno.EMFILE, *EVERYTHING)
        await create_topic(client, "t")
        assert (await client.produce("t", b"x")).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        disks.disk.fail(errno.EIO, *EVERYTHING)

        async def written() -> None:
            assert (await client.produce("t", b"x")).error_code == 0

        await eventually(written)
        assert disks.partitions(disks.good) == [0]
        disks.disk.error = None


async def test_a_replica_without_records_begins_again_in_another_directory(tmp_path: Path, postbox: Postbox) -> None:
    disks = two_disks(tmp_path)
    async with disks.running() as client:
        await create_topic(client, "t", flush_messages="1")
        replicas = present(disks.node).node.replicas
        replica = present(replicas.get("t", 0))
        failed = present(replicas.directory_of(replica))
        disks.disk.fail(errno.EIO, *EVERYTHING)
        # Found by something else than a write to this partition, which could be in the file in part.
        with pytest.raises(Exception, match="Input/output error"):
            failed.checkpoints.write_high_watermarks()
        replicas.directory_failed(failed, present(failed.failure))

        async def written() -> None:
            assert (await client.produce("t", b"first")).error_code == 0

        await eventually(written)
        assert disks.partitions(disks.good) == [0]
        postbox.opened.set()
        await until_recorded(disks)
        assert partition_of(disks).leader == 1
        assert (await client.produce("t", b"second")).base_offset == 1
        disks.disk.error = None
    # The disk is back: what was written since is what counts.
    async with disks.running() as client:
        assert (await client.produce("t", b"third")).base_offset == 2


@pytest.mark.parametrize("records", [0, 3])
async def test_a_replica_that_was_written_to_never_begins_again_empty_by_itself(
    tmp_path: Path, postbox: Postbox, records: int
) -> None:
    """Also if nobody was told of a record: what the disk has taken may be in the file when it is back."""
    disks = two_disks(tmp_path)
    async with disks.running() as client:
        await create_topic(client, "t")
        for number in range(records):
            assert (await client.produce("t", b"%d" % number)).error_code == 0
        disks.disk.fail(errno.EIO, *EVERYTHING)
        assert (await client.produce("t", b"refused")).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert partition_of(disks).directory_of(1) == UNASSIGNED_DIRECTORY
        assert partition_of(disks).leader == 1
        await change_topic(client)
        assert (await client.produce("t", b"refused")).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        postbox.opened.set()
        await until_recorded(disks)
        assert partition_of(disks).leader == NO_LEADER
        assert disks.partitions(disks.good) == []
        disks.disk.error = None
    # The disk is back, which the controller cannot tell from an empty one: somebody has to say so. Nothing is lost.
    async with disks.running() as client:
        await elect_uncleanly(client)

        async def written() -> None:
            answer = await client.produce("t", b"next")
            assert answer.error_code == 0
            assert answer.base_offset in (records, records + 1)

        await eventually(written)


async def test_an_unclean_election_lets_it_begin_again(tmp_path: Path) -> None:
    disks = two_disks(tmp_path)
    async with disks.running() as client:
        await create_topic(client, "t")
        assert (await client.produce("t", b"lost")).error_code == 0
        await until_recorded(disks)
        disks.disk.fail(errno.EIO, *EVERYTHING)
        assert (await client.produce("t", b"refused")).error_code == ErrorCode.KAFKA_STORAGE_ERROR

        async def nobody_leads() -> None:
            assert partition_of(disks).leader == NO_LEADER

        await eventually(nobody_leads)
        await elect_uncleanly(client)

        async def written() -> None:
            assert (await client.produce("t", b"first")).base_offset == 0

        await eventually(written)
        disks.disk.error = None
