"""The listener of a controller has the limits and the metrics of a broker's."""

from __future__ import annotations

import asyncio
import struct
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from support.nodes_in_process import Nodes, nodes
from support.raw_client import raw_client

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from tidelog.protocol.messages.describe_cluster_request import DescribeClusterRequest
from tidelog.protocol.messages.metadata_request import MetadataRequest
from tidelog.protocol.messages.vote_request import VoteRequest
from tidelog.server.quorum.runtime import QuorumRuntime

ALONE = {1: "broker,controller"}


def controller(cluster: Nodes) -> str:
    voter = cluster.config(1).controller_quorum_voters[0]
    return f"{voter.host}:{voter.port}"


def count(cluster: Nodes, name: str, **labels: str) -> float:
    return cluster.running[1].node.metrics.registry().get_sample_value(name, labels) or 0.0


async def test_requests_and_errors_are_counted(tmp_path: Path) -> None:
    async with nodes(tmp_path, ALONE) as cluster, raw_client(controller(cluster)) as client:
        await client.ask(DescribeClusterRequest(endpoint_type=2), 2)
        reply = await client.ask(DescribeClusterRequest(endpoint_type=1), 2)
        assert reply.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
        assert count(cluster, "tidelog_requests_total", api="DescribeCluster", version="2") == 2
        assert count(cluster, "tidelog_errors_total", api="DescribeCluster", error="MISMATCHED_ENDPOINT_TYPE") == 1


async def test_a_node_that_is_only_a_controller_serves_its_metrics(tmp_path: Path) -> None:
    async with nodes(tmp_path, {1: "controller"}, tidelog_metrics_port="0") as cluster:
        async with raw_client(controller(cluster)) as client:
            await client.ask(DescribeClusterRequest(endpoint_type=2), 2)
        address = cluster.running[1].metrics_address
        assert address is not None
        text = await asyncio.to_thread(scrape, *address)
    assert 'tidelog_requests_total{api="DescribeCluster",version="2"} 1.0' in text


def scrape(host: str, port: int) -> str:
    with urllib.request.urlopen(f"http://{host}:{port}/metrics", timeout=10) as reply:
        text: str = reply.read().decode()
        return text


async def test_a_handler_that_fails_is_answered_and_the_connection_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(self: QuorumRuntime, message: Any) -> Any:
        raise ZeroDivisionError

    async with nodes(tmp_path, ALONE) as cluster, raw_client(controller(cluster)) as client:
        with monkeypatch.context() as patch:
            patch.setattr(QuorumRuntime, "ask", fail)
            reply = await client.ask(VoteRequest(), 1)
        assert reply.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        stale = await client.ask(BrokerHeartbeatRequest(broker_id=7, broker_epoch=1), 1)
        assert stale.error_code != ErrorCode.UNKNOWN_SERVER_ERROR


async def test_an_unknown_version_of_api_versions_is_answered_in_version_0(tmp_path: Path) -> None:
    async with nodes(tmp_path, ALONE) as cluster, raw_client(controller(cluster)) as client:
        client.send_frame(struct.pack(">hhih", ApiKey.API_VERSIONS, 99, 1, -1))
        reply = await client.receive((ApiKey.API_VERSIONS, 0))
        assert reply.error_code == ErrorCode.UNSUPPORTED_VERSION
        assert {58, 63} <= {each.api_key for each in reply.api_keys}


async def test_an_api_that_only_brokers_serve_closes_the_connection(tmp_path: Path) -> None:
    async with nodes(tmp_path, ALONE) as cluster, raw_client(controller(cluster)) as client:
        client.send(MetadataRequest(), 9)
        assert await client.closed_by_broker()


async def test_connections_beyond_the_limit_of_an_address_are_refused(tmp_path: Path) -> None:
    async with nodes(tmp_path, ALONE, max_connections_per_ip="2") as cluster:
        address = controller(cluster)
        async with raw_client(address) as first, raw_client(address) as second, raw_client(address) as third:
            assert await third.closed_by_broker()
            for client in (first, second):
                await client.ask(DescribeClusterRequest(endpoint_type=2), 2)
