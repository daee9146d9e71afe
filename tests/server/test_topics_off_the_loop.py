"""While the directories of new partitions are made, which a slow disk draws out, everybody else is served."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

from server.conftest import create_topic
from support.raw_client import produce_request, raw_client

import tidelog
from tidelog.config.broker import BrokerConfig
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tidelog.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from tidelog.protocol.messages.metadata_request import MetadataRequest
from tidelog.records.record import encode_batch
from tidelog.server.broker import single_node_properties
from tidelog.server.replicas.replica import Replica
from tidelog.server.startup import RunningNode, system_ports
from tidelog.storage.files.filesystem import StorageFailure
from tidelog.storage.files.local_filesystem import LocalFileSystem

# Nobody waits so long unless the test fails.
PATIENCE_SECONDS = 60.0
MANY = 120


class StuckDisk(LocalFileSystem):
    """Makes no directory of a topic named "slow..." until it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = threading.Event()
        self.go_on = threading.Event()

    def make_directory(self, path: str) -> None:
        if "/slow" in path:
            self.reached.set()
            self.go_on.wait(PATIENCE_SECONDS)
        super().make_directory(path)


async def test_other_clients_are_served_while_topics_are_created(tmp_path: Path) -> None:
    ports = system_ports()
    disk = StuckDisk()
    properties = single_node_properties(host="127.0.0.1", port=0, data_dir=str(tmp_path))
    node = RunningNode(
        BrokerConfig.from_properties(properties),
        type(ports)(clock=ports.clock, randomness=ports.randomness, filesystem=disk, network=ports.network),
    )
    await node.start()
    try:
        host, port = node.addresses[0]
        async with raw_client(f"{host}:{port}") as creator, raw_client(f"{host}:{port}") as other:
            await create_topic(other, "quick")
            topics = [
                CreatableTopic(name=f"slow-{number}", num_partitions=1, replication_factor=1) for number in range(MANY)
            ]
            creating = asyncio.create_task(creator.ask(CreateTopicsRequest(topics=topics, timeout_ms=30_000)))
            assert await asyncio.to_thread(disk.reached.wait, PATIENCE_SECONDS)
            # Produced, committed and answered, while the disk is stuck.
            reply = await other.ask(produce_request("quick", encode_batch([(0, None, b"v", ())])), 11)
            assert reply.responses[0].partition_responses[0].error_code == ErrorCode.NONE
            listed = await other.ask(MetadataRequest(topics=None))
            # Nobody hears of a topic that cannot be written to yet.
            assert [topic.name for topic in listed.topics] == ["quick"]
            assert not creating.done()
            assert not disk.go_on.is_set()
            disk.go_on.set()
            created = await creating
            assert [topic.error_code for topic in created.topics] == [ErrorCode.NONE] * MANY
            reply = await other.ask(produce_request(f"slow-{MANY - 1}", encode_batch([(0, None, b"v", ())])), 11)
            assert reply.responses[0].partition_responses[0].error_code == ErrorCode.NONE
    finally:
        disk.go_on.set()
        await node.stop()


class MeetingDisk(LocalFileSystem):
    """Makes no directory of a topic named "pair..." before two threads are about to make one."""

    def __init__(self) -> None:
        super().__init__()
        self._meeting = threading.Barrier(2)
        self._lock = threading.Lock()
        self.met: set[int] = set()

    def make_directory(self, path: str) -> None:
        if "/pair" in path and self._is_one_of_two():
            self._meeting.wait(PATIENCE_SECONDS)
        super().make_directory(path)

    def _is_one_of_two(self) -> bool:
        """Later jobs may run in other threads of the pool, which would wait for nobody."""
        with self._lock:
            is_new = len(self.met) < 2 and threading.get_ident() not in self.met
            if is_new:
                self.met.add(threading.get_ident())
            return is_new


async def test_two_threads_create_the_logs_of_one_directory(tmp_path: Path) -> None:
    ports = system_ports()
    disk = MeetingDisk()
    properties = single_node_properties(host="127.0.0.1", port=0, data_dir=str(tmp_path))
    config = BrokerConfig.from_properties(properties)
    ports = type(ports)(clock=ports.clock, randomness=ports.randomness, filesystem=disk, network=ports.network)
    names = [f"pair-{number}" for number in range(MANY)]
    # The second node finds on the disk what the two threads have made for the first one.
    for round_number in range(2):
        node = RunningNode(config, ports)
        await node.start()
        try:
            host, port = node.addresses[0]
            async with raw_client(f"{host}:{port}") as client:
                if round_number == 0:
                    topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names]
                    created = await client.ask(CreateTopicsRequest(topics=topics, timeout_ms=30_000))
                    assert {topic.error_code for topic in created.topics} == {ErrorCode.NONE}
                    assert len(disk.met) == 2
                for name in names:
                    reply = await client.ask(produce_request(name, encode_batch([(0, None, b"v", ())])), 11)
                    partition = reply.responses[0].partition_responses[0]
                    assert (partition.error_code, partition.base_offset) == (ErrorCode.NONE, round_number), name
        finally:
            await node.stop()


async def test_many_topics_come_and_go_and_come_again(tmp_path: Path) -> None:
    names = [f"t-{number}" for number in range(MANY)]
    async with tidelog.Broker(data_dir=str(tmp_path)) as broker, raw_client(broker.bootstrap_servers) as client:
        for _ in range(2):
            topics = [CreatableTopic(name=name, num_partitions=2, replication_factor=1) for name in names]
            created = await client.ask(CreateTopicsRequest(topics=topics, timeout_ms=30_000))
            assert {topic.error_code for topic in created.topics} == {ErrorCode.NONE}
            for name in (names[0], names[-1]):
                reply = await client.ask(produce_request(name, encode_batch([(0, None, b"v", ())])), 11)
                partition = reply.responses[0].partition_responses[0]
                # Always the first record: nothing of the topic before is left.
                assert (partition.error_code, partition.base_offset) == (ErrorCode.NONE, 0)
            states = [DeleteTopicState(name=name) for name in names]
            deleted = await client.ask(DeleteTopicsRequest(topics=states, timeout_ms=30_000))
            assert {topic.error_code for topic in deleted.responses} == {ErrorCode.NONE}
            left = [path.name for path in tmp_path.iterdir() if path.name.startswith("t-")]
            assert all(name.endswith("-delete") for name in left)


async def test_a_failed_disk_ends_leaderships_and_coordinators_are_told(broker: tidelog.Broker) -> None:
    async with raw_client(broker.bootstrap_servers) as client:
        await create_topic(client, "t", partitions=2)
    replicas = broker.running.node.replicas
    told: list[Replica] = []
    replicas.stopped_leading.listen(told.append)
    first = replicas.get("t", 0)
    assert first is not None
    failure = StorageFailure("writing", OSError(5, "input/output error"))
    replicas.storage_failed(first, failure)
    assert [(replica.topic_partition.partition, replica.offline, replica.is_leader) for replica in told] == [
        (0, True, False),
        (1, True, False),
    ]
    # Once is enough.
    replicas.storage_failed(first, failure)
    assert len(told) == 2


async def test_a_topic_can_be_written_to_as_soon_as_its_creation_is_answered(broker: tidelog.Broker) -> None:
    async with raw_client(broker.bootstrap_servers) as client:
        await create_topic(client, "t", partitions=30)
        for number in (0, 29):
            reply = await client.ask(produce_request("t", encode_batch([(0, None, b"v", ())]), partition=number), 11)
            assert reply.responses[0].partition_responses[0].error_code == ErrorCode.NONE
