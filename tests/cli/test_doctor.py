"""What `tidelog doctor` says about what is compiled."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tidelog import hot_path
from tidelog.protocol import implementation as messages
from tidelog.records import implementation

COMPILED = {
    "record codec": "compiled",
    "message codec": "compiled",
    "request path": f"compiled: {len(hot_path.MODULES)} modules",
}


def finding(what: str, switch: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-m", "tidelog.cli.main", "doctor", "--json"],
        env={**os.environ, implementation.SWITCH: switch},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    findings: list[dict[str, object]] = json.loads(done.stdout)
    return next(finding for finding in findings if finding["what"] == what)


@pytest.mark.parametrize("what", COMPILED)
def test_the_doctor_says_that_plain_python_was_asked_for(what: str) -> None:
    found = finding(what, "1")

    assert found["detail"] == "plain Python: TIDELOG_PURE_PYTHON is set"
    assert found["good"] is None


@pytest.mark.parametrize("what", COMPILED)
def test_the_doctor_says_what_is_compiled(what: str) -> None:
    reason = implementation.REASON or messages.REASON or hot_path.REASON
    if reason:
        pytest.skip(f"runs plain Python: {reason}")

    assert finding(what, "") == {"what": what, "good": True, "detail": COMPILED[what]}
