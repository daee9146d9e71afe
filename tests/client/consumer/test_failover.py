"""Readers and their groups while a node of the cluster is killed."""

from __future__ import annotations

import asyncio

import pytest
from support.cluster_processes import ClusterProcesses
from support.reading import at_least, fill, poll_until, reader, values

from tidelog.client.admin import Admin
from tidelog.client.cluster.cluster import CoordinatorKind
from tidelog.client.consumer import Consumer
from tidelog.client.consumer.fetched import ConsumerRecord

pytestmark = pytest.mark.xdist_group("client-cluster")


async def test_groups_of_both_protocols_survive_their_coordinator(three_nodes: ClusterProcesses, unique: str) -> None:
    """Every record comes; one that comes again was not committed when the node died."""
    servers = three_nodes.bootstrap_servers
    quick: dict[str, object] = {"retry_backoff_ms": 50, "auto_commit_interval_ms": 200, "request_timeout_ms": 5000}
    async with Admin(servers) as admin:
        await admin.create_topic(unique, partitions=3, configs={"min.insync.replicas": "2"})
    await fill(servers, unique, 60, partitions=3)
    groups = [f"{unique}-classic", f"{unique}-new"]
    coordinator = await asyncio.to_thread(three_nodes.coordinator, CoordinatorKind.GROUP, groups[0])
    async with (
        reader(
            servers, unique, group_id=groups[0], partition_assignment_strategy="cooperative-sticky", **quick
        ) as classic,
        reader(servers, unique, group_id=groups[1], group_protocol="consumer", **quick) as new,
    ):
        seen = await asyncio.gather(*(poll_until(each, at_least(60)) for each in (classic, new)))
        try:
            await asyncio.to_thread(three_nodes.kill, coordinator)
            writing = asyncio.create_task(fill(servers, unique, 60, partitions=3, first=60))
            more = await asyncio.gather(*(_read_until(each, 119) for each in (classic, new)))
            await writing
        finally:
            await asyncio.to_thread(three_nodes.heal)
        for before, after in zip(seen, more, strict=True):
            assert set(values(before)) | set(values(after)) == set(range(120))
        for each in (classic, new):
            await each.commit()
            committed = await each.committed(*each.assignment())
            assert sum(entry.offset for entry in committed.values()) == 120


async def _read_until(consumer: Consumer, last: int) -> list[ConsumerRecord]:
    missing = set(range(60, last + 1))

    def complete(records: list[ConsumerRecord]) -> bool:
        return missing <= set(values(records))

    return await poll_until(consumer, complete, seconds=90)
