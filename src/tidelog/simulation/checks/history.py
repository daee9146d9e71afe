"""What clients did and saw in a run, and what the logs held at its end. The checkers decide over these values alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import Enum, auto
from typing import NamedTuple

from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass


class Guarantee(Enum):
    """What the sender of a record may expect once it is acknowledged."""

    # Idempotent, acks=all: stored once, in order, for ever.
    EXACTLY_ONCE = auto()
    # acks=all without idempotence: stored at least once.
    AT_LEAST_ONCE = auto()
    # acks=1 and acks=0: nothing.
    NONE = auto()


class Isolation(Enum):
    UNCOMMITTED = auto()
    COMMITTED = auto()


class Outcome(Enum):
    """How a transaction ended, as its client knows."""

    COMMITTED = auto()
    ABORTED = auto()
    # The client got no answer: it may have been committed or aborted, but only one of both.
    UNKNOWN = auto()


class Sent(NamedTuple):
    """A client handed a record over. Values are unique in a history."""

    time: float
    producer: str
    # Counts the records of this producer in this partition.
    number: int
    partition: TopicPartition
    value: bytes
    guarantee: Guarantee
    transaction: str | None = None


class Acknowledged(NamedTuple):
    """A broker said that the record is stored; the offset is -1 where it did not say where."""

    time: float
    value: bytes
    partition: TopicPartition
    offset: int


class Refused(NamedTuple):
    """The client gave up. The record may be stored nevertheless."""

    time: float
    value: bytes
    reason: str


class Ending(NamedTuple):
    """A client began to commit (or to abort) a transaction."""

    time: float
    transaction: str
    commit: bool


class Ended(NamedTuple):
    time: float
    transaction: str
    outcome: Outcome


class Positioned(NamedTuple):
    """A reader (again) starts at an offset of a partition; what it reads until the next one is a session.

    The offset is -1 where the group decides it."""

    time: float
    reader: str
    partition: TopicPartition
    offset: int
    isolation: Isolation


class Read(NamedTuple):
    time: float
    reader: str
    partition: TopicPartition
    offset: int
    value: bytes
    isolation: Isolation


class TopicState(NamedTuple):
    """What an administrator knows of a topic: how many partitions it has, and its own properties in order."""

    partitions: int
    configs: tuple[tuple[str, str], ...]


class Administered(NamedTuple):
    """An administrator asked for something. If `known`, the answer was that the topic is now as `state` says.

    A topic whose state is None is gone. What is not known stays so: the topic is not touched again.
    """

    time: float
    administrator: str
    topic: str
    # API, version and node.
    request: str
    known: bool
    state: TopicState | None


class AnsweredRequest(NamedTuple):
    """What a coordinator answered a client that sends extreme numbers, or one that must not notice it."""

    time: float
    client: str
    # API, version and node.
    request: str
    # The errors in the answer; None if the connection was closed instead.
    codes: frozenset[int] | None
    # That of a bystander, whose requests are refused for no reason of their own.
    group: str | None


Event = Sent | Acknowledged | Refused | Ending | Ended | Positioned | Read | Administered | AnsweredRequest


@dataclass(slots=True)
class History:
    """All events in the order in which they happened."""

    events: list[Event] = field(default_factory=list)

    def add(self, event: Event) -> None:
        self.events.append(event)


class StoredRecord(NamedTuple):
    offset: int
    value: bytes | None
    leader_epoch: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaLog:
    """What one replica holds when everything is over; control records are left out."""

    node: str
    partition: TopicPartition
    start_offset: int
    end_offset: int
    high_watermark: int
    records: Sequence[StoredRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalState:
    """The end of a run, after faults have healed."""

    replicas: Sequence[ReplicaLog] = ()
    # What a reader finds that reads from the beginning to the end.
    committed: Sequence[Read] = ()
    uncommitted: Sequence[Read] = ()
    # Topics whose records were made of those of another one, exactly once: output to input.
    derived: Mapping[str, str] = field(default_factory=dict)
    # What each node knows of the topics of administrators.
    topics: Mapping[str, Mapping[str, TopicState]] = field(default_factory=dict)
    # What did not come to its end within the bound, in words.
    unfinished: Sequence[str] = ()
