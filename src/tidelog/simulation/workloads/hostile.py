"""A client that sends extreme numbers to coordinators, in old versions and new ones, and one that must not notice.

The hostile one asks about groups and a transactional id of its own. What it sends is well-formed, and one number in it
is as large or as small as it can be. The bystander keeps offsets in all partitions of the group coordinator's topic, so
that whoever harms a shard harms it. Their replies are judged in `tidelog.simulation.checks.disturbance`.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import field

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.network.client_connection import (
    ClientConnection,
    ConnectionLost,
    ConnectionSettings,
    RequestTimedOut,
    open_connection,
)
from tidelog.protocol.api import response_class
from tidelog.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from tidelog.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from tidelog.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from tidelog.protocol.messages.end_txn_request import EndTxnRequest
from tidelog.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from tidelog.protocol.messages.find_coordinator_response import FindCoordinatorResponse
from tidelog.protocol.messages.heartbeat_request import HeartbeatRequest
from tidelog.protocol.messages.init_producer_id_request import InitProducerIdRequest
from tidelog.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from tidelog.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.protocol.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestTopic
from tidelog.protocol.messages.sync_group_request import SyncGroupRequest
from tidelog.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tidelog.protocol.schema import Message
from tidelog.server.observability.metrics import error_codes
from tidelog.simulation.checks.history import AnsweredRequest
from tidelog.simulation.workloads.extremes import extremes, integer_fields, replaced
from tidelog.simulation.workloads.work import Work

PORT = 9092
TIMEOUT_MS = 2_000
# The names of two groups that are in different partitions, if there are two: their hashes differ by one.
GROUPS = ("0", "1")
FIND_COORDINATOR_VERSION = 4
COMMIT_VERSION = 8
GROUP_KEY, TRANSACTION_KEY = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class HostileSettings:
    """Mean seconds between two requests of the bystander, and between two lots of the hostile one."""

    pause_seconds: float
    lot_pause_seconds: float


def _commit(group: str, topic: str, offset: int = 5, retention_ms: int = -1) -> OffsetCommitRequest:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="")
    topics = [OffsetCommitRequestTopic(name=topic, partitions=[partition])]
    return OffsetCommitRequest(group_id=group, retention_time_ms=retention_ms, topics=topics)


def hostile_requests(name: str, topic: str) -> list[tuple[int, Message]]:
    """Requests that would do nothing unusual, each with the kind of coordinator that is asked."""
    pending = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_metadata="")
    of_groups = [
        _commit(name, topic, retention_ms=1000),
        OffsetFetchRequest(group_id=name, topics=[OffsetFetchRequestTopic(name=topic, partition_indexes=[0])]),
        JoinGroupRequest(
            group_id=name,
            session_timeout_ms=6_000,
            rebalance_timeout_ms=6_000,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
        ),
        SyncGroupRequest(group_id=name, generation_id=1, member_id="member"),
        HeartbeatRequest(group_id=name, generation_id=1, member_id="member"),
        ConsumerGroupHeartbeatRequest(
            group_id=f"{name}-new",
            member_id="member",
            rebalance_timeout_ms=6_000,
            subscribed_topic_names=[topic],
            topic_partitions=[],
        ),
        TxnOffsetCommitRequest(
            transactional_id=name,
            group_id=name,
            producer_id=1_000_000,
            producer_epoch=0,
            topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=[pending])],
        ),
    ]
    of_transactions = [
        InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=3_000),
        AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=name,
            v3_and_below_producer_id=1_000_000,
            v3_and_below_producer_epoch=0,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=[0])],
        ),
        AddOffsetsToTxnRequest(transactional_id=name, producer_id=1_000_000, producer_epoch=0, group_id=name),
        EndTxnRequest(transactional_id=name, producer_id=1_000_000, producer_epoch=0, committed=True),
    ]
    return [
        *((GROUP_KEY, request) for request in of_groups),
        *((TRANSACTION_KEY, request) for request in of_transactions),
    ]


@dataclass(eq=False, repr=False)
class _CoordinatorClient(Work):
    """Asks coordinators, without the patience of a real client: the first reply is what counts."""

    nodes: Sequence[str]
    topic: str
    pause_seconds: float
    chance: random.Random

    async def _work(self) -> None:
        await asyncio.sleep(self.chance.expovariate(1 / self.pause_seconds))
        await self._ask_some()

    async def _ask_some(self) -> None:
        raise NotImplementedError

    async def _connect(self, node: str, port: int = PORT) -> ClientConnection:
        settings = ConnectionSettings(client_id=self.name, connect_timeout_ms=TIMEOUT_MS, request_timeout_ms=TIMEOUT_MS)
        return await open_connection(self.client.network, node, port, settings)

    async def _coordinator(self, kind: int, key: str) -> ClientConnection | None:
        """None if nobody knows one yet."""
        connection = await self._connect(self.chance.choice(self.nodes))
        try:
            found = await connection.request(
                FindCoordinatorRequest(key_type=kind, coordinator_keys=[key]),
                FindCoordinatorResponse,
                version=FIND_COORDINATOR_VERSION,
            )
        finally:
            connection.close()
        coordinator = found.coordinators[0]
        return None if coordinator.error_code else await self._connect(coordinator.host, coordinator.port)

    async def _ask(
        self, connection: ClientConnection, request: Message, version: int, *, what: str = "", group: str | None = None
    ) -> bool:
        """Whether there was an answer, or may yet be: one that takes long is none that is missing."""
        expected = response_class(request.SCHEMA.api_key)
        codes: frozenset[int] | None = None
        try:
            codes = frozenset(error_codes(await connection.request(request, expected, version=version)))
        except RequestTimedOut:
            return False
        except ConnectionLost:
            pass
        asked = f"{type(request).__name__} {version}{what} to {connection.address}"
        self.history.add(AnsweredRequest(self.loop.time(), self.name, asked, codes, group))
        return codes is not None


class HostileClient(_CoordinatorClient):
    """Sends one kind of request in one version at a time, with extremes in one field after the other."""

    async def _ask_some(self) -> None:
        kind, request = self.chance.choice(hostile_requests(self.name, self.topic))
        connection = await self._coordinator(kind, self.name)
        if connection is None:
            return
        try:
            low, high = connection.versions[request.SCHEMA.api_key]
            # Rather an old one: those are seldom tried by anybody else.
            version = min(self.chance.randint(low, high), self.chance.randint(low, high))
            for path, width in integer_fields(request, version):
                smallest, *others, largest = extremes(width)
                for number in (largest, self.chance.choice((smallest, *others))):
                    what = f" with {'.'.join(map(str, path))} = {number}"
                    if not await self._ask(connection, replaced(request, path, number), version, what=what):
                        return
        finally:
            connection.close()


@dataclass(eq=False, repr=False)
class BystanderClient(_CoordinatorClient):
    """Commits offsets of groups without members, again and again to the same coordinator as long as it answers."""

    _offset: int = field(init=False, default=0)
    _connections: dict[str, ClientConnection] = field(init=False, default_factory=dict)

    async def run(self) -> None:
        await super().run()
        for connection in self._connections.values():
            connection.close()

    async def _ask_some(self) -> None:
        for suffix in GROUPS:
            await self._commit(f"{self.name}-{suffix}")

    async def _commit(self, group: str) -> None:
        connection = self._connections.get(group)
        if connection is None or connection.closed:
            connection = await self._coordinator(GROUP_KEY, group)
            if connection is None:
                return
            self._connections[group] = connection
        self._offset += 1
        if not await self._ask(connection, _commit(group, self.topic, self._offset), COMMIT_VERSION, group=group):
            connection.close()
