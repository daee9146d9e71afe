"""What tests of pages see of a console's process: its address, its complaints, and how it ends."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.console_process import ConsoleProcess
from support.processes import ProcessFailed, wait_until

ANNOUNCES = """
import logging, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit({code}))
logging.basicConfig(level="INFO", format="%(levelname)s %(message)s")
logging.info("beginning")
print("listening at http://127.0.0.1:1234/?token=some", flush=True)
{then}
time.sleep(1000)
"""

Start = Callable[..., ConsoleProcess]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    running: list[ConsoleProcess] = []

    def start_one(then: str = "", code: int = 0) -> ConsoleProcess:
        program = ANNOUNCES.format(then=then, code=code)
        running.append(ConsoleProcess((sys.executable, "-c", program), tmp_path / str(len(running))))
        return running[-1]

    yield start_one
    for process in running:
        process.kill()


def test_its_address_is_what_it_announces(start: Start) -> None:
    process = start()
    assert process.address == "http://127.0.0.1:1234"
    assert process.output == "listening at http://127.0.0.1:1234/?token=some\n"
    process.end()


@pytest.mark.parametrize(
    ("then", "complaint"),
    [
        ("logging.warning('this is odd')", "WARNING this is odd\n"),
        ("logging.error('one\\ntwo')", "ERROR one\ntwo\n"),
        ("import warnings; warnings.warn('old')", "UserWarning: old"),
    ],
)
def test_complaints_are_told_once(start: Start, then: str, complaint: str) -> None:
    process = start(then)
    (told,) = wait_until(process.complaints, what="a complaint")
    assert complaint in told
    assert "beginning" not in told or "UserWarning" in complaint
    assert process.complaints() == []
    process.end()


def test_a_complaint_at_its_end_is_one(start: Start) -> None:
    process = start("signal.signal(signal.SIGTERM, lambda *_: (logging.error('not now'), sys.exit(0)))")
    with pytest.raises(AssertionError, match="not now"):
        process.end()


def test_an_exit_code_is_a_failure(start: Start) -> None:
    with pytest.raises(AssertionError, match="ended with 3"):
        start(code=3).end()


def test_who_announces_nothing_has_failed(tmp_path: Path) -> None:
    with pytest.raises(ProcessFailed, match=r"(?s)ended with 1.*no such port"):
        ConsoleProcess((sys.executable, "-c", "import sys; sys.exit('no such port')"), tmp_path / "console")
