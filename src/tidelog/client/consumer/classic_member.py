"""Membership in a classic group: join, sync, heartbeat, leave.

When to join is the consumer's decision, since the partitions it has must be given up before: `needs_join` says that it
is time. Between two joins a task sends heartbeats; it also leaves the group when the reader does not come back for
longer than max.poll.interval.ms, so that its partitions go to somebody who reads them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TypeVar

from tidelog.client.cluster import Cluster, CoordinatorKind
from tidelog.client.committed import COORDINATION
from tidelog.client.config import ConsumerConfig
from tidelog.client.consumer.assignors import ASSIGNORS
from tidelog.client.errors import ClientError, api_error, is_retriable
from tidelog.client.group_metadata import NO_GENERATION, ConsumerGroupMetadata
from tidelog.client.group_protocol import (
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from tidelog.client.routing import ask_coordinator
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.network.client_connection import ConnectionProblem
from tidelog.protocol.messages.heartbeat_request import HeartbeatRequest
from tidelog.protocol.messages.heartbeat_response import HeartbeatResponse
from tidelog.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from tidelog.protocol.messages.join_group_response import JoinGroupResponse
from tidelog.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from tidelog.protocol.messages.leave_group_response import LeaveGroupResponse
from tidelog.protocol.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from tidelog.protocol.messages.sync_group_response import SyncGroupResponse

logger = logging.getLogger(__name__)

_Reply = TypeVar("_Reply", SyncGroupResponse, HeartbeatResponse, LeaveGroupResponse)

PROTOCOL_TYPE = "consumer"
# A join is answered when all members have joined, which may take the whole rebalance timeout; this much on top.
_JOIN_MARGIN_MS = 5_000

_STALE = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})


class GroupMember:
    """One consumer's place in its group."""

    def __init__(self, cluster: Cluster, config: ConsumerConfig, group_id: str, on_news: Callable[[], None]) -> None:
        self._cluster = cluster
        self._config = config
        self.group_id = group_id
        self._on_news = on_news
        self._member_id = ""
        self._generation = NO_GENERATION
        # As whom the reader has got what it reads. It stays so when the group has thrown this member out: a committer
        # that is no member at all would not be fenced, although its partitions belong to others by now.
        self.group_metadata = ConsumerGroupMetadata(group_id=group_id, instance_id=config.group_instance_id)
        self._heartbeats: asyncio.Task[None] | None = None
        self._last_poll_ms = cluster.clock.monotonic_ms()
        # What the assignment was made from, if this member made it: a change calls for a new one.
        self._counts_assigned: Mapping[str, int] | None = None
        self.needs_join = True
        # The group has thrown this member out: what it had may belong to others by now.
        self.lost = False
        self.failure: Exception | None = None
        cluster.on_change(self._look_at_partition_counts)

    def polled(self) -> None:
        """The reader is alive."""
        self._last_poll_ms = self._cluster.clock.monotonic_ms()

    async def join(self, topics: Collection[str], owned: Collection[TopicPartition]) -> tuple[TopicPartition, ...]:
        """Take part in a rebalance, to its end; returns what this member is to read from now on."""
        await self._stop_heartbeats()
        self.needs_join = False
        self.lost = False
        subscription = Subscription(
            topics=tuple(topics),
            owned=tuple(owned),
            generation=self._generation,
            rack=self._config.client_rack or None,
        )
        failures = 0
        while True:
            try:
                assignment = await self._join_once(subscription)
                break
            except (ApiError, ConnectionProblem, ClientError) as error:
                again = self._after_failed_join(error)
                if again is None:
                    raise
                logger.info("joining group %r: %s", self.group_id, error)
                if again:
                    failures += 1
                    await asyncio.sleep(self._cluster.retry_pause_ms(failures) / 1000)
        self.group_metadata = replace(self.group_metadata, generation_id=self._generation, member_id=self._member_id)
        self.polled()
        self._heartbeats = asyncio.create_task(self._send_heartbeats())
        return assignment

    async def leave(self) -> None:
        """Give the partitions to the others at once. Static members stay members for their session (KIP-345)."""
        await self._stop_heartbeats()
        if self._member_id and self._config.group_instance_id is None:
            await self._send_leave()
        self._forget()

    async def close(self) -> None:
        await self._stop_heartbeats()

    # -- joining -------------------------------------------------------------------------------------------------

    async def _join_once(self, subscription: Subscription) -> tuple[TopicPartition, ...]:
        joined = await self._ask_to_join(subscription)
        self._generation = joined.generation_id
        self._member_id = joined.member_id
        assignments: list[SyncGroupRequestAssignment] = []
        self._counts_assigned = None
        if joined.leader == joined.member_id and not joined.skip_assignment:
            assignments = await self._assign(joined)
        reply = await self._ask(
            SyncGroupRequest(
                group_id=self.group_id,
                generation_id=self._generation,
                member_id=self._member_id,
                group_instance_id=self._config.group_instance_id,
                protocol_type=PROTOCOL_TYPE,
                protocol_name=joined.protocol_name,
                assignments=assignments,
            ),
            SyncGroupResponse,
            self._long_timeout_ms(),
        )
        return decode_assignment(reply.assignment)

    async def _ask_to_join(self, subscription: Subscription) -> JoinGroupResponse:
        metadata = encode_subscription(subscription)
        request = JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=self._config.session_timeout_ms,
            rebalance_timeout_ms=self._config.max_poll_interval_ms,
            member_id=self._member_id,
            group_instance_id=self._config.group_instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[
                JoinGroupRequestProtocol(name=name, metadata=metadata)
                for name in self._config.partition_assignment_strategy
            ],
        )
        reply = await ask_coordinator(
            self._cluster,
            CoordinatorKind.GROUP,
            self.group_id,
            request,
            JoinGroupResponse,
            lambda reply: reply.error_code,
            purpose=COORDINATION,
            timeout_ms=self._long_timeout_ms(),
        )
        if reply.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            # The coordinator first gives out an id, and only then counts the member in (KIP-394).
            self._member_id = reply.member_id
        if reply.error_code != ErrorCode.NONE:
            raise api_error(reply.error_code, f"group {self.group_id!r}")
        return reply

    async def _assign(self, joined: JoinGroupResponse) -> list[SyncGroupRequestAssignment]:
        """This member leads the group: divide the partitions among all members."""
        subscriptions = {member.member_id: decode_subscription(member.metadata) for member in joined.members}
        topics = {topic for wants in subscriptions.values() for topic in wants.topics}
        self._cluster.watch(topics)
        await self._cluster.refresh()
        metadata = self._cluster.metadata
        counts = {topic: metadata.partition_count(topic) or 0 for topic in topics}
        assignor = ASSIGNORS[joined.protocol_name or "range"]
        assignment = assignor.assign(subscriptions, counts)
        self._counts_assigned = counts
        return [
            SyncGroupRequestAssignment(member_id=member, assignment=encode_assignment(partitions))
            for member, partitions in assignment.items()
        ]

    def _after_failed_join(self, error: Exception) -> bool | None:
        """False: try again at once, True: after a pause, None: not at all."""
        if isinstance(error, ApiError):
            match error.code:
                case ErrorCode.MEMBER_ID_REQUIRED:
                    return False
                case ErrorCode.UNKNOWN_MEMBER_ID | ErrorCode.ILLEGAL_GENERATION:
                    self._forget()
                    return True
                case ErrorCode.REBALANCE_IN_PROGRESS:
                    return True
        return True if is_retriable(error) or isinstance(error, ClientError) else None

    def _long_timeout_ms(self) -> float:
        return max(self._config.request_timeout_ms, self._config.max_poll_interval_ms + _JOIN_MARGIN_MS)

    def _look_at_partition_counts(self) -> None:
        """The leader calls for a rebalance when topics have got more partitions, have appeared or are gone."""
        if self._counts_assigned is None:
            return
        metadata = self._cluster.metadata
        if any((metadata.partition_count(topic) or 0) != count for topic, count in self._counts_assigned.items()):
            self._counts_assigned = None
            self._call_for_join()

    # -- staying in ----------------------------------------------------------------------------------------------

    async def _send_heartbeats(self) -> None:
        failures = 0
        while True:
            pause_ms = self._cluster.retry_pause_ms(failures) if failures else float(self._config.heartbeat_interval_ms)
            await asyncio.sleep(pause_ms / 1000)
            if self._cluster.clock.monotonic_ms() - self._last_poll_ms > self._config.max_poll_interval_ms:
                await self._leave_because_nobody_reads()
                return
            request = HeartbeatRequest(
                group_id=self.group_id,
                generation_id=self._generation,
                member_id=self._member_id,
                group_instance_id=self._config.group_instance_id,
            )
            try:
                await self._ask(request, HeartbeatResponse, None)
                failures = 0
            except (ApiError, ConnectionProblem, ClientError) as error:
                logger.info("heartbeat of group %r: %s", self.group_id, error)
                if self._ends_heartbeats(error):
                    return
                failures += 1

    def _ends_heartbeats(self, error: Exception) -> bool:
        if not isinstance(error, ApiError) or is_retriable(error):
            return False
        if error.code == ErrorCode.REBALANCE_IN_PROGRESS:
            # Go on: until the reader comes to join, the group must know that this member is alive.
            self._call_for_join()
            return False
        if error.code in _STALE:
            self._forget()
            self.lost = True
            self._call_for_join()
        else:
            self.failure = error
            self._on_news()
        return True

    async def _leave_because_nobody_reads(self) -> None:
        logger.warning(
            "group %r: no record was asked for within max.poll.interval.ms=%d, so this member leaves the group; it "
            "joins again with the next poll. Raise max.poll.interval.ms, or lower max.poll.records, if processing "
            "takes that long",
            self.group_id,
            self._config.max_poll_interval_ms,
        )
        await self._send_leave()
        self._forget()
        self.lost = True
        self._call_for_join()

    async def _send_leave(self) -> None:
        request = LeaveGroupRequest(
            group_id=self.group_id,
            member_id=self._member_id,
            members=(MemberIdentity(member_id=self._member_id, reason="the consumer is being closed"),),
        )
        try:
            await self._ask(request, LeaveGroupResponse, self._config.request_timeout_ms)
        except (ApiError, ConnectionProblem, ClientError) as error:
            # The group will notice when the session times out.
            logger.info("leaving group %r: %s", self.group_id, error)

    def _call_for_join(self) -> None:
        self.needs_join = True
        self._on_news()

    def rejoin(self) -> None:
        """Somebody else has found out that the generation is over."""
        self.needs_join = True

    def _forget(self) -> None:
        self._member_id = ""
        self._generation = NO_GENERATION
        self.needs_join = True

    async def _stop_heartbeats(self) -> None:
        task, self._heartbeats = self._heartbeats, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _ask(
        self,
        request: HeartbeatRequest | SyncGroupRequest | LeaveGroupRequest,
        expected: type[_Reply],
        timeout_ms: float | None,
    ) -> _Reply:
        reply = await ask_coordinator(
            self._cluster,
            CoordinatorKind.GROUP,
            self.group_id,
            request,
            expected,
            lambda reply: reply.error_code,
            purpose=COORDINATION,
            timeout_ms=timeout_ms,
        )
        if reply.error_code != ErrorCode.NONE:
            raise api_error(reply.error_code, f"group {self.group_id!r}")
        return reply
