"""A consumer group (KIP-848) that a script drives: what members are answered, and what the coordinator writes."""

from __future__ import annotations

from collections.abc import Iterable

from support.consumer_group_driver import Consumer, ConsumerDriver
from support.transcripts import Scripted

from tidelog.coordinators.consumer_groups.topics import TopicIdPartition
from tidelog.coordinators.decision import CoordinatorRecord
from tidelog.coordinators.groups.records import decode_record
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.consumer_group_current_member_assignment_value import (
    ConsumerGroupCurrentMemberAssignmentValue,
    TopicPartitions,
)
from tidelog.protocol.messages.consumer_group_member_metadata_key import ConsumerGroupMemberMetadataKey
from tidelog.protocol.messages.consumer_group_metadata_value import ConsumerGroupMetadataValue
from tidelog.protocol.messages.consumer_group_target_assignment_member_value import (
    ConsumerGroupTargetAssignmentMemberValue,
)
from tidelog.protocol.messages.consumer_group_target_assignment_member_value import (
    TopicPartition as TargetPartitions,
)


class ScriptedGroup(Scripted):
    """Members are subscribed to the one topic `orders`, and give up at once what is no longer in their assignment."""

    def __init__(self) -> None:
        super().__init__()
        self._driver = ConsumerDriver()
        self._members: dict[str, Consumer] = {}
        # How much of the log is in the lines.
        self._shown = 0
        self._state = "Empty"

    def do_topic(self, partitions: str) -> None:
        self._driver.set_topics(orders=int(partitions))

    def do_join(self, name: str) -> None:
        self._members[name] = Consumer(self._driver, name)
        self._answered(name, self._members[name].join())

    def do_beat(self, *names: str) -> None:
        for name in names:
            self._answered(name, self._members[name].beat())

    def do_leave(self, name: str) -> None:
        self._answered(name, self._members.pop(name).leave())

    def do_time(self, seconds: str) -> None:
        """Members that fall silent are removed."""
        self._driver.advance(1_000 * int(seconds))
        self._show_changes()

    def do_fail_over(self) -> None:
        self._driver.fail_over()
        self.lines.append("another coordinator loads the log")
        self._show_changes()

    def do_show(self) -> None:
        group = self._driver.consumer_group()
        self.lines.append(f"group {group.state.value} epoch={group.epoch} target of epoch {group.assignment_epoch}")
        for member_id, member in sorted(group.members.items()):
            current = member.current
            revoking = self._numbers(current.pending_revocation)
            self.lines.append(
                f"  {member_id} {_label(current.state.name)} epoch={current.epoch} "
                f"owns {self._numbers(current.assigned)}{f' gives up {revoking}' if revoking else ''}, "
                f"is to own {self._numbers(group.target_of(member_id))}"
            )

    # --- What is shown

    def _answered(self, name: str, code: int) -> None:
        self._show_changes()
        member = self._members.get(name)
        if code != ErrorCode.NONE:
            self.lines.append(f"{name} is answered {ErrorCode(code).name}")
        elif member is not None:
            owned = sorted(number for _, number in member.owned)
            self.lines.append(f"{name} is answered epoch={member.epoch} assignment={owned}")

    def _show_changes(self) -> None:
        for entry in self._driver.log[self._shown :]:
            assert len(entry) == 4
            self._show_record(decode_record(entry[1], entry[2]))
        self._shown = len(self._driver.log)
        state = self._driver.consumer_group().state.value
        if state != self._state:
            self.lines.append(f"the group is {state}")
            self._state = state

    def _show_record(self, record: CoordinatorRecord) -> None:
        member = getattr(record.key, "member_id", "")
        match record.value:
            case ConsumerGroupMetadataValue() as value:
                self.lines.append(f"log: the group is in epoch {value.epoch}")
            case ConsumerGroupTargetAssignmentMemberValue() as value:
                self.lines.append(f"log: {member} is to own {self._listed(value.topic_partitions)}")
            case ConsumerGroupCurrentMemberAssignmentValue() as value:
                revoking = self._listed(value.partitions_pending_revocation)
                self.lines.append(
                    f"log: {member} in epoch {value.member_epoch} owns {self._listed(value.assigned_partitions)}"
                    f"{f', gives up {revoking}' if revoking else ''}"
                )
            case None if isinstance(record.key, ConsumerGroupMemberMetadataKey):
                self.lines.append(f"log: {member} is removed")

    def _listed(self, topics: Iterable[TopicPartitions | TargetPartitions]) -> list[int]:
        return self._numbers(
            TopicIdPartition(Uuid(topic.topic_id), number) for topic in topics for number in topic.partitions
        )

    def _numbers(self, partitions: Iterable[TopicIdPartition]) -> list[int]:
        return sorted(number for _, number in self._driver.named(partitions))


def _label(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))
