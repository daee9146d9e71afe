"""SIGTERM and SIGINT (Ctrl-C) for a process that runs a node, from before it opens anything until it has closed it all.

The first signal asks for a clean shutdown. Whoever presses Ctrl-C after that does not want to wait: the process ends at
once, by that signal, as in a crash. A repeated SIGTERM does not mean that: supervisors send it more than once.
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


@contextmanager
def asked_to_stop() -> Iterator[asyncio.Event]:
    """An event that a signal sets, on the running loop."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()

    def signalled(number: signal.Signals) -> None:
        if not stop.is_set():
            logger.info("stopping: %s", number.name)
            stop.set()
        elif number is signal.SIGINT:
            logger.warning("exiting immediately: the next start will recover the logs")
            end_by(number)

    for each in _SIGNALS:
        loop.add_signal_handler(each, signalled, each)
    try:
        yield stop
    finally:
        for each in _SIGNALS:
            loop.remove_signal_handler(each)
            # Everything is closed. A signal that arrives while Python exits must not turn that into a failure.
            signal.signal(each, signal.SIG_IGN)


def end_by(number: signal.Signals) -> None:
    """End this process as the signal does on its own, so that whoever started it sees why."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
