"""What the client raises. Errors that a broker sends are `ApiError`, from `tidelog.model.errors`.

Each message names what was wrong, with which value, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.network.client_connection import AuthenticationError, ConnectionProblem

K = TypeVar("K")
V = TypeVar("V")


class ClientError(Exception):
    """The parent of what the client raises on its own account."""


class NoBrokerAvailable(ClientError):
    """None of the known brokers answers."""


class ApiTimeout(ClientError):
    """The time for a call ran out; the message says what went wrong last."""


class RecordTooLarge(ClientError):
    """One record is larger than max.request.size or buffer.memory allows."""


class BufferExhausted(ClientError):
    """Records come faster than the brokers take them, for longer than max.block.ms."""


class DeliveryFailed(ClientError):
    """A record was not stored, or nobody knows whether it was. `cause` is the last error seen."""

    def __init__(self, message: str, cause: Exception | None = None) -> None:
        super().__init__(message)
        self.cause = cause


class DeliveryTimedOut(DeliveryFailed):
    """delivery.timeout.ms ran out. If the record was on its way, it may or may not be stored."""


class ProducerClosed(ClientError):
    """The producer does not take records any more."""


class ConsumerClosed(ClientError):
    """The consumer does not give records any more."""


class NoOffsetForPartition(ClientError):
    """There is no position to read from, and auto.offset.reset=none forbids to choose one."""


class LogTruncated(ClientError):
    """Records that the reader has got are not in the log any more, after an unclean election (KIP-320).

    `diverged_at` is the offset up to which the log still is the one that was read, if that could be found out.
    """

    def __init__(self, message: str, *, partition: TopicPartition, offset: int, diverged_at: int | None) -> None:
        super().__init__(message)
        self.partition = partition
        self.offset = offset
        self.diverged_at = diverged_at


class WrongUse(ClientError):
    """A call that does not fit what was called before, such as seek on a partition that is not assigned."""


class CommitFailed(ClientError):
    """The group has moved on without this member: what it read may have been given to another one."""


# -- transactions. Three kinds, because three different things have to be done about them. --------------------------


class TransactionError(ClientError):
    """The parent of what ends a transaction otherwise than with a commit. `cause` is what went wrong."""

    def __init__(self, message: str, cause: BaseException | None = None) -> None:
        super().__init__(message)
        self.cause = cause
        self.__cause__ = cause


class AbortableError(TransactionError):
    """This transaction cannot be committed; nothing of it will be visible. Abort it, then begin the next one."""


class FatalError(TransactionError):
    """This producer can do nothing more. Close it; a new one may go on under the same transactional.id."""


class FencedError(FatalError):
    """Another producer has taken over the transactional.id, or the broker has ended the transaction by timeout.

    The transaction is not committed. An instance that was replaced has to stop; nothing else may be done in its name.
    """


class OutcomeUnknown(TransactionError):
    """The answer to a commit or an abort did not come: it has happened, will happen, or never reached the broker.

    Ask for the same again, or call `init_transactions`, which waits until the broker has settled it, and then look at
    what is committed before repeating the work.
    """


class WrongTransactionState(WrongUse):
    """A call that does not fit the state of the transaction; the message says which call does."""


# What is worth another try after a pause: no answer at all, or an error code that Kafka marks as retriable.
def is_retriable(error: BaseException) -> bool:
    if isinstance(error, ApiError):
        return error.code.retriable
    # Credentials do not become right by themselves.
    return isinstance(error, ConnectionProblem) and not isinstance(error, AuthenticationError)


def known_code(code: int) -> ErrorCode:
    """Brokers newer than us may send numbers that we do not know."""
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def api_error(code: int, message: str | None = None) -> ApiError:
    known = known_code(code)
    if known == ErrorCode.UNKNOWN_SERVER_ERROR and code != known:
        return ApiError(known, f"error code {code} {message or ''}".rstrip())
    return ApiError(known, message or "")


def outcome(code: int, message: str | None, value: V) -> V | ApiError:
    """What an entry of a reply comes to: its value, or the error that it has instead."""
    return api_error(code, message) if code != ErrorCode.NONE else value


def raise_any(results: Mapping[K, V | ApiError]) -> dict[K, V]:
    """The results, if there is no error; else the first error."""
    good: dict[K, V] = {}
    for key, result in results.items():
        if isinstance(result, ApiError):
            raise result
        good[key] = result
    return good


def raise_for_code(code: int, message: str | None = None) -> None:
    """Raise ApiError unless the code says that all is well."""
    if code != ErrorCode.NONE:
        raise api_error(code, message)
