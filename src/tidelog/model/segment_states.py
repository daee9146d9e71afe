"""What the cleaner has done with a segment of a log, as DescribeLogDirs tells it (decision 46)."""

from __future__ import annotations

from enum import IntEnum


class SegmentState(IntEnum):
    """The numbers are those on the wire."""

    # A broker of a later version may know more states.
    UNKNOWN = -1
    # The last segment, which grows and is never compacted.
    ACTIVE = 0
    # Sealed, in a log that is not compacted: cleanup.policy is `delete` only.
    NOT_COMPACTED = 1
    # Sealed, and the cleaner has not passed it since its records were written.
    DIRTY = 2
    # The cleaner has passed it.
    CLEAN = 3

    @classmethod
    def _missing_(cls, value: object) -> SegmentState:
        return cls.UNKNOWN
