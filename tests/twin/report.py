"""How a failing twin is shown: every request whole, the like ones together."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest
from twin.runner import Finding

_SHOWN = 20


def report(findings: Sequence[Finding]) -> None:
    """Fail with all findings, unless there are none. `TIDELOG_TWIN_REPORT` names a file that gets them, too."""
    if not findings:
        return
    texts = [str(finding) for finding in findings]
    file = os.environ.get("TIDELOG_TWIN_REPORT")
    if file:
        with open(file, "a") as output:
            output.write("\n\n".join(texts) + "\n\n")
    left_out = f"\n\n... and {len(texts) - _SHOWN} more requests" if len(texts) > _SHOWN else ""
    pytest.fail("\n\n".join(texts[:_SHOWN]) + left_out, pytrace=False)
