"""Writes the markers that end transactions: into partitions of this broker, and of others through `other_brokers`.

A marker in `__consumer_offsets` also decides the offsets that were committed in the transaction, so the group
coordinator learns of it in the same step.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from tidelog.coordinators.decision import ProducerIdentity
from tidelog.coordinators.transactions.markers import MarkerCodes, MarkerWork
from tidelog.metadata.image import ClusterImage
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.topics import CONSUMER_OFFSETS_TOPIC
from tidelog.network.later import Later
from tidelog.partition.producers import AppendOrigin, AppendRefusal
from tidelog.records.batch import parse_header
from tidelog.records.control import EndTransactionMarker, encode_end_transaction_marker
from tidelog.server.coordination.groups import GroupCoordinator
from tidelog.server.coordination.other_brokers import OtherBrokers
from tidelog.server.replicas.registry import Replicas
from tidelog.storage.files.filesystem import StorageFailure

logger = logging.getLogger(__name__)

# How long a marker may wait for the other replicas before its coordinator gets an error and retries.
COMMIT_TIMEOUT_SECONDS = 30.0

AppendedMarker = ErrorCode | asyncio.Future[ErrorCode]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkerAppends:
    """Appends markers to partitions that this broker leads."""

    replicas: Replicas
    groups: GroupCoordinator

    def append(
        self,
        at: TopicPartition,
        producer: ProducerIdentity,
        marker: EndTransactionMarker,
        *,
        transaction_version: int,
    ) -> AppendedMarker:
        """NONE once the marker is committed, which `when_committed` waits for."""
        replica = self.replicas.leader(*at)
        if isinstance(replica, ErrorCode):
            return replica
        batch = bytearray(
            encode_end_transaction_marker(
                marker,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                timestamp=self.replicas.clock.now_ms(),
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
            self.replicas.storage_failed(replica, failure)
            return ErrorCode.KAFKA_STORAGE_ERROR
        if isinstance(result, AppendRefusal):
            logger.info("%s refused a marker of producer %d: %s", at, producer.producer_id, result.message)
            return result.code
        if at.topic == CONSUMER_OFFSETS_TOPIC:
            self.groups.transaction_ended(at.partition, producer.producer_id, commit=marker.commit)
        if replica.all_committed():
            return ErrorCode.NONE
        return replica.when_committed(result.last_offset + 1)


def known_at_once(outcomes: Mapping[TopicPartition, AppendedMarker]) -> dict[TopicPartition, ErrorCode] | None:
    """The codes, if no marker needs to be waited for."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Markers:
    """Sends markers to the leaders of partitions, wherever they are."""

    appends: MarkerAppends
    image: Callable[[], ClusterImage]
    other_brokers: OtherBrokers

    def write(self, work: MarkerWork, partitions: frozenset[TopicPartition]) -> MarkerCodes | Later[MarkerCodes]:
        """The outcome of each; NONE once the marker is committed. At once if nothing needs to be waited for."""
        image, replicas = self.image(), self.appends.replicas
        marker = EndTransactionMarker(commit=work.commit, coordinator_epoch=work.coordinator_epoch)
        outcomes: dict[TopicPartition, AppendedMarker] = {}
        elsewhere: set[TopicPartition] = set()
        for partition in sorted(partitions):
            if image.partition(*partition) is None:
                # The cluster has deleted it.
                outcomes[partition] = ErrorCode.NONE
            elif isinstance(replicas.leader(*partition), ErrorCode):
                elsewhere.add(partition)
            else:
                outcomes[partition] = self.appends.append(
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
        there = asyncio.ensure_future(self.other_brokers.write(work, elsewhere)) if elsewhere else None
        codes = await when_committed(outcomes)
        if there is not None:
            codes.update(await there)
        return codes
