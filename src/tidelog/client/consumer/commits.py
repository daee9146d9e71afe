"""Committing offsets: when the user says so, beside the reading, and before partitions are given up.

All commits of a consumer go one after the other, so that an older one never arrives behind a newer one.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from abc import abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.consumer.positions import Positions
from tidelog.client.errors import ClientError, CommitFailed, WrongUse
from tidelog.client.offsets.committed import OffsetAndMetadata, commit_offsets
from tidelog.client.offsets.group_metadata import ConsumerGroupMetadata
from tidelog.client.options import ConsumerConfig
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.network.client_connection import ConnectionProblem

logger = logging.getLogger(__name__)

Offsets = Mapping[TopicPartition, OffsetAndMetadata]
CommitCallback = Callable[[Offsets, Exception | None], Awaitable[None] | None]

_GROUP_HAS_MOVED_ON = frozenset(
    {
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.UNKNOWN_MEMBER_ID,
    }
)


class Committer(Protocol):
    """The member of a group that commits."""

    # As whom.
    group_metadata: ConsumerGroupMetadata

    @property
    def rebalancing(self) -> bool:
        """Whether the group has moved on and this member has not followed yet: commits have to wait."""
        return False

    @abstractmethod
    def commit_refused(self, code: ErrorCode, group: ConsumerGroupMetadata) -> bool:
        """Hear that offsets committed as `group` were refused; whether another try, as it is now, may succeed."""


class Commits:
    def __init__(self, cluster: Cluster, config: ConsumerConfig, positions: Positions) -> None:
        self._cluster = cluster
        self._config = config
        self._positions = positions
        self.member: Committer | None = None
        self._last: asyncio.Task[None] | None = None
        self._automatic: asyncio.Task[None] | None = None
        self._next_ms = 0.0
        self._to_call: deque[tuple[CommitCallback, Offsets, Exception | None]] = deque()

    @property
    def group_metadata(self) -> ConsumerGroupMetadata:
        if self.member is not None:
            return self.member.group_metadata
        if self._config.group_id is None:
            raise WrongUse("offsets are committed for a group: give the consumer a group_id")
        return ConsumerGroupMetadata(group_id=self._config.group_id, instance_id=self._config.group_instance_id)

    async def commit(self, offsets: Offsets | None, timeout_ms: float | None) -> None:
        """Returns when they are stored. Raises CommitFailed when the group has moved on."""
        # The commit goes on if the one who waits is cancelled: it may be on its way.
        await asyncio.shield(self._begin(offsets, timeout_ms))

    def commit_soon(self, offsets: Offsets | None, callback: CommitCallback | None) -> None:
        """Returns at once; the callback is called inside of a later call of the reader."""
        chosen = self._chosen(offsets)
        task = self._begin(chosen, None)
        task.add_done_callback(lambda task: self._over(task, chosen, callback))

    def commit_if_due(self) -> None:
        """enable.auto.commit: what the reader has come back from is processed."""
        if not self._config.enable_auto_commit or self.member is None or self._automatic is not None:
            return
        now = self._cluster.clock.monotonic_ms()
        if now < self._next_ms or self.member.rebalancing or not len(self._positions):
            return
        self.wait_an_interval()
        self._automatic = self._begin(None, None, may_be_gone=True)
        self._automatic.add_done_callback(self._automatic_over)

    def wait_an_interval(self) -> None:
        """New partitions begin with a full interval before the next automatic commit."""
        self._next_ms = self._cluster.clock.monotonic_ms() + self._config.auto_commit_interval_ms

    async def commit_before_giving_up(self) -> None:
        """The last automatic commit, and all that are under way."""
        if self._config.enable_auto_commit and self.member is not None and not self.member.rebalancing:
            try:
                # Partitions may be given up because their topic was deleted.
                await asyncio.shield(self._begin(None, self._config.request_timeout_ms, may_be_gone=True))
            except (ApiError, ClientError, ConnectionProblem) as error:
                logger.warning("the last commit before giving up partitions: %s", error)
        await self.wait_for_pending()

    async def wait_for_pending(self) -> None:
        """Wait for the commits that are under way, and call back those who asked for it."""
        if self._last is not None:
            await asyncio.wait((self._last,))
        await self.call_back()

    async def call_back(self) -> None:
        while self._to_call:
            callback, offsets, error = self._to_call.popleft()
            result = callback(offsets, error)
            if inspect.isawaitable(result):
                await result

    # -- inside --------------------------------------------------------------------------------------------------

    def _chosen(self, offsets: Offsets | None) -> Offsets:
        return self._positions.to_commit() if offsets is None else offsets

    def _begin(
        self, offsets: Offsets | None, timeout_ms: float | None, *, may_be_gone: bool = False
    ) -> asyncio.Task[None]:
        # What is wrong with the call itself is reported at once.
        _ = self.group_metadata
        before = self._last
        task = asyncio.create_task(self._commit_behind(before, self._chosen(offsets), timeout_ms, may_be_gone))
        task.add_done_callback(_looked_at)
        self._last = task
        return task

    async def _commit_behind(
        self, before: asyncio.Task[None] | None, offsets: Offsets, timeout_ms: float | None, may_be_gone: bool
    ) -> None:
        if before is not None:
            await asyncio.wait((before,))
        if not offsets:
            return
        limit_ms = self._config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        deadline = self._cluster.clock.monotonic_ms() + limit_ms
        failures = 0
        while True:
            member = self.member
            group = self.group_metadata
            if member is not None and member.rebalancing:
                raise CommitFailed(
                    f"group {group.group_id!r} is rebalancing: call poll() to take part, and then commit what is still "
                    "assigned"
                )
            left_ms = deadline - self._cluster.clock.monotonic_ms()
            try:
                await commit_offsets(self._cluster, group, offsets, may_be_gone=may_be_gone, timeout_ms=max(left_ms, 0))
                return
            except ApiError as error:
                if error.code not in _GROUP_HAS_MOVED_ON:
                    raise
                failures += 1
                pause_ms = self._cluster.retry_pause_ms(failures)
                again = member is not None and member.commit_refused(error.code, group)
                if not again or self._cluster.clock.monotonic_ms() + pause_ms >= deadline:
                    raise CommitFailed(
                        f"group {group.group_id!r} did not take the offsets ({error}): it has rebalanced, and the "
                        "partitions may have been given to another member. What was read since the last commit may be "
                        "read again"
                    ) from error
                await asyncio.sleep(pause_ms / 1000)

    def _over(self, task: asyncio.Task[None], offsets: Offsets, callback: CommitCallback | None) -> None:
        error = _error_of(task)
        if callback is not None:
            self._to_call.append((callback, offsets, error))
        elif error is not None:
            logger.warning("a commit that nobody waits for: %s", error)

    def _automatic_over(self, task: asyncio.Task[None]) -> None:
        self._automatic = None
        if (error := _error_of(task)) is not None:
            logger.warning("auto-commit: %s", error)


def _looked_at(task: asyncio.Task[None]) -> None:
    """So that asyncio does not complain when whoever waited for it has been cancelled."""
    if not task.cancelled():
        task.exception()


def _error_of(task: asyncio.Task[None]) -> Exception | None:
    if task.cancelled():
        return CommitFailed("the consumer was closed before the offsets were committed")
    error = task.exception()
    return error if error is None or isinstance(error, Exception) else RuntimeError(repr(error))
