"""Why a query failed, in one line: our own message out of the stack traces of two languages."""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.spark.pipelines.retrying import causes_in, causes_of, judge
from tidelog.spark.session.explanations import explain


class PipelineFailed(Exception):
    """A pipeline ended before it was told to; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What went wrong in one line, whether it is worth another try, and what to raise if it is not."""

    reason: str
    again: bool
    exception: Exception


def understand(error: Exception) -> Failure:
    """From an exception of this process, or one that Spark has brought here."""
    # Spark's exceptions have the whole chain in their stack trace, and in the message often only the outermost one.
    trace = getattr(error, "_stackTrace", None)
    if trace is None:
        verdict = judge(causes_of(error))
        return Failure(reason=verdict.reason or str(error), again=verdict.again, exception=error)
    text = f"{error}\n{trace}"
    verdict = judge(causes_in(text))
    reason = verdict.reason or explain(text)
    return Failure(reason=reason, again=verdict.again, exception=PipelineFailed(reason))
