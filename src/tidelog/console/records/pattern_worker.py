"""Tries regular expressions on what its starter sends. Runs as a program of its own, see `patterns`.

It imports nothing of tidelog, so that it starts quickly, and it is ended from outside if it takes too long. Messages on
standard input are lists of byte strings, each with its length in front of it: first the flag for the case of letters
and the patterns, then any number of questions. A question has the number of a pattern in front of each text; the answer
is one byte for each. The answer to the patterns is empty, or says what is wrong with one of them.
"""

from __future__ import annotations

import re
import resource
import sys
from struct import Struct
from typing import BinaryIO

_NUMBER = Struct(">I")
# Some patterns are large when they are compiled.
_MOST_MEMORY = 1 << 30
# Of the patterns, and of each question: who asks gives up earlier, but may be gone.
_MOST_CPU_SECONDS = 60


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    _limit_cpu()
    source, target = sys.stdin.buffer, sys.stdout.buffer
    flag, *texts = _read_list(source)
    patterns: list[re.Pattern[str]] = []
    problem = ""
    for text in texts:
        try:
            patterns.append(re.compile(text.decode("utf-8", "surrogatepass"), re.IGNORECASE if flag == b"1" else 0))
        except (re.error, OverflowError, RecursionError, MemoryError, ValueError) as error:
            problem = problem or str(error) or type(error).__name__
    _answer(target, problem.encode("utf-8", "backslashreplace"))
    while not problem:
        try:
            question = _read_list(source)
        except EOFError:
            return
        _limit_cpu()
        found = bytearray()
        for each in question:
            (number,) = _NUMBER.unpack_from(each)
            text_of_record = each[_NUMBER.size :].decode("utf-8", "surrogateescape")
            found.append(patterns[number].search(text_of_record) is not None)
        _answer(target, bytes(found))


def _limit_cpu() -> None:
    """What was used until now does not count: a download asks for half an hour."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    soft = int(used.ru_utime + used.ru_stime) + 1 + _MOST_CPU_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (soft if most == resource.RLIM_INFINITY else min(soft, most), most))


def _read_list(source: BinaryIO) -> list[bytes]:
    return [_read(source, _read_number(source)) for _ in range(_read_number(source))]


def _read_number(source: BinaryIO) -> int:
    (number,) = _NUMBER.unpack(_read(source, _NUMBER.size))
    return int(number)


def _read(source: BinaryIO, size: int) -> bytes:
    data = source.read(size)
    if len(data) < size:
        raise EOFError
    return data


def _answer(target: BinaryIO, data: bytes) -> None:
    target.write(_NUMBER.pack(len(data)) + data)
    target.flush()


if __name__ == "__main__":
    main()
