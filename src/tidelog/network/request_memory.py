"""How much memory the requests of all connections may take together, and who has to wait for it.

A request takes memory from its first byte until its reply is handed to the socket. Small ones are always accepted, at
least one per connection: they cost next to nothing, and a client that sends only those never waits for large ones of
others. Beyond that a frame asks before each step of its growth. If there is no room, its connection stops reading, and
TCP makes the sender wait. Room that becomes free goes to those who wait, in the order in which their frames began,
ordinary frames before large ones, and a part of the whole is reserved for ordinary ones.

Incomplete frames could hold all of the memory, with none of them able to grow. So while somebody waits, frames whose
senders have fallen silent are dropped, and if all of them wait for each other, the one with most bytes missing is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

logger = logging.getLogger(__name__)

# Accepted without asking.
SMALL_BYTES = 64 * 1024
# What producers send with their default settings, and a little more.
ORDINARY_BYTES = 2 * 1024 * 1024
# Reserved for ordinary frames, as a part of the whole.
ORDINARY_SHARE = 4
# For queued.max.request.bytes=-1. In Kafka that means no limit; any client could then fill the memory.
DEFAULT_LIMIT_BYTES = 100 * 1024 * 1024

CHECK_SECONDS = 1.0
# A sender of less than this between two checks, that often in a row, has fallen silent.
SILENT_BYTES = 16 * 1024
SILENT_CHECKS = 3


def beyond_small(size: int) -> int:
    return max(0, size - SMALL_BYTES)


class Claim:
    """What one connection holds: an incomplete frame, and whole ones that are not answered yet."""

    __slots__ = (
        "_arrived",
        "_checked",
        "_granted",
        "_memory",
        "answering",
        "drop",
        "frame_size",
        "half",
        "order",
        "wants",
        "whole",
    )

    def __init__(self, memory: RequestMemory, granted: Callable[[], None], drop: Callable[[str], None]) -> None:
        self._memory = memory
        self._granted = granted
        self.drop = drop
        self.half = 0
        self.whole = 0
        # What counts of the whole frames against the limit.
        self.answering = 0
        self.frame_size = 0
        # When the incomplete frame began, in the order of all frames.
        self.order = 0
        self.wants = 0
        # Bytes of the frame, those at the last check, and for how many checks there were too few.
        self._arrived = 0
        self._checked = (0, 0)

    @property
    def is_large(self) -> bool:
        return self.frame_size > ORDINARY_BYTES

    @property
    def is_waiting(self) -> bool:
        return self in self._memory.waiting

    def begin(self, frame_size: int, held: int) -> None:
        """A frame has begun, of which `held` bytes are kept; they need no room, since there are few of them."""
        self.frame_size = frame_size
        self.order = self._memory.next_order()
        self._arrived = 0
        self._checked = (0, 0)
        if self.is_large:
            self._memory.large[self] = None
        self._hold(held)

    def grow(self, by: int) -> bool:
        """Whether the frame may take `by` bytes more now. If not, `granted` is called once it has them."""
        if self._memory.fits(self, by):
            self._hold(by)
            return True
        self.wants = by
        self._memory.wait(self)
        return False

    def grant(self) -> None:
        """There is room now: called by the memory."""
        self._hold(self.wants)
        self.wants = 0
        self._granted()

    def arrived(self, count: int) -> None:
        self._arrived += count

    def complete(self, size: int) -> None:
        """The incomplete frame has arrived completely."""
        self._hold(-self.half)
        self._memory.large.pop(self, None)
        self.frame_size = 0
        self.take(size)

    def take(self, size: int) -> None:
        """A whole frame is kept until it is answered."""
        self.whole += size
        self.answering += beyond_small(size)
        self._memory.changed(size, beyond_small(size), 0)

    def give_back(self, size: int) -> None:
        self.whole -= size
        self.answering -= beyond_small(size)
        self._memory.changed(-size, -beyond_small(size), 0)

    def release(self) -> None:
        """The connection is gone."""
        self._memory.forget(self)
        self._hold(-self.half)
        whole, answering = self.whole, self.answering
        self.whole = self.answering = 0
        self._memory.changed(-whole, -answering, 0)

    def fell_silent(self) -> bool:
        """Called at each check."""
        before, silent = self._checked
        silent = silent + 1 if self._arrived - before < SILENT_BYTES and not self.is_waiting else 0
        self._checked = self._arrived, silent
        return silent >= SILENT_CHECKS

    def distance(self) -> tuple[int, int]:
        """How far the frame is from being whole; of two that are equally far, the younger one is further."""
        return self.frame_size - self.half, self.order

    def _hold(self, count: int) -> None:
        beyond = beyond_small(self.half + count) - beyond_small(self.half)
        self.half += count
        self._memory.changed(count, beyond, beyond if self.is_large else 0)


class RequestMemory:
    """Shared by all connections of one kind of listener: clients cannot take the memory of the quorum."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit = limit_bytes
        self.used = 0
        self.highest = 0
        # What is limited: all beyond the first bytes of each frame, and the part of it in large incomplete frames.
        self._beyond = 0
        self._beyond_large = 0
        self._order = 0
        # In order of arrival. Dictionaries keep it, and are the same in every run of a simulation.
        self.waiting: dict[Claim, None] = {}
        # Large incomplete frames, oldest first.
        self.large: dict[Claim, None] = {}
        self._claims: dict[Claim, None] = {}
        self._grants = 0
        self._grants_at_check = 0
        self._check: asyncio.TimerHandle | None = None
        self._granting = False

    def claim(self, granted: Callable[[], None], drop: Callable[[str], None]) -> Claim:
        claim = Claim(self, granted, drop)
        self._claims[claim] = None
        return claim

    @property
    def is_full(self) -> bool:
        return self.used >= self.limit

    def next_order(self) -> int:
        self._order += 1
        return self._order

    def fits(self, claim: Claim, by: int) -> bool:
        if self._beyond + by > self.limit:
            return False
        # The oldest may use all of it: without others, it can complete.
        is_eldest = next(iter(self.large), None) is claim
        reserve = self.limit // ORDINARY_SHARE
        return not claim.is_large or is_eldest or self._beyond_large + by <= self.limit - reserve

    def wait(self, claim: Claim) -> None:
        self.waiting[claim] = None
        if self._check is None:
            self._grants_at_check = self._grants
            self._check = asyncio.get_running_loop().call_later(CHECK_SECONDS, self._look_for_room)

    def changed(self, used: int, beyond: int, beyond_large: int) -> None:
        self.used += used
        self.highest = max(self.highest, self.used)
        self._beyond += beyond
        self._beyond_large += beyond_large
        if used < 0 and self.waiting:
            self._grant()

    def forget(self, claim: Claim) -> None:
        self.waiting.pop(claim, None)
        self.large.pop(claim, None)
        self._claims.pop(claim, None)

    def _grant(self) -> None:
        if self._granting:
            return
        self._granting = True
        try:
            for large in (False, True):
                waiting = [each for each in self.waiting if each.is_large is large]
                for claim in sorted(waiting, key=lambda each: each.order):
                    if claim not in self.waiting:
                        continue
                    if not self.fits(claim, claim.wants):
                        break
                    del self.waiting[claim]
                    self._grants += 1
                    claim.grant()
        finally:
            self._granting = False

    def _look_for_room(self) -> None:
        """Once a second while somebody waits."""
        self._check = None
        self._grant()
        if not self.waiting:
            return
        half = [claim for claim in self._claims if claim.half]
        silent = [claim for claim in half if claim.fell_silent()]
        for claim in silent:
            claim.drop(f"{claim.half} of {claim.frame_size} bytes of a frame arrived, then nothing, and others wait")
        if not silent and self._grants == self._grants_at_check and self._is_deadlocked(half):
            furthest = max((claim for claim in half if claim.half > SMALL_BYTES), key=Claim.distance)
            furthest.drop(
                f"{furthest.half} of {furthest.frame_size} bytes of a frame arrived, there is no memory for the "
                "rest, and others need less"
            )
        self._grants_at_check = self._grants
        if self.waiting and self._check is None:
            self._check = asyncio.get_running_loop().call_later(CHECK_SECONDS, self._look_for_room)

    def _is_deadlocked(self, half: list[Claim]) -> bool:
        """Whether all that is held is held by those who wait. What is being answered will be released."""
        answering = sum(claim.answering for claim in self._claims)
        holding = [claim for claim in half if claim.half > SMALL_BYTES]
        return answering == 0 and len(holding) > 1 and all(claim.is_waiting for claim in holding)
