"""I12: what one client asks costs no other client its coordinator."""

from __future__ import annotations

import pytest

from tidelog.model.errors import ErrorCode
from tidelog.protocol.codec import encode
from tidelog.simulation.checks.disturbance import disturbances
from tidelog.simulation.checks.history import AnsweredRequest, History
from tidelog.simulation.workloads.extremes import integer_fields
from tidelog.simulation.workloads.hostile import hostile_requests


def answered(*codes: ErrorCode, group: str | None = "b") -> AnsweredRequest:
    return AnsweredRequest(1.0, "client", "OffsetCommitRequest 2", frozenset(codes), group)


CLOSED = AnsweredRequest(1.0, "client", "OffsetCommitRequest 2", None, "b")
FAILED = answered(ErrorCode.UNKNOWN_SERVER_ERROR, group=None)


@pytest.mark.parametrize(
    ("events", "calm", "said"),
    [
        ([answered(), answered()], True, ""),
        # Its coordinator was not there yet.
        ([answered(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), answered()], True, ""),
        ([answered(), answered(ErrorCode.NOT_COORDINATOR)], True, "refused with NOT_COORDINATOR"),
        ([answered(), answered(ErrorCode.NOT_COORDINATOR)], False, ""),
        ([answered(), answered(ErrorCode.NOT_COORDINATOR, group="c")], True, ""),
        # Whoever asks for nonsense may be refused.
        ([answered(), answered(ErrorCode.ILLEGAL_GENERATION, group=None)], True, ""),
        ([FAILED], True, "unknown server error"),
        ([FAILED], False, "unknown server error"),
        ([CLOSED], True, "is not answered"),
        ([CLOSED], False, ""),
    ],
)
def test_others_are_served_whatever_one_client_asks(events: list[AnsweredRequest], calm: bool, said: str) -> None:
    found = list(disturbances(History(list(events)), calm=calm))
    assert len(found) == (1 if said else 0)
    assert said in "".join(found)


def test_requests_can_be_sent_in_every_version() -> None:
    kinds = set()
    for _, request in hostile_requests("name", "topic"):
        low, high = request.SCHEMA.valid
        kinds.add(type(request))
        assert any(list(integer_fields(request, version)) for version in range(low, high + 1))
        for version in range(low, high + 1):
            assert encode(request, version)
    assert len(kinds) > 9
