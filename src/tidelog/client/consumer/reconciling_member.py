"""Membership in a group of the new protocol (KIP-848): the broker divides the partitions, one heartbeat at a time.

A task sends heartbeats. What they say is decided in `tidelog.client.consumer.reconciliation`; what the broker wants
this member to have is taken over inside of the reader's calls (`next_step`). Nobody else has to stop for that.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Collection, Coroutine
from dataclasses import replace
from typing import Any

from tidelog.client.cluster.routing import ask_coordinator
from tidelog.client.consumer.member import GroupMember, MemberParts
from tidelog.client.consumer.reconciliation import (
    LEAVING_EPOCH,
    PAUSING_EPOCH,
    IdPartition,
    MembershipState,
    Reconciliation,
)
from tidelog.client.errors import ClientError, is_retriable, raise_for_code
from tidelog.client.offsets.group_metadata import ConsumerGroupMetadata
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition, Uuid, format_uuid
from tidelog.network.client_connection import AuthenticationError, ConnectionProblem, UnsupportedByBroker
from tidelog.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from tidelog.protocol.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from tidelog.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tidelog.protocol.messages.metadata_response import MetadataResponse

logger = logging.getLogger(__name__)

_OUT = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH})
# Until the broker has said how often it wants to hear.
_FIRST_INTERVAL_MS = 3_000


class ReconcilingMember(GroupMember):
    def __init__(self, parts: MemberParts) -> None:
        super().__init__(parts)
        member_id = format_uuid(uuid.UUID(bytes=parts.cluster.randomness.random_bytes(16), version=4).bytes)
        self._state = Reconciliation(parts.group_id, parts.config, member_id)
        self._interval_ms = float(_FIRST_INTERVAL_MS)
        self._names: dict[Uuid, str] = {}
        self._wake = asyncio.Event()
        self._heartbeats = asyncio.create_task(self._send_heartbeats())

    def subscription_changed(self) -> None:
        self._state.subscribe(self._subscription.topics, self._subscription.broker_pattern)
        self._wake.set()

    def rejoin(self) -> None:
        """There are no rebalances that a member could ask for; only what it has not told yet can be told."""
        self._wake.set()

    def commit_refused(self, code: ErrorCode, group: ConsumerGroupMetadata) -> bool:
        """An epoch that was right a moment ago may be stale now; the next heartbeat brings the right one."""
        self._wake.set()
        return code == ErrorCode.STALE_MEMBER_EPOCH and self._state.state is MembershipState.MEMBER

    def next_step(self) -> Coroutine[Any, Any, None] | None:
        if self._state.state is MembershipState.OUT:
            return self._lose_everything() if self._fatal is None or self._holdings.partitions else None
        target = self._state.to_take_over
        if target is None:
            return None
        known = {
            TopicPartition(name, number): (topic_id, number)
            for topic_id, number in target
            if (name := self._name_of(topic_id)) is not None
        }
        if known.keys() == self._holdings.partitions and frozenset(known.values()) == self._state.owned:
            # The rest are topics that nobody knows yet.
            return None
        return self._take_over(known)

    async def leave(self, leave_group: bool | None) -> None:
        member = self._state.state is MembershipState.MEMBER
        try:
            if member:
                await self._holdings.revoke(self._holdings.partitions)
            else:
                await self._holdings.lose(self._holdings.partitions)
        finally:
            self._heartbeats.cancel()
            await asyncio.gather(self._heartbeats, return_exceptions=True)
            static = self._config.group_instance_id is not None
            if member and (leave_group is None or leave_group):
                await self._say_farewell(PAUSING_EPOCH if static and leave_group is None else LEAVING_EPOCH)

    # -- inside of the reader's calls ----------------------------------------------------------------------------

    async def _take_over(self, target: dict[TopicPartition, IdPartition]) -> None:
        owned = self._holdings.partitions
        try:
            await self._holdings.revoke(owned.difference(target))
            added = frozenset(target).difference(owned)
            if added and self._state.state is MembershipState.MEMBER:
                logger.info("group %r assigned %s", self._group_id, ", ".join(map(str, sorted(target))))
                await self._holdings.add(added)
        finally:
            held = self._holdings.partitions
            if self._state.state is MembershipState.MEMBER:
                self._state.owned = frozenset(place for partition, place in target.items() if partition in held)
            self._wake.set()

    async def _lose_everything(self) -> None:
        try:
            await self._holdings.lose(self._holdings.partitions)
        finally:
            if self._fatal is None:
                self._state.join_again()
                self._wake.set()

    def _name_of(self, topic_id: Uuid) -> str | None:
        return self._cluster.metadata.topic_names.get(topic_id) or self._names.get(topic_id)

    # -- heartbeats ----------------------------------------------------------------------------------------------

    async def _send_heartbeats(self) -> None:
        failures = 0
        while self._fatal is None:
            await self._wait_until_due()
            if self._state.state in (MembershipState.OUT, MembershipState.LEFT) or not self._has_subscription():
                continue
            if self._nobody_reads():
                await self._say_farewell(LEAVING_EPOCH if self._config.group_instance_id is None else PAUSING_EPOCH)
                self._thrown_out()
                continue
            try:
                await self._heartbeat()
                failures = 0
            except UnsupportedByBroker as error:
                self._die(
                    ClientError(f"the broker has no groups of the new protocol ({error}): set group.protocol=classic")
                )
            except (ApiError, ConnectionProblem, ClientError) as error:
                logger.info("heartbeat of group %r: %s", self._group_id, error)
                self._state.unanswered()
                if not self._is_final(error):
                    failures += 1
                    await asyncio.sleep(self._cluster.retry_pause_ms(failures) / 1000)

    def _has_subscription(self) -> bool:
        """A member cannot join with nothing; a pattern may match nothing yet."""
        return (
            self._state.state is MembershipState.MEMBER or bool(self._state.topics) or self._state.pattern is not None
        )

    async def _wait_until_due(self) -> None:
        idle = self._state.state in (MembershipState.OUT, MembershipState.LEFT) or not self._has_subscription()
        if not idle and self._state.has_news:
            self._wake.clear()
            return
        try:
            async with asyncio.timeout(None if idle else self._interval_ms / 1000):
                await self._wake.wait()
        except TimeoutError:
            pass
        self._wake.clear()

    async def _heartbeat(self) -> None:
        reply = await self._ask(self._state.heartbeat())
        raise_for_code(reply.error_code, reply.error_message or f"group {self._group_id!r}")
        self._interval_ms = float(reply.heartbeat_interval_ms) or self._interval_ms
        self._state.answered(reply)
        if self._state.state is MembershipState.MEMBER:
            self.group_metadata = replace(
                self.group_metadata, generation_id=self._state.epoch, member_id=self._state.member_id
            )
        target = self._state.to_take_over
        if target is not None:
            await self._find_names({topic_id for topic_id, _ in target if self._name_of(topic_id) is None})
            self._on_news()

    def _is_final(self, error: Exception) -> bool:
        """Whether there is no use in sending the same again; what has to happen instead is begun here."""
        if isinstance(error, AuthenticationError):
            self._die(error)
            return True
        if not isinstance(error, ApiError) or is_retriable(error):
            return False
        if error.code in _OUT:
            self._thrown_out()
        else:
            self._die(error)
        return True

    def _die(self, error: Exception) -> None:
        self._fatal = self.failure = error
        self._thrown_out()

    def _thrown_out(self) -> None:
        self._state.thrown_out()
        self._on_news()

    async def _find_names(self, topic_ids: Collection[Uuid]) -> None:
        """Where the broker matches the pattern, it may give partitions of topics that are not known here."""
        if not topic_ids:
            return
        request = MetadataRequest(
            topics=[MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in sorted(topic_ids)],
            allow_auto_topic_creation=False,
        )
        reply = await self._cluster.ask_any(request, MetadataResponse)
        names = {Uuid(topic.topic_id): topic.name for topic in reply.topics if topic.name and not topic.error_code}
        self._names.update(names)
        self._cluster.watch(names.values())
        await self._cluster.refresh()

    async def _say_farewell(self, epoch: int) -> None:
        """The coordinator may be away: then the group notices when the session times out."""
        try:
            await self._ask(self._state.farewell(epoch), timeout_ms=self._config.request_timeout_ms)
        except (ApiError, ConnectionProblem, ClientError, UnsupportedByBroker) as error:
            logger.info("leaving group %r: %s", self._group_id, error)

    async def _ask(
        self, request: ConsumerGroupHeartbeatRequest, *, timeout_ms: float | None = None
    ) -> ConsumerGroupHeartbeatResponse:
        return await ask_coordinator(
            self._cluster,
            self._group_id,
            request,
            ConsumerGroupHeartbeatResponse,
            lambda reply: reply.error_code,
            timeout_ms=timeout_ms,
        )
