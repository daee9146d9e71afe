"""Errors on their way through Spark: one line, first, picklable, and not replaced by another one."""

from __future__ import annotations

import importlib
import inspect
import io
import os
import pickle
import pkgutil
import sqlite3
import struct
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from pyspark.serializers import SpecialLengths
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.util import handle_worker_exception

import pyspark_tidelog
import pyspark_tidelog_log
import tidelog.spark
from tidelog.spark import explain
from tidelog.spark.sink.errors import SinkError
from tidelog.spark.source.cluster import SourceProblem
from tidelog.spark.workers.errors import SPOKEN, RefusingReader, spoken

_CALLED_BY_SPARK = (DataSource, DataSourceReader, DataSourceStreamReader, DataSourceWriter, DataSourceStreamWriter)


def modules() -> Iterator[ModuleType]:
    yield pyspark_tidelog
    yield pyspark_tidelog_log
    for found in pkgutil.walk_packages(tidelog.spark.__path__, "tidelog.spark."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def classes_of(*parents: type) -> list[type]:
    found = {
        value
        for module in modules()
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, parents) and value.__module__ == module.__name__
    }
    return sorted(found, key=lambda value: (value.__module__, value.__qualname__))


def example(kind: type[BaseException]) -> BaseException:
    """An error of this class, with an argument for each parameter."""
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return kind("partition orders-0 is gone", "create it")
    return kind(*(f"value {number}" for number in range(len(parameters))))


@pytest.mark.parametrize("kind", classes_of(BaseException), ids=lambda kind: kind.__qualname__)
def test_every_error_survives_pickling(kind: type[BaseException]) -> None:
    error = example(kind)
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is kind
    assert (copied.args, str(copied), vars(copied)) == (error.args, str(error), vars(error))


@pytest.mark.parametrize("kind", classes_of(*_CALLED_BY_SPARK), ids=lambda kind: kind.__qualname__)
def test_everything_that_spark_calls_is_guarded(kind: type) -> None:
    if kind is RefusingReader:
        return
    bare = [
        name
        for parent in kind.__mro__
        if parent.__module__.partition(".")[0] in ("tidelog", "pyspark_tidelog", "pyspark_tidelog_log")
        for name, method in vars(parent).items()
        if name in SPOKEN and not hasattr(method, "__wrapped__")
    ]
    assert not bare, f"{kind.__qualname__} needs @spoken: Spark calls {bare}"


@pytest.fixture
def in_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_WORKER_FACTORY_SECRET", "x")
    # So that it is put back after the test, whatever happens.
    monkeypatch.setenv("SPARK_HIDE_TRACEBACK", "")


def sent_to_spark(call: Any, *arguments: Any) -> str:
    """The text that Spark's process sends for the error that a call raises."""
    try:
        call(*arguments)
    except Exception as error:
        out = io.BytesIO()
        handle_worker_exception(error, out)
        out.seek(0)
        # As PySpark writes it: a mark, the length, the text.
        mark, size = struct.unpack(">ii", out.read(8))
        assert mark == SpecialLengths.PYTHON_EXCEPTION_THROWN
        return out.read(size).decode()
    raise AssertionError("nothing was raised")


@spoken
class Reader(DataSourceStreamReader):
    def __init__(self, problem: Exception) -> None:
        self.problem = problem

    def initialOffset(self) -> dict[str, Any]:
        raise self.problem

    def read(self, partition: Any) -> Iterator[tuple[Any, ...]]:
        yield (1,)
        raise self.problem

    def stop(self) -> None:
        raise self.problem


@spoken
class Source(DataSource):
    def __init__(self, problem: Exception) -> None:
        self.problem = problem

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        raise self.problem


@spoken
class Writer:
    def __init__(self, problem: Exception) -> None:
        self.problem = problem

    def abort(self, messages: list[Any], batchId: int) -> None:
        raise self.problem


@pytest.mark.usefixtures("in_worker")
def test_our_errors_are_one_line_and_nothing_else() -> None:
    text = sent_to_spark(Reader(SourceProblem("there is no topic 'a': create it")).initialOffset)
    assert text == "tidelog.spark.source.cluster.SourceProblem: there is no topic 'a': create it\n"


@pytest.mark.usefixtures("in_worker")
def test_errors_of_a_generator_are_one_line_too() -> None:
    rows = Reader(SourceProblem("lost")).read(None)
    assert next(rows) == (1,)
    assert sent_to_spark(next, rows) == "tidelog.spark.source.cluster.SourceProblem: lost\n"


@pytest.mark.usefixtures("in_worker")
def test_what_databases_say_in_several_lines_becomes_one() -> None:
    text = sent_to_spark(Reader(sqlite3.OperationalError("the server is gone\n\tbefore it answered")).initialOffset)
    assert text.count("\n") == 1
    assert "the server is gone before it answered" in text


@pytest.mark.usefixtures("in_worker")
def test_what_the_system_refuses_is_one_line() -> None:
    text = sent_to_spark(Reader(ConnectionRefusedError(111, "Connection refused")).initialOffset)
    assert text == "tidelog.spark.workers.errors.SparkProblem: ConnectionRefusedError: [Errno 111] Connection refused\n"


@pytest.mark.usefixtures("in_worker")
def test_mistakes_in_the_code_keep_their_traceback() -> None:
    text = sent_to_spark(Reader(KeyError("x")).initialOffset)
    assert text.startswith("Traceback")
    assert not os.environ["SPARK_HIDE_TRACEBACK"]


def test_outside_of_sparks_processes_the_environment_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HIDE_TRACEBACK", raising=False)
    with pytest.raises(SourceProblem):
        Reader(SourceProblem("lost")).initialOffset()
    assert "SPARK_HIDE_TRACEBACK" not in os.environ


@pytest.mark.usefixtures("in_worker")
def test_a_reader_that_cannot_be_constructed_says_so_when_it_is_asked() -> None:
    # PySpark stops a reader that it does not have, which would raise UnboundLocalError behind ours.
    reader = Source(SourceProblem("not this way")).streamReader(None)
    # Spark takes this for a reader that keeps limits.
    assert inspect.signature(reader.latestOffset).parameters
    no_limit: Any = None
    for question in (reader.initialOffset, lambda: reader.latestOffset({}, no_limit), reader.getDefaultReadLimit):
        assert sent_to_spark(question) == "tidelog.spark.source.cluster.SourceProblem: not this way\n"
    reader.stop()


def test_what_ends_a_failed_batch_does_not_hide_why_it_failed() -> None:
    Writer(SinkError("the database is away")).abort([], 0)
    Reader(OSError("the broker is away")).stop()


def test_pipelines_find_the_sentence_in_what_spark_shows() -> None:
    ours = "tidelog.spark.sink.errors.UnknownTopic: no topic 'a'. Create it"
    for text in (
        "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: [PYTHON_STREAMING_...] "
        f"Failed when ... perform commit: {ours} SQLSTATE: 38000 SQLSTATE: XXKST\n=== Streaming Query ===",
        f"Traceback (most recent call last):\n  File x\n{ours}\n",
    ):
        assert explain(text) == "no topic 'a'. Create it"
