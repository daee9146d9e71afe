"""What error codes mean for a transaction."""

from __future__ import annotations

import pytest

from tidelog.client.transactions.coordinator_requests import worst
from tidelog.client.transactions.verdicts import RequestKind, Verdict, judge
from tidelog.model.errors import ErrorCode

FENCING = (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)
COORDINATED = [request for request in RequestKind if request is not RequestKind.PRODUCE]


@pytest.mark.parametrize("request_", COORDINATED)
@pytest.mark.parametrize("code", FENCING)
def test_a_coordinator_that_knows_a_later_epoch_fences(request_: RequestKind, code: ErrorCode) -> None:
    assert judge(request_, code) is Verdict.FENCED


def test_a_partition_that_knows_a_later_epoch_leaves_the_judgement_to_the_coordinator() -> None:
    assert judge(RequestKind.PRODUCE, ErrorCode.INVALID_PRODUCER_EPOCH) is Verdict.ABORT
    assert judge(RequestKind.PRODUCE, ErrorCode.PRODUCER_FENCED) is Verdict.FENCED


@pytest.mark.parametrize("request_", RequestKind)
def test_what_holds_for_every_request(request_: RequestKind) -> None:
    assert judge(request_, ErrorCode.NONE) is Verdict.DONE
    assert judge(request_, ErrorCode.NOT_COORDINATOR) is Verdict.ELSEWHERE
    assert judge(request_, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS) is Verdict.AGAIN
    assert judge(request_, ErrorCode.CONCURRENT_TRANSACTIONS) is Verdict.AGAIN
    assert judge(request_, ErrorCode.TRANSACTION_ABORTABLE) is Verdict.ABORT
    assert judge(request_, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED) is Verdict.FATAL


@pytest.mark.parametrize(
    ("request_", "code", "expected"),
    [
        (RequestKind.COMMIT_OFFSETS, ErrorCode.ILLEGAL_GENERATION, Verdict.ABORT),
        (RequestKind.COMMIT_OFFSETS, ErrorCode.UNKNOWN_MEMBER_ID, Verdict.ABORT),
        (RequestKind.COMMIT_OFFSETS, ErrorCode.STALE_MEMBER_EPOCH, Verdict.ABORT),
        (RequestKind.COMMIT_OFFSETS, ErrorCode.FENCED_INSTANCE_ID, Verdict.ABORT),
        (RequestKind.COMMIT_OFFSETS, ErrorCode.GROUP_AUTHORIZATION_FAILED, Verdict.ABORT),
        (RequestKind.COMMIT_OFFSETS, ErrorCode.REQUEST_TIMED_OUT, Verdict.ELSEWHERE),
        (RequestKind.COMMIT_OFFSETS, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, Verdict.FATAL),
        (RequestKind.ADD_PARTITIONS, ErrorCode.TOPIC_AUTHORIZATION_FAILED, Verdict.ABORT),
        (RequestKind.ADD_PARTITIONS, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, Verdict.AGAIN),
        (RequestKind.ADD_PARTITIONS, ErrorCode.INVALID_TXN_STATE, Verdict.FATAL),
        (RequestKind.ADD_OFFSETS, ErrorCode.GROUP_AUTHORIZATION_FAILED, Verdict.ABORT),
        (RequestKind.END, ErrorCode.INVALID_TXN_STATE, Verdict.FATAL),
        (RequestKind.END, ErrorCode.INVALID_PRODUCER_ID_MAPPING, Verdict.FATAL),
        (RequestKind.PRODUCE, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, Verdict.ABORT),
        (RequestKind.PRODUCE, ErrorCode.TOPIC_AUTHORIZATION_FAILED, Verdict.ABORT),
        (RequestKind.PRODUCE, ErrorCode.INVALID_PRODUCER_ID_MAPPING, Verdict.FATAL),
    ],
)
def test_what_is_said_of_one_request(request_: RequestKind, code: ErrorCode, expected: Verdict) -> None:
    assert judge(request_, code) is expected


def test_of_several_codes_the_worst_decides() -> None:
    codes = [ErrorCode.NONE, ErrorCode.NOT_COORDINATOR, ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.NONE]
    assert worst(RequestKind.ADD_PARTITIONS, codes) is ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert worst(RequestKind.ADD_PARTITIONS, [*codes, ErrorCode.PRODUCER_FENCED]) is ErrorCode.PRODUCER_FENCED
    assert worst(RequestKind.ADD_PARTITIONS, []) is ErrorCode.NONE


def test_a_partition_that_was_not_attempted_says_nothing_of_its_own() -> None:
    codes = [ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert worst(RequestKind.ADD_PARTITIONS, codes) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
