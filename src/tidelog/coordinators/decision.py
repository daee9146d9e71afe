"""What goes into a coordinator and what comes out of it: moments, requests, records, answers, decisions.

A coordinator decides: it looks at a request and the time, and returns one `ShardDecision`. Whoever called appends the
records, replays them into the coordinator, and sends the answers once the records are committed. Nothing here knows
about groups or transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import NamedTuple, NewType, Protocol

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.schema import Message

# Names one request that is waiting for its answer; given by the caller, unique within a shard.
Token = NewType("Token", int)


class Moment(NamedTuple):
    """The time of a decision. Timeouts are counted on the monotonic clock; what is stored carries wall time."""

    monotonic_ms: float
    wall_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardRequest:
    """A message together with what the coordinator may want to know about its sender."""

    token: Token
    message: Message
    version: int
    client_id: str = ""
    client_host: str = ""
    # Random text, drawn by the caller; becomes the tail of the member id if the sender needs one.
    fresh_id: str = ""
    # Whether the sender may know of a topic, for regular expressions; None if it may know of all of them.
    sees: Callable[[str], bool] | None = None
    # One that nobody has; it may stay unused. Without it the outcome may be that it is needed.
    fresh_producer_id: int | None = None


class CoordinatorRecord(NamedTuple):
    """One record of the coordinator's topic; without a value it is a tombstone."""

    key: Message
    value: Message | None


class Answer(NamedTuple):
    """The reply to a request that may have arrived long ago."""

    token: Token
    response: Message


class ProducerIdentity(NamedTuple):
    """Whose transaction the records belong to."""

    producer_id: int
    producer_epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardDecision:
    """All that is to be done now. A request that no decision has answered yet goes on waiting."""

    records: tuple[CoordinatorRecord, ...] = ()
    answers: tuple[Answer, ...] = ()
    # Set for records that only count once the transaction's marker says so.
    producer: ProducerIdentity | None = None
    # Whether the records mean something only together, and so must go into one batch.
    atomic: bool = True


class Undecided:
    """What a shard returns that cannot decide without something that takes time to get. It has changed nothing."""


NOTHING_TO_DO = ShardDecision()


@dataclass(slots=True)
class ShardDraft:
    """Gathers the parts of a decision while it is being made."""

    now: Moment
    records: list[CoordinatorRecord] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    producer: ProducerIdentity | None = None
    atomic: bool = True

    def append(self, record: CoordinatorRecord) -> None:
        self.records.append(record)

    def answer(self, token: Token, response: Message) -> None:
        self.answers.append(Answer(token, response))

    def finish(self) -> ShardDecision:
        if not self.records and not self.answers:
            return NOTHING_TO_DO
        return ShardDecision(
            records=tuple(self.records), answers=tuple(self.answers), producer=self.producer, atomic=self.atomic
        )


class CoordinatorShard(Protocol):
    """One partition's part of a coordinator: what every one of them can do, so that one runtime runs them all.

    Replay the log, then ask for decisions, `on_loaded` first; replay the records of each before asking for the next.
    """

    def decide(self, request: ShardRequest, now: Moment) -> ShardDecision | Undecided: ...

    def on_loaded(self, now: Moment) -> ShardDecision:
        """The log has been replayed: from now on the clock runs."""
        ...

    def on_time(self, now: Moment) -> ShardDecision:
        """What the earliest timer that is due asks for."""
        ...

    def next_deadline(self) -> float | None:
        """Monotonic milliseconds. `on_time` has nothing to do before; it may have nothing to do then either."""
        ...

    def roll_back(self, now: Moment) -> None:
        """The last decision failed: everything is as it was before it. A timer that asked for it fires again later."""
        ...

    def replay(self, record: CoordinatorRecord, *, offset: int, producer_id: int | None = None) -> None:
        """`producer_id` if the record belongs to a transaction whose end is not known yet."""
        ...

    def replay_marker(self, producer_id: int, *, commit: bool) -> None:
        """The transaction of this producer has ended."""
        ...

    def size(self) -> str:
        """What it holds and how much of it, for those who read the server's log."""
        ...

    def check_invariants(self) -> None:
        """Raises InvariantBroken."""
        ...
