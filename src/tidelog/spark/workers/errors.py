"""How an error reaches a person through Spark: one line, first, and nothing raised behind it that hides it.

Spark calls the classes of a data source in Python processes of its own and shows the text that such a process sends
when an error leaves it. Two things get between the message and its reader, and `spoken` prevents both:

- The text begins with a traceback, through Spark's code and ours. It is left out for errors that we raise on purpose:
  Spark looks at SPARK_HIDE_TRACEBACK when it writes the text, and the process ends right after. What is a mistake in
  the code keeps its traceback.
- A stream reader that cannot be constructed makes PySpark raise UnboundLocalError behind our error
  (`python_streaming_source_runner` stops a reader that it does not have). So the reader is always constructed, and
  refuses to answer.

An error in `abort` or `stop` would take the place of the one that made Spark call them. They only log.

All of Spark's calls pass through here, so this is also where a process that has loaded everything is noticed
(`tidelog.spark.workers.memory`).
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeVar

from tidelog.spark.versions.data_sources import DataSourceStreamReader
from tidelog.spark.workers.memory import freeze_loaded, is_worker

logger = logging.getLogger(__name__)

C = TypeVar("C", bound=type)

_HIDE_TRACEBACK = "SPARK_HIDE_TRACEBACK"

# What Spark calls. A method that is not here is our own.
_CALLED = frozenset(
    {
        # data source
        "__init__",
        "schema",
        "reader",
        "writer",
        "streamWriter",
        # readers
        "partitions",
        "read",
        "initialOffset",
        "latestOffset",
        "reportLatestOffset",
        "getDefaultReadLimit",
        "prepareForTriggerAvailableNow",
        # writers; a stream reader has a commit, too
        "write",
        "commit",
    }
)
_CALLED_TO_END = frozenset({"abort", "stop"})
_MAKES_STREAM_READER = "streamReader"
# When these are done, a process has loaded all that it needs for its kind of work.
_LOADS_ALL = frozenset({"partitions", "read", "write", "commit"})

SPOKEN = _CALLED | _CALLED_TO_END | {_MAKES_STREAM_READER}


class SparkProblem(Exception):
    """What another part of tidelog, or a database's driver, has said in more than one line."""


def one_line(text: str) -> str:
    return " ".join(text.split())


def spoken(kind: C) -> C:
    """For each class that Spark calls: its errors reach the user as one line."""
    for name, method in list(vars(kind).items()):
        if name in SPOKEN and callable(method):
            setattr(kind, name, _guarded(name, method))
    return kind


def said(error: BaseException) -> Exception | None:
    """The error as it is shown, in one line; None for what nobody meant to raise, which keeps its traceback."""
    if isinstance(error, AssertionError) or not isinstance(error, Exception):
        return None
    package = type(error).__module__.partition(".")[0]
    text = one_line(str(error))
    if package in ("psycopg", "sqlite3"):
        return SparkProblem(f"the database refused: {text}. Start the query again once this is resolved")
    if package != "tidelog":
        # What the system refuses, such as a file or a connection, is no mistake in the code.
        return SparkProblem(f"{type(error).__name__}: {text}") if isinstance(error, OSError) else None
    return error if text == str(error) else SparkProblem(text)


class RefusingReader(DataSourceStreamReader):
    """In place of a stream reader that cannot be constructed: says why as soon as it is asked anything."""

    def __init__(self, problem: Exception) -> None:
        self._problem = problem

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        _show(self._problem)

    # Spark 4.2 and newer look at the signature for whether to give `latestOffset` a start and a limit: both will do.
    initialOffset = latestOffset = getDefaultReadLimit = partitions = read = _refuse


def _guarded(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(*arguments: Any, **named: Any) -> Any:
        try:
            answer = method(*arguments, **named)
        except BaseException as error:
            if name in _CALLED_TO_END and isinstance(error, Exception):
                # A database that is away is no mistake in the code either.
                mistake = error if said(error) is None else None
                logger.warning("%s has failed: %s", name, one_line(str(error)), exc_info=mistake)
                return None
            shown = said(error)
            if shown is None:
                raise
            if name == _MAKES_STREAM_READER:
                return RefusingReader(shown)
            _show(shown, error)
        if name in _LOADS_ALL:
            freeze_loaded()
        return _each(answer) if name == "read" and isinstance(answer, Iterator) else answer

    return call


def _each(answers: Iterator[Any]) -> Iterator[Any]:
    """What `read` returns runs after it has returned."""
    try:
        yield from answers
    except Exception as error:
        shown = said(error)
        if shown is None:
            raise
        _show(shown, error)


def _show(shown: Exception, cause: BaseException | None = None) -> NoReturn:
    if is_worker():
        # Only in a process of Spark's, which ends with this error.
        os.environ[_HIDE_TRACEBACK] = "1"
    if cause is None or cause is shown:
        raise shown
    raise shown from cause
