"""What goes into a coordinator and what comes out of it: moments, requests, records, answers, decisions.

A coordinator decides: it looks at a request and the time, and returns one `Decision`. Whoever called appends the
records, replays them into the coordinator, and sends the answers once the records are committed. Nothing here knows
about groups or transactions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, NewType

from tidelog.protocol.schema import Message

# Names one request that is waiting for its answer; given by the caller, unique within a shard.
Token = NewType("Token", int)


class Moment(NamedTuple):
    """The time of a decision. Timeouts are counted on the monotonic clock; what is stored carries wall time."""

    monotonic_ms: float
    wall_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A message together with what the coordinator may want to know about its sender."""

    token: Token
    message: Message
    version: int
    client_id: str = ""
    client_host: str = ""
    # Random text, drawn by the caller; becomes the tail of the member id if the sender needs one.
    fresh_id: str = ""


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
class Decision:
    """All that is to be done now. A request that no decision has answered yet goes on waiting."""

    records: tuple[CoordinatorRecord, ...] = ()
    answers: tuple[Answer, ...] = ()
    # Set for records that only count once the transaction's marker says so.
    producer: ProducerIdentity | None = None
    # Whether the records mean something only together, and so must go into one batch.
    atomic: bool = True


NOTHING_TO_DO = Decision()


class Draft:
    """Gathers the parts of a decision while it is being made."""

    __slots__ = ("answers", "atomic", "producer", "records")

    def __init__(self) -> None:
        self.records: list[CoordinatorRecord] = []
        self.answers: list[Answer] = []
        self.producer: ProducerIdentity | None = None
        self.atomic = True

    def append(self, record: CoordinatorRecord) -> None:
        self.records.append(record)

    def answer(self, token: Token, response: Message) -> None:
        self.answers.append(Answer(token, response))

    def finish(self) -> Decision:
        if not self.records and not self.answers:
            return NOTHING_TO_DO
        return Decision(
            records=tuple(self.records), answers=tuple(self.answers), producer=self.producer, atomic=self.atomic
        )
