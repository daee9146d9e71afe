"""Why a query failed, in one line: our own message out of what Spark shows around it."""

from __future__ import annotations

import re

# What Spark's Python processes send: `tidelog.spark.x.SomeProblem: the message`, behind words of Spark's or in a line
# of its own.
_OURS = re.compile(r"\btidelog(?:\.\w+)*\.([A-Z]\w+): (.+?)(?: SQLSTATE: \w+)*$", re.MULTILINE)
_PYTHON = re.compile(r"^(?:\w+\.)*(\w*(?:Error|Exception|Problem|Failed|Refused)): (.+)$", re.MULTILINE)
_RAISED = re.compile(r"\[USER_RAISED_EXCEPTION\] (.+?)(?: SQLSTATE: \w+)?$", re.MULTILINE)


# What Spark refuses before it asks us: the beginning of what it says, and what to do instead.
_SPARK_REFUSES = {
    "does not support Update mode": (
        "Spark refuses output mode update for sinks that are written in Python. Write with "
        ".foreachBatch(tidelog.spark.exactly_once_batch(...)), which takes the same options"
    ),
    "Failed to find the data source: tidelog": (
        "this Spark does not find tidelog. Before 4.0 Spark has no data sources in Python: write with "
        ".foreachBatch(tidelog.spark.exactly_once_batch(...)). From 4.0 on, install tidelog[spark] for the Python of "
        "the driver and of the workers"
    ),
}


def explain(error: BaseException | str) -> str:
    """The cause as the one who raised it says it; the first line of everything if nobody of ours did."""
    text = str(error)
    for refusal, instead in _SPARK_REFUSES.items():
        if refusal in text:
            return instead
    found = _OURS.findall(text)
    if found:
        return str(found[-1][1]).strip()
    raised = _RAISED.search(text)
    if raised:
        return raised[1].strip()
    python = [match for match in _PYTHON.findall(text) if not match[0].startswith("Py")]
    if python:
        return f"{python[-1][0]}: {python[-1][1]}".strip()
    return text.strip().splitlines()[0] if text.strip() else "unknown"
