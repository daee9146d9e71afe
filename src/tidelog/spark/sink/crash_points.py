"""Points at which tests stop a running job for good: it halts there, and the test kills the processes.

Halting instead of dying here lets the test kill the whole driver (Python and JVM) as a lost machine would. Nothing
happens unless the environment asks for it: TIDELOG_CRASH_POINT is `name` or `name:batch`, TIDELOG_CRASH_FILE the file
that tells the test which process has reached the point. Only the first one halts, so that a task that is tried again
after its worker was killed can go on. A test that only wants to do something at this moment writes `go` into the file.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

CRASH_POINT = "TIDELOG_CRASH_POINT"
CRASH_FILE = "TIDELOG_CRASH_FILE"

GO = "go"

# Whoever asked for the halt kills us long before.
_HALT_SECONDS = 600.0
_LOOK_SECONDS = 0.05


def crash_point(name: str, batch: int) -> None:
    """Halt if this is the place that was asked for."""
    wanted = os.environ.get(CRASH_POINT)
    if wanted is None or wanted not in (name, f"{name}:{batch}"):
        return
    path = Path(os.environ[CRASH_FILE])
    try:
        with path.open("x") as file:
            file.write(str(os.getpid()))
    except FileExistsError:
        return
    deadline = time.monotonic() + _HALT_SECONDS
    while time.monotonic() < deadline:
        if path.read_text() == GO:
            return
        time.sleep(_LOOK_SECONDS)
    os._exit(1)
