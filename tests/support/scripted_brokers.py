"""A cluster of brokers on real sockets that answer by a script, and stop answering where a test wants it.

They know a topic whose partitions each broker leads one of, and what the test teaches them. A broker that is silent
still takes connections, as the kernel does for a process that was stopped, but answers nothing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from struct import unpack
from typing import TypeVar, cast

from tidelog.model.errors import ErrorCode
from tidelog.protocol.api import request_class, request_header_version
from tidelog.protocol.codec import decode_whole
from tidelog.protocol.frames import parse_request_header, peek_request, response_frame
from tidelog.protocol.messages.api_versions_request import ApiVersionsRequest
from tidelog.protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from tidelog.protocol.messages.list_offsets_request import ListOffsetsRequest
from tidelog.protocol.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tidelog.protocol.messages.metadata_request import MetadataRequest
from tidelog.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tidelog.protocol.schema import Message

M = TypeVar("M", bound=Message)

TOPIC = "orders"


class ScriptedBroker:
    def __init__(self, cluster: ScriptedCluster, node_id: int) -> None:
        self.node_id = node_id
        self.port = 0
        # Answers nothing, not even who opens a connection.
        self.silent = False
        # Never answers these.
        self.ignores: set[type[Message]] = set()
        # The newest versions that it serves, where it is older than we are.
        self.newest: dict[type[Message], int] = {}
        # How many requests have come, by their kind.
        self.seen: Counter[type[Message]] = Counter()
        # What is said about a partition that this broker leads, before its offset: one after the other.
        self.refusals: list[ErrorCode] = []
        self._cluster = cluster
        self._answers: dict[type[Message], Callable[[Message], Message]] = {}
        self.answer(MetadataRequest, cluster.metadata)
        self.answer(ListOffsetsRequest, self._list_offsets)

    def answer(self, kind: type[M], how: Callable[[M], Message]) -> None:
        self._answers[kind] = cast(Callable[[Message], Message], how)

    def always(self, kind: type[Message], reply: Message) -> None:
        self._answers[kind] = lambda _: reply

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                (size,) = unpack(">i", await reader.readexactly(4))
                frame = await reader.readexactly(size)
                if not await self._take(frame, writer):
                    # The replies of a connection come in order: nothing comes any more.
                    await reader.read()
                    break
        writer.close()

    async def _take(self, frame: bytes, writer: asyncio.StreamWriter) -> bool:
        api_key, version, correlation_id = peek_request(frame)
        kind = request_class(api_key)
        self.seen[kind] += 1
        if self.silent or kind in self.ignores:
            return False
        flexible = request_header_version(api_key, version) == 2
        _, begin = parse_request_header(frame, flexible=flexible)
        if kind is ApiVersionsRequest:
            reply: Message = self._versions()
        else:
            reply = self._answers[kind](decode_whole(kind, frame[begin:], version))
        writer.writelines(cast(list[bytes], response_frame(api_key, version, correlation_id, reply)))
        return True

    def _versions(self) -> ApiVersionsResponse:
        served: list[type[Message]] = [ApiVersionsRequest, *self._answers, *self.ignores]
        return ApiVersionsResponse(
            api_keys=[
                ApiVersion(
                    api_key=kind.SCHEMA.api_key,
                    min_version=kind.SCHEMA.valid[0],
                    max_version=self.newest.get(kind, kind.SCHEMA.valid[1]),
                )
                for kind in served
            ]
        )

    def _list_offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        """A partition ends at a hundred times its leader's number."""
        return ListOffsetsResponse(
            topics=[
                ListOffsetsTopicResponse(
                    name=topic.name,
                    partitions=[
                        ListOffsetsPartitionResponse(
                            partition_index=each.partition_index,
                            error_code=self.refusals.pop(0) if self.refusals else ErrorCode.NONE,
                            offset=100 * self.node_id,
                        )
                        for each in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )


class ScriptedCluster:
    """Brokers are numbered from 0, as the partitions that they lead at first."""

    def __init__(self, count: int) -> None:
        self.leaders = list(range(count))
        self.brokers = [ScriptedBroker(self, number) for number in range(count)]

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"127.0.0.1:{broker.port}" for broker in self.brokers)

    def metadata(self, request: MetadataRequest) -> MetadataResponse:
        names = [TOPIC] if request.topics is None else [topic.name for topic in request.topics]
        return MetadataResponse(
            cluster_id="scripted",
            controller_id=0,
            brokers=[
                MetadataResponseBroker(node_id=broker.node_id, host="127.0.0.1", port=broker.port)
                for broker in self.brokers
            ],
            topics=[self._topic(name or "") for name in names],
        )

    def _topic(self, name: str) -> MetadataResponseTopic:
        if name != TOPIC:
            return MetadataResponseTopic(name=name, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return MetadataResponseTopic(
            name=name,
            topic_id=b"t" * 16,
            partitions=[
                MetadataResponsePartition(
                    partition_index=number, leader_id=leader, replica_nodes=[leader], isr_nodes=[leader]
                )
                for number, leader in enumerate(self.leaders)
            ],
        )


@asynccontextmanager
async def scripted_brokers(count: int) -> AsyncIterator[ScriptedCluster]:
    cluster = ScriptedCluster(count)
    servers = []
    for broker in cluster.brokers:
        server = await asyncio.start_server(broker.handle, "127.0.0.1", 0)
        broker.port = server.sockets[0].getsockname()[1]
        servers.append(server)
    try:
        yield cluster
    finally:
        for server in servers:
            server.close()
