"""Checkpoints are restored from random copies, or lose files, while drivers, workers, the broker and PostgreSQL die.

`PYTHONPATH=tests python -m soak.restores --rounds 200 --seed 1` shows what happens. After each round the output equals
the input, or the query has stopped with an error, and goes on once it was given the right checkpoint. The exit code is
1 if a row was ever lost or written twice without an error. `make soak-spark` runs it; the suite has a short form.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Self

import psutil
from support.client_reading import read_committed
from support.filled_topics import FilledTopics
from support.postgresql_node import PostgresqlNode, postgresql_node
from support.processes import ProcessFailed, free_port, start_process, stop_process, tail, wait_for_server, wait_until
from support.tidelog_process import tidelog_command

PARTITIONS = 2
ANSWER_SECONDS = 300.0
START_SECONDS = 240.0
ATTEMPTS = 6
# A fault comes at a random moment of about what a run takes.
FAULT_WITHIN_SECONDS = 2.5
MOST_COPIES = 8

DISASTERS = {
    "nothing": 3,
    "copy": 4,
    "restore": 5,
    "lose offsets": 2,
    "lose commits": 2,
    "lose both": 2,
}
FAULTS = {"nothing": 8, "kill a worker": 4, "kill the broker": 3, "kill the database": 2, "kill the driver": 1}

# Spark looks for data sources in Python once in a session: if that process is killed, it never finds them again.
LOST_DRIVER = ("DATA_SOURCE_NOT_FOUND", "ConnectionRefusedError", "Py4JNetworkError")

Say = Callable[[str], None]


class Cluster:
    """A broker, a database and a driver, each of which can die."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._port = free_port()
        self.servers = f"127.0.0.1:{self._port}"
        self._broker: subprocess.Popen[bytes] | None = None
        self._driver: subprocess.Popen[bytes] | None = None
        self._commands = directory / "commands"
        self._commands.mkdir(parents=True)
        self._asked = 0
        self._starts = 0
        self._stack = ExitStack()
        self.database: PostgresqlNode

    def __enter__(self) -> Self:
        self.database = self._stack.enter_context(postgresql_node(self._directory))
        self.start_broker()
        self.start_driver()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.kill_driver()
        if self._broker is not None:
            stop_process(self._broker)
        self._stack.close()

    def start_broker(self) -> None:
        data = self._directory / "broker"
        command = [tidelog_command(), "up", "--port", str(self._port), "--data-dir", str(data)]
        output = self._directory / "broker.log"
        self._broker = start_process(command, output=output)
        wait_for_server(self._broker, self._port, output=output)

    def kill_broker(self) -> None:
        assert self._broker is not None
        stop_process(self._broker, hard=True)
        self.start_broker()

    def kill_database(self) -> None:
        self.database.crash()
        self.database.start()

    def start_driver(self) -> None:
        """Commands that nobody has answered are given up."""
        for command in self._commands.glob("*.json"):
            command.with_suffix(".done").touch()
        self._asked = len(list(self._commands.glob("*.json")))
        (self._commands / "started").unlink(missing_ok=True)
        self._starts += 1
        self._output = self._directory / f"driver-{self._starts}.log"
        job = Path(__file__).parent.parent / "support" / "restore_job.py"
        environment = {"SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": ":".join(filter(None, sys.path))}
        command_line = [sys.executable, str(job), str(self._commands)]
        self._driver = start_process(command_line, output=self._output, environment=environment)
        self._wait(lambda: (self._commands / "started").exists(), START_SECONDS, "the driver's start")

    def kill_driver(self) -> None:
        """With its JVM and all of its workers, as when their machine is lost."""
        for process in self._processes():
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)
        if self._driver is not None:
            self._driver.wait(20)
            self._driver = None

    def kill_worker(self, chance: Random) -> bool:
        workers = []
        for process in self._processes()[1:]:
            with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                # The JVM is none of them, though its command line names the daemon.
                if process.name().startswith("python"):
                    workers.append(process)
        if workers:
            with suppress(psutil.NoSuchProcess):
                chance.choice(workers).send_signal(signal.SIGKILL)
        return bool(workers)

    def ask(self, kind: str, checkpoint: Path) -> int:
        number, self._asked = self._asked, self._asked + 1
        command = {"kind": kind, "checkpoint": str(checkpoint), "servers": self.servers, "url": self.database.url}
        beside = self._commands / f"{number}.new"
        beside.write_text(json.dumps(command))
        beside.rename(self._commands / f"{number}.json")
        return number

    def is_answered(self, number: int) -> bool:
        return (self._commands / f"{number}.done").exists()

    def answer(self, number: int) -> str | None:
        """None if the query has come to its end, else why not."""
        self._wait(lambda: self.is_answered(number), ANSWER_SECONDS, "the end of the query")
        found: str | None = json.loads((self._commands / f"{number}.done").read_text())
        return found

    def _processes(self) -> list[psutil.Process]:
        with suppress(psutil.NoSuchProcess):
            if self._driver is not None:
                driver = psutil.Process(self._driver.pid)
                return [driver, *driver.children(recursive=True)]
        return []

    def _wait(self, condition: Callable[[], bool], seconds: float, what: str) -> None:
        def holds() -> bool:
            assert self._driver is not None
            if self._driver.poll() is not None:
                raise ProcessFailed(f"the driver ended with {self._driver.returncode}:\n{tail(self._output)}")
            return condition()

        wait_until(holds, within_seconds=seconds, what=what)


class Restores:
    """`run` it once. What was violated is in `violations`, what has happened in `happened`."""

    def __init__(self, directory: Path, *, seed: int, rounds: int, say: Say) -> None:
        self._chance = Random(seed)
        # Of its own: how often it is asked depends on how quick the machine is.
        self._moment = Random(seed)
        self._directory = directory
        self._rounds = rounds
        self._say = say
        self._expected: list[str] = []
        self._copies: dict[str, list[Path]] = {"topic": [], "table": []}
        self.violations: list[str] = []
        self.happened: Counter[str] = Counter()

    def run(self) -> None:
        with Cluster(self._directory) as cluster:
            self._cluster = cluster
            self._topics = FilledTopics(cluster.servers)
            self._topics.create(name="in", partitions=PARTITIONS)
            self._topics.create(name="out", partitions=PARTITIONS)
            for number in range(self._rounds):
                kind = self._chance.choice(["topic", "table"])
                self._round(number, kind)
                if self.violations:
                    return

    def report(self) -> list[str]:
        counts = [f"{what}: {count}" for what, count in sorted(self.happened.items())]
        return [*counts, f"{len(self._expected)} rows", *(f"VIOLATED: {one}" for one in self.violations)]

    def _round(self, number: int, kind: str) -> None:
        self._add_rows()
        newest = self._directory / f"newest-{kind}"
        _replace(newest, self._checkpoint(kind))
        disaster = self._pick(DISASTERS)
        disaster = self._disaster(kind, disaster, number)
        fault = self._pick(FAULTS)
        self._say(f"round {number}: {kind}, {disaster}, {fault}")
        self.happened[disaster] += 1
        self.happened[fault] += 1
        for attempt in range(ATTEMPTS):
            problem = self._attempt(kind, fault if attempt == 0 else "nothing")
            if problem is None:
                self._check(kind, number, exact=True)
                return
            self._say(f"  {problem[:200]}")
            self._check(kind, number, exact=False)
            if any(word in problem for word in LOST_DRIVER):
                self._cluster.kill_driver()
                self._cluster.start_driver()
                continue
            if attempt == 0 and fault != "nothing":
                continue
            # Nothing was broken this time: it stops because of the checkpoint, and is given the right one.
            self.happened["stopped"] += 1
            if disaster in ("nothing", "copy") and attempt > 1:
                break
            self._mend(kind, newest)
        self.violations.append(f"round {number}: {kind} does not go on: {problem}")

    def _attempt(self, kind: str, fault: str) -> str | None:
        number = self._cluster.ask(kind, self._checkpoint(kind))
        if fault != "nothing":
            until = time.monotonic() + self._moment.uniform(0, FAULT_WITHIN_SECONDS)
            while time.monotonic() < until and not self._cluster.is_answered(number):
                time.sleep(0.01)
            if fault == "kill the driver":
                self._cluster.kill_driver()
                self._cluster.start_driver()
                return "the driver was killed"
            self._break(fault)
        return self._cluster.answer(number)

    def _break(self, fault: str) -> None:
        match fault:
            case "kill a worker":
                self._cluster.kill_worker(self._moment)
            case "kill the broker":
                self._cluster.kill_broker()
            case _:
                self._cluster.kill_database()

    def _disaster(self, kind: str, disaster: str, number: int) -> str:
        """What was done: without a copy there is nothing to be restored."""
        checkpoint, copies = self._checkpoint(kind), self._copies[kind]
        if not checkpoint.exists():
            return "nothing"
        if disaster == "copy" or (disaster == "restore" and not copies):
            copy = self._directory / f"copy-{kind}-{number}"
            _replace(copy, checkpoint)
            copies.append(copy)
            if len(copies) > MOST_COPIES:
                shutil.rmtree(copies.pop(self._chance.randrange(MOST_COPIES)))
            return "copy"
        if disaster == "restore":
            _replace(checkpoint, self._chance.choice(copies[-3:]))
        for log in {"lose offsets": ["offsets"], "lose commits": ["commits"]}.get(disaster, ["offsets", "commits"]):
            if disaster.startswith("lose"):
                _lose_newest(checkpoint / log, self._chance.choice([1, 1, 2]))
        return disaster

    def _mend(self, kind: str, newest: Path) -> None:
        """As the messages say: topics need the newest checkpoint, a table knows by itself where it ends."""
        if kind == "topic":
            _replace(self._checkpoint(kind), newest)
        else:
            shutil.rmtree(self._checkpoint(kind))

    def _add_rows(self) -> None:
        for partition in range(PARTITIONS):
            count = self._chance.choice([0, 0, 5, 20, 45])
            news = [f"{partition}-{len(self._expected) + one:06d}" for one in range(count)]
            self._topics.fill("in", news, partition=partition)
            self._expected += news

    def _check(self, kind: str, number: int, *, exact: bool) -> None:
        """No row twice, none that nobody wrote; and none missing where the query says that it is through."""
        found = Counter(self._output(kind))
        expected = Counter(self._expected)
        twice = sorted((found - expected).elements())
        missing = sorted((expected - found).elements())
        if twice:
            self.violations.append(f"round {number}: {kind} has rows too often: {twice[:5]} ({len(twice)})")
        if exact and missing:
            self.violations.append(
                f"round {number}: {kind} has lost rows without an error: {missing[:5]} ({len(missing)})"
            )

    def _output(self, kind: str) -> list[str]:
        if kind == "topic":
            return [value.decode() for value in asyncio.run(read_committed(self._cluster.servers, "out"))]
        known = self._cluster.database.query("SELECT to_regclass('rows')")[0][0]
        return [] if known is None else [row[0] for row in self._cluster.database.query("SELECT text FROM rows")]

    def _checkpoint(self, kind: str) -> Path:
        return self._directory / f"checkpoint-{kind}"

    def _pick(self, weights: dict[str, int]) -> str:
        return self._chance.choices(list(weights), list(weights.values()))[0]


def _replace(target: Path, source: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    if source.exists():
        shutil.copytree(source, target)


def _lose_newest(log: Path, count: int) -> None:
    numbers = sorted(int(path.name) for path in log.glob("*") if path.name.isdecimal())
    for number in numbers[-count:]:
        for name in (str(number), f".{number}.crc"):
            (log / name).unlink(missing_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tidelog-restores-") as directory:
        restores = Restores(Path(directory), seed=arguments.seed, rounds=arguments.rounds, say=print)
        restores.run()
        print("\n".join(restores.report()))
    sys.exit(1 if restores.violations else 0)


if __name__ == "__main__":
    main()
