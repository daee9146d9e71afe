"""Why a query failed, in one line: our own message out of the stack traces of two languages."""

from __future__ import annotations

import re


class PipelineFailed(Exception):
    """A pipeline ended before it was told to; the message says why and what to do."""


# The last line of a Python traceback that went through Spark: `tidelog.spark.x.SomeProblem: the message`.
_OURS = re.compile(r"^(?:tidelog(?:\.\w+)+)\.(\w+): (.+)$", re.MULTILINE)
_PYTHON = re.compile(r"^(?:\w+\.)*(\w*(?:Error|Exception|Problem|Failed|Refused)): (.+)$", re.MULTILINE)
_RAISED = re.compile(r"\[USER_RAISED_EXCEPTION\] (.+?)(?: SQLSTATE: \w+)?$", re.MULTILINE)


def explain(text: str) -> str:
    """The cause as the one who raised it says it; the first line of everything if nobody of ours did."""
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
