"""Brokers that replicate, and a controller that the test holds in its hands.

The brokers are real: their nodes, logs, sockets and fetchers. The controller is one image in this process, changed by
the real decisions; when a broker hears of a change, and whether a leader gets its answer, is up to the test. So each
scenario is a sequence of steps and not a matter of timing.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

from support.decoding import decode_all
from support.processes import HANG_SECONDS, free_port
from support.raw_client import RawClient, raw_client

from tidelog.config.broker import BrokerConfig
from tidelog.controller.bootstrap import fresh_uuid
from tidelog.controller.brokers import begin_controlled_shutdown, fence_broker, register_broker, unfence_broker
from tidelog.controller.decision import Decision
from tidelog.controller.elections import UncleanAllowed, unclean_allowed
from tidelog.controller.in_sync import alter_partition
from tidelog.controller.topics import create_topics, delete_topics
from tidelog.metadata.delta import ImageDelta
from tidelog.metadata.image import ClusterImage, PartitionImage
from tidelog.metadata.replay import apply
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import Uuid
from tidelog.network.frame_receiver import StagingArea
from tidelog.network.port import AnyProtocol, AsyncioNetwork, Listening
from tidelog.network.server_connection import ServerConnection
from tidelog.network.system import SystemClock, SystemRandomness
from tidelog.protocol.messages.alter_partition_request import AlterPartitionRequest
from tidelog.protocol.messages.alter_partition_response import AlterPartitionResponse
from tidelog.protocol.messages.broker_registration_request import BrokerRegistrationRequest
from tidelog.protocol.messages.broker_registration_request import Listener as RegisteredListener
from tidelog.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from tidelog.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from tidelog.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.schema import Message
from tidelog.server.access.access import Access
from tidelog.server.composition import compose_broker
from tidelog.server.node import Node
from tidelog.server.notice import Notice
from tidelog.server.observability.metrics import Metrics
from tidelog.server.ports import Ports
from tidelog.server.quorum.control_plane import ControlPlane
from tidelog.server.replicas.replica import Replica
from tidelog.server.wiring import broker_router
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.directories.meta_properties import MetaProperties
from tidelog.storage.files.local_filesystem import LocalFileSystem

CLUSTER_ID = "AAAAAAAAQACAAAAAAAAAAA"

# Fetches wait long, so that a follower hears of the raised watermark only when there is something else to tell.
PROPERTIES = {
    "replica.fetch.wait.max.ms": "5000",
    "replica.fetch.backoff.ms": "50",
    "replica.lag.time.max.ms": "5000",
    "replica.socket.timeout.ms": "10000",
}

Reply = TypeVar("Reply")


class CuttableNetwork(AsyncioNetwork):
    """The network as one broker sees it. A cut also ends the connections that exist."""

    def __init__(self) -> None:
        self._cut: set[int] = set()
        self._open: list[tuple[int, asyncio.Transport]] = []

    async def connect(
        self,
        protocol_factory: Callable[[], AnyProtocol],
        host: str,
        port: int,
        *,
        tls: ssl.SSLContext | None = None,
        server_hostname: str | None = None,
    ) -> tuple[asyncio.Transport, AnyProtocol]:
        if port in self._cut:
            raise OSError(f"port {port} cannot be reached")
        transport, protocol = await super().connect(
            protocol_factory, host, port, tls=tls, server_hostname=server_hostname
        )
        self._open = [each for each in self._open if not each[1].is_closing()]
        self._open.append((port, transport))
        return transport, protocol

    def cut(self, port: int) -> None:
        self._cut.add(port)
        for number, transport in self._open:
            if number == port:
                transport.abort()

    def heal(self, port: int) -> None:
        self._cut.discard(port)


class _Metadata:
    """Stands for the metadata follower of a node."""

    def __init__(self, image: ClusterImage) -> None:
        self.image = image


class _Control:
    def __init__(self, image: ClusterImage, channel: AuthorityLine, config: BrokerConfig) -> None:
        self.metadata = _Metadata(image)
        self.access = Access(config, lambda: image.acl_set)
        self.channel = channel
        self.controller_changed: Notice[[]] = Notice()
        self.leader_watch = None
        # Nobody reads the metadata log here: there is none.
        self.log = None
        self.quorum = None


class AuthorityLine:
    """How one leader reaches the controller, which only decides about in-sync sets. Requests and replies can be lost or
    be made to wait."""

    def __init__(self, cluster: ReplicaCluster) -> None:
        self._cluster = cluster
        self.lose_requests = False
        self.lose_replies = False
        self.asked: list[AlterPartitionRequest] = []
        self._open = asyncio.Event()
        self._open.set()

    def hold_replies(self) -> None:
        self._open.clear()

    def release_replies(self) -> None:
        self._open.set()

    async def ask(self, *_: object) -> Any:
        raise ApiError(ErrorCode.NOT_CONTROLLER, "this cluster has no controller to forward to")

    async def try_once(self, request: Message, *_: object) -> AlterPartitionResponse:
        assert isinstance(request, AlterPartitionRequest)
        self.asked.append(request)
        if self.lose_requests:
            raise ApiError(ErrorCode.REQUEST_TIMED_OUT, "the request was lost")
        response = self._cluster.decide(
            lambda image: alter_partition(image, request, unclean=self._cluster.unclean(image))
        )
        await self._open.wait()
        if self.lose_replies:
            raise ApiError(ErrorCode.REQUEST_TIMED_OUT, "the reply was lost")
        return response


class Member:
    """A broker of the cluster, while it runs."""

    def __init__(self, cluster: ReplicaCluster, number: int, config: BrokerConfig, directory: Path) -> None:
        self.number = number
        self.network = CuttableNetwork()
        self.line = AuthorityLine(cluster)
        self._config = config
        self._ports = Ports(
            clock=SystemClock(), randomness=SystemRandomness(), filesystem=LocalFileSystem(), network=self.network
        )
        self._path = directory
        self._cluster = cluster
        self._node: Node | None = None
        self._directory: LogDirectory | None = None
        self._listening: Listening | None = None
        # Changes that the broker has not heard of yet; None while it hears of everything at once.
        self._unheard: list[tuple[ClusterImage, ImageDelta]] | None = None

    @property
    def node(self) -> Node:
        assert self._node is not None
        return self._node

    async def start(self, image: ClusterImage, broker_epoch: int) -> None:
        directory = LogDirectory.open(str(self._path), self._ports.filesystem, self._ports.randomness)
        self._directory = directory
        if directory.meta is None:
            directory.format(
                MetaProperties(cluster_id=CLUSTER_ID, node_id=self.number, directory_id=directory_id(self.number))
            )
        control = cast(ControlPlane, _Control(image, self.line, self._config))
        node = compose_broker(self._config, self._ports, [directory], control, Metrics())
        node.lifecycle.broker_epoch = broker_epoch
        self._node = node
        directory.load(lambda topic: node.live.settings_of(topic).log, self._ports.clock.now_ms())
        (listener,) = self._config.broker_listeners
        factory = partial(ServerConnection, broker_router(node), StagingArea(), node.request_memory, listener.name)
        self._listening = await self.network.listen(factory, listener.host, listener.port)
        node.image_follower.follow_topics(image.topics)
        node.replication.start()
        node.ready.set()

    async def kill(self) -> None:
        """As kill -9 would: what is in the page cache stays, nothing else is written."""
        assert self._listening is not None
        assert self._directory is not None
        self._listening.close()
        self.node.connections.drop_all()
        await self.node.replication.stop()
        self.node.groups.close()
        self.node.transactions.close()
        self._directory.abandon()

    def hold_metadata(self) -> None:
        """From now on the broker hears of nothing."""
        self._unheard = []

    def release_metadata(self) -> None:
        unheard, self._unheard = self._unheard or [], None
        for image, delta in unheard:
            self.publish(image, delta)

    def publish(self, image: ClusterImage, delta: ImageDelta) -> None:
        if self._unheard is not None:
            self._unheard.append((image, delta))
            return
        cast(Any, self.node.control.metadata).image = image
        self.node.image_follower.follow(image, delta)


class ReplicaCluster:
    """Brokers are numbered from 1. `image` is what the controller knows."""

    def __init__(self, directory: Path, brokers: int, properties: dict[str, str], racks: Sequence[str] = ()) -> None:
        self._directory = directory
        self._properties = properties
        self._racks = racks
        self._ports = {number: free_port() for number in range(1, brokers + 1)}
        self._next_id = 0
        self.image = ClusterImage(cluster_id=CLUSTER_ID)
        self.members: dict[int, Member] = {}

    # -- brokers -------------------------------------------------------------------------------------------------

    def address(self, number: int) -> str:
        return f"127.0.0.1:{self._ports[number]}"

    def config(self, number: int) -> BrokerConfig:
        rack = {"broker.rack": self._racks[number - 1]} if self._racks else {}
        return BrokerConfig.from_properties(
            {
                "node.id": str(number),
                "process.roles": "broker",
                "listeners": f"PLAINTEXT://127.0.0.1:{self._ports[number]}",
                "controller.listener.names": "CONTROLLER",
                "controller.quorum.voters": "99@127.0.0.1:1",
                "log.dirs": str(self._directory / f"broker-{number}"),
                **rack,
                **PROPERTIES,
                **self._properties,
            }
        )

    async def start(self, number: int) -> Member:
        """A broker with a new epoch, as a registration gives it."""
        config = self.config(number)
        reply = self.decide(lambda image: self._register(image, config))
        assert not reply.error_code, reply.error_code
        member = await self._run(number, config, reply.broker_epoch)
        self.unfence(number)
        return member

    async def restart_unnoticed(self, number: int) -> Member:
        """So quickly that the controller takes it for the same process."""
        return await self._run(number, self.config(number), self.image.brokers[number].epoch)

    async def _run(self, number: int, config: BrokerConfig, broker_epoch: int) -> Member:
        assert number not in self.members, f"broker {number} runs already"
        member = Member(self, number, config, self._directory / f"broker-{number}")
        await member.start(self.image, broker_epoch)
        self.members[number] = member
        return member

    def move(self, number: int) -> None:
        """Give a broker that is down another port."""
        self._ports[number] = free_port()

    async def kill(self, number: int) -> None:
        await self.members.pop(number).kill()

    def isolate(self, number: int) -> None:
        """Cut one broker off from the others and from the controller. Clients still reach it."""
        for other, member in self.members.items():
            if other != number:
                member.network.cut(self._ports[number])
                self.members[number].network.cut(self._ports[other])
        self.members[number].line.lose_requests = True
        self.members[number].hold_metadata()

    def heal(self, number: int) -> None:
        for other, member in self.members.items():
            if other != number:
                member.network.heal(self._ports[number])
                self.members[number].network.heal(self._ports[other])
        self.members[number].line.lose_requests = False
        self.members[number].release_metadata()

    def cut(self, follower: int, leader: int) -> None:
        """The follower cannot reach the leader any more."""
        self.members[follower].network.cut(self._ports[leader])

    def mend(self, follower: int, leader: int) -> None:
        self.members[follower].network.heal(self._ports[leader])

    # -- the controller ------------------------------------------------------------------------------------------

    def decide(self, decision: Callable[[ClusterImage], Decision[Reply]]) -> Reply:
        decided = decision(self.image)
        if decided.records:
            self.image, delta = apply(self.image, decided.records, offset=self.image.offset + len(decided.records))
            for member in list(self.members.values()):
                member.publish(self.image, delta)
        return decided.reply

    def unclean(self, image: ClusterImage) -> UncleanAllowed:
        return unclean_allowed(image, self.config(1).topic_defaults())

    def _register(self, image: ClusterImage, config: BrokerConfig) -> Decision[Any]:
        (listener,) = config.broker_listeners
        request = BrokerRegistrationRequest(
            broker_id=config.node_id,
            cluster_id=CLUSTER_ID,
            incarnation_id=self._fresh_id(),
            listeners=[RegisteredListener(name=listener.name, host=listener.host, port=listener.port)],
            rack=config.broker_rack,
            log_dirs=[directory_id(config.node_id)],
        )
        return register_broker(
            image, request, next_offset=image.offset + 1, session_alive=False, unclean=self.unclean(image)
        )

    def fence(self, number: int) -> None:
        """The controller takes the broker for dead."""
        self.decide(lambda image: fence_broker(image, number, unclean=self.unclean(image)))

    def unfence(self, number: int) -> None:
        self.decide(lambda image: unfence_broker(image, number, unclean=self.unclean(image)))

    def begin_shutdown(self, number: int) -> None:
        """A broker has said that it wants to stop."""
        self.decide(lambda image: begin_controlled_shutdown(image, number, unclean=self.unclean(image)))

    def create_topic(self, name: str, *replicas: Sequence[int], **config: str) -> None:
        """One partition for each list of replicas; properties with underscores for dots."""
        topic = CreatableTopic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[
                CreatableReplicaAssignment(partition_index=number, broker_ids=brokers)
                for number, brokers in enumerate(replicas)
            ],
            configs=[CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in config.items()],
        )
        reply = self.decide(
            lambda image: create_topics(
                image,
                CreateTopicsRequest(topics=[topic]),
                config=self.config(1),
                topic_ids=[self._fresh_id()],
                placement_start=0,
            )
        )
        assert not reply.topics[0].error_code, reply.topics[0].error_message

    def delete_topic(self, name: str) -> None:
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)])
        self.decide(lambda image: delete_topics(image, request, config=self.config(1)))

    def _fresh_id(self) -> Uuid:
        self._next_id += 1
        return fresh_uuid(self._next_id.to_bytes(16, "big"))

    # -- looking -------------------------------------------------------------------------------------------------

    def partition(self, topic: str = "t", number: int = 0) -> PartitionImage:
        return self.image.topics[topic].partitions[number]

    def replica(self, number: int, topic: str = "t", partition: int = 0) -> Replica:
        replica = self.members[number].node.replicas.get(topic, partition)
        assert replica is not None
        return replica

    def end(self, number: int, topic: str = "t") -> int:
        return self.replica(number, topic).log.log_end_offset

    def watermark(self, number: int, topic: str = "t") -> int:
        return self.replica(number, topic).log.high_watermark

    def bytes_of(self, number: int, topic: str = "t", partition: int = 0) -> bytes:
        """All records of a replica, as they are in its files."""
        log = self.replica(number, topic, partition).log
        return b"".join(segment.read(0, segment.size) for segment in log.segments if segment.size)

    async def until(self, condition: Callable[[], bool], what: str, within_seconds: float = HANG_SECONDS) -> None:
        try:
            async with asyncio.timeout(within_seconds):
                while not condition():
                    await asyncio.sleep(0.005)
        except TimeoutError:
            raise AssertionError(f"{what} did not happen within {within_seconds} s") from None

    def client(self, number: int) -> Any:
        """`async with cluster.client(1) as client:`"""
        return raw_client(self.address(number))


def directory_id(number: int) -> Uuid:
    return Uuid(b"directory-of-%03d" % number)


@asynccontextmanager
async def replica_cluster(
    directory: Path, brokers: int = 3, racks: Sequence[str] = (), **properties: str
) -> AsyncIterator[ReplicaCluster]:
    """`properties` with underscores for dots."""
    given = {name.replace("_", "."): value for name, value in properties.items()}
    cluster = ReplicaCluster(directory, brokers, given, racks)
    try:
        for number in range(1, brokers + 1):
            await cluster.start(number)
        yield cluster
    finally:
        for number in list(cluster.members):
            await cluster.kill(number)


async def fetch(
    client: RawClient, cluster: ReplicaCluster, offset: int = 0, topic: str = "t", version: int = 16, **fields: Any
) -> Any:
    """The answer for partition 0; `fields` are those of the request or of the partition."""
    of_partition = {"current_leader_epoch", "last_fetched_epoch", "log_start_offset"} & fields.keys()
    wanted = FetchPartition(
        partition=0,
        fetch_offset=offset,
        partition_max_bytes=1 << 20,
        **{name: fields.pop(name) for name in of_partition},
    )
    topic_id = cluster.image.topics[topic].id
    given = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, "session_epoch": -1, **fields}
    response = await client.ask(
        FetchRequest(topics=[FetchTopic(topic=topic, topic_id=topic_id, partitions=[wanted])], **given), version
    )
    assert not response.error_code, response.error_code
    (answer,) = response.responses[0].partitions
    return answer


def values(answer: Any) -> list[bytes | None]:
    assert not answer.error_code, ErrorCode(answer.error_code).name
    return [record.value for record in decode_all(answer.records)]


async def read_values(client: RawClient, cluster: ReplicaCluster, topic: str = "t") -> list[bytes | None]:
    """What a consumer can see of partition 0, from its start on."""
    return values(await fetch(client, cluster, topic=topic))
