"""What went wrong with a broker, in the sink's words: what happened, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tidelog.client.errors import (
    ClientError,
    DeliveryFailed,
    FatalError,
    FencedError,
    RecordTooLarge,
    TransactionError,
    WrongUse,
)
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.network.client_connection import ConnectionProblem
from tidelog.spark.sink.errors import MessageTooLarge, PublishFailed, PublishFenced, SinkError, UnknownTopic
from tidelog.spark.sink.options import SinkOptions

# Whatever the client raises, and nothing that is a mistake of ours.
BROKER_ERRORS = (ClientError, ApiError, ConnectionProblem, OSError)


def may_be_repeated(error: Exception) -> bool:
    """Whether it is unknown what has happened, or known that nothing has, so that a second attempt may help."""
    cause = _root_of(error)
    if isinstance(error, FatalError) or isinstance(cause, (RecordTooLarge, WrongUse)):
        return False
    return not isinstance(cause, ApiError) or cause.code.retriable


@contextmanager
def explained(what: str, options: SinkOptions) -> Iterator[None]:
    """What goes wrong with a broker meanwhile is raised as a SinkError."""
    try:
        yield
    except BROKER_ERRORS as error:
        raise explain(what, options, error) from error


def explain(what: str, options: SinkOptions, error: Exception) -> SinkError:
    cause = _root_of(error)
    if isinstance(error, FencedError):
        return PublishFenced(
            f"{what} stops, because another writer uses its transactional id: the query has been started a second time "
            f"with the same checkpoint, or two jobs share a jobId ({error})"
        )
    if isinstance(cause, RecordTooLarge):
        return MessageTooLarge(str(cause))
    if isinstance(cause, ApiError):
        match cause.code:
            case ErrorCode.MESSAGE_TOO_LARGE | ErrorCode.RECORD_LIST_TOO_LARGE:
                return MessageTooLarge(
                    f"the broker refuses a record batch as too large ({cause}). Raise the topic's max.message.bytes, "
                    f"or lower kafka.batch.size, which is {options.batch_bytes}, below it; a row that is larger by "
                    "itself cannot be written to this topic"
                )
            case ErrorCode.UNKNOWN_TOPIC_OR_PARTITION | ErrorCode.UNKNOWN_TOPIC_ID:
                return UnknownTopic(f"a topic that rows go to no longer exists ({cause})")
    return PublishFailed(f"{what} cannot be published: {error}")


def _root_of(error: BaseException) -> BaseException:
    """What a broker or the client has said first."""
    while isinstance(error, (TransactionError, DeliveryFailed)) and error.cause is not None:
        error = error.cause
    return error
