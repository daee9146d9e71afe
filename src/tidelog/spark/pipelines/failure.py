"""How a pipeline ends before it was told to. What Spark's errors say is found out in `tidelog.spark.explanations`."""

from __future__ import annotations

from tidelog.spark.explanations import explain

__all__ = ["PipelineFailed", "explain"]


class PipelineFailed(Exception):
    """A pipeline ended before it was told to; the message says why and what to do."""
