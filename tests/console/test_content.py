"""What the tests of pages rely on is in each cluster."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator

import pytest
from support.browser import Page, expect
from support.console_clusters import Cluster, ClusterKind
from support.console_content import (
    ABORTED_ID,
    AUDIT,
    BILLING,
    COMMITTED_ID,
    COMPACTED,
    DAYS,
    HOSTILE,
    HOSTILE_GROUP,
    HOSTILE_ID,
    HOSTILE_RECORDS,
    LAG,
    NIGHTLY,
    OPEN_ID,
    ORDERS,
    ORDERS_IN_PARTITION,
    ORDERS_PARTITIONS,
    ORDERS_PER_DAY,
    PAYMENTS,
    SETTLED,
    Content,
    fill,
)
from support.console_process import ConsoleOfTest
from support.present import present

from tidelog import Admin, TopicPartition
from tidelog.client.admin.log_segments import ReplicaSegments
from tidelog.client.browsing import ControlEntry, Gap, LogBrowser, RecordEntry, TransactionOutcome

ORDERS_ZERO = TopicPartition(ORDERS, 0)
PAYMENTS_ZERO, PAYMENTS_ONE = TopicPartition(PAYMENTS, 0), TopicPartition(PAYMENTS, 1)


@pytest.fixture
def content(any_cluster: Cluster) -> Content:
    return fill(any_cluster)


@pytest.fixture
async def admin(any_cluster: Cluster) -> AsyncIterator[Admin]:
    async with Admin(any_cluster.bootstrap_servers) as an_admin:
        yield an_admin


def test_it_is_written_once(any_cluster: Cluster, content: Content) -> None:
    assert fill(any_cluster) is content


async def test_orders_have_segments_and_leader_epochs(admin: Admin, any_cluster: Cluster, content: Content) -> None:
    described = Admin.raise_any(await admin.describe_topics([ORDERS]))[ORDERS]
    assert len(described.partitions) == ORDERS_PARTITIONS
    assert described.replication_factor == (3 if any_cluster.name == "three nodes" else 1)
    assert {content.ends[TopicPartition(ORDERS, number)] for number in range(ORDERS_PARTITIONS)} == {
        ORDERS_IN_PARTITION
    }
    epochs = await admin.describe_leader_epochs(ORDERS_ZERO)
    # A busy machine may have changed the leader once more.
    assert len(epochs) >= (2 if any_cluster.name == "three nodes" else 1)
    if any_cluster.kind is ClusterKind.TIDELOG:
        leader = present(described.partitions[0].leader)
        replicas = Admin.raise_any(await admin.describe_log_segments([ORDERS_ZERO]))[ORDERS_ZERO]
        described_segments = replicas[leader]
        assert isinstance(described_segments, ReplicaSegments)
        assert [segment.base_offset for segment in described_segments.segments] == [
            day * ORDERS_PER_DAY for day in range(DAYS)
        ]


async def test_compaction_has_left_gaps(admin: Admin, content: Content) -> None:
    page = await LogBrowser(admin).page(TopicPartition(COMPACTED, 0), 0, max_entries=1000)
    assert any(isinstance(entry, Gap) for entry in page.entries)
    assert any(isinstance(entry, RecordEntry) for entry in page.entries)


async def test_payments_have_every_outcome(admin: Admin, content: Content) -> None:
    page = await LogBrowser(admin).page(PAYMENTS_ZERO, 0)
    outcomes = Counter(entry.outcome for entry in page.entries if isinstance(entry, RecordEntry))
    assert outcomes == {
        None: 8,
        TransactionOutcome.COMMITTED: 5,
        TransactionOutcome.ABORTED: 4,
        TransactionOutcome.OPEN: 4,
    }
    assert page.last_stable_offset == content.open_offset
    states = {each.transactional_id: each.state for each in await admin.list_transactions()}
    assert states == {
        COMMITTED_ID: "CompleteCommit",
        ABORTED_ID: "CompleteAbort",
        HOSTILE_ID: "CompleteCommit",
        OPEN_ID: "Ongoing",
    }


async def test_hostile_records_are_as_they_were_sent(admin: Admin, content: Content) -> None:
    partition = TopicPartition(HOSTILE, 0)
    page = await LogBrowser(admin).page(partition, 0, max_bytes=4 << 20)
    found = [(entry.key, entry.value) for entry in page.entries if isinstance(entry, RecordEntry)]
    assert found == [(record.key, record.value) for record in HOSTILE_RECORDS]
    assert content.ends[partition] == len(HOSTILE_RECORDS)
    assert sum(len(record.value or b"") > 1_000_000 for record in HOSTILE_RECORDS) == 1


async def test_groups(admin: Admin, content: Content) -> None:
    groups = Admin.raise_any(await admin.describe_groups([BILLING, AUDIT, NIGHTLY, SETTLED, HOSTILE_GROUP]))
    assert {name: (group.kind, group.state.lower(), len(group.members)) for name, group in groups.items()} == {
        BILLING: ("classic", "stable", 1),
        AUDIT: ("consumer", "stable", 1),
        NIGHTLY: ("classic", "empty", 0),
        SETTLED: ("classic", "empty", 0),
        HOSTILE_GROUP: ("classic", "empty", 0),
    }


async def test_lags(admin: Admin, content: Content) -> None:
    async def lags(group: str) -> dict[TopicPartition, int]:
        return {
            partition: content.ends[partition] - place.offset
            for partition, place in (await admin.list_group_offsets(group)).items()
        }

    assert set((await lags(BILLING)).values()) == {LAG}
    assert sorted((await lags(NIGHTLY)).values()) == [0, ORDERS_IN_PARTITION // 2, ORDERS_IN_PARTITION]
    waiting = {partition for partition, lag in (await lags(AUDIT)).items() if lag}
    assert waiting == {PAYMENTS_ZERO}
    assert await lags(SETTLED) == {PAYMENTS_ONE: 1}
    (entry,) = (await LogBrowser(admin).page(PAYMENTS_ONE, content.marker_offset)).entries
    assert isinstance(entry, ControlEntry)
    assert entry.kind == "COMMIT"


def test_the_browser_shows_the_console(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    page.goto(f"{console(any_cluster)}/")
    expect(page).to_have_title(re.compile("tidelog"))
