"""A consumer's place in its group: what the consumer needs from it, and what both protocols have in common."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.consumer.commits import Committer
from tidelog.client.consumer.listeners import Holdings
from tidelog.client.consumer.subscription import Subscription
from tidelog.client.offsets.group_metadata import ConsumerGroupMetadata
from tidelog.client.options import ConsumerConfig

logger = logging.getLogger(__name__)


class MemberParts(NamedTuple):
    """What a member works with."""

    cluster: Cluster
    config: ConsumerConfig
    group_id: str
    subscription: Subscription
    holdings: Holdings
    on_news: Callable[[], None]


class GroupMember(Committer):
    def __init__(self, parts: MemberParts) -> None:
        self._cluster, self._config, self._group_id, self._subscription, self._holdings, self._on_news = parts
        # As whom the reader has got what it reads, and commits. It stays so when the group has thrown this member out:
        # a committer that is no member at all would not be fenced, although its partitions belong to others by now.
        self.group_metadata = ConsumerGroupMetadata(group_id=parts.group_id, instance_id=parts.config.group_instance_id)
        self._last_poll_ms = parts.cluster.clock.monotonic_ms()
        # After this there is nothing more to be done as a member, and every call of the reader says so.
        self._fatal: Exception | None = None
        # What the reader's next call raises.
        self.failure: Exception | None = None

    def polled(self) -> None:
        """The reader is alive."""
        self._last_poll_ms = self._cluster.clock.monotonic_ms()
        self.failure = self._fatal

    @abstractmethod
    def next_step(self) -> Coroutine[Any, Any, None] | None:
        """What has to be done inside of the reader's call before it gets more records, if anything."""

    @abstractmethod
    def subscription_changed(self) -> None:
        """The topics, or the pattern, are others than before."""

    @abstractmethod
    def rejoin(self) -> None:
        """The user wants a rebalance, or knows that the group has moved on."""

    @abstractmethod
    async def leave(self, leave_group: bool | None) -> None:
        """Stop being a member. None: as is usual, that is, static members keep their place for their session."""

    def _nobody_reads(self) -> bool:
        """Whether the reader has stayed away for so long that its partitions should go to others."""
        if self._cluster.clock.monotonic_ms() - self._last_poll_ms <= self._config.max_poll_interval_ms:
            return False
        logger.warning(
            "group %r: poll was not called within max.poll.interval.ms=%d, so this member leaves the group, and "
            "joins again at the next poll. Raise max.poll.interval.ms, or lower max.poll.records, if processing "
            "takes that long",
            self._group_id,
            self._config.max_poll_interval_ms,
        )
        return True
