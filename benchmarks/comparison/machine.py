"""What the machine under the measurements does, and how it is kept out of the figures."""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Callable

import psutil

_PAGE_BYTES = 4096
# Of the time of all cores. Above, a turn says more about the machine's neighbours than about what was measured.
MOST_TAKEN = 0.03


def watch_neighbours() -> Callable[[], float]:
    """Call what this returns for the part of all cores' time that the host of this machine has taken since.

    A virtual machine shares its cores with others, and learns from its host for how long it had to wait for one. On a
    machine without a host, or with one that does not say, it is 0.
    """
    before = psutil.cpu_times()

    def taken() -> float:
        after = psutil.cpu_times()
        elapsed = sum(after) - sum(before)
        return (getattr(after, "steal", 0.0) - getattr(before, "steal", 0.0)) / elapsed if elapsed else 0.0

    return taken


def touch_memory(megabytes: int) -> None:
    """Use so much memory once, and free it.

    A virtual machine gets its memory from its host page by page, when a page is first used, and gives back what has
    been free for some seconds. Whoever uses such a page pays for it: a gigabyte that is written to the page cache took
    2.5 s of CPU in such pages, and 0.25 s in pages that the machine had. That is more than everything that a broker
    does. What was freed last is used first, so a turn that begins now finds memory that is there.
    """
    if not megabytes:
        return
    with contextlib.closing(mmap.mmap(-1, megabytes << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)) as memory:
        if hasattr(mmap, "MADV_HUGEPAGE"):
            # Large pages are freed as large blocks, which the page cache takes first.
            memory.madvise(mmap.MADV_HUGEPAGE)
        for position in range(0, len(memory), _PAGE_BYTES):
            memory[position] = 1
