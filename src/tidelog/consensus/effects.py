"""What is to be done after a step, as one value.

It is carried out in the order of the fields of `Effects`, completely, before the next step. Nothing may be sent before
the quorum state is durable: a vote that is forgotten could be given twice.
"""

from __future__ import annotations

from dataclasses import field
from typing import NamedTuple, TypeAlias

from tidelog.consensus.messages import Answer, Request, SnapshotId
from tidelog.consensus.quorum_state import QuorumState
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.codec import Buffer
from tidelog.protocol.messages.leader_change_message import LeaderChangeMessage

NEVER = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderChangeAppend:
    """Write this message as a control record in `epoch`: the first record of a new leader."""

    epoch: int
    message: LeaderChangeMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedAppend:
    """Write these record batches as they are. The first of them starts at `base_offset`, the end of the log."""

    base_offset: int
    records: Buffer


Append: TypeAlias = LeaderChangeAppend | FetchedAppend


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotChunk:
    """Write this piece of the snapshot at its position; position 0 starts over.

    After the last piece: make the snapshot durable, empty the log so that it starts at the snapshot's end, and report
    `SnapshotInstalled`.
    """

    snapshot_id: SnapshotId
    position: int
    data: Buffer
    is_last: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The answer to a request that came in with this token."""

    token: int
    answer: Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """A request to another voter. Its answer or failure is to be reported under `request_id`."""

    destination: int
    request_id: int
    request: Request


class Predecessor(NamedTuple):
    """The leader that a replica followed last, and when it last gave a sign of life, on the replica's own clock."""

    leader_id: int
    heard_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Leadership:
    """Who leads now, as far as this replica knows. `leading_from` is set while that is itself.

    A leader may append from now on, but has to see the high watermark above `leading_from` before it can know all that
    earlier leaders have committed. Its `predecessor` is the one that it followed until it was elected.
    """

    epoch: int
    leader_id: int | None
    leading_from: int | None = None
    predecessor: Predecessor | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """In this order: persist, change files, report to the listeners, talk. Then wait for an event or the deadline.

    After `truncate_to` or `append` the log is to be flushed and `Flushed` reported. A truncation waits for a flush that
    is under way and its report. There is at most one flush at a time.
    """

    quorum_state: QuorumState | None = None
    # A voter that has begun without a past has one from now on. Until then it has to be started `forgetful`.
    remembers: bool = False
    truncate_to: int | None = None
    append: Append | None = None
    snapshot_chunk: SnapshotChunk | None = None
    leadership: Leadership | None = None
    # Everything before it is committed.
    high_watermark: int | None = None
    replies: tuple[Reply, ...] = ()
    requests: tuple[Send, ...] = ()
    # On the clock of `step`; `NEVER` without one.
    deadline_ms: float = NEVER


@dataclass(slots=True)
class Draft:
    """Gathers the effects of a step while it is under way."""

    truncate_to: int | None = None
    append: Append | None = None
    snapshot_chunk: SnapshotChunk | None = None
    replies: list[Reply] = field(default_factory=list)
    requests: list[Send] = field(default_factory=list)
