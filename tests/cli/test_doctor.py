"""What `tidelog doctor` says about the record codec."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tidelog.records import implementation


def codec_finding(switch: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-m", "tidelog.cli.main", "doctor", "--json"],
        env={**os.environ, implementation.SWITCH: switch},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    findings: list[dict[str, object]] = json.loads(done.stdout)
    return next(finding for finding in findings if finding["what"] == "record codec")


def test_the_doctor_says_that_plain_python_was_asked_for() -> None:
    found = codec_finding("1")

    assert found["detail"] == "plain Python: TIDELOG_PURE_PYTHON is set"
    assert found["good"] is None


def test_the_doctor_says_that_the_codec_is_compiled() -> None:
    if not implementation.COMPILED:
        pytest.skip(f"runs plain Python: {implementation.REASON}")

    assert codec_finding("") == {"what": "record codec", "good": True, "detail": "compiled"}
