"""The installed `tidelog` command, run to its end with its exit code checked."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

from support.tidelog_process import tidelog_command

TIMEOUT_SECONDS = 60

Command = Callable[..., subprocess.CompletedProcess[str]]


def run_tidelog(*arguments: str, stdin: str = "", code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run `tidelog` with these arguments; `code` is the exit code that it has to end with."""
    done = subprocess.run(
        (tidelog_command(), *arguments),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
        # Rich draws error boxes as wide as the terminal: a wide one keeps sentences on one line.
        env={**os.environ, "COLUMNS": "300", "NO_COLOR": "1", "TERM": "dumb"},
    )
    assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    return done
