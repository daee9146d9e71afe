"""A client that sends single messages and gets single messages, in the version that a test wants."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from support.processes import HANG_SECONDS

from tidelog.protocol.api import response_class, response_header_version
from tidelog.protocol.codec import decode_whole
from tidelog.protocol.frames import LENGTH_SIZE, request_frame, skip_tagged_fields
from tidelog.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.protocol.schema import Message
from tidelog.records.record import encode_batch


class RawClient:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client_id: str = "raw") -> None:
        self._reader = reader
        self._writer = writer
        self._client_id = client_id
        self._next_id = 0
        # Without their length prefixes.
        self.last_size = 0
        self.last_reply_size = 0

    @property
    def has_received(self) -> bool:
        """Whether a reply has come that was not read."""
        return bool(self._reader._buffer)  # type: ignore[attr-defined]

    def send(self, request: Message, version: int | None = None) -> tuple[int, int]:
        """Send without waiting; what `receive` needs to read the reply."""
        api_key = request.SCHEMA.api_key
        version = request.SCHEMA.valid[1] if version is None else version
        self._next_id += 1
        frame = request_frame(api_key, version, self._next_id, self._client_id, request)
        self._writer.writelines(frame)
        self.last_size = sum(map(len, frame)) - LENGTH_SIZE
        return api_key, version

    def send_frame(self, frame: bytes) -> None:
        self._writer.write(len(frame).to_bytes(4, "big") + frame)

    async def receive(self, asked: tuple[int, int]) -> Any:
        api_key, version = asked
        frame = await self.receive_frame()
        self.last_reply_size = len(frame)
        position = 4
        if response_header_version(api_key, version) == 1:
            position = skip_tagged_fields(frame, position)
        return decode_whole(response_class(api_key), frame[position:], version)

    async def ask(self, request: Message, version: int | None = None) -> Any:
        return await self.receive(self.send(request, version))

    async def receive_frame(self) -> bytes:
        size = int.from_bytes(await asyncio.wait_for(self._reader.readexactly(4), HANG_SECONDS), "big")
        return await asyncio.wait_for(self._reader.readexactly(size), HANG_SECONDS)

    def close(self) -> None:
        self._writer.close()

    async def closed_by_broker(self) -> bool:
        try:
            return await asyncio.wait_for(self._reader.read(1), HANG_SECONDS) == b""
        except ConnectionResetError:
            # It has not read what was sent.
            return True

    async def produce(
        self,
        topic: str,
        *values: bytes,
        partition: int = 0,
        acks: int = -1,
        timestamp: int = 1_700_000_000_000,
        **batch: Any,
    ) -> Any:
        """Produce one batch of records without keys; the reply for the partition."""
        records = encode_batch([(timestamp, None, value, ()) for value in values], **batch)
        return await self.produce_batch(topic, records, partition=partition, acks=acks)

    async def produce_batch(self, topic: str, records: bytes, *, partition: int = 0, acks: int = -1) -> Any:
        response = await self.ask(produce_request(topic, records, partition=partition, acks=acks), 11)
        return response.responses[0].partition_responses[0]


def produce_request(
    topic: str, records: bytes, *, partition: int = 0, acks: int = -1, transactional_id: str | None = None
) -> ProduceRequest:
    data = PartitionProduceData(index=partition, records=records)
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=10_000,
        topic_data=[TopicProduceData(name=topic, partition_data=[data])],
    )


@asynccontextmanager
async def raw_client(
    bootstrap_servers: str, tls: ssl.SSLContext | None = None, *, client_id: str = "raw"
) -> AsyncIterator[RawClient]:
    host, _, port = bootstrap_servers.partition(":")
    reader, writer = await asyncio.open_connection(host, int(port), ssl=tls)
    try:
        yield RawClient(reader, writer, client_id)
    finally:
        writer.close()
