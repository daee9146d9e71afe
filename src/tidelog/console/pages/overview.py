"""Overview: brokers, the metadata quorum, partitions in trouble, rates and latencies, and what needs attention."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterable

from fastapi import APIRouter
from starlette.responses import Response

from tidelog.client.admin import Admin, ClusterDescription, QuorumInfo, TransactionDescription, TransactionListing
from tidelog.client.cluster.metadata import ClusterMetadata
from tidelog.client.errors import ApiTimeout
from tidelog.console.feeds import Pace
from tidelog.console.findings import attention
from tidelog.console.findings.rates import Rates
from tidelog.console.listings import listed_transactions
from tidelog.console.pages.topics import offsets_at, sizes_of_leaders
from tidelog.console.parts import ConsoleParts, Parts
from tidelog.console.replies import EXPECTED_FAILURES, Json
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.offset_times import LATEST
from tidelog.network.client_connection import ConnectionProblem, UnsupportedByBroker
from tidelog.protocol.messages.api_versions_request import ApiVersionsRequest
from tidelog.protocol.messages.api_versions_response import ApiVersionsResponse
from tidelog.protocol.messages.list_transactions_request import ListTransactionsRequest
from tidelog.version import VERSION

router = APIRouter()

_PACE = Pace(seconds=2.0)
_LONG_OPEN_MS = 10_000
# The first version of ListTransactions with a filter of durations. Of what others list, so many are described.
_WITH_DURATIONS = 1
_MOST_DESCRIBED = 50
# Two minutes of a small cluster.
_POINTS = 60
# A broker looks at every segment to tell sizes.
_SIZES_SECONDS = 10.0
_SIZES_WINDOW_SECONDS = 30.0
# One broker is asked for the quorum. It may have become silent just now, so others are asked as well after a while.
QUORUM_PATIENCE_MS = 3_000
_QUORUM_ALONE_MS = 1_000
_QUORUM_BROKERS = 5
# Longer than that a broker counts as one that does not answer.
_PROBE_MS = 3_000


@router.get("/overview/live")
async def overview(parts: Parts) -> Response:
    return parts.feeds.stream("overview", lambda: OverviewReader(parts).read, _PACE)


class OverviewReader:
    def __init__(self, parts: ConsoleParts) -> None:
        self._parts = parts
        self._rates: Rates[TopicPartition] = Rates()
        self._sizes: Rates[TopicPartition] = Rates(_SIZES_WINDOW_SECONDS)
        self._sizes_at: float | None = None
        self._sizes_told = True
        self._points: deque[dict[str, Json]] = deque(maxlen=_POINTS)

    async def read(self) -> Json:
        admin = await self._parts.cluster.watcher()
        metadata = await admin.cluster.fetch_metadata(None)
        cluster, quorum, long_open, latencies, ends, _ = await asyncio.gather(
            described_cluster(admin),
            described_quorum(admin),
            open_for_long(admin),
            latencies_of(admin, metadata.brokers),
            offsets_at(admin, metadata, LATEST),
            self._note_sizes(admin, metadata),
        )
        now = time.time()
        self._rates.note(now, ends)
        answered = [taken for taken in latencies.values() if taken is not None]
        self._points.append(
            {
                "at": now,
                "records_per_second": self._rates.total_per_second(),
                "bytes_per_second": self._sizes.total_per_second(),
                "latency_ms": max(answered) if answered else None,
            }
        )
        concerns = [
            *attention.of_partitions(metadata),
            *attention.of_brokers(cluster, (node for node, taken in latencies.items() if taken is None)),
            *attention.of_quorum(quorum, QUORUM_PATIENCE_MS),
            *attention.of_transactions(long_open, _LONG_OPEN_MS),
        ]
        return {
            "cluster_id": cluster.cluster_id,
            "brokers": brokers_document(cluster, metadata, quorum, latencies),
            **quorum_reading(quorum),
            "partitions": _partitions(metadata),
            "points": list(self._points),
            "sizes_told": self._sizes_told,
            "attention": [concern.as_json() for concern in concerns],
        }

    async def _note_sizes(self, admin: Admin, metadata: ClusterMetadata) -> None:
        now = time.time()
        if self._sizes_at is not None and 0 <= now - self._sizes_at < _SIZES_SECONDS:
            return
        self._sizes_at = now
        sizes = await sizes_of_leaders(admin, metadata)
        self._sizes_told = sizes is not None
        if sizes is not None:
            self._sizes.note(now, sizes)


async def described_cluster(admin: Admin) -> ClusterDescription:
    """With fenced brokers, of those that tell."""
    try:
        return await admin.describe_cluster(include_fenced=True)
    except UnsupportedByBroker:
        return await admin.describe_cluster()


async def described_quorum(admin: Admin) -> QuorumInfo | ApiTimeout | None:
    """None where it may not be seen, or where there is none. ApiTimeout if no controller answers in time."""

    async def ask(broker: int, after_ms: int) -> QuorumInfo:
        await asyncio.sleep(after_ms / 1000)
        return await admin.describe_quorum(broker=broker, timeout_ms=QUORUM_PATIENCE_MS - after_ms)

    cluster = admin.cluster
    brokers = sorted(cluster.metadata.brokers, key=cluster.silence_of)[:_QUORUM_BROKERS]
    asking = [
        asyncio.create_task(ask(broker, _QUORUM_ALONE_MS if number else 0)) for number, broker in enumerate(brokers)
    ]
    timeout = ApiTimeout("no broker is known")
    try:
        for answer in asyncio.as_completed(asking):
            try:
                return await answer
            except ApiTimeout as error:
                timeout = error
            except (ApiError, UnsupportedByBroker):
                return None
    finally:
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
    return timeout


async def open_for_long(admin: Admin) -> list[TransactionListing]:
    """Empty where transactions cannot be listed."""
    try:
        listed = await listed_transactions(admin, longer_than_ms=_LONG_OPEN_MS)
        opened = [each for each in listed.found if each.state in ("Ongoing", "PrepareCommit", "PrepareAbort")]
        return await _without_young_ones(admin, opened)
    except EXPECTED_FAILURES:
        return []


async def _without_young_ones(admin: Admin, opened: list[TransactionListing]) -> list[TransactionListing]:
    """Brokers that do not know the filter of durations (KIP-994) list all: when these have begun is asked for."""
    unfiltered = [each.transactional_id for each in opened if not _filters_durations(admin, each.coordinator)]
    if not unfiltered:
        return opened
    described = await admin.describe_transactions(unfiltered[:_MOST_DESCRIBED])
    before_ms = int(time.time() * 1000) - _LONG_OPEN_MS
    # Who has not told, or was not asked, may be old.
    young = {name for name, found in described.items() if _is_young(found, before_ms)}
    return [each for each in opened if each.transactional_id not in young]


def _is_young(found: TransactionDescription | ApiError, before_ms: int) -> bool:
    if isinstance(found, ApiError):
        # It has ended, and was forgotten.
        return found.code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    return found.start_ms is None or found.start_ms >= before_ms


def _filters_durations(admin: Admin, broker: int) -> bool:
    connection = admin.cluster.open_connection_to(broker)
    return connection is None or connection.version_for(ListTransactionsRequest) >= _WITH_DURATIONS


async def latencies_of(admin: Admin, brokers: Iterable[int]) -> dict[int, float | None]:
    """How long each broker takes to answer a small request, in milliseconds; None if it does not."""

    async def probe(node: int) -> float | None:
        request = ApiVersionsRequest(client_software_name="tidelog", client_software_version=VERSION)
        try:
            async with asyncio.timeout(_PROBE_MS / 1000):
                await admin.cluster.connection(node)
                began = time.perf_counter()
                await admin.cluster.ask_node(node, request, ApiVersionsResponse)
        except (ConnectionProblem, TimeoutError):
            return None
        return round((time.perf_counter() - began) * 1000, 2)

    nodes = sorted(brokers)
    return dict(zip(nodes, await asyncio.gather(*map(probe, nodes)), strict=True))


def brokers_document(
    cluster: ClusterDescription,
    metadata: ClusterMetadata,
    quorum: QuorumInfo | ApiTimeout | None,
    latencies: dict[int, float | None],
) -> list[dict[str, Json]]:
    leads: dict[int, int] = {}
    holds: dict[int, int] = {}
    for topic in metadata.topics.values():
        for partition in topic.partitions:
            leads[partition.leader] = leads.get(partition.leader, 0) + 1
            for replica in partition.replicas:
                holds[replica] = holds.get(replica, 0) + 1
    return [
        {
            "id": node.node_id,
            "address": f"{node.host}:{node.port}",
            "rack": node.rack,
            "fenced": node.fenced,
            "controller": isinstance(quorum, QuorumInfo) and quorum.leader == node.node_id,
            "leads": leads.get(node.node_id, 0),
            "holds": holds.get(node.node_id, 0),
            "latency_ms": latencies.get(node.node_id),
        }
        for node in sorted(cluster.nodes, key=lambda node: node.node_id)
    ]


def quorum_reading(quorum: QuorumInfo | ApiTimeout | None) -> dict[str, Json]:
    """For pages that show the quorum, or why they do not."""
    return {
        "quorum": quorum_document(quorum) if isinstance(quorum, QuorumInfo) else None,
        "quorum_silent": isinstance(quorum, ApiTimeout),
    }


def quorum_document(quorum: QuorumInfo) -> dict[str, Json]:
    return {
        "leader": quorum.leader,
        "epoch": quorum.leader_epoch,
        "high_watermark": quorum.high_watermark,
        "voters": [
            {
                "id": voter.node_id,
                "lag": voter.lag,
                # A voter that has not fetched from this leader yet has no known end: -1.
                "log_end": voter.log_end_offset if voter.log_end_offset >= 0 else None,
                "address": None if (at := quorum.voter_addresses.get(voter.node_id)) is None else f"{at[0]}:{at[1]}",
                "fetched_ms_ago": _ago(voter.last_fetch_ms, quorum.leaders_clock_ms),
            }
            for voter in quorum.voters
        ],
        "observers": [{"id": each.node_id, "lag": each.lag} for each in quorum.observers],
    }


def _ago(at_ms: int | None, now_ms: int | None) -> int | None:
    return None if at_ms is None or now_ms is None else now_ms - at_ms


def _partitions(metadata: ClusterMetadata) -> dict[str, Json]:
    partitions = [partition for topic in metadata.topics.values() for partition in topic.partitions]
    return {
        "topics": len(metadata.topics),
        "count": len(partitions),
        "offline": sum(partition.leader not in metadata.brokers for partition in partitions),
        "under_replicated": sum(
            partition.leader in metadata.brokers and len(partition.in_sync) < len(partition.replicas)
            for partition in partitions
        ),
    }
