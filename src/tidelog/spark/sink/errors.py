"""What the sink raises. Each message says what was wrong, with which value, and what to do about it."""

from __future__ import annotations


class SinkError(Exception):
    """The parent of them all. Spark shows the message to the user and fails the query."""


class InvalidSinkOptions(SinkError):
    """Options that do not exist, have wrong values, or contradict each other."""


class InvalidColumns(SinkError):
    """The DataFrame does not have the columns of a record, or has them in other types."""


class UnknownTopic(SinkError):
    """A row names a topic, or a partition of it, that does not exist."""


class MessageTooLarge(SinkError):
    """A row does not fit into a record batch that the broker takes."""


class StagingFailed(SinkError):
    """A staged file is not there for the driver, or not what the task has written."""


class PlanChanged(SinkError):
    """With atomicity=task: part of a micro-batch is visible, and the rest has been divided into other tasks."""


class CannotTellIfPublished(SinkError):
    """The note is lost, or ahead of the checkpoint: going on could lose rows or write them twice."""


class PublishFailed(SinkError):
    """The transaction of this micro-batch did not go through. Starting the query again publishes it exactly once."""


class PublishFenced(PublishFailed):
    """Another driver publishes for the same query."""


class TransactionTimedOut(PublishFailed):
    """Publishing took longer than transaction.timeout.ms."""
