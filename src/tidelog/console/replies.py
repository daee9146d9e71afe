"""Values as JSON, and failures as sentences with a status."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from starlette.responses import Response

from tidelog.client.browsing import MetadataLogUnavailable
from tidelog.client.errors import ApiTimeout, ClientError, NoBrokerAvailable
from tidelog.config.definitions import InvalidConfig
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.network.client_connection import AuthenticationError, ConnectionProblem, UnsupportedByBroker

# What `json.dumps` takes.
Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"

_NOT_FOUND = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
        ErrorCode.RESOURCE_NOT_FOUND,
    }
)

BAD_REQUEST = 400
FORBIDDEN = 403
NOT_FOUND = 404
CONFLICT = 409
UNSUPPORTED = 501
BAD_GATEWAY = 502

# What a page may raise because of the cluster or of what was asked of it.
EXPECTED_FAILURES = (ApiError, ClientError, ConnectionProblem, UnsupportedByBroker, InvalidConfig)


# So much of what was sent is repeated in an answer that refuses it.
REPEATED_CHARACTERS = 100


class ConsoleRefusal(Exception):
    """A request that the console itself refuses. The message is a sentence for people."""

    def __init__(self, message: str, status: int = BAD_REQUEST) -> None:
        super().__init__(message)
        self.status = status


def encoded(document: Json) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode(
        "utf-8", "backslashreplace"
    )


def reply(document: Json, status: int = 200) -> Response:
    """JSON that the browser asks for anew each time."""
    return Response(encoded(document), status, media_type="application/json", headers={"cache-control": "no-store"})


def is_text(value: str) -> bool:
    """Whether it has bytes in UTF-8. JSON can carry half a surrogate pair, which has none."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def not_text(error: UnicodeEncodeError) -> ConsoleRefusal:
    """For what is no secret: those are looked at with `is_text` before anything is done with them."""
    given = repr(error.object)
    shown = given if len(given) <= REPEATED_CHARACTERS else given[:REPEATED_CHARACTERS] + "..."
    return ConsoleRefusal(
        f"{shown} has half a surrogate pair at character {error.start + 1}, which has no bytes in UTF-8"
    )


def problem(error: Exception) -> Response:
    return reply(problem_document(error), _status(error))


def problem_document(error: Exception) -> dict[str, Json]:
    """`kind` tells the page what to show: the sentence alone, or that the cluster is away."""
    kind = "refused"
    if isinstance(error, NoBrokerAvailable | ApiTimeout | ConnectionProblem):
        kind = "unavailable"
    elif isinstance(error, UnsupportedByBroker | MetadataLogUnavailable):
        kind = "unsupported"
    elif isinstance(error, ApiError) and error.code in _NOT_FOUND:
        kind = "missing"
    code = error.code.name if isinstance(error, ApiError) else None
    return {"problem": kind, "code": code, "message": " ".join(str(error).split()) or type(error).__name__}


def _status(error: Exception) -> int:
    if isinstance(error, ConsoleRefusal):
        return error.status
    if isinstance(error, UnsupportedByBroker | MetadataLogUnavailable):
        return UNSUPPORTED
    if isinstance(error, ApiError):
        if error.code in _NOT_FOUND:
            return NOT_FOUND
        if "AUTHORIZATION" in error.code.name:
            return FORBIDDEN
        return CONFLICT
    if isinstance(error, InvalidConfig):
        return BAD_REQUEST
    if isinstance(error, AuthenticationError):
        return FORBIDDEN
    return BAD_GATEWAY
