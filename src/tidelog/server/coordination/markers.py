"""Writes the markers that end transactions: into partitions of this broker, and of others through a port.

A marker in `__consumer_offsets` also decides the offsets that were committed in the transaction, so the group
coordinator learns of it in the same step.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Protocol

from tidelog.coordinators.decision import ProducerIdentity
from tidelog.coordinators.transactions.markers import MarkerCodes, MarkerWork
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.ports import Clock
from tidelog.model.topics import CONSUMER_OFFSETS_TOPIC
from tidelog.network.later import Later
from tidelog.partition.producers import AppendOrigin
from tidelog.records.batch import parse_header
from tidelog.records.control import EndTransactionMarker, encode_end_transaction_marker
from tidelog.server.replicas.registry import Replicas
from tidelog.storage.files.filesystem import StorageFailure
from tidelog.storage.log.results import AppendRefusal

logger = logging.getLogger(__name__)

# How long a marker may wait for the other replicas before its coordinator learns of it and asks again.
COMMIT_TIMEOUT_SECONDS = 30.0

AppendedMarker = ErrorCode | asyncio.Future[ErrorCode]


class OffsetsListener(Protocol):
    """Who must learn of markers in `__consumer_offsets`."""

    def transaction_ended(self, partition: int, producer_id: int, *, commit: bool) -> None: ...


class RemoteLeaders(Protocol):
    """Reaches the leaders of partitions that this broker does not lead."""

    async def write(self, work: MarkerWork, partitions: frozenset[TopicPartition]) -> MarkerCodes: ...


class MarkerAppends:
    """Appends markers to partitions that this broker leads."""

    def __init__(self, *, replicas: Replicas, clock: Clock, offsets: OffsetsListener) -> None:
        self._replicas = replicas
        self._clock = clock
        self._offsets = offsets

    def append(
        self,
        at: TopicPartition,
        producer: ProducerIdentity,
        marker: EndTransactionMarker,
        *,
        transaction_version: int,
    ) -> AppendedMarker:
        """NONE once the marker is committed, which `when_committed` waits for."""
        replica = self._replicas.leader(*at)
        if isinstance(replica, ErrorCode):
            return replica
        batch = bytearray(
            encode_end_transaction_marker(
                marker,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                timestamp=self._clock.now_ms(),
            )
        )
        try:
            result = replica.append(
                batch,
                [parse_header(batch)],
                origin=AppendOrigin.COORDINATOR,
                all_in_sync=True,
                transaction_version=transaction_version,
            )
        except StorageFailure as failure:
            self._replicas.storage_failed(replica, failure)
            return ErrorCode.KAFKA_STORAGE_ERROR
        if isinstance(result, AppendRefusal):
            logger.info("%s takes no marker of producer %d: %s", at, producer.producer_id, result.message)
            return result.code
        if at.topic == CONSUMER_OFFSETS_TOPIC:
            self._offsets.transaction_ended(at.partition, producer.producer_id, commit=marker.commit)
        if replica.all_committed():
            return ErrorCode.NONE
        return replica.when_committed(result.last_offset + 1)


def known_at_once(outcomes: Mapping[TopicPartition, AppendedMarker]) -> dict[TopicPartition, ErrorCode] | None:
    """The codes, if no marker has to be waited for."""
    codes = {at: outcome for at, outcome in outcomes.items() if isinstance(outcome, ErrorCode)}
    return codes if len(codes) == len(outcomes) else None


async def when_committed(outcomes: Mapping[TopicPartition, AppendedMarker]) -> dict[TopicPartition, ErrorCode]:
    """Wait, within a bound, until the markers are committed.

    They wait as futures and not as coroutines: a task that is cancelled before its first step leaves no coroutine
    behind that nobody has awaited.
    """
    waiting = [outcome for outcome in outcomes.values() if not isinstance(outcome, ErrorCode)]
    codes: dict[TopicPartition, ErrorCode] = {}
    try:
        if waiting:
            await asyncio.wait(waiting, timeout=COMMIT_TIMEOUT_SECONDS)
        for at, outcome in outcomes.items():
            if isinstance(outcome, ErrorCode):
                codes[at] = outcome
            else:
                codes[at] = outcome.result() if outcome.done() else ErrorCode.REQUEST_TIMED_OUT
    finally:
        for future in waiting:
            future.cancel()
    return codes


class Markers:
    """A `MarkerWriter`. `exists` says whether the cluster still has a partition: deleted ones need no marker."""

    def __init__(
        self,
        appends: MarkerAppends,
        *,
        leads: Callable[[TopicPartition], bool],
        exists: Callable[[TopicPartition], bool],
        remote: RemoteLeaders | None = None,
    ) -> None:
        self._appends = appends
        self._leads = leads
        self._exists = exists
        self._remote = remote

    def write(self, work: MarkerWork, partitions: frozenset[TopicPartition]) -> MarkerCodes | Later[MarkerCodes]:
        marker = EndTransactionMarker(commit=work.commit, coordinator_epoch=work.coordinator_epoch)
        outcomes: dict[TopicPartition, AppendedMarker] = {}
        elsewhere: set[TopicPartition] = set()
        for partition in sorted(partitions):
            if not self._exists(partition):
                outcomes[partition] = ErrorCode.NONE
            elif self._remote is not None and not self._leads(partition):
                elsewhere.add(partition)
            else:
                outcomes[partition] = self._appends.append(
                    partition, work.producer, marker, transaction_version=work.transaction_version
                )
        codes = known_at_once(outcomes)
        if codes is not None and not elsewhere:
            return codes
        return Later.run(self._gather(work, outcomes, frozenset(elsewhere)))

    async def _gather(
        self,
        work: MarkerWork,
        outcomes: Mapping[TopicPartition, AppendedMarker],
        elsewhere: frozenset[TopicPartition],
    ) -> MarkerCodes:
        # Both at once: neither the replicas here nor the brokers there have to wait for the other.
        there = asyncio.ensure_future(self._remote.write(work, elsewhere)) if self._remote and elsewhere else None
        codes = await when_committed(outcomes)
        if there is not None:
            codes.update(await there)
        return codes
