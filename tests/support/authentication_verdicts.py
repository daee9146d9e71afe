"""Asks Apache Kafka's own classes about authentication: one process of Java that answers line by line.

The questions and answers are described in AuthenticationVerdicts.java.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, AnyStr

from support.apache_kafka import java_command

from tidelog.security.exchange import SaslFailure, SaslOutcome

END_TIMEOUT_SECONDS = 30


class AuthenticationVerdicts:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, *question: Any) -> list[str]:
        """["yes", ...] or ["no", exception, text]."""
        asked, answered = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answered is not None
        try:
            asked.write(json.dumps(question) + "\n")
            asked.flush()
            line = answered.readline()
        except BaseException:
            # The time of the test is up. Whoever asks next must not wait for the answer to this question.
            self._process.kill()
            raise
        assert line, f"Apache Kafka's program has ended with {self._process.wait(END_TIMEOUT_SECONDS)}: {question[0]}"
        answer: list[str] = json.loads(line)
        return answer


@contextmanager
def running_verdicts(jars: Path, directory: Path) -> Iterator[AuthenticationVerdicts]:
    program = Path(__file__).with_name("AuthenticationVerdicts.java")
    with (
        (directory / "verdicts.log").open("wb") as log,
        subprocess.Popen(
            java_command(jars, str(program)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            encoding="utf-8",
        ) as process,
    ):
        try:
            yield AuthenticationVerdicts(process)
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(END_TIMEOUT_SECONDS) == 0
        finally:
            process.kill()


def mutated(random: Random, message: AnyStr, alphabet: AnyStr) -> AnyStr:
    """With one to three small changes."""
    for _ in range(random.randint(1, 3)):
        position = random.randint(0, len(message))
        end = min(len(message), position + random.randint(0, 4))
        inserted = alphabet[:0]
        for _ in range(random.randint(0, 2)):
            chosen = random.randrange(len(alphabet))
            inserted += alphabet[chosen : chosen + 1]
        match random.randrange(4):
            case 0:
                message = message[:position] + inserted + message[position:]
            case 1:
                message = message[:position] + message[end:]
            case 2:
                message = message[:position] + inserted + message[end:]
            case _:
                message = message[:position] + message[position:end] * 2 + message[end:]
    return message


def same_failure(ours: SaslOutcome, theirs: list[str]) -> bool:
    """Kafka hides the text of every exception but one from the client."""
    told = theirs[2] if theirs[1] == "SaslAuthenticationException" else None
    return isinstance(ours, SaslFailure) and ours.told == told
