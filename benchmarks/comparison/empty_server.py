"""A server that does for its clients only what they cannot do without: it receives, keeps in memory, and answers.

It checks nothing, writes no file and remembers no producer. So its figures say how fast the client itself is on this
machine: no broker gets far beyond them, and a goal that lies beyond them says nothing about brokers. It understands
what librdkafka sends for the figures of `throughput.py` and `latency.py`, and nothing else.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from tidelog.model.errors import ErrorCode
from tidelog.protocol.api import request_class
from tidelog.protocol.codec import Buffer, decode
from tidelog.protocol.frames import parse_request_header, peek_request, response_frame
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from tidelog.protocol.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from tidelog.protocol.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from tidelog.protocol.messages.find_coordinator_response import FindCoordinatorResponse
from tidelog.protocol.messages.init_producer_id_response import InitProducerIdResponse
from tidelog.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tidelog.protocol.messages.produce_response import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from tidelog.protocol.schema import Message, covers

NODE_ID = 1
# As Apache Kafka's default; see decision 39 for what larger ones cost.
SOCKET_BUFFER_BYTES = 100 * 1024
_LENGTH = struct.Struct(">i")
_BASE_OFFSET = struct.Struct(">q")
# Of a batch: where the delta of its last offset stands.
_LAST_OFFSET_DELTA = struct.Struct(">i")
_LAST_OFFSET_DELTA_AT = 23


class Partition:
    """The batches as they were sent, with their first offsets."""

    def __init__(self) -> None:
        self.batches: list[memoryview] = []
        self.first_offsets: list[int] = []
        self.end = 0

    def append(self, batch: Buffer) -> int:
        """One batch, which is what librdkafka sends for a partition; returns its first offset."""
        view = memoryview(batch)
        first = self.end
        _BASE_OFFSET.pack_into(view, 0, first)
        (delta,) = _LAST_OFFSET_DELTA.unpack_from(view, _LAST_OFFSET_DELTA_AT)
        self.batches.append(view)
        self.first_offsets.append(first)
        self.end = first + delta + 1
        return first

    def batch_at(self, offset: int) -> memoryview | None:
        """The one that begins there: readers read whole batches from the beginning."""
        low, high = 0, len(self.first_offsets)
        while low < high:
            middle = (low + high) // 2
            if self.first_offsets[middle] < offset:
                low = middle + 1
            else:
                high = middle
        return self.batches[low] if low < len(self.batches) else None


class EmptyServer:
    """Keeps the latest topic only."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._topic = ""
        self._partitions: dict[int, Partition] = {}
        self._appended = threading.Condition()
        self._apis: dict[int, tuple[tuple[int, int], Callable[[Any], Message]]] = {
            ApiKey.PRODUCE: ((3, 7), self._produce),
            ApiKey.FETCH: ((4, 11), self._fetch),
            ApiKey.METADATA: ((0, 5), self._metadata),
            ApiKey.FIND_COORDINATOR: ((0, 2), self._find_coordinator),
            ApiKey.API_VERSIONS: ((0, 3), self._api_versions),
            ApiKey.CREATE_TOPICS: ((2, 4), self._create_topics),
            ApiKey.INIT_PRODUCER_ID: ((0, 1), self._init_producer_id),
        }

    def serve(self) -> None:
        with socket.create_server(("127.0.0.1", self._port), backlog=64) as listener:
            while True:
                connection, _ = listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BUFFER_BYTES)
                threading.Thread(target=self._converse, args=(connection,), daemon=True).start()

    def _converse(self, connection: socket.socket) -> None:
        # Clients close while they wait for the next records.
        with connection, contextlib.suppress(ConnectionError):
            while (head := _receive(connection, 4)) is not None:
                frame = _receive(connection, _LENGTH.unpack(head)[0])
                if frame is None:
                    return
                self._answer(connection, frame)

    def _answer(self, connection: socket.socket, frame: bytearray) -> None:
        api_key, version, correlation_id = peek_request(frame)
        versions, handle = self._apis[api_key]
        if not covers(versions, version):
            # Only ApiVersions is asked for before the client knows the versions.
            assert api_key == ApiKey.API_VERSIONS
            refused = self._api_versions(None, ErrorCode.UNSUPPORTED_VERSION)
            connection.sendall(b"".join(_bytes(response_frame(api_key, 0, correlation_id, refused))))
            return
        message = request_class(api_key)
        view = memoryview(frame)
        _, position = parse_request_header(view, flexible=covers(message.SCHEMA.flexible, version))
        request, _ = decode(message, view, version, position)
        pieces = _bytes(response_frame(api_key, version, correlation_id, handle(request)))
        sent = connection.sendmsg(pieces)
        for piece in pieces:
            # What one call did not take.
            if sent < len(piece):
                connection.sendall(memoryview(piece)[sent:])
            sent = max(0, sent - len(piece))

    def _api_versions(self, _: Any, error: ErrorCode = ErrorCode.NONE) -> Message:
        keys = [
            # librdkafka compresses nothing for brokers without version 0 of Produce.
            ApiVersion(api_key=key, min_version=0 if key == ApiKey.PRODUCE else first, max_version=last)
            for key, ((first, last), _) in self._apis.items()
        ]
        return ApiVersionsResponse(error_code=error, api_keys=keys)

    def _metadata(self, _: Any) -> Message:
        partitions = [
            MetadataResponsePartition(
                partition_index=number, leader_id=NODE_ID, replica_nodes=[NODE_ID], isr_nodes=[NODE_ID]
            )
            for number in self._partitions
        ]
        topics = [MetadataResponseTopic(name=self._topic, partitions=partitions)] if self._topic else []
        broker = MetadataResponseBroker(node_id=NODE_ID, host="127.0.0.1", port=self._port)
        return MetadataResponse(brokers=[broker], cluster_id="empty", controller_id=NODE_ID, topics=topics)

    def _create_topics(self, request: Any) -> Message:
        (topic,) = request.topics
        self._topic = topic.name
        self._partitions = {number: Partition() for number in range(topic.num_partitions)}
        return CreateTopicsResponse(topics=[CreatableTopicResult(name=topic.name)])

    def _find_coordinator(self, _: Any) -> Message:
        return FindCoordinatorResponse(node_id=NODE_ID, host="127.0.0.1", port=self._port)

    def _init_producer_id(self, _: Any) -> Message:
        return InitProducerIdResponse(producer_id=1, producer_epoch=0)

    def _produce(self, request: Any) -> Message:
        responses = [
            TopicProduceResponse(
                name=topic.name,
                partition_responses=[
                    PartitionProduceResponse(
                        index=each.index, base_offset=self._partitions[each.index].append(each.records)
                    )
                    for each in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
        with self._appended:
            self._appended.notify_all()
        return ProduceResponse(responses=responses)

    def _fetch(self, request: Any) -> Message:
        deadline = time.monotonic() + request.max_wait_ms / 1000
        with self._appended:
            while True:
                responses = [
                    FetchableTopicResponse(
                        topic=topic.topic, partitions=[self._read(each) for each in topic.partitions]
                    )
                    for topic in request.topics
                ]
                left = deadline - time.monotonic()
                if left <= 0 or any(each.records for topic in responses for each in topic.partitions):
                    return FetchResponse(responses=responses)
                self._appended.wait(left)

    def _read(self, asked: Any) -> PartitionData:
        partition = self._partitions[asked.partition]
        return PartitionData(
            partition_index=asked.partition,
            high_watermark=partition.end,
            last_stable_offset=partition.end,
            log_start_offset=0,
            aborted_transactions=[],
            # One batch each: several would have to be copied into one piece.
            records=partition.batch_at(asked.fetch_offset) or b"",
        )


def _receive(connection: socket.socket, size: int) -> bytearray | None:
    """None at the end of the connection."""
    received = bytearray(size)
    view = memoryview(received)
    while view:
        count = connection.recv_into(view)
        if not count:
            return None
        view = view[count:]
    return received


def _bytes(pieces: list[Any]) -> list[Buffer]:
    """None of ours are unread."""
    return pieces


if __name__ == "__main__":
    EmptyServer(int(sys.argv[1])).serve()
