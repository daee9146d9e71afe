"""What replicas of the metadata log say to each other, and everything else that can happen to one.

Kafka's RPCs (Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch, FetchSnapshot) carry these; `tidelog.consensus.wire`
translates. What a replica wants done in return is in `tidelog.consensus.effects`.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias, assert_never

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID, Uuid
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.codec import Buffer

# A follower that does not tell its high watermark (before Fetch version 18) is never behind.
UNTOLD_HIGH_WATERMARK = 2**63 - 1


class SnapshotId(NamedTuple):
    """The first offset that a snapshot does not contain, and the epoch of the last one that it does."""

    end_offset: int
    epoch: int


class EpochEnd(NamedTuple):
    """An epoch and the first offset that does not belong to it."""

    epoch: int
    end_offset: int


NO_SNAPSHOT_ID = SnapshotId(-1, -1)


# --- Requests and their answers. Each answer tells the epoch and, if known, the leader of the one who answers.


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """Asks for a vote in `epoch`, or only whether there would be one (KIP-996)."""

    candidate_id: int
    epoch: int
    last_epoch: int
    end_offset: int
    pre_vote: bool = False
    candidate_directory_id: Uuid = ZERO_UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginEpoch:
    """The leader of `epoch` introduces itself."""

    leader_id: int
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EndEpoch:
    """The leader of `epoch` resigns. The first of its successors should stand for election at once."""

    leader_id: int
    epoch: int
    successors: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """Asks for records from `offset` on, where the sender's log, last written in `last_epoch`, ends.

    A replica with a vote says with it: everything before `offset` will survive a crash of mine.
    """

    replica_id: int
    epoch: int
    offset: int
    last_epoch: int
    high_watermark: int = UNTOLD_HIGH_WATERMARK
    max_wait_ms: int = 0
    max_bytes: int = 2**31 - 1
    directory_id: Uuid = ZERO_UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSnapshot:
    """Asks for a piece of a snapshot, from a position in bytes on (KIP-630)."""

    replica_id: int
    epoch: int
    snapshot_id: SnapshotId
    position: int
    max_bytes: int = 2**31 - 1
    directory_id: Uuid = ZERO_UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteAnswer:
    epoch: int
    leader_id: int | None = None
    error: ErrorCode = ErrorCode.NONE
    granted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginEpochAnswer:
    epoch: int
    leader_id: int | None = None
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class EndEpochAnswer:
    epoch: int
    leader_id: int | None = None
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchAnswer:
    """Records, or where the follower's log parts from the leader's, or which snapshot it has to take instead.

    The replica that answers leaves `records` empty and names the offset to `read_from` (up to `max_bytes`, at least
    one batch): only whoever drives it can read files.
    """

    epoch: int
    leader_id: int | None = None
    error: ErrorCode = ErrorCode.NONE
    high_watermark: int | None = None
    log_start_offset: int = -1
    diverging: EpochEnd | None = None
    snapshot_id: SnapshotId | None = None
    records: Buffer = b""
    read_from: int | None = None
    max_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSnapshotAnswer:
    """A piece of a snapshot. The replica that answers leaves `size` and `data` to whoever drives it (`to_be_read`)."""

    epoch: int
    leader_id: int | None = None
    error: ErrorCode = ErrorCode.NONE
    snapshot_id: SnapshotId = NO_SNAPSHOT_ID
    position: int = 0
    size: int = 0
    data: Buffer = b""
    to_be_read: bool = False
    max_bytes: int = 0


Request: TypeAlias = Vote | BeginEpoch | EndEpoch | Fetch | FetchSnapshot
Answer: TypeAlias = VoteAnswer | BeginEpochAnswer | EndEpochAnswer | FetchAnswer | FetchSnapshotAnswer


def sender_of(request: Request) -> int:
    """The number of the node that asks; negative for a reader without one."""
    match request:
        case Vote():
            return request.candidate_id
        case BeginEpoch() | EndEpoch():
            return request.leader_id
        case Fetch() | FetchSnapshot():
            return request.replica_id
        case _:
            assert_never(request)


# --- Events: everything that a replica can be told with `step`.


@dataclass(frozen=True, slots=True, kw_only=True)
class Requested:
    """A request came in. The token comes back with the answer, now or in a later step."""

    token: int
    request: Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The answer to the request that was sent with this number."""

    request_id: int
    answer: Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The request with this number will not be answered: no connection, or an answer that cannot be understood.

    `refused` says that the machine of the other voter answers, and that no process listens there.
    """

    request_id: int
    refused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """The log has grown, but is not flushed yet. Lets followers fetch while the leader's disk is still busy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flushed:
    """Everything before `end_offset` is durable: due after each append and truncation, in their order."""

    end_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendFailed:
    """The fetched records were damaged or did not fit; the log is as it was before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotInstalled:
    """The snapshot is durable, and the log is empty and starts at its end."""

    snapshot_id: SnapshotId


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """The deadline of the last effects has come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resign:
    """Give up the leadership of `epoch`, if that is what the replica still holds."""

    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutDown:
    """Give up leadership for good; take part in no election any more."""


Event: TypeAlias = (
    Requested | Answered | Failed | Appended | Flushed | AppendFailed | SnapshotInstalled | Tick | Resign | ShutDown
)
