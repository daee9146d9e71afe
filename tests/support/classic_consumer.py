"""A consumer of the classic protocol as clients have it, one step at a time: eager (range) or cooperative."""

from __future__ import annotations

from typing import Any

from support.consumer_group_driver import ConsumerDriver

from tidelog.coordinators.decision import Token
from tidelog.coordinators.groups.embedded_protocol import read_assignment, read_subscription
from tidelog.model.errors import ErrorCode
from tidelog.protocol.codec import encode
from tidelog.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from tidelog.protocol.messages.consumer_protocol_assignment import TopicPartition as AssignedPartitions
from tidelog.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription, TopicPartition

VERSION = 3
REJOIN = (ErrorCode.REBALANCE_IN_PROGRESS,)
START_OVER = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION)
RETRIED = (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)

Owned = set[tuple[str, int]]


class ClassicConsumer:
    """`step` does the next thing: joins, syncs or sends a heartbeat. Requests may wait for others for many steps."""

    def __init__(self, driver: ConsumerDriver, *, cooperative: bool = False, instance: str | None = None) -> None:
        self.driver = driver
        self.cooperative = cooperative
        self.instance = instance
        self.member_id = ""
        self.generation = -1
        self.owned: Owned = set()
        self.joined = False
        self.fenced = False
        self._joining: Token | None = None
        self._syncing: Token | None = None

    @property
    def protocol(self) -> str:
        return "cooperative-sticky" if self.cooperative else "range"

    def step(self) -> None:
        if self.fenced:
            return
        if self._joining is not None:
            if self._joining in self.driver.answers:
                self._on_join(self.driver.answers[self._joining])
        elif self._syncing is not None:
            if self._syncing in self.driver.answers:
                self._on_sync(self.driver.answers[self._syncing])
        elif self.joined:
            self._on_heartbeat(self.driver.heartbeat(self.member_id, self.generation, self.instance))
        else:
            self._join()

    def leave(self) -> None:
        if self.member_id:
            self.driver.leave((self.member_id, self.instance))
        self.joined, self.owned = False, set()

    def restart(self) -> None:
        """What somebody does whose consumer was fenced."""
        self.fenced = False
        self._start_over()

    def _join(self) -> None:
        if not self.cooperative:
            # Eager consumers give up everything before they rejoin.
            self.owned = set()
        self.joined = False
        self._joining = self.driver.join(
            self.member_id,
            protocols={self.protocol: self._subscription()},
            instance=self.instance,
            version=9,
            session_ms=600_000,
        )

    def _subscription(self) -> bytes:
        owned = [TopicPartition(topic=topic, partitions=[number]) for topic, number in sorted(self.owned)]
        message = ConsumerProtocolSubscription(topics=["orders"], owned_partitions=owned, generation_id=self.generation)
        return VERSION.to_bytes(2, "big") + encode(message, VERSION)

    def _on_join(self, reply: Any) -> None:
        self._joining = None
        if reply.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = reply.member_id
        elif reply.error_code in START_OVER:
            self._start_over()
        elif reply.error_code == ErrorCode.FENCED_INSTANCE_ID:
            self.fenced, self.owned = True, set()
        elif reply.error_code == 0:
            self.member_id, self.generation = reply.member_id, reply.generation_id
            assignments = _assign(reply.members) if reply.leader == reply.member_id else {}
            self._syncing = self.driver.sync(self.member_id, self.generation, assignments, instance=self.instance)
        else:
            assert reply.error_code in (*REJOIN, *RETRIED), ErrorCode(reply.error_code).name

    def _on_sync(self, reply: Any) -> None:
        self._syncing = None
        if reply.error_code == 0:
            given = {
                (topic.topic, number)
                for topic in read_assignment(reply.assignment).assigned_partitions
                for number in topic.partitions
            }
            gives_up = self.owned - given
            self.owned = given
            # A cooperative consumer that has given up something rejoins, so that others can have it.
            self.joined = not gives_up
        elif reply.error_code in START_OVER:
            self._start_over()
        elif reply.error_code == ErrorCode.FENCED_INSTANCE_ID:
            self.fenced, self.owned = True, set()
        else:
            assert reply.error_code in (*REJOIN, *RETRIED), ErrorCode(reply.error_code).name

    def _on_heartbeat(self, code: int) -> None:
        if code in REJOIN:
            self._join()
        elif code in START_OVER:
            self._start_over()
        elif code == ErrorCode.FENCED_INSTANCE_ID:
            self.fenced, self.owned = True, set()
        else:
            assert code in (0, *RETRIED), ErrorCode(code).name

    def _start_over(self) -> None:
        self.member_id, self.generation = "", -1
        self.joined, self.owned = False, set()


def _assign(members: Any) -> dict[str, bytes]:
    """Four partitions in turn; cooperative members get nothing that another one still owns."""
    owners = {
        (topic.topic, number): member.member_id
        for member in members
        for topic in read_subscription(member.metadata).owned_partitions
        for number in topic.partitions
    }
    given: dict[str, list[int]] = {member.member_id: [] for member in members}
    for number in range(4):
        member_id = members[number % len(members)].member_id
        if owners.get(("orders", number), member_id) == member_id:
            given[member_id].append(number)
    return {
        member_id: VERSION.to_bytes(2, "big")
        + encode(
            ConsumerProtocolAssignment(assigned_partitions=[AssignedPartitions(topic="orders", partitions=numbers)]),
            VERSION,
        )
        for member_id, numbers in given.items()
    }
