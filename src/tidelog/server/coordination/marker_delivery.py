"""From a committed decision to "every partition has its marker": what could not be written is retried until it is,
or until the shard is closed. How a marker gets into a partition is in `markers`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping

from tidelog.coordinators.transactions.markers import MarkerCodes, MarkerOutcome, MarkerWork, marker_outcome
from tidelog.coordinators.transactions.shard import TransactionShard
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.network.later import Later
from tidelog.server.coordination.shard_runtime import ShardRuntime

logger = logging.getLogger(__name__)

# Between two attempts to write a marker; doubled up to the longest.
FIRST_MARKER_RETRY_SECONDS = 0.02
LONGEST_MARKER_RETRY_SECONDS = 1.0

Partitions = frozenset[TopicPartition]


# `Markers.write`, wherever the leaders of the partitions are.
WriteMarkers = Callable[[MarkerWork, Partitions], MarkerCodes | Later[MarkerCodes]]


@dataclass(frozen=True, slots=True)
class MarkerDelivery:
    """For all shards of this broker."""

    write: WriteMarkers

    def begin(self, shard: ShardRuntime[TransactionShard], due: Iterable[MarkerWork]) -> None:
        """Where nothing has to be waited for, the transaction is complete before its producer gets the answer."""
        for work in due:
            outcome = self._write(work, work.partitions)
            if isinstance(outcome, Mapping):
                left = _take_codes(shard, work, work.partitions, outcome, is_first=True)
                if left is not None:
                    shard.tasks.spawn(self._go_on(shard, work, left))
            else:
                shard.tasks.spawn(self._go_on(shard, work, work.partitions, outcome))

    async def _go_on(
        self,
        shard: ShardRuntime[TransactionShard],
        work: MarkerWork,
        left: Partitions | None,
        first: Later[MarkerCodes] | None = None,
    ) -> None:
        if first is not None and left is not None:
            left = _take_codes(shard, work, left, await first, is_first=True)
        delay = FIRST_MARKER_RETRY_SECONDS
        while left is not None:
            await asyncio.sleep(delay)
            delay = min(2 * delay, LONGEST_MARKER_RETRY_SECONDS)
            outcome = self._write(work, left)
            codes = outcome if isinstance(outcome, Mapping) else await outcome
            left = _take_codes(shard, work, left, codes, is_first=False)

    def _write(self, work: MarkerWork, left: Partitions) -> MarkerCodes | Later[MarkerCodes]:
        """An attempt that raises counts as failed: a decided transaction is never left without its markers."""

        def failed(error: Exception) -> MarkerCodes:
            logger.error("the markers of %r could not be written", work.transactional_id, exc_info=error)
            return dict.fromkeys(left, ErrorCode.UNKNOWN_SERVER_ERROR)

        try:
            outcome = self.write(work, left)
        except Exception as error:
            return failed(error)
        return outcome if isinstance(outcome, Mapping) else outcome.otherwise(failed)


def _take_codes(
    shard: ShardRuntime[TransactionShard], work: MarkerWork, left: Partitions, codes: MarkerCodes, *, is_first: bool
) -> Partitions | None:
    """What is left to write; None if this coordinator is no longer responsible."""
    reasons = {partition: codes.get(partition, ErrorCode.UNKNOWN_SERVER_ERROR) for partition in sorted(left)}
    outcomes = {partition: marker_outcome(code) for partition, code in reasons.items()}
    if MarkerOutcome.DEPOSED in outcomes.values():
        logger.warning("another coordinator is completing the transaction of %r", work.transactional_id)
        return None
    written = [partition for partition, outcome in outcomes.items() if outcome is MarkerOutcome.WRITTEN]
    if is_first:
        # Once: it may take long, and operators see the transaction in its state.
        for partition, outcome in outcomes.items():
            if outcome is MarkerOutcome.RETRY:
                reason = reasons[partition].name
                logger.info("the marker of %r is not written to %s yet: %s", work.transactional_id, partition, reason)
    recorded = shard.act(lambda transactions, now: transactions.on_markers_written(work, written, now))
    rest = left.difference(written)
    return None if recorded and not rest else rest
