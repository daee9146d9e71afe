"""Regular expressions that users write. In a process of its own, because nothing else ends one that takes for ever.

Python's `re` tries all ways in which a pattern could fit, of which there may be more than anybody can wait for, and
holds the interpreter meanwhile: neither a thread nor a timeout helps. Here a question has a deadline, and a process
that misses it is killed.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from struct import Struct

from tidelog.console.replies import ConsoleRefusal

_WORKER = Path(__file__).with_name("pattern_worker.py")
_NUMBER = Struct(">I")
# Of one question: some hundreds of records. An ordinary pattern takes a few milliseconds for them.
MOST_SECONDS = 4.0
# The start of Python on a machine that has much to do.
_START_SECONDS = 20.0
MOST_PROCESSES = 4
TOO_SLOW = (
    f"the regular expression was not decided within {MOST_SECONDS:.0f} s for some of the records that come next: write "
    "one without repetitions inside of repetitions, or search for what the value contains"
)
_BUSY = 503


class PatternTooSlow(Exception):
    """The pattern has not been decided within MOST_SECONDS."""


class PatternProcess:
    """`async with PatternProcess(patterns, ignore_case=False) as process: await process.found([(0, b"..."), ...])`"""

    running = 0

    def __init__(self, patterns: Sequence[str], *, ignore_case: bool) -> None:
        self._patterns = patterns
        self._ignore_case = ignore_case
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> PatternProcess:
        """Raises ConsoleRefusal for what is not a regular expression, and if too many are being tried already."""
        if PatternProcess.running >= MOST_PROCESSES:
            raise ConsoleRefusal(f"{MOST_PROCESSES} searches with a regular expression run already: try again", _BUSY)
        PatternProcess.running += 1
        try:
            self._process = await asyncio.create_subprocess_exec(
                # Nothing of the environment, nothing beside the standard library.
                *(sys.executable, "-I", "-S", str(_WORKER)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
            )
            flag = b"1" if self._ignore_case else b"0"
            problem = await self._ask([flag, *(each.encode("utf-8", "surrogatepass") for each in self._patterns)], True)
            if problem:
                raise ConsoleRefusal(f"this is not a regular expression: {problem.decode('utf-8', 'replace')}")
        except BaseException as error:
            await self.end()
            if isinstance(error, PatternTooSlow):
                raise ConsoleRefusal("this regular expression is too large") from error
            if isinstance(error, OSError):
                raise ConsoleRefusal(
                    f"no process could be started for the regular expression: {error.strerror}", _BUSY
                ) from error
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    async def found(self, texts: Sequence[tuple[int, bytes]]) -> list[bool]:
        """For each text whether the pattern with this number is found in it. Raises PatternTooSlow."""
        if not texts:
            return []
        return [bool(each) for each in await self._ask([_NUMBER.pack(number) + text for number, text in texts])]

    async def _ask(self, parts: Sequence[bytes], is_first: bool = False) -> bytes:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            async with asyncio.timeout(_START_SECONDS if is_first else MOST_SECONDS):
                process.stdin.write(_NUMBER.pack(len(parts)))
                for part in parts:
                    process.stdin.write(_NUMBER.pack(len(part)) + part)
                    await process.stdin.drain()
                (size,) = _NUMBER.unpack(await process.stdout.readexactly(_NUMBER.size))
                return await process.stdout.readexactly(size)
        except (TimeoutError, asyncio.IncompleteReadError, ConnectionError) as error:
            raise PatternTooSlow from error

    async def end(self) -> None:
        PatternProcess.running -= 1
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            process.kill()
        await process.wait()
