"""Warns operators that the metadata quorum has no leader: at once, and then repeatedly until it has one.

Without a leader topics cannot be created and no leader of a partition can be replaced, but a node that serves what it
leads looks healthy. `LeaderAbsence` decides what to log and when; `LeaderWatch` checks.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

from tidelog.model.ports import Clock
from tidelog.server.quorum.runtime import QuorumRuntime

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
REPEAT_MS = 30_000.0


class LeaderAbsence:
    """Since when there is no leader, and when that was last logged."""

    def __init__(self) -> None:
        self._since_ms: float | None = None
        self._said_ms = 0.0

    def seconds(self, now_ms: float) -> float:
        """How long there has been none; 0 while there is one."""
        return 0.0 if self._since_ms is None else (now_ms - self._since_ms) / 1000

    def look(self, leader_id: int | None, now_ms: float, silent: Iterable[int]) -> str | None:
        """What to log now. `silent` are the voters that do not answer this node."""
        if leader_id is not None:
            seconds = self.seconds(now_ms)
            was_absent, self._since_ms = self._since_ms is not None, None
            return f"the metadata quorum is led by node {leader_id}, after {seconds:.0f} s" if was_absent else None
        if self._since_ms is None:
            self._since_ms = now_ms
        elif now_ms - self._said_ms < REPEAT_MS:
            return None
        self._said_ms = now_ms
        missing = ", ".join(map(str, sorted(silent)))
        return (
            f"the metadata quorum has had no leader for {self.seconds(now_ms):.0f} s, so the cluster's metadata cannot "
            f"change; voters that do not answer: {missing or 'none'}"
        )


class LeaderWatch:
    def __init__(self, quorum: QuorumRuntime, clock: Clock) -> None:
        self._quorum = quorum
        self._clock = clock
        self._absence = LeaderAbsence()
        self._task: asyncio.Task[None] | None = None

    @property
    def absent_seconds(self) -> float:
        return self._absence.seconds(self._clock.monotonic_ms())

    def start(self) -> None:
        self._task = asyncio.create_task(self._watch())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            leader_id = self._quorum.replica.attached_leader_id
            said = self._absence.look(leader_id, self._clock.monotonic_ms(), self._quorum.talks.silent_voters())
            if said is not None:
                logger.log(logging.WARNING if leader_id is None else logging.INFO, "%s", said)
