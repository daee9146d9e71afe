"""Where tests let a job of the sink die, in the order in which a micro-batch passes these points."""

from __future__ import annotations

# With atomicity=batch.
DRIVER_CRASH_POINTS = (
    "before-init-producer-id",
    "after-init-producer-id",
    "after-offset-fetch",
    "after-half-of-the-batches",
    "before-note",
    "after-note",
    "before-end-txn",
    "after-end-txn",
    "before-commit-log",
)

# With atomicity=prepared.
PREPARED_TASK_CRASH_POINTS = ("in-write", "before-prepare", "after-prepare")
PREPARED_DRIVER_CRASH_POINTS = (
    "before-decision",
    "in-decision",
    "after-decision",
    "after-half-of-the-tasks",
    "after-all-tasks",
    "before-commit-log",
)
