"""Committed offsets of all groups of a shard, and those that wait for the end of a transaction.

Changed by replay alone. Which requests may commit, fetch or delete offsets is decided in `offset_commit` and
`offset_fetch`, when they expire in `offset_expiry`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import NamedTuple

from tidelog.coordinators.groups.records import NO_EXPIRY
from tidelog.model.ids import ZERO_UUID
from tidelog.model.invariants import require
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.messages.offset_commit_value import OffsetCommitValue


class CommittedOffset(NamedTuple):
    """A named tuple and not a dataclass: a shard may hold hundreds of thousands of them."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    # Only from clients that still send a retention time of their own (OffsetCommit up to version 4).
    expire_timestamp_ms: int
    topic_id: bytes
    # Where the record itself is in the log: the later record wins, whenever its transaction ends.
    record_offset: int

    def is_of_topic(self, topic_id: bytes) -> bool:
        """False if the topic was deleted and recreated since; unknown ids match everything."""
        return topic_id == ZERO_UUID or self.topic_id == ZERO_UUID or self.topic_id == topic_id


def committed_offset(value: OffsetCommitValue, record_offset: int) -> CommittedOffset:
    return CommittedOffset(
        value.offset,
        value.leader_epoch,
        value.metadata,
        value.commit_timestamp,
        value.expire_timestamp if value.expire_timestamp >= 0 else NO_EXPIRY,
        value.topic_id,
        record_offset,
    )


# Topic, partition.
TopicOffsets = dict[str, dict[int, CommittedOffset]]


class GroupOffsets:
    """Offsets by group, topic and partition. Empty levels are removed, so that what is iterated over exists."""

    def __init__(self) -> None:
        self._groups: dict[str, TopicOffsets] = {}

    def of_group(self, group_id: str) -> TopicOffsets:
        return self._groups.get(group_id, {})

    def group_ids(self) -> Iterable[str]:
        return self._groups.keys()

    def get(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        return self._groups.get(group_id, {}).get(topic, {}).get(partition)

    def put(self, group_id: str, topic: str, partition: int, committed: CommittedOffset) -> None:
        self._groups.setdefault(group_id, {}).setdefault(topic, {})[partition] = committed

    def remove(self, group_id: str, topic: str, partition: int) -> None:
        topics = self._groups.get(group_id, {})
        partitions = topics.get(topic, {})
        partitions.pop(partition, None)
        if not partitions:
            topics.pop(topic, None)
        if not topics:
            self._groups.pop(group_id, None)

    def entries(self, group_id: str) -> Iterator[tuple[str, int, CommittedOffset]]:
        for topic, partitions in self.of_group(group_id).items():
            for partition, committed in partitions.items():
                yield topic, partition, committed

    def count(self) -> int:
        return sum(len(partitions) for topics in self._groups.values() for partitions in topics.values())


@dataclass(slots=True)
class _OpenTransaction:
    """What a producer has committed, and for which groups; a group stays if its offsets are deleted meanwhile."""

    offsets: GroupOffsets = field(default_factory=GroupOffsets)
    group_ids: set[str] = field(default_factory=set)


class OffsetStore:
    """`committed` is what consumers see. What an open transaction has committed is kept apart until its marker."""

    def __init__(self) -> None:
        self.committed = GroupOffsets()
        # By producer id: a producer has one transaction at a time.
        self._transactions: dict[int, _OpenTransaction] = {}
        # Group to the producers that have committed for it.
        self._producers: dict[str, set[int]] = {}

    def has_open_transaction(self, group_id: str) -> bool:
        return group_id in self._producers

    def is_pending(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether an open transaction may still change the committed offset of this partition."""
        return any(
            self._transactions[producer_id].offsets.get(group_id, topic, partition) is not None
            for producer_id in self._producers.get(group_id, ())
        )

    def has_offset(self, group_id: str, topic: str, partition: int) -> bool:
        """Committed, or about to be."""
        committed = self.committed.get(group_id, topic, partition)
        return committed is not None or self.is_pending(group_id, topic, partition)

    def pending_entries(self, group_id: str) -> Iterator[tuple[str, int, CommittedOffset]]:
        for producer_id in self._producers.get(group_id, ()):
            yield from self._transactions[producer_id].offsets.entries(group_id)

    def groups_with_offsets(self) -> set[str]:
        return {*self.committed.group_ids(), *self._producers}

    def check_invariants(self) -> None:
        """Both indexes of open transactions agree."""
        for producer_id, transaction in self._transactions.items():
            for group_id in {*transaction.group_ids, *transaction.offsets.group_ids()}:
                known = producer_id in self._producers.get(group_id, ())
                require(known, f"group {group_id!r}", "knows who commits for it", producer=producer_id)
        for group_id, producers in self._producers.items():
            require(bool(producers), f"group {group_id!r}", "somebody commits for it")
            for producer_id in producers:
                open_one = self._transactions.get(producer_id)
                known = open_one is not None and group_id in open_one.group_ids
                require(known, f"producer {producer_id}", "knows the group that it commits for", group=group_id)

    def replay_commit(
        self, group_id: str, topic: str, partition: int, committed: CommittedOffset, producer_id: int | None
    ) -> None:
        if producer_id is None:
            self.committed.put(group_id, topic, partition, committed)
            return
        transaction = self._transactions.setdefault(producer_id, _OpenTransaction())
        transaction.offsets.put(group_id, topic, partition, committed)
        transaction.group_ids.add(group_id)
        self._producers.setdefault(group_id, set()).add(producer_id)

    def replay_tombstone(self, group_id: str, topic: str, partition: int) -> None:
        """Deleting an offset also takes it out of open transactions: their commit must not bring it back."""
        self.committed.remove(group_id, topic, partition)
        for producer_id in self._producers.get(group_id, ()):
            self._transactions[producer_id].offsets.remove(group_id, topic, partition)

    def replay_marker(self, producer_id: int, *, commit: bool) -> None:
        transaction = self._transactions.pop(producer_id, None)
        if transaction is None:
            return
        for group_id in transaction.group_ids:
            producers = self._producers[group_id]
            producers.discard(producer_id)
            if not producers:
                del self._producers[group_id]
        if not commit:
            return
        for group_id in transaction.offsets.group_ids():
            for topic, partition, committed in transaction.offsets.entries(group_id):
                existing = self.committed.get(group_id, topic, partition)
                # A plain commit made after this one, but before the marker, is the newer word. Compaction keeps
                # records in their order too, so a replay of the compacted log comes to the same end.
                if existing is None or existing.record_offset < committed.record_offset:
                    self.committed.put(group_id, topic, partition, committed)
