"""Transactions while the nodes that coordinate them die."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.client_reading import read_committed
from support.cluster_processes import ClusterProcesses
from support.processes import HANG_SECONDS

from tidelog.client.admin import Admin
from tidelog.client.cluster.cluster import CoordinatorKind
from tidelog.client.errors import AbortableError
from tidelog.client.producer.producer import Producer
from tidelog.model.ids import TopicPartition

pytestmark = [pytest.mark.xdist_group("client-cluster"), pytest.mark.slow]


async def test_transactions_follow_their_coordinators(three_nodes: ClusterProcesses, unique: str) -> None:
    servers = three_nodes.bootstrap_servers
    async with Admin(servers) as admin:
        await admin.create_topic(unique, partitions=3)
    expected: dict[int, list[bytes]] = {0: [], 1: [], 2: []}
    options: dict[str, Any] = {"max_block_ms": 60_000, "request_timeout_ms": 5_000, "retry_backoff_ms": 50}
    async with Producer(servers, transactional_id=unique, **options) as producer:
        await producer.init_transactions()
        for number in range(14):
            if number == 5:
                coordinator = await producer._cluster.coordinator(CoordinatorKind.TRANSACTION, unique)
                await asyncio.to_thread(three_nodes.kill, coordinator)
            value = b"%d" % number
            # A partition whose leader died may not tell what it has stored: then the transaction is to be repeated.
            async with asyncio.timeout(HANG_SECONDS):
                while True:
                    try:
                        async with producer.transaction():
                            for partition in expected:
                                await producer.send(unique, value, partition=partition)
                            await producer.send_offsets({TopicPartition(unique, 0): number}, unique)
                        break
                    except AbortableError:
                        continue
            for values in expected.values():
                values.append(value)
    await asyncio.to_thread(three_nodes.heal)
    assert await read_committed(servers, unique) == expected[0] + expected[1] + expected[2]
    async with Admin(servers) as admin:
        offsets = await admin.list_group_offsets(unique)
    assert offsets[TopicPartition(unique, 0)].offset == 13
