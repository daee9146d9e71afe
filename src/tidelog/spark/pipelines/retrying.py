"""Is a failure worth another try, and when is the next one? Decided from what the failure says; nothing is asked here.

A pipeline that is started again after a failure is exactly once whatever the failure was. So this is not about safety,
but about sense: a broker or a database that is away comes back, while a refusal (a wrong option, a checkpoint that is
an old copy, a record that does not fit) stays one however often it is asked for, and must be seen by somebody.

Failures come through Spark as text, with tracebacks of two languages. Each exception in it is a `FailureCause`. A
refusal anywhere in the chain decides; else something that is away does; what nobody knows is not tried again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tidelog.client.cluster.backoff import Backoff
from tidelog.model.errors import ErrorCode
from tidelog.model.ports import Randomness
from tidelog.spark.pipelines.durations import Duration

BACKOFF = Backoff(first_ms=1_000, longest_ms=30_000)

# The names of exceptions that say no, ours and those of the client.
REFUSALS = frozenset(
    {
        "AuthenticationError",
        "BatchRefused",
        "CannotTellIfPublished",
        "DataLost",
        "FencedError",
        "InvalidChange",
        "InvalidColumns",
        "InvalidConfig",
        "InvalidDatabaseOption",
        "InvalidLogFiles",
        "InvalidOffsets",
        "InvalidRoute",
        "InvalidSettings",
        "InvalidSinkOptions",
        "JavaMissing",
        "LogTruncated",
        "MalformedMessage",
        "MessageTooLarge",
        "MirrorRefused",
        "NoCheckpoint",
        "NoDataSources",
        "NoOffsetForPartition",
        "PipelineFailed",
        "PlanChanged",
        "PositionLost",
        "PublishFenced",
        "RecordTooLarge",
        "SegmentChanged",
        "StartUnknown",
        "UnknownOffsetLog",
        "UnknownTopic",
        "UnreadableDecision",
        "UnsupportedByBroker",
        "WrongUse",
    }
)

# Exceptions that say that somebody is away: the client's, Python's, and the task's that waited for records in vain.
AWAY = frozenset(
    {
        "ApiTimeout",
        "BrokenPipeError",
        "CannotConnect",
        "ConnectionAbortedError",
        "ConnectionLost",
        "ConnectionProblem",
        "ConnectionRefusedError",
        "ConnectionResetError",
        "DatabaseAway",
        "DeliveryTimedOut",
        "NoBrokerAvailable",
        "OutcomeUnknown",
        "ReadTimedOut",
        "RequestTimedOut",
        "TimeoutError",
        "gaierror",
    }
)

# psycopg names its exceptions after PostgreSQL's conditions: those of connections (class 08), of a server that starts,
# stops or has no room for a connection (57P0x, 53xxx), that is a standby for the moment (25006), and of transactions
# that got into each other's way (40xxx).
AWAY_CONDITIONS = {
    "ConnectionException": "08000",
    "SqlclientUnableToEstablishSqlconnection": "08001",
    "ConnectionDoesNotExist": "08003",
    "SqlserverRejectedEstablishmentOfSqlconnection": "08004",
    "ConnectionFailure": "08006",
    "TransactionResolutionUnknown": "08007",
    "ReadOnlySqlTransaction": "25006",
    "IdleInTransactionSessionTimeout": "25P03",
    "SerializationFailure": "40001",
    "StatementCompletionUnknown": "40003",
    "DeadlockDetected": "40P01",
    "InsufficientResources": "53000",
    "DiskFull": "53100",
    "OutOfMemory": "53200",
    "TooManyConnections": "53300",
    "AdminShutdown": "57P01",
    "CrashShutdown": "57P02",
    "CannotConnectNow": "57P03",
    "IdleSessionTimeout": "57P05",
}

# libpq gives no SQLSTATE for a connection that did not come about, and our own messages quote those of others.
_AWAY_WORDS = re.compile(
    r"connection refused|connection reset|connection timed out|connection timeout|timeout expired|broken pipe"
    r"|no route to host|network is unreachable|host is down"
    r"|server closed the connection|the connection is (?:lost|closed)|ssl connection has been closed"
    r"|terminating connection|could not receive data from server|could not send data to server|consuming input failed"
    r"|the database system is (?:starting up|shutting down|in recovery mode|not (?:yet )?accepting connections)"
    r"|too many clients already|remaining connection slots are reserved"
    r"|temporary failure in name resolution|name or service not known|could not translate host name"
    r"|failed to resolve host"
    r"|database is locked|\bTimeoutError\b|\bgaierror\b"
    r"|could not serialize access|deadlock detected|in a read-only transaction|idle-in-transaction timeout"
    r"|postgresql went away|is a hot standby"
    r"|no broker answers at|could not be published in \d+ attempts|did not succeed within"
    r"|the server was restarted in between"
    # A process of Spark that was killed, as by a machine without memory.
    r"|python worker exited unexpectedly|executorlostfailure",
    re.IGNORECASE,
)
# Whose words are looked at. Others quote data, and data can say anything.
SPEAKING = frozenset(
    {
        "DatabaseProblem",
        "DeliveryFailed",
        "InterfaceError",
        "InternalError",
        "OperationalError",
        "OSError",
        "PublishFailed",
        "SinkError",
        "SourceProblem",
        "SparkException",
        "SparkProblem",
        "TransactionTimedOut",
    }
)
# Kafka calls it retriable, because a topic may be about to be made; for a pipeline it is a topic that is not there.
_NOT_AWAY_CODES = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})
_AWAY_CODES = frozenset({code for code in ErrorCode if code.retriable} | {ErrorCode.BROKER_NOT_AVAILABLE}) - (
    _NOT_AWAY_CODES
)
_CODES = re.compile(rf"\b({'|'.join(code.name for code in _AWAY_CODES)})\b")
_TELLS_CODES = frozenset({"AbortableError", "ApiError", "PublishFailed", "SinkError", "SourceProblem", "SparkProblem"})

# `module.Name: message` or `Name: message` at the end of a traceback; Java begins the line with `Caused by: `. Ours may
# also stand behind words of Spark's.
_LINE = re.compile(
    r"^(?:Caused by: )?((?:[\w$]+\.)*[A-Za-z_][\w$]*?)(?::[ \t]*(.*))?$"
    r"|\b(tidelog(?:\.\w+)*\.[A-Z]\w+): (.+?)(?: SQLSTATE: \w+)*$",
    re.MULTILINE,
)
_KIND = re.compile(r"[a-z]\w*error|[A-Z]\w*")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureCause:
    """One exception of a chain: the name of its class without the module, and what it says."""

    kind: str
    message: str
    ours: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryVerdict:
    """Whether to try again, and the sentence that tells why it failed (empty if no cause says)."""

    again: bool
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TryAgain:
    pause_seconds: float
    # Of this outage, beginning with 1.
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp:
    """`tried` is how often it was tried again since the last progress, `seconds` for how long."""

    tried: int
    seconds: float


def causes_in(text: str) -> list[FailureCause]:
    """The exceptions that tracebacks in a text tell of, in their order."""
    found = []
    for line in _LINE.finditer(text):
        name, message = line[1] or line[3], (line[2] or line[4] or "").strip()
        kind = name.rpartition(".")[2].rpartition("$")[2]
        if _KIND.fullmatch(kind) and (message or kind in AWAY):
            found.append(FailureCause(kind=kind, message=message, ours=name.startswith("tidelog.")))
    return found


def causes_of(error: BaseException) -> list[FailureCause]:
    """The chain of an exception of this process, what happened first at its begin."""
    found: list[FailureCause] = []
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        kind = type(one)
        message = " ".join(str(one).split())
        found.append(FailureCause(kind=kind.__name__, message=message, ours=kind.__module__.startswith("tidelog.")))
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)
    return found[::-1]


def judge(causes: Sequence[FailureCause]) -> RetryVerdict:
    refusals = [cause for cause in causes if cause.kind in REFUSALS]
    if refusals:
        return RetryVerdict(again=False, reason=refusals[-1].message)
    away = [cause for cause in causes if is_away(cause)]
    if not away:
        return RetryVerdict(again=False)
    # Ours says more than what it is made from: which broker, which database.
    ours = [cause for cause in causes if cause.ours and cause.message]
    return RetryVerdict(again=True, reason=(ours or away)[-1].message or away[-1].kind)


def is_away(cause: FailureCause) -> bool:
    if cause.kind in AWAY or cause.kind in AWAY_CONDITIONS:
        return True
    if cause.kind in _TELLS_CODES and _CODES.search(cause.message):
        return True
    # PostgreSQL quotes rows behind its own words.
    words = re.split(r"\b(?:DETAIL|CONTEXT):", cause.message)[0]
    return cause.kind in SPEAKING and _AWAY_WORDS.search(words) is not None


class Retries:
    """When to try again: pauses double with some jitter, and end after a bound. Progress forgets what was before."""

    def __init__(self, bound: Duration, randomness: Randomness, backoff: Backoff = BACKOFF) -> None:
        self._bound = bound
        self._randomness = randomness
        self._backoff = backoff
        self._failures = 0
        self._since = 0.0

    @property
    def bound_in_words(self) -> str:
        return "without an end" if self._bound.is_forever else f"for up to {self._bound}"

    def progressed(self) -> None:
        self._failures = 0

    def failed(self, now: float) -> TryAgain | GiveUp:
        """`now` is in seconds of a clock that never goes back."""
        if self._failures == 0:
            self._since = now
        left = self._since + self._bound.seconds - now
        if left <= 0:
            return GiveUp(tried=self._failures, seconds=now - self._since)
        self._failures += 1
        pause = self._backoff.pause_ms(self._failures, self._randomness) / 1000
        # The last try is at the bound, not behind it.
        return TryAgain(pause_seconds=min(pause, left), number=self._failures)
