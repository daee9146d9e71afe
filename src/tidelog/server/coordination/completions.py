"""Waiting for the end of a transaction that is decided but not yet complete.

A producer's next transaction often begins while the markers of its last one are still being written. Asked to retry
(CONCURRENT_TRANSACTIONS), it would do so after its own backoff, which is far longer than the markers take. So its
request waits for them, within a bound.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Completions:
    """Waiting requests, by transactional id. `is_completing` says whether a transaction is decided and not complete; it
    is not if nobody here coordinates it."""

    def __init__(self, is_completing: Callable[[str], bool]) -> None:
        self._is_completing = is_completing
        self._waiting: dict[str, asyncio.Future[None]] = {}

    def of(self, transactional_id: str) -> asyncio.Future[None]:
        """Done when it is complete, or when nobody here will report that any more.

        Shared by all callers, so wait for it in a shield or with `asyncio.wait`.
        """
        future = self._waiting.get(transactional_id)
        if future is None:
            future = self._waiting[transactional_id] = asyncio.get_running_loop().create_future()
        return future

    def changed(self) -> None:
        """Something was replayed, or a shard is gone."""
        if self._waiting:
            for transactional_id in [each for each in self._waiting if not self._is_completing(each)]:
                waiting = self._waiting.pop(transactional_id)
                if not waiting.done():
                    waiting.set_result(None)
