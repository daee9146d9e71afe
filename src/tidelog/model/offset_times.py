"""Times that stand for a place in a partition's log, in ListOffsets and wherever a user names one."""

from __future__ import annotations

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6
