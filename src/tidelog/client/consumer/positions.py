"""Where a consumer is in each partition that is assigned to it. State only; no I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tidelog.client.committed import OffsetAndMetadata
from tidelog.client.errors import WrongUse
from tidelog.client.fetched import FetchedPartition
from tidelog.model.ids import TopicPartition


class PartitionPosition:
    """`position` is the offset of the next record that the user gets; None until it has been found out."""

    __slots__ = (
        "fetched",
        "high_watermark",
        "last_stable_offset",
        "leader_epoch",
        "log_start_offset",
        "not_before_ms",
        "partition",
        "paused",
        "position",
        "reset_to",
    )

    def __init__(self, partition: TopicPartition) -> None:
        self.partition = partition
        self.position: int | None = None
        # Of the record before the position; lets a broker notice that it was truncated (KIP-320).
        self.leader_epoch = -1
        self.paused = False
        # A time for ListOffsets that the position has to be set to, instead of the committed offset.
        self.reset_to: int | None = None
        self.fetched: FetchedPartition | None = None
        # A fetch failed: do not try before.
        self.not_before_ms = 0.0
        self.high_watermark: int | None = None
        self.last_stable_offset: int | None = None
        self.log_start_offset: int | None = None

    def seek(self, offset: int, leader_epoch: int = -1) -> None:
        self.position = offset
        self.leader_epoch = leader_epoch
        self.reset_to = None
        self.fetched = None
        self.not_before_ms = 0.0

    def lose(self, reset_to: int | None) -> None:
        """The position has to be found out anew."""
        self.position = None
        self.leader_epoch = -1
        self.reset_to = reset_to
        self.fetched = None


class Positions:
    """All assigned partitions."""

    def __init__(self) -> None:
        self._positions: dict[TopicPartition, PartitionPosition] = {}

    def __contains__(self, partition: object) -> bool:
        return partition in self._positions

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
