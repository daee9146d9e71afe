"""Where a consumer is in each partition that is assigned to it, and what has been fetched beyond. No I/O."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator

from tidelog.client.cluster.metadata import PartitionMetadata
from tidelog.client.consumer.fetched import Chunk, FetchedPartition
from tidelog.client.errors import WrongUse
from tidelog.client.offsets.committed import OffsetAndMetadata
from tidelog.model.ids import ZERO_UUID, TopicPartition, Uuid

NO_EPOCH = -1
# Fetched replies that wait to be read: one that is being read, and one that comes next.
MOST_FETCHED = 2


class PartitionPosition:
    """`position` is the offset of the next record that the user gets; None until it has been found out.

    `fetch_offset` is where the next fetch goes on: behind everything that waits in `fetched`. The leader epoch beside
    each of the two is that of the record before it, and lets a broker tell whether it still has it (KIP-320).
    """

    __slots__ = (
        "checked_epoch",
        "fetch_epoch",
        "fetch_offset",
        "fetched",
        "high_watermark",
        "jumps",
        "last_stable_offset",
        "leader_epoch",
        "lent",
        "log_start_offset",
        "not_before_ms",
        "partition",
        "paused",
        "position",
        "preferred_replica",
        "preferred_until_ms",
        "put_back",
        "reset_to",
        "topic_id",
    )

    def __init__(self, partition: TopicPartition) -> None:
        self.partition = partition
        self.position: int | None = None
        self.leader_epoch = NO_EPOCH
        self.fetch_offset = 0
        self.fetch_epoch = NO_EPOCH
        # The epoch of the leader that has confirmed that it has everything before `fetch_offset`.
        self.checked_epoch: int | None = None
        self.paused = False
        # A time for ListOffsets that the position has to be set to, instead of the committed offset.
        self.reset_to: int | None = None
        self.fetched: deque[FetchedPartition] = deque()
        # Records that an iteration has taken but not handed out, when the partition was paused. They come first.
        self.put_back: Chunk | None = None
        # Whether the first reply that waited is being read on another thread, see `reader.Lent`.
        self.lent = False
        # Counts what makes taken records worthless: a seek, or that the partition is no longer assigned.
        self.jumps = 0
        # A fetch failed: do not try before.
        self.not_before_ms = 0.0
        self.high_watermark: int | None = None
        self.last_stable_offset: int | None = None
        self.log_start_offset: int | None = None
        # Where the leader sent us to read from (KIP-392), and until when that holds.
        self.preferred_replica: int | None = None
        self.preferred_until_ms = 0.0
        # Whose offsets these are: a topic that was deleted and recreated has another id, and other records.
        self.topic_id = ZERO_UUID

    @property
    def has_records(self) -> bool:
        return bool(self.fetched) or self.put_back is not None

    def seek(self, offset: int | None, leader_epoch: int = NO_EPOCH) -> None:
        self.move(offset, leader_epoch)
        self.reset_to = None
        self.not_before_ms = 0.0
        self.topic_id = ZERO_UUID
        self.checked_epoch = None
        self.drop_fetched()

    def lose(self, reset_to: int | None) -> None:
        """The position has to be found out again."""
        self.seek(None)
        self.reset_to = reset_to

    def drop_fetched(self) -> None:
        """Fetch again from the position on."""
        self.fetched.clear()
        self.put_back = None
        self.jumps += 1
        self.fetch_offset = self.position or 0
        self.fetch_epoch = self.leader_epoch

    def move(self, position: int | None, leader_epoch: int) -> None:
        """The user has got everything before `position`."""
        self.position = position
        self.leader_epoch = leader_epoch

    def add_fetched(self, fetched: FetchedPartition) -> None:
        self.fetched.append(fetched)
        self.fetch_offset = fetched.end_offset
        self.fetch_epoch = fetched.end_epoch

    def take(self, limit: int) -> Chunk | None:
        """Records that wait, without moving the position: None if there are none."""
        if self.paused:
            return None
        if self.put_back is not None:
            chunk, self.put_back = self.put_back, None
            if len(chunk.records) <= limit:
                return chunk
            self.put_back = chunk._replace(records=chunk.records[limit:])
            last = chunk.records[limit - 1]
            return Chunk(chunk.records[:limit], last.offset + 1, last.leader_epoch)
        if not self.fetched:
            return None
        fetched = self.fetched[0]
        chunk = fetched.take(limit)
        if fetched.exhausted:
            self.fetched.popleft()
        return chunk

    def may_fetch(self) -> bool:
        if self.position is None or self.paused or len(self.fetched) + self.lent >= MOST_FETCHED:
            return False
        return not self.fetched or self.fetched[-1].problem is None

    def belongs_to(self, topic_id: Uuid) -> bool:
        """Whether the position is one in this topic. The first id that is known after a seek is that of its topic."""
        if self.topic_id == ZERO_UUID:
            self.topic_id = topic_id
        return topic_id in (self.topic_id, ZERO_UUID)

    def needs_check(self, leader: PartitionMetadata) -> bool:
        """Whether the leader is a new one that has not confirmed the position yet.

        Without an epoch there is nothing that could be checked: whoever leads is believed.
        """
        if self.checked_epoch == leader.leader_epoch:
            return False
        if self.fetch_epoch < 0 or leader.leader_epoch < 0:
            self.checked_epoch = leader.leader_epoch
            return False
        return True


class Positions:
    """All assigned partitions."""

    def __init__(self) -> None:
        self._positions: dict[TopicPartition, PartitionPosition] = {}

    def __iter__(self) -> Iterator[PartitionPosition]:
        return iter(list(self._positions.values()))

    def __len__(self) -> int:
        return len(self._positions)

    @property
    def assigned(self) -> frozenset[TopicPartition]:
        return frozenset(self._positions)

    def assign(self, partitions: Collection[TopicPartition]) -> None:
        """Partitions that stay keep where they are."""
        before = self._positions
        self._positions = {
            partition: before.get(partition) or PartitionPosition(partition) for partition in sorted(partitions)
        }
        for partition, entry in before.items():
            if partition not in self._positions:
                entry.jumps += 1

    def of(self, partition: TopicPartition) -> PartitionPosition:
        try:
            return self._positions[partition]
        except KeyError:
            raise WrongUse(f"partition {partition} is not assigned to this consumer") from None

    def current(self, entry: PartitionPosition) -> bool:
        """Whether the entry still stands for an assigned partition."""
        return self._positions.get(entry.partition) is entry

    def rotate(self, entry: PartitionPosition) -> None:
        """Put a partition behind the others, so that all get their turn."""
        if self.current(entry):
            self._positions[entry.partition] = self._positions.pop(entry.partition)

    def to_commit(self) -> dict[TopicPartition, OffsetAndMetadata]:
        return {
            entry.partition: OffsetAndMetadata(offset=entry.position, leader_epoch=entry.leader_epoch)
            for entry in self._positions.values()
            if entry.position is not None
        }
