"""Regular expressions in a process of their own."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidelog.console.records import patterns
from tidelog.console.records.patterns import MOST_PROCESSES, PatternProcess, PatternTooSlow
from tidelog.console.replies import ConsoleRefusal


@pytest.fixture(autouse=True)
def none_is_left() -> Iterator[None]:
    yield
    assert PatternProcess.running == 0


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("b+", b"abbbc", True),
        ("^b", b"ab", False),
        ("Ä.", "xÄü".encode(), True),
        (r"^\w+$", b"\xff\xfe", False),
        ("x", b"\xffx\xfe", True),
        ("", b"", True),
        (r"(?i)order", b"ORDER", True),
        (r"a$", b"a\n", True),
        (r"a\Z", b"a\n", False),
    ],
)
async def test_patterns(pattern: str, text: bytes, found: bool) -> None:
    async with PatternProcess([pattern], ignore_case=False) as process:
        assert await process.found([(0, text)]) == [found]


async def test_several_questions_and_several_patterns() -> None:
    async with PatternProcess(["a", "b"], ignore_case=False) as process:
        assert await process.found([(0, b"a"), (1, b"a"), (1, b"b")]) == [True, False, True]
        assert await process.found([]) == []
        assert await process.found([(0, b"x" * 1_000_000), (1, b"x" * 1_000_000 + b"b")]) == [False, True]


async def test_case_may_be_ignored() -> None:
    async with PatternProcess(["äpfel"], ignore_case=True) as process:
        assert await process.found([(0, "ÄPFEL".encode())]) == [True]


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("(", "missing \\)"),
        ("[a", "unterminated character set"),
        ("*", "nothing to repeat"),
        ("(?P<1>x)", "bad character"),
    ],
)
async def test_what_is_no_regular_expression_is_refused(pattern: str, problem: str) -> None:
    with pytest.raises(ConsoleRefusal, match=problem):
        await PatternProcess(["fine", pattern], ignore_case=False).__aenter__()


async def test_what_takes_for_ever_is_killed_and_the_loop_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    # What is tested takes for ever, whatever the bound.
    monkeypatch.setattr(patterns, "MOST_SECONDS", 0.5)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    counting = asyncio.create_task(count())
    process = PatternProcess(["^(a+)+$"], ignore_case=False)
    async with process:
        pid = process.pid
        with pytest.raises(PatternTooSlow):
            await process.found([(0, b"a" * 200 + b"!")])
    assert turns > 100
    counting.cancel()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.fixture
def short_of_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question may take one second of the processor, and as long as it wants to otherwise."""
    source = patterns._WORKER.read_text()
    worker = tmp_path / "pattern_worker.py"
    worker.write_text(source.replace("_MOST_CPU_SECONDS = 60", "_MOST_CPU_SECONDS = 1"))
    assert worker.read_text() != source
    monkeypatch.setattr(patterns, "_WORKER", worker)
    monkeypatch.setattr(patterns, "MOST_SECONDS", 60.0)


@pytest.mark.usefixtures("short_of_cpu")
async def test_what_earlier_questions_took_of_the_processor_does_not_count() -> None:
    # Tries each length from each place: about a fifth of a second.
    text = b"a" * 7000
    async with PatternProcess(["a+b"], ignore_case=False) as process:
        while _cpu_seconds(process.pid) < 3:
            assert await process.found([(0, text)]) == [False]


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.usefixtures("short_of_cpu")
async def test_a_question_that_nobody_waits_for_ends_too() -> None:
    async with PatternProcess(["^(a+)+$"], ignore_case=False) as process:
        with pytest.raises(PatternTooSlow):
            await process.found([(0, b"a" * 200 + b"!")])
        assert process._process is not None
        assert await process._process.wait() == -signal.SIGXCPU


async def test_only_so_many_run_at_a_time() -> None:
    processes = [PatternProcess(["a"], ignore_case=False) for _ in range(MOST_PROCESSES)]
    for each in processes:
        await each.__aenter__()
    try:
        with pytest.raises(ConsoleRefusal, match="run already"):
            await PatternProcess(["a"], ignore_case=False).__aenter__()
    finally:
        for each in processes:
            await each.end()
    async with PatternProcess(["a"], ignore_case=False) as process:
        assert await process.found([(0, b"a")]) == [True]
