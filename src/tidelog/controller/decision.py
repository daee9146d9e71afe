"""What every decision of the controller is: the records to append and the reply to give once they are committed.

A decision changes nothing. The caller appends its records in one batch, replays them into the image
(`tidelog.metadata.replay`) and then answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.schema import Message

Reply = TypeVar("Reply", covariant=True)

# One request may not fill the metadata log, or the memory, of every node. Apache Kafka has the same bound.
MAX_RECORDS_PER_REQUEST = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(Generic[Reply]):
    """The records must be appended all or not at all."""

    records: tuple[Message, ...]
    reply: Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why one part of a request (a topic, a resource) is not done."""

    code: ErrorCode
    message: str


# Whether so many partitions may be created or deleted now (KIP-599). Asking counts them.
MayChange = Callable[[int], bool]


def any_number(partitions: int) -> bool:
    return True


# In Kafka's words.
QUOTA_EXCEEDED = Refusal(code=ErrorCode.THROTTLING_QUOTA_EXCEEDED, message="The throttling quota has been exceeded.")


def error_fields(refusal: Refusal | None) -> dict[str, Any]:
    """What a reply says of one part of a request; the message is null where there was no error."""
    if refusal is None:
        return {"error_code": ErrorCode.NONE, "error_message": None}
    return {"error_code": refusal.code, "error_message": refusal.message}


def repeated_topic(name: str) -> Refusal:
    return Refusal(code=ErrorCode.INVALID_REQUEST, message=f"the topic {name!r} is in the request more than once")


def too_many_records(wanted: int) -> Refusal:
    return Refusal(
        code=ErrorCode.POLICY_VIOLATION,
        message=f"this would take {wanted} metadata records in one request; at most {MAX_RECORDS_PER_REQUEST} "
        f"are allowed, so spread it over several requests",
    )


def require_few(records: Sequence[Message], code: ErrorCode = ErrorCode.POLICY_VIOLATION) -> None:
    """All or nothing: raises ApiError for a request that would take too many records."""
    if len(records) > MAX_RECORDS_PER_REQUEST:
        raise ApiError(code, too_many_records(len(records)).message)
