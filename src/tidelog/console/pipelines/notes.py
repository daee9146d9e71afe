"""What exactly-once queries have left on the cluster: notes of the last micro-batch that they have published.

A note is an offset that a group without members has committed for a topic of its own, in the transaction with the rows
(`tidelog.spark.sink.note`). So any cluster tells, Apache Kafka as well, whatever machine the query runs on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tidelog.client.admin import Admin, TransactionDescription
from tidelog.console.descriptions import described_transactions
from tidelog.console.findings.published_queries import PublishedQuery, published_query
from tidelog.console.listings import listed_groups
from tidelog.console.replies import EXPECTED_FAILURES
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.topics import SPARK_NOTE_TOPIC

MOST_QUERIES = 200
# Groups that are looked at; a cluster has more only if it is used for something odd.
_MOST_GROUPS = 5_000
_NOTES = TopicPartition(SPARK_NOTE_TOPIC, 0)
_WITHOUT_MEMBERS = ("empty", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedQueries:
    """By name. `last_ms` is when the transaction of the last micro-batch began, by transactional id."""

    queries: Sequence[PublishedQuery]
    last_ms: Mapping[str, int]
    left_out: int
    # Brokers that have not answered, and how many partitions of the groups' log have no leader: queries whose groups
    # they coordinate are missing.
    silent: tuple[int, ...] = ()
    leaderless: int = 0


async def published_queries(admin: Admin) -> PublishedQueries:
    """Raises what clients raise."""
    metadata = await admin.cluster.fetch_metadata((SPARK_NOTE_TOPIC,))
    if SPARK_NOTE_TOPIC not in metadata.topics:
        return PublishedQueries(queries=(), last_ms={}, left_out=0)
    # Nobody joins these groups, so they have no protocol.
    groups = await listed_groups(admin)
    candidates = [
        group.group_id for group in groups.found if not group.protocol_type and group.state.lower() in _WITHOUT_MEMBERS
    ][:_MOST_GROUPS]
    committed = await admin.list_offsets_of_groups(candidates, [_NOTES])
    found = [
        query
        for group, offsets in sorted(committed.items())
        if not isinstance(offsets, ApiError) and (note := offsets.get(_NOTES)) is not None
        if (query := published_query(group, note.offset, note.metadata)) is not None
    ]
    shown = found[:MOST_QUERIES]
    last_ms = await _last_transactions(admin, [query.transactional_id for query in shown])
    return PublishedQueries(
        queries=shown,
        last_ms=last_ms,
        left_out=len(found) - len(shown),
        silent=groups.silent,
        leaderless=groups.leaderless,
    )


async def _last_transactions(admin: Admin, transactional_ids: Collection[str]) -> dict[str, int]:
    """Empty where transactions may not be described: when something was published is then not told."""
    try:
        described = await described_transactions(admin, transactional_ids)
    except EXPECTED_FAILURES:
        return {}
    return {
        name: found.start_ms
        for name, found in described.items()
        if isinstance(found, TransactionDescription) and found.start_ms is not None
    }
