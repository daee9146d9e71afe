"""What an error code means for a transaction: try again, look for the coordinator, abort, or stop for good.

As in Kafka's Java client (KIP-360, KIP-588, KIP-890, KIP-1050), except where a comment says otherwise.
"""

from __future__ import annotations

from enum import Enum, auto

from tidelog.model.errors import ErrorCode


class RequestKind(Enum):
    """What the error answers. Values complete the sentence "... was refused"."""

    INITIALIZE = "InitProducerId"
    ADD_PARTITIONS = "AddPartitionsToTxn"
    ADD_OFFSETS = "AddOffsetsToTxn"
    COMMIT_OFFSETS = "TxnOffsetCommit"
    PRODUCE = "Produce"
    END = "EndTxn"


class Verdict(Enum):
    # All is well.
    DONE = auto()
    # The same may succeed later.
    AGAIN = auto()
    # The same may succeed with another broker.
    ELSEWHERE = auto()
    # The transaction must be aborted; the producer may go on.
    ABORT = auto()
    # The producer has been replaced.
    FENCED = auto()
    # The producer can do nothing more.
    FATAL = auto()


_MOVED = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE})
_FENCED = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED})

# The member is not part of the group as it is now: what it has read is read by another one as well.
NOT_IN_GROUP = frozenset(
    {
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.UNKNOWN_MEMBER_ID,
    }
)

_ABORTABLE = {
    RequestKind.INITIALIZE: frozenset[ErrorCode](),
    RequestKind.ADD_OFFSETS: frozenset({ErrorCode.GROUP_AUTHORIZATION_FAILED}),
    # Java stops for good where the group finds the offsets themselves wrong. The transaction can be aborted as well.
    RequestKind.COMMIT_OFFSETS: NOT_IN_GROUP
    | {
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
        ErrorCode.OFFSET_METADATA_TOO_LARGE,
    },
    RequestKind.END: frozenset[ErrorCode](),
}

# For what concerns single partitions everything is abortable but this.
_FATAL_FOR_PARTITIONS = frozenset(
    {
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.UNSUPPORTED_VERSION,
    }
)


def judge(request: RequestKind, code: ErrorCode) -> Verdict:
    if code is ErrorCode.NONE:
        return Verdict.DONE
    if code in _MOVED or (request is RequestKind.COMMIT_OFFSETS and code is ErrorCode.REQUEST_TIMED_OUT):
        return Verdict.ELSEWHERE
    if code.retriable:
        return Verdict.AGAIN
    if code is ErrorCode.TRANSACTION_ABORTABLE:
        return Verdict.ABORT
    match request:
        case RequestKind.PRODUCE if code is not ErrorCode.PRODUCER_FENCED:
            # A partition's leader knows the epoch only from what was written there. Whether the producer is fenced is
            # for the coordinator to say, when the transaction is aborted (KIP-588).
            return Verdict.FATAL if code in _FATAL_FOR_PARTITIONS else Verdict.ABORT
        case RequestKind.ADD_PARTITIONS if code not in _FENCED and code is not ErrorCode.INVALID_TXN_STATE:
            return Verdict.FATAL if code in _FATAL_FOR_PARTITIONS else Verdict.ABORT
    if code in _FENCED:
        return Verdict.FENCED
    return Verdict.ABORT if code in _ABORTABLE.get(request, ()) else Verdict.FATAL


# Answers to EndTxn after which it may nevertheless have been carried out, or still be.
MAY_BE_DONE = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)
