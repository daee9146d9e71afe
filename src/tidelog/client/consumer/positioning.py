"""Finds positions for partitions that have none, and has them confirmed by new leaders. In the background.

A position comes from where a seek has named a place, else from the committed offset, else from auto.offset.reset. Until
one is found, other partitions are read. What the reader has to be told is kept in `failure` for its next call.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.cluster.routing import LEADER_SILENT_OR_MOVED
from tidelog.client.consumer.positions import PartitionPosition, Positions
from tidelog.client.errors import ApiTimeout, ClientError, LogTruncated, NoBrokerAvailable, NoOffsetForPartition
from tidelog.client.offsets.committed import fetch_committed
from tidelog.client.offsets.epoch_ends import LeaderEpochEnd, Question, ask_for_epoch_ends
from tidelog.client.offsets.listing import list_offsets
from tidelog.client.options import ConsumerConfig
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.offset_times import LATEST
from tidelog.network.client_connection import AuthenticationError, ConnectionProblem, UnsupportedByBroker

logger = logging.getLogger(__name__)

# How long one round may take. Partitions that have no answer by then have theirs in another one, and do not hold up
# those that come in the meantime.
_ROUND_MS = 5_000


@dataclass(slots=True, eq=False)
class Positioning:
    cluster: Cluster
    config: ConsumerConfig
    positions: Positions
    on_news: Callable[[], None]
    failure: Exception | None = None
    _task: asyncio.Task[None] | None = None
    _failures: int = 0
    _closed: bool = False

    async def close(self) -> None:
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def find_what_is_missing(self) -> None:
        """Begin a round, unless there is nothing to do or one is under way."""
        if self._closed or self._task is not None:
            return
        now = self.cluster.clock.monotonic_ms()
        missing = [entry for entry in self.positions if entry.position is None and entry.not_before_ms <= now]
        unchecked = self._unchecked(now)
        if missing or unchecked:
            self._task = asyncio.create_task(self._round(missing, unchecked))
            self._task.add_done_callback(self._done)

    def reset(self, entry: PartitionPosition) -> bool:
        """Go where auto.offset.reset says; False if it does not say: then the reader gets an error, again and again."""
        time = self.config.auto_offset_reset.time(self.cluster.clock.now_ms())
        if time is None:
            self._wait(entry)
            return False
        entry.lose(time)
        self.on_news()
        return True

    def _done(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error if isinstance(error, Exception) else RuntimeError(repr(error)))
        self.on_news()

    def _wait(self, entry: PartitionPosition) -> None:
        entry.not_before_ms = self.cluster.clock.monotonic_ms() + self.cluster.retry_pause_ms(1)

    def _fail(self, error: Exception) -> None:
        if self.failure is None:
            self.failure = error

    async def _round(self, missing: list[PartitionPosition], unchecked: dict[int, list[PartitionPosition]]) -> None:
        checks = (self._check(node, entries) for node, entries in unchecked.items())
        try:
            await asyncio.gather(self._find(missing), *checks)
        except AuthenticationError as error:
            self._fail(error)
        except (ConnectionProblem, ApiTimeout, NoBrokerAvailable) as error:
            # Brokers come back. Until then there is nothing to read, which is not a failure of the reader.
            logger.info("looking for positions: %s", error)
            self._failures += 1
            self.cluster.mark_stale()
            await asyncio.sleep(self.cluster.retry_pause_ms(self._failures) / 1000)
        except (ApiError, ClientError, UnsupportedByBroker) as error:
            self._fail(error)
        else:
            self._failures = 0
            if any(entry.position is None and entry.reset_to is not None for entry in missing):
                # Leaders are being elected, say. Whoever waits for news shall look again after a moment.
                await asyncio.sleep(self.cluster.retry_pause_ms(1) / 1000)

    # -- finding -------------------------------------------------------------------------------------------------

    async def _find(self, missing: list[PartitionPosition]) -> None:
        unset = [entry for entry in missing if entry.reset_to is None]
        if unset and self.config.group_id is not None:
            await self._take_committed(self.config.group_id, unset)
        for entry in unset:
            if entry.position is None and entry.reset_to is None and not self.reset(entry):
                raise NoOffsetForPartition(
                    f"there is no committed offset of group {self.config.group_id!r} for partition "
                    f"{entry.partition}, and auto.offset.reset=none: commit one, seek, or allow earliest or latest"
                )
        times = {entry.partition: entry.reset_to for entry in missing if entry.reset_to is not None}
        if not times:
            return
        found = await list_offsets(self.cluster, times, read_committed=self.config.read_committed, timeout_ms=_ROUND_MS)
        for entry in missing:
            result = found.get(entry.partition)
            # A seek while we asked has the last word.
            if result is None or entry.position is not None or entry.reset_to != times[entry.partition]:
                continue
            if isinstance(result, ApiError):
                self._not_found(entry, result)
            elif result.offset < 0:
                # Nothing is as new as that: begin with what comes next.
                entry.reset_to = LATEST
            else:
                entry.seek(result.offset, result.leader_epoch)
                # It comes from the leader itself, who need not be asked whether it is right.
                leader = self.cluster.metadata.leader_of(entry.partition)
                entry.checked_epoch = None if leader is None else leader.leader_epoch

    def _not_found(self, entry: PartitionPosition, error: ApiError) -> None:
        self._wait(entry)
        if error.code in LEADER_SILENT_OR_MOVED:
            logger.info("looking for a position: %s", error)
        elif self.positions.current(entry):
            self._fail(error)

    async def _take_committed(self, group_id: str, entries: list[PartitionPosition]) -> None:
        """Offsets of transactions that are not over yet are waited for: else their records would be read twice."""
        partitions = [entry.partition for entry in entries]
        committed = await fetch_committed(self.cluster, group_id, partitions, require_stable=True, timeout_ms=_ROUND_MS)
        for entry in entries:
            found = committed.get(entry.partition)
            if found is not None and entry.position is None and entry.reset_to is None:
                entry.seek(found.offset, found.leader_epoch)

    # -- checking ------------------------------------------------------------------------------------------------

    def _unchecked(self, now: float) -> dict[int, list[PartitionPosition]]:
        by_leader: dict[int, list[PartitionPosition]] = defaultdict(list)
        for entry in self.positions:
            if entry.position is None or entry.not_before_ms > now:
                continue
            leader = self.cluster.metadata.leader_of(entry.partition)
            if leader is not None and entry.needs_check(leader):
                by_leader[leader.leader].append(entry)
        return by_leader

    async def _check(self, node: int, entries: list[PartitionPosition]) -> None:
        questions: dict[PartitionPosition, Question] = {}
        for entry in entries:
            leader = self.cluster.metadata.leader_of(entry.partition)
            if leader is not None:
                questions[entry] = Question(
                    offset=entry.fetch_offset, epoch=entry.fetch_epoch, current_epoch=leader.leader_epoch
                )
        answers = await ask_for_epoch_ends(
            self.cluster, node, {entry.partition: question for entry, question in questions.items()}
        )
        for entry, question in questions.items():
            answer = answers.get(entry.partition)
            same_place = (entry.fetch_offset, entry.fetch_epoch) == (question.offset, question.epoch)
            if not self.positions.current(entry) or entry.position is None or not same_place:
                continue
            if answer is None or isinstance(answer, ApiError):
                self._not_checked(entry, answer)
            elif answer.reaches(question):
                entry.checked_epoch = question.current_epoch
            else:
                self._diverged(entry, answer)

    def _not_checked(self, entry: PartitionPosition, error: ApiError | None) -> None:
        logger.info("checking the position in %s: %s", entry.partition, error)
        self.cluster.mark_stale()
        self._wait(entry)
        if error is not None and error.code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            self._fail(error)

    def _diverged(self, entry: PartitionPosition, answer: LeaderEpochEnd) -> None:
        """The leader does not have what was fetched. Perhaps it has what was handed out: that is asked next."""
        assert entry.position is not None
        position, epoch = entry.position, entry.leader_epoch
        if entry.fetch_offset > position:
            entry.drop_fetched()
            return
        where = (
            f"at offset {answer.end_offset} (leader epoch {answer.epoch})" if answer.known else "at an unknown offset"
        )
        logger.warning(
            "partition %s was truncated %s; the reader is at %d (leader epoch %d)",
            entry.partition,
            where,
            position,
            epoch,
        )
        if self.config.auto_offset_reset.forbidden:
            self._wait(entry)
            self._fail(
                LogTruncated(
                    f"partition {entry.partition} was truncated {where} while the reader was at {position} (leader "
                    f"epoch {epoch}): records that were read are not there any more, and auto.offset.reset=none. "
                    "seek() to go on",
                    partition=entry.partition,
                    offset=position,
                    diverged_at=answer.end_offset if answer.known else None,
                )
            )
        elif answer.known:
            entry.seek(answer.end_offset, answer.epoch)
        else:
            self.reset(entry)
