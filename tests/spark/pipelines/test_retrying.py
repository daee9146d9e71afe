from __future__ import annotations

import ast
import socket
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import tidelog
from tidelog.client.errors import NoBrokerAvailable
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.spark.databases.store import DatabaseProblem
from tidelog.spark.pipelines.durations import FOREVER, Duration, parse_duration
from tidelog.spark.pipelines.failure import understand
from tidelog.spark.pipelines.retrying import (
    AWAY,
    AWAY_CONDITIONS,
    BACKOFF,
    REFUSALS,
    SPEAKING,
    GiveUp,
    Retries,
    TryAgain,
    causes_in,
    judge,
)


def traceback(*causes: str) -> str:
    """What Spark shows: Python tracebacks with a chain of causes, inside of a Java stack trace."""
    python = "\n\nThe above exception was the direct cause of the following exception:\n\n".join(
        f'Traceback (most recent call last):\n  File "x.py", line 3, in f\n    raise x\n{cause}' for cause in causes
    )
    return (
        "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Writing job failed. SQLSTATE: XXKST\n"
        "org.apache.spark.sql.streaming.StreamingQueryException: [STREAM_FAILED] Query terminated\n"
        "\tat org.apache.spark.sql.execution.streaming.StreamExecution.run(StreamExecution.scala:1)\n"
        f"Caused by: org.apache.spark.api.python.PythonException: {python}\n\n"
        "\tat org.apache.spark.api.python.BasePythonRunner.read(PythonRunner.scala:1)\n\t... 12 more\n"
    )


CANNOT_CONNECT = "tidelog.spark.databases.store.DatabaseProblem: cannot connect to PostgreSQL: connection failed: "

IS_AWAY = [
    "tidelog.client.errors.NoBrokerAvailable: no broker answers at 127.0.0.1:1 (connection refused)",
    "tidelog.client.errors.ApiTimeout: asking for topics took longer than 60000 ms",
    "tidelog.network.client_connection.ConnectionLost: the broker closed the connection",
    "tidelog.network.client_connection.RequestTimedOut: no reply within 30000 ms",
    "tidelog.client.errors.DeliveryTimedOut: a record was not stored within 120000 ms",
    "tidelog.client.errors.OutcomeUnknown: the answer to the commit did not come",
    "tidelog.spark.source.fetch.ReadTimedOut: no records within 120000 ms",
    "tidelog.model.errors.ApiError: LEADER_NOT_AVAILABLE: topic 'orders'",
    "tidelog.model.errors.ApiError: NOT_LEADER_OR_FOLLOWER",
    "tidelog.model.errors.ApiError: COORDINATOR_NOT_AVAILABLE",
    "tidelog.model.errors.ApiError: BROKER_NOT_AVAILABLE",
    "tidelog.spark.source.cluster.SourceProblem: topic 'orders' cannot be read: REPLICA_NOT_AVAILABLE",
    "tidelog.spark.sink.errors.PublishFailed: micro-batch 3 could not be published in 5 attempts; the last error: x",
    "psycopg.errors.AdminShutdown: terminating connection due to administrator command",
    "psycopg.errors.CrashShutdown: terminating connection because of crash of another server process",
    "psycopg.errors.CannotConnectNow: the database system is starting up",
    "psycopg.errors.TooManyConnections: too many clients already",
    "psycopg.errors.ReadOnlySqlTransaction: cannot execute INSERT in a read-only transaction",
    "psycopg.errors.SerializationFailure: could not serialize access",
    "psycopg.OperationalError: consuming input failed: server closed the connection unexpectedly",
    "psycopg.OperationalError: the connection is lost",
    "psycopg.OperationalError: the connection is closed",
    CANNOT_CONNECT + 'connection to server at "127.0.0.1", port 1 failed: Connection refused Is the server running?',
    CANNOT_CONNECT + "FATAL: the database system is shutting down",
    CANNOT_CONNECT + "FATAL: the database system is in recovery mode",
    CANNOT_CONNECT + "FATAL: the database system is not yet accepting connections",
    CANNOT_CONNECT + "connection timeout expired",
    CANNOT_CONNECT + "[Errno -3] Temporary failure in name resolution",
    "tidelog.spark.databases.store.DatabaseProblem: staging table x holds 0 rows instead of 3: the server was "
    "restarted in between. Nothing was written; start the pipeline again and the batch is repeated",
    "sqlite3.OperationalError: database is locked",
    "tidelog.spark.workers.errors.SparkProblem: the database refused: terminating connection due to "
    "administrator command server closed the connection unexpectedly. Start the query again when it can",
    "tidelog.spark.workers.errors.SparkProblem: ConnectionResetError: [Errno 104] Connection reset by peer",
    "tidelog.spark.workers.errors.SparkProblem: TimeoutError: ",
    "tidelog.spark.workers.errors.SparkProblem: no broker answers at 127.0.0.1:1 (connection refused)",
    "ConnectionRefusedError: [Errno 111] Connection refused",
    "ConnectionResetError: [Errno 104] Connection reset by peer",
    "TimeoutError",
    "socket.gaierror: [Errno -2] Name or service not known",
]

REFUSED = [
    "tidelog.spark.databases.progress.BatchRefused: pipeline 'orders' is written by another query now",
    "tidelog.spark.sink.errors.CannotTellIfPublished: the note is ahead of the checkpoint",
    "tidelog.spark.sink.errors.PublishFenced: micro-batch 3 stops, because another writer uses its transactional id",
    "tidelog.spark.sink.errors.UnknownTopic: topic 'orders' does not exist",
    "tidelog.spark.sink.errors.InvalidSinkOptions: kafka.acks=0 is not possible",
    "tidelog.spark.sink.errors.MessageTooLarge: the broker refuses a record batch as too large",
    "tidelog.spark.sink.errors.TransactionTimedOut: publishing takes longer than kafka.transaction.timeout.ms=60000",
    "tidelog.spark.sink.errors.PublishFailed: micro-batch 3 cannot be published: TOPIC_AUTHORIZATION_FAILED",
    "tidelog.spark.mirror.progress.MirrorRefused: batch 3 begins at source offset 4",
    "tidelog.spark.source.fetch.DataLost: records of orders-0 are not there any more",
    "tidelog.spark.source.cluster.SourceProblem: there is no topic 'orders'",
    "tidelog.model.errors.ApiError: UNKNOWN_TOPIC_OR_PARTITION: topic 'orders'",
    "tidelog.model.errors.ApiError: TOPIC_AUTHORIZATION_FAILED",
    CANNOT_CONNECT + 'FATAL: password authentication failed for user "app"',
    CANNOT_CONNECT + 'FATAL: database "shop" does not exist',
    "psycopg.errors.UndefinedColumn: column total of relation orders does not exist",
    "psycopg.errors.NumericValueOutOfRange: integer out of range",
    "psycopg.errors.UniqueViolation: duplicate key value violates unique constraint",
    "tidelog.spark.workers.errors.SparkProblem: the database refused: duplicate key value violates unique "
    'constraint "orders_key" DETAIL: Key (note)=(connection refused) already exists. Start the query again when it can',
    "ValueError: connection refused, says the value of a record",
    "KeyError: 'Connection reset by peer'",
    "org.apache.spark.SparkRuntimeException: [USER_RAISED_EXCEPTION] the value of t-0 does not fit",
]


@pytest.mark.parametrize("cause", IS_AWAY)
def test_what_is_away_is_worth_another_try(cause: str) -> None:
    verdict = judge(causes_in(traceback(cause)))
    assert verdict.again
    assert verdict.reason == (cause.partition(": ")[2].strip() or cause)


def test_ours_is_found_behind_words_of_sparks() -> None:
    text = (
        "[STREAM_FAILED] Query terminated with exception: [PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR] Failed when "
        "Python streaming data source perform commit: tidelog.spark.sink.errors.PublishFailed: micro-batch 0 could not "
        "be published in 5 attempts; the last error: x SQLSTATE: 38000 SQLSTATE: XXKST\n=== Streaming Query ===\n"
    )
    verdict = judge(causes_in(text))
    assert verdict.again
    assert verdict.reason == "micro-batch 0 could not be published in 5 attempts; the last error: x"


@pytest.mark.parametrize("cause", REFUSED)
def test_a_refusal_is_final(cause: str) -> None:
    assert not judge(causes_in(traceback(cause))).again


def test_a_refusal_that_follows_from_an_outage_is_still_one() -> None:
    chain = traceback("ConnectionRefusedError: [Errno 111] Connection refused", REFUSED[0])
    assert judge(causes_in(chain)).reason == "pipeline 'orders' is written by another query now"
    assert not judge(causes_in(chain)).again


def test_a_transaction_that_timed_out_because_its_broker_was_away_is_repeated() -> None:
    timed_out = next(cause for cause in REFUSED if "TransactionTimedOut" in cause)
    chain = traceback("tidelog.network.client_connection.ConnectionLost: the connection ended", timed_out)
    assert judge(causes_in(chain)).again


def test_what_nobody_knows_is_final() -> None:
    assert not judge(causes_in("[SOMETHING] else happened\nmore")).again
    assert not judge([]).again


def test_exceptions_of_this_process_are_judged_by_their_chain() -> None:
    def fail() -> None:
        try:
            psycopg.connect("postgresql://x@127.0.0.1:1/x", connect_timeout=5)
        except psycopg.OperationalError as error:
            raise DatabaseProblem("the progress in the database cannot be read: see above") from error

    with pytest.raises(DatabaseProblem) as raised:
        fail()
    found = understand(raised.value)
    assert found.again
    assert found.reason == "the progress in the database cannot be read: see above"
    assert understand(NoBrokerAvailable("no broker answers")).again
    assert understand(ApiError(ErrorCode.LEADER_NOT_AVAILABLE)).again
    assert understand(socket.gaierror(-2, "Name or service not known")).again
    refused = DatabaseProblem("table orders has no column total")
    assert not understand(refused).again
    assert understand(refused).exception is refused


def test_conditions_of_postgresql_have_the_names_that_psycopg_gives_them() -> None:
    for name, state in AWAY_CONDITIONS.items():
        assert psycopg.errors.lookup(state).__name__ == name


# What says nothing by itself about a second try, and so is final: parents of others, and what never leaves its module.
SILENT = {
    "ApiError",
    "BufferExhausted",
    "ClientError",
    "CommitFailed",
    "ConsumerClosed",
    "DriverFailed",
    "FatalError",
    "ProducerClosed",
    "StagingFailed",
    "StopAsked",
    "TransactionError",
    "WrongTransactionState",
    "AbortableError",
    "_Repeatable",
}


def test_of_each_exception_it_is_decided_whether_it_is_worth_another_try() -> None:
    sources = Path(tidelog.__file__).parent
    files = [*sources.glob("spark/**/*.py"), *(sources / name for name in ("client/errors.py", "model/errors.py"))]
    bases: dict[str, set[str]] = {}
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef):
                bases[node.name] = {one.id for one in node.bases if isinstance(one, ast.Name)}
    found = {"Exception", "BaseException", "ValueError", "ImportError"}
    while more := {name for name, parents in bases.items() if parents & found} - found:
        found |= more
    undecided = found & bases.keys() - REFUSALS - AWAY - SPEAKING - SILENT
    assert undecided == set()


class Middle:
    """Randomness that is always in the middle, so that pauses are those of the backoff."""

    def uniform(self, low: float, high: float) -> float:
        return (low + high) / 2

    def random_bytes(self, count: int) -> bytes:
        return bytes(count)

    def below(self, bound: int) -> int:
        return 0


def outage(retries: Retries, start: float, attempt_seconds: float) -> Iterator[TryAgain | GiveUp]:
    now = start
    while True:
        decision = retries.failed(now)
        yield decision
        if isinstance(decision, GiveUp):
            return
        now += decision.pause_seconds + attempt_seconds


def test_pauses_double_up_to_half_a_minute_and_end_with_the_bound() -> None:
    *tries, end = outage(Retries(Duration(120.0), Middle()), 1000.0, 0.5)
    pauses = [one.pause_seconds for one in tries if isinstance(one, TryAgain)]
    assert pauses[:6] == [1, 2, 4, 8, 16, 30]
    # The last try is made when the time is up, and not later.
    assert sum(pauses) + 0.5 * (len(pauses) - 1) == pytest.approx(120)
    assert isinstance(end, GiveUp)
    assert end.tried == len(pauses)
    assert end.seconds >= 120


def test_progress_begins_a_new_outage() -> None:
    retries = Retries(Duration(10.0), Middle())
    assert retries.failed(0.0) == TryAgain(pause_seconds=1, number=1)
    assert retries.failed(9.0) == TryAgain(pause_seconds=1, number=2)
    retries.progressed()
    assert retries.failed(11.0) == TryAgain(pause_seconds=1, number=1)


def test_no_time_is_no_try_and_no_bound_is_no_end() -> None:
    assert Retries(Duration(0.0), Middle()).failed(5.0) == GiveUp(tried=0, seconds=0)
    forever = Retries(FOREVER, Middle())
    for number in range(1, 100):
        decision = forever.failed(number * 10_000.0)
        assert isinstance(decision, TryAgain)
    assert isinstance(decision, TryAgain)
    assert decision.pause_seconds == BACKOFF.longest_ms / 1000
    assert forever.bound_in_words == "without an end"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("10 minutes", 600),
        ("10m", 600),
        ("1 hour", 3600),
        ("1.5 hours", 5400),
        ("250 ms", 0.25),
        ("90", 90),
        (90, 90),
        (0, 0),
        ("0", 0),
        (0.5, 0.5),
        ("Forever", float("inf")),
        ("2 days", 172800),
    ],
)
def test_durations_are_texts_or_seconds(value: object, seconds: float) -> None:
    assert parse_duration(value).seconds == seconds


@pytest.mark.parametrize("value", ["", "soon", "-1", -1, True, None, "10 parsecs", float("nan")])
def test_other_durations_are_refused_with_what_is_possible(value: object) -> None:
    with pytest.raises(ValueError, match="10 minutes"):
        parse_duration(value)


def test_durations_are_written_for_people() -> None:
    assert [str(Duration(one)) for one in (600, 60, 3600, 90, 0.25)] == [
        "10 minutes",
        "1 minute",
        "1 hour",
        "90 s",
        "0.25 s",
    ]
    assert str(FOREVER) == "forever"
