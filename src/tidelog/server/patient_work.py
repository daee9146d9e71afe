"""Work that would block everybody else: it is done in a thread, in slices, one slice at a time.

Unpacking is the main case: how long it takes depends on the sender. There is one queue for all of it, so a dozen large
batches at once take neither a dozen threads nor the memory of a dozen decoders, and after each slice the next in the
queue has its turn. So a small batch does not wait for the end of a large one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

# About five milliseconds of unpacking.
SLICE_BYTES: Final = 2 * 1024 * 1024


class PatientWork:
    def __init__(self) -> None:
        self._line = asyncio.Lock()
        # How many have work in the queue, for the metrics.
        self.waiting = 0

    async def finish(self, go_on: Callable[[int], T | None]) -> T:
        """Call `go_on` with the bytes that it may unpack until it returns something."""
        self.waiting += 1
        try:
            while True:
                async with self._line:
                    running = asyncio.get_running_loop().run_in_executor(None, go_on, SLICE_BYTES)
                    result = await running
                if result is not None:
                    return result
        finally:
            self.waiting -= 1
