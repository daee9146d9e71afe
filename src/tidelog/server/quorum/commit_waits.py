"""Waits until records that this node has appended as the leader are committed."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

from tidelog.model.errors import ApiError, ErrorCode


class CommitWaits:
    """In the order in which they were appended. Each gets its offset, or NOT_CONTROLLER if the leadership is lost."""

    def __init__(self) -> None:
        self._waits: deque[tuple[int, asyncio.Future[int]]] = deque()

    def add(self, offset: int, committed: asyncio.Future[int]) -> None:
        self._waits.append((offset, committed))

    def advanced(self, high_watermark: int) -> None:
        while self._waits and self._waits[0][0] < high_watermark:
            offset, committed = self._waits.popleft()
            if not committed.done():
                committed.set_result(offset)

    def depose(self) -> None:
        while self._waits:
            refuse(self._waits.popleft()[1], not_controller())


def refuse(waiting: asyncio.Future[Any], reason: Exception) -> None:
    if not waiting.done():
        waiting.set_exception(reason)


def not_controller() -> ApiError:
    return ApiError(ErrorCode.NOT_CONTROLLER, "this node is not, or no longer, the active controller")
