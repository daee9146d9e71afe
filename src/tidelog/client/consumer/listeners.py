"""Those who want to learn of rebalances, and what is done when partitions come and go.

Both kinds of members of groups decide what comes and goes; here is done what that means for the reader: the last
commit, the calls, the positions. It happens inside of the reader's own calls, never behind its back: what was handed
out before has been processed then, and its offsets can be committed.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Collection

from tidelog.client.consumer.commits import Commits
from tidelog.client.consumer.positions import Positions
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass

logger = logging.getLogger(__name__)

Listener = Callable[[Collection[TopicPartition]], Awaitable[None] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceListeners:
    """Plain functions or coroutine functions. Without `lost`, lost partitions are passed to `revoked`."""

    assigned: Listener | None = None
    revoked: Listener | None = None
    lost: Listener | None = None


class Holdings:
    """The partitions that a member of a group has."""

    def __init__(self, positions: Positions, commits: Commits) -> None:
        self._positions = positions
        self._commits = commits
        self.listeners = RebalanceListeners()

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        return self._positions.assigned

    async def revoke(self, partitions: Collection[TopicPartition]) -> None:
        """Give up partitions in order: others get them afterwards, and go on where the last commit says."""
        if not partitions:
            return
        await self._commits.commit_before_giving_up()
        try:
            await _tell(self.listeners.revoked, partitions)
            # The listener may have begun a commit without waiting for it.
            await self._commits.wait_for_pending()
        finally:
            self._positions.assign(self.partitions.difference(partitions))

    async def lose(self, partitions: Collection[TopicPartition]) -> None:
        """Others may have them already: a commit would come too late."""
        if not partitions:
            return
        try:
            await _tell(self.listeners.lost or self.listeners.revoked, partitions)
        finally:
            self._positions.assign(self.partitions.difference(partitions))

    async def add(self, partitions: Collection[TopicPartition]) -> None:
        self._positions.assign(self.partitions.union(partitions))
        self._commits.wait_an_interval()
        await _tell(self.listeners.assigned, partitions)


async def _tell(listener: Listener | None, partitions: Collection[TopicPartition]) -> None:
    if listener is not None:
        result = listener(frozenset(partitions))
        if inspect.isawaitable(result):
            await result
