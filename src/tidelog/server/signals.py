"""SIGTERM and SIGINT (Ctrl-C) for a process that runs a node, from before it opens anything until it has closed it all.

The first signal asks for a clean shutdown. Whoever presses Ctrl-C after that does not want to wait: the process ends at
once, by that signal, as in a crash. A repeated SIGTERM does not mean that: supervisors send it more than once.

A process that another one has started can also be asked by a lifeline: the reading end of a pipe whose other end only
the starter holds. It ends with the starter, however that dies, which no signal tells.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

logger = logging.getLogger(__name__)

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_LIFELINE_BYTES = 4096


@contextmanager
def asked_to_stop(lifeline: int | None = None) -> Iterator[asyncio.Event]:
    """An event that a signal sets, or the end of the lifeline (a file descriptor), on the running loop."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()

    def signalled(number: signal.Signals) -> None:
        if not stop.is_set():
            logger.info("stopping: %s", number.name)
            stop.set()
        elif number is signal.SIGINT:
            logger.warning("exiting immediately: the next start will recover the logs")
            end_by(number)

    def lifeline_readable(descriptor: int) -> None:
        if os.read(descriptor, _LIFELINE_BYTES):
            # Nobody has anything to say here; what is said all the same must not keep the loop busy.
            return
        loop.remove_reader(descriptor)
        if not stop.is_set():
            logger.info("stopping: the process that started this one has ended")
            stop.set()

    for each in _SIGNALS:
        loop.add_signal_handler(each, signalled, each)
    if lifeline is not None:
        loop.add_reader(lifeline, lifeline_readable, lifeline)
    try:
        yield stop
    finally:
        if lifeline is not None:
            loop.remove_reader(lifeline)
        for each in _SIGNALS:
            loop.remove_signal_handler(each)
            # Everything is closed. A signal that arrives while Python exits must not turn that into a failure.
            signal.signal(each, signal.SIG_IGN)


def end_by(number: signal.Signals) -> None:
    """End this process as the signal does on its own, so that whoever started it sees why."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
