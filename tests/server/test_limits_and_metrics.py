"""Connections that are refused or closed, and the numbers that operators scrape."""

from __future__ import annotations

import asyncio
import urllib.request
from typing import Any

import pytest
from server.conftest import create_topic
from support.processes import HANG_SECONDS
from support.raw_client import raw_client

import tidelog
from tidelog.config.definitions import InvalidConfig
from tidelog.protocol.messages.api_versions_request import ApiVersionsRequest
from tidelog.protocol.messages.metadata_request import MetadataRequest
from tidelog.server.failures import StartFailure
from tidelog.storage.directories.log_directory import DirectoryInUse


async def test_connections_beyond_the_limit_of_an_address_are_refused() -> None:
    async with tidelog.Broker(properties={"max.connections.per.ip": "2"}) as broker:
        address = broker.bootstrap_servers
        async with raw_client(address) as first, raw_client(address) as second:
            await first.ask(MetadataRequest())
            await second.ask(MetadataRequest())
            async with raw_client(address) as third:
                assert await third.closed_by_broker()
            await first.ask(MetadataRequest())
        # The broker notices the end of a connection when it gets to it.
        async with asyncio.timeout(HANG_SECONDS):
            while len(broker.running.node.connections) > 0:
                await asyncio.sleep(0.01)
        async with raw_client(address) as later:
            await later.ask(MetadataRequest())


async def test_idle_connections_are_closed() -> None:
    async with (
        tidelog.Broker(properties={"connections.max.idle.ms": "200"}) as broker,
        raw_client(broker.bootstrap_servers) as client,
    ):
        await client.ask(MetadataRequest())
        assert await client.closed_by_broker()


async def test_metrics_count_requests_bytes_and_errors() -> None:
    async with (
        tidelog.Broker(properties={"tidelog.metrics.port": "0"}) as broker,
        raw_client(broker.bootstrap_servers) as client,
    ):
        await create_topic(client, "t")
        for _ in range(3):
            await client.produce("t", b"x" * 1000)
        await client.produce("t", b"x", partition=9)
        text = await asyncio.to_thread(scrape, broker)
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#"))
    assert float(lines['tidelog_requests_total{api="Produce",version="11"}']) == 4
    assert float(lines['tidelog_request_bytes_total{api="Produce"}']) > 3000
    assert float(lines['tidelog_errors_total{api="Produce",error="UNKNOWN_TOPIC_OR_PARTITION"}']) == 1
    assert float(lines['tidelog_request_seconds_count{api="Produce"}']) == 4
    assert float(lines["tidelog_partitions"]) >= 1
    assert float(lines["tidelog_connections"]) == 1


def scrape(broker: tidelog.Broker, path: str = "/metrics") -> str:
    address = broker.running.metrics_address
    assert address is not None
    with urllib.request.urlopen(f"http://{address[0]}:{address[1]}{path}", timeout=10) as reply:
        text: str = reply.read().decode()
        return text


async def test_a_directory_serves_one_broker_at_a_time(tmp_path: Any) -> None:
    async with tidelog.Broker(data_dir=str(tmp_path)):
        with pytest.raises(DirectoryInUse, match="in use by another broker"):
            await tidelog.Broker(data_dir=str(tmp_path)).start()
    async with tidelog.Broker(data_dir=str(tmp_path)) as again:
        assert again.bootstrap_servers


async def test_a_port_that_is_taken_is_named_and_nothing_stays_locked(tmp_path: Any) -> None:
    async with tidelog.Broker() as first:
        port = int(first.bootstrap_servers.rpartition(":")[2])
        with pytest.raises(StartFailure, match=f"cannot listen on 127.0.0.1:{port}"):
            await tidelog.Broker(port=port, data_dir=str(tmp_path)).start()
    async with tidelog.Broker(data_dir=str(tmp_path)) as free:
        assert free.bootstrap_servers


async def test_a_directory_of_another_node_is_refused(tmp_path: Any) -> None:
    async with tidelog.Broker(data_dir=str(tmp_path)):
        pass
    with pytest.raises(StartFailure, match=r"belongs to node 1, but node\.id=2"):
        await tidelog.Broker(data_dir=str(tmp_path), properties={"node.id": "2"}).start()


async def test_an_unknown_property_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(InvalidConfig, match=r"num\.partitions"):
        await tidelog.Broker(properties={"num.partition": "3"}).start()


async def test_all_served_apis_and_versions_are_told(broker: tidelog.Broker) -> None:
    async with raw_client(broker.bootstrap_servers) as client:
        for version in range(5):
            request = ApiVersionsRequest(client_software_name="test", client_software_version="1.0")
            response = await client.ask(request, version)
            ranges = {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}
            assert ranges[0] == (0, 13)
            assert ranges[1] == (4, 18)
            assert ranges[3] == (0, 13)


async def test_requests_are_answered_before_the_broker_ends() -> None:
    broker = tidelog.Broker()
    await broker.start()
    async with raw_client(broker.bootstrap_servers) as client:
        await create_topic(client, "t", flush_messages="1")
        asked = client.send(MetadataRequest())
        await asyncio.sleep(0)
        stopping = asyncio.create_task(broker.stop())
        try:
            response = await client.receive(asked)
            assert response.cluster_id
        except asyncio.IncompleteReadError:
            # It had not been read when the broker began to stop; then it must not be half an answer.
            pass
        await stopping
