"""Membership in a classic group: join, sync, heartbeat, leave. Members divide the partitions among themselves.

Joining has three parts. The first and the last happen inside of the reader's calls (`next_step`): giving up what has to
be given up before, and taking over what comes out. The conversation between them goes on in the background; a
cooperative member reads on meanwhile (KIP-429). Between two joins a task sends heartbeats; it also leaves the group
when the reader does not come back for longer than max.poll.interval.ms, so that its partitions go to others.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from typing import Any

from tidelog.client.consumer.assignors import ASSIGNORS
from tidelog.client.consumer.join import Joined, Joiner
from tidelog.client.consumer.member import GroupMember, MemberParts
from tidelog.client.errors import ClientError, is_retriable
from tidelog.client.offsets.group_metadata import NO_GENERATION, ConsumerGroupMetadata
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.network.client_connection import ConnectionProblem

logger = logging.getLogger(__name__)

_OUT = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})


class ClassicMember(GroupMember):
    def __init__(self, parts: MemberParts) -> None:
        super().__init__(parts)
        self._joiner = Joiner(parts.cluster, parts.config, parts.group_id)
        # Whether partitions are kept during a rebalance: only if every strategy that may be chosen can do with that.
        self._cooperative = all(ASSIGNORS[name].cooperative for name in parts.config.partition_assignment_strategy)
        # The generation whose assignment the reader has; the one that is being joined is the joiner's business.
        self._generation = NO_GENERATION
        self._joining: asyncio.Task[Joined] | None = None
        self._heartbeats: asyncio.Task[None] | None = None
        # What the assignment was made from, if this member made it: a change calls for a new one.
        self._counts_assigned: Mapping[str, int] | None = None
        self._needs_join = True
        # The group has thrown this member out: what it had may belong to others by now.
        self._lost = False
        parts.cluster.on_change(self._look_at_partition_counts)

    @property
    def rebalancing(self) -> bool:
        return self._joining is not None and self._joiner.generation != self._generation

    def subscription_changed(self) -> None:
        self.rejoin()

    def rejoin(self) -> None:
        self._needs_join = True
        self._on_news()

    def commit_refused(self, code: ErrorCode, group: ConsumerGroupMetadata) -> bool:
        if code == ErrorCode.FENCED_INSTANCE_ID:
            self._die(_fenced(self._config.group_instance_id))
        elif self._joining is None and group == self.group_metadata:
            # Else it is an earlier generation that is over, and this member has gone on already.
            if code in _OUT:
                self._thrown_out()
            else:
                self.rejoin()
        return False

    def next_step(self) -> Coroutine[Any, Any, None] | None:
        if self._fatal is not None:
            owned = self._holdings.partitions
            return self._holdings.lose(owned) if owned else None
        if self._joining is None:
            return self._begin() if self._needs_join else None
        return self._finish() if self._joining.done() else None

    async def leave(self, leave_group: bool | None) -> None:
        """Give the partitions to the others at once. Static members stay members for their session (KIP-345)."""
        await self._stop_tasks()
        try:
            if self._lost or not self._joiner.member_id:
                await self._holdings.lose(self._holdings.partitions)
            else:
                await self._holdings.revoke(self._holdings.partitions)
        finally:
            static = self._config.group_instance_id is not None
            if self._joiner.member_id and (leave_group if leave_group is not None else not static):
                await self._joiner.leave("the consumer is closing")
            self._forget()

    # -- joining -------------------------------------------------------------------------------------------------

    async def _begin(self) -> None:
        """Give up what cannot be kept, and start the conversation with the others."""
        self._needs_join = False
        owned = self._holdings.partitions
        try:
            if self._lost or self._generation == NO_GENERATION:
                await self._holdings.lose(owned)
            elif self._cooperative:
                await self._holdings.revoke({part for part in owned if part.topic not in self._subscription.topics})
            else:
                await self._holdings.revoke(owned)
        finally:
            self._lost = False
            kept = self._holdings.partitions if self._cooperative else frozenset()
            self._joining = asyncio.create_task(self._join(kept))
            self._joining.add_done_callback(lambda _: self._on_news())

    async def _join(self, owned: frozenset[TopicPartition]) -> Joined:
        # A member that waits for the others to join is alive for the group; heartbeats would only be refused.
        await self._stop_heartbeats()
        failures = 0
        while True:
            try:
                joined = await self._joiner.join(self._subscription.topics, owned)
                break
            except (ApiError, ConnectionProblem, ClientError) as error:
                again = self._after_failed_join(error)
                if again is None:
                    raise
                logger.info("joining group %r: %s", self._group_id, error)
                if again:
                    failures += 1
                    await asyncio.sleep(self._cluster.retry_pause_ms(failures) / 1000)
        self._counts_assigned = joined.counts
        self._heartbeats = asyncio.create_task(self._send_heartbeats())
        # A topic that the broker did not know when partitions were counted may have appeared in the meantime. Nobody
        # would look again before the metadata is out of date.
        self._look_at_partition_counts()
        return joined

    async def _finish(self) -> None:
        """Take over what came out of the rebalance."""
        assert self._joining is not None
        task, self._joining = self._joining, None
        try:
            joined = task.result()
        except BaseException:
            self._needs_join = True
            raise
        self._generation = joined.generation
        self.group_metadata = replace(
            self.group_metadata, generation_id=joined.generation, member_id=self._joiner.member_id
        )
        self.polled()
        logger.info("group %r assigned %s", self._group_id, ", ".join(map(str, joined.partitions)) or "nothing")
        # A group may consist of topics that this member does not know from its own subscription.
        self._cluster.watch({partition.topic for partition in joined.partitions})
        owned = self._holdings.partitions
        given_up = owned.difference(joined.partitions)
        if given_up:
            # Only now the others may have them: that takes one more rebalance.
            self._needs_join = True
            await self._holdings.revoke(given_up)
        await self._holdings.add(frozenset(joined.partitions).difference(owned))

    def _after_failed_join(self, error: Exception) -> bool | None:
        """False: try again at once, True: after a pause, None: not at all."""
        if isinstance(error, ApiError):
            match error.code:
                case ErrorCode.MEMBER_ID_REQUIRED:
                    return False
                case ErrorCode.UNKNOWN_MEMBER_ID | ErrorCode.ILLEGAL_GENERATION:
                    self._joiner.forget()
                    return True
                case ErrorCode.REBALANCE_IN_PROGRESS:
                    return True
        return True if is_retriable(error) or isinstance(error, ClientError) else None

    def _look_at_partition_counts(self) -> None:
        """The leader calls for a rebalance when topics have got more partitions, have appeared or are gone."""
        if self._counts_assigned is None:
            return
        metadata = self._cluster.metadata
        if any((metadata.partition_count(topic) or 0) != count for topic, count in self._counts_assigned.items()):
            self._counts_assigned = None
            self.rejoin()

    # -- staying in ----------------------------------------------------------------------------------------------

    async def _send_heartbeats(self) -> None:
        failures = 0
        while True:
            pause_ms = self._cluster.retry_pause_ms(failures) if failures else float(self._config.heartbeat_interval_ms)
            await asyncio.sleep(pause_ms / 1000)
            if self._nobody_reads():
                if self._config.group_instance_id is None:
                    await self._joiner.leave("max.poll.interval.ms is over")
                self._thrown_out()
                return
            try:
                await self._joiner.heartbeat()
                failures = 0
            except (ApiError, ConnectionProblem, ClientError) as error:
                logger.info("heartbeat of group %r: %s", self._group_id, error)
                if self._ends_heartbeats(error):
                    return
                failures += 1

    def _ends_heartbeats(self, error: Exception) -> bool:
        if not isinstance(error, ApiError) or is_retriable(error):
            return False
        if error.code == ErrorCode.REBALANCE_IN_PROGRESS:
            # Go on: until the reader comes to join, the group must know that this member is alive.
            self.rejoin()
            return False
        if error.code in _OUT:
            self._thrown_out()
        else:
            self._die(_fenced(self._config.group_instance_id) if error.code == ErrorCode.FENCED_INSTANCE_ID else error)
        return True

    def _thrown_out(self) -> None:
        self._forget()
        self._lost = True
        self.rejoin()

    def _die(self, error: Exception) -> None:
        self._fatal = self.failure = error
        self._lost = True
        self._on_news()

    def _forget(self) -> None:
        self._joiner.forget()
        self._generation = NO_GENERATION

    async def _stop_heartbeats(self) -> None:
        task, self._heartbeats = self._heartbeats, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _stop_tasks(self) -> None:
        task, self._joining = self._joining, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await self._stop_heartbeats()


def _fenced(instance_id: str | None) -> ApiError:
    return ApiError(
        ErrorCode.FENCED_INSTANCE_ID,
        f"another consumer has joined with group.instance.id={instance_id!r}, and replaces this one",
    )
