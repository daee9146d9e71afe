"""A broker of Apache Kafka and this one, asked the same: who is throttled, for how long, and what happens meanwhile.

The first throttle time after a quota was set does not depend on the clock, so it is compared to the millisecond. Those
of the controller become less with the time that passes, so only their bound is compared.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from server.conftest import create_topic
from server.test_quotas import create, fetch, fetched_bytes, records, set_quota
from support.apache_kafka import kafka_jars, running_apache_kafka
from support.download_cache import Unavailable
from support.processes import HANG_SECONDS
from support.raw_client import RawClient, produce_request, raw_client

import tidelog
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.metadata_request import MetadataRequest

pytestmark = [pytest.mark.maven, pytest.mark.slow, pytest.mark.xdist_group("jvm")]

Facts = dict[str, Any]
# Quotas and new topics take effect some time after they were accepted.
PAUSE_SECONDS = 0.01


async def attempts() -> AsyncIterator[int]:
    """As many as it takes. Whoever leaves the loop has found what it looks for."""
    deadline = time.monotonic() + HANG_SECONDS
    for number in count():
        assert time.monotonic() < deadline, f"{number} attempts were not enough"
        yield number
        await asyncio.sleep(PAUSE_SECONDS)


async def store(client: RawClient, topic: str, batch: bytes) -> None:
    """Apache Kafka answers that a topic was created before the broker leads its partitions."""
    async for _ in attempts():
        answer = await client.produce_batch(topic, batch)
        if answer.error_code == ErrorCode.NONE:
            return
        assert answer.error_code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


class Asked:
    """One broker, and what was found out about it."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._newcomers = count()

    async def facts(self) -> Facts:
        found: Facts = {}
        for look in (self._produce, self._fetch, self._session, self._requests, self._mutations, self._connections):
            found |= await look()
        return found

    @asynccontextmanager
    async def _limited(self, key: str, value: float, **entity: str | None) -> AsyncIterator[None]:
        async with raw_client(self._address) as client:
            await set_quota(client, key, value, **entity)
        yield
        async with raw_client(self._address) as client:
            await set_quota(client, key, None, **entity)

    def _newcomer(self) -> AbstractAsyncContextManager[RawClient]:
        """A client that has used nothing of its quota yet. What is used while a quota takes effect may count or not."""
        return raw_client(self._address, client_id=f"newcomer-{next(self._newcomers)}")

    async def _produce(self) -> Facts:
        async with raw_client(self._address) as client:
            await create_topic(client, "produced")
        found: Facts = {}
        async with self._limited("producer_byte_rate", 1_000):
            async for _ in attempts():
                async with self._newcomer() as client:
                    reply = await client.ask(produce_request("produced", records(1, 20_000), acks=1), 11)
                    if reply.throttle_time_ms:
                        found["produce: throttled"] = reply.throttle_time_ms
                        found["produce: error"] = reply.responses[0].partition_responses[0].error_code
                        found["produce: muted"] = await self._is_muted(client)
                        break
            async with raw_client(self._address) as client:
                client.send(produce_request("produced", records(1, 20_000), acks=0), 11)
                found["produce without acks: muted"] = await self._is_muted(client)
        return found

    async def _fetch(self) -> Facts:
        found: Facts = {}
        async with raw_client(self._address) as client:
            topic_id = await create_topic(client, "fetched")
            for _ in range(5):
                await store(client, "fetched", records(1, 3_000))
        async with self._limited("consumer_byte_rate", 1_000):
            async for _ in attempts():
                async with self._newcomer() as client:
                    # So much is throttled in any case, by what is not records.
                    reply = await client.ask(fetch(topic_id, most=15_000), 17)
                    if reply.throttle_time_ms:
                        found["fetch: throttled"] = reply.throttle_time_ms
                        found["fetch: bytes"] = fetched_bytes(reply)
                        found["fetch: topics"] = len(reply.responses)
                        break
            async with raw_client(self._address) as client:
                reply = await client.ask(fetch(topic_id, most=9_000), 17)
                found["fetch: full"] = fetched_bytes(reply), reply.throttle_time_ms
                reply = await client.ask(fetch(topic_id, most=9_000), 17)
                found["fetch: then empty"] = fetched_bytes(reply), reply.throttle_time_ms > 0
                found["fetch: muted"] = await self._is_muted(client)
        return found

    async def _session(self) -> Facts:
        async with raw_client(self._address) as client:
            topic_id = await create_topic(client, "in-session")
            await store(client, "in-session", records(1, 9_000))
        found: Facts = {}
        async with self._limited("consumer_byte_rate", 10):
            async for _ in attempts():
                async with self._newcomer() as client:
                    reply = await client.ask(fetch(topic_id, session=(0, 0)), 17)
                    if reply.throttle_time_ms:
                        found["fetch: session of a throttled one"] = reply.session_id
                        break
        return found

    async def _requests(self) -> Facts:
        found: Facts = {}
        async with self._limited("request_percentage", 0.000_001):
            async for _ in attempts():
                async with self._newcomer() as client:
                    reply = await client.ask(MetadataRequest())
                    if reply.throttle_time_ms:
                        found["request: throttled"] = reply.throttle_time_ms
                        found["request: answered later"] = bool((await client.ask(MetadataRequest())).cluster_id)
                        break
        return found

    async def _mutations(self) -> Facts:
        found: Facts = {}
        async with self._limited("controller_mutation_rate", 1):
            async for attempt in attempts():
                async with raw_client(self._address) as client:
                    reply = await create(client, f"permissive-{attempt}", 20, version=5)
                    if reply.throttle_time_ms:
                        found["mutation: permissive"] = reply.topics[0].error_code, reply.throttle_time_ms <= 9_000
                        found["mutation: muted"] = await self._is_muted(client)
                        break
            async with raw_client(self._address) as client:
                reply = await create(client, "strict", 1)
                code = reply.topics[0].error_code
                assert code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
                found["mutation: strict"] = code, 0 < reply.throttle_time_ms <= 9_000
        return found

    async def _connections(self) -> Facts:
        served = 0
        async with raw_client(self._address) as client:
            await set_quota(client, "connection_creation_rate", 1, ip="127.0.0.1")
            async for _ in attempts():
                if not await self._is_served():
                    break
                served += 1
            # Whoever is connected stays so.
            await set_quota(client, "connection_creation_rate", None, ip="127.0.0.1")
        return {"connections: some are closed": served >= 5}

    async def _is_served(self) -> bool:
        async with raw_client(self._address) as client:
            try:
                return bool((await client.ask(MetadataRequest())).cluster_id)
            except (EOFError, ConnectionError):
                return False

    async def _is_muted(self, client: RawClient) -> bool:
        client.send(MetadataRequest())
        async with raw_client(self._address) as other:
            for _ in range(20):
                await other.ask(MetadataRequest())
        return not client.has_received


async def test_both_throttle_alike(tmp_path: Path) -> None:
    try:
        jars = kafka_jars()
    except Unavailable as error:
        pytest.skip(f"Apache Kafka's jars cannot be had from Maven Central: {error}")
    with running_apache_kafka(jars, tmp_path / "apache") as kafka:
        expected = await Asked(kafka.bootstrap_servers).facts()
    async with tidelog.Broker() as broker:
        found = await Asked(broker.bootstrap_servers).facts()
    assert found == expected
    assert found["produce: throttled"] > 0
    assert found["fetch: throttled"] > 0
