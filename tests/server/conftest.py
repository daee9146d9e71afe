"""A broker in this process for each test, and a client that speaks to it over a real socket."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from support.raw_client import RawClient, raw_client

import tidelog
from tidelog.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest


@pytest.fixture
async def broker() -> AsyncIterator[tidelog.Broker]:
    async with tidelog.Broker() as running:
        yield running


@pytest.fixture
async def client(broker: tidelog.Broker) -> AsyncIterator[RawClient]:
    async with raw_client(broker.bootstrap_servers) as connected:
        yield connected


async def create_topic(
    client: RawClient, name: str, partitions: int = 1, replication_factor: int = 1, **config: str
) -> bytes:
    """Create a topic; its id. Properties with underscores for dots."""
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication_factor,
        configs=[CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in config.items()],
    )
    response = await client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=5000))
    (result,) = response.topics
    assert result.error_code == 0, result.error_message
    topic_id: bytes = result.topic_id
    return topic_id
