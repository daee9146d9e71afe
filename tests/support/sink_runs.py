"""Runs of `support.spark_sink_job`, its input, and a reader that watches what becomes visible meanwhile."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from confluent_kafka import Consumer, TopicPartition
from support.class_archives import small_spark_jvm
from support.processes import HANG_SECONDS, ProcessFailed, start_process, tail, wait_until

from tidelog.client.admin import Admin
from tidelog.client.producer.partitioner import partition_for_key
from tidelog.spark.sink.crash_points import CRASH_FILE, CRASH_POINT, GO

PARTITIONS = 3
ROWS = 400
# Generous, since it starts a JVM on a machine that may be busy.
REACH_SECONDS = 240.0

_JOB = Path(__file__).with_name("spark_sink_job.py")

Partitions = dict[int, list[str]]


def create_topic(servers: str, name: str, *, replication_factor: int = 1) -> None:
    async def create() -> None:
        async with Admin(servers) as admin:
            await admin.create_topic(name, partitions=PARTITIONS, replication_factor=replication_factor)

    asyncio.run(create())


class Input:
    """A folder with one file of rows for each micro-batch."""

    def __init__(self, folder: Path, batches: int) -> None:
        self.folder = folder
        folder.mkdir()
        self._rows = [[f"k{row % 17} {batch}-{row:06d}" for row in range(ROWS)] for batch in range(batches)]
        for batch, rows in enumerate(self._rows):
            path = folder / f"{batch:04d}.txt"
            path.write_text("\n".join(rows) + "\n")
            # The source takes files by their age, which counts in seconds at worst.
            os.utime(path, (1_700_000_000 + 60 * batch,) * 2)

    def expected(self, batches: int) -> Partitions:
        """What the partitions hold once the first so many micro-batches are visible."""
        partitions: Partitions = {number: [] for number in range(PARTITIONS)}
        for rows in self._rows[:batches]:
            for row in rows:
                key = row.split(" ")[0].encode()
                partitions[partition_for_key(key, PARTITIONS)].append(row)
        return partitions

    def expected_counts(self, batches: int) -> Partitions:
        """The same for a job that says how many rows a key has had, in every micro-batch that has some."""
        partitions: Partitions = {number: [] for number in range(PARTITIONS)}
        counts: Counter[str] = Counter()
        for rows in self._rows[:batches]:
            keys = [row.split(" ")[0] for row in rows]
            counts.update(keys)
            for key in dict.fromkeys(keys):
                partitions[partition_for_key(key.encode(), PARTITIONS)].append(f"{key} {counts[key]}")
        return partitions


class Watcher:
    """Reads committed records all the time, as a user of the topic would."""

    def __init__(self, servers: str, topic: str) -> None:
        self._seen: dict[int, list[str]] = defaultdict(list)
        self._stop = threading.Event()
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": "watcher",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": 50,
                "log_level": 0,
            }
        )
        self._consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def seen(self) -> Partitions:
        return {number: list(self._seen[number]) for number in range(PARTITIONS)}

    def expect(
        self, expected: Partitions, *, what: str, in_order: bool = True, within_seconds: float = HANG_SECONDS
    ) -> None:
        """All of this, in this order, and nothing else."""
        total = sum(map(len, expected.values()))
        with suppress(TimeoutError):
            wait_until(lambda: sum(map(len, self.seen().values())) >= total, within_seconds=within_seconds, what=what)
        seen = self.seen()
        if in_order:
            assert seen == expected, what
        else:
            assert _sorted(seen) == _sorted(expected), what

    def close(self) -> None:
        self._stop.set()
        self._thread.join(10)
        self._consumer.close()

    def _read(self) -> None:
        while not self._stop.is_set():
            message = self._consumer.poll(0.1)
            if message is not None and message.error() is None:
                value = message.value()
                assert value is not None
                self._seen[message.partition() or 0].append(value.decode())


def _sorted(partitions: Partitions) -> Partitions:
    return {number: sorted(rows) for number, rows in partitions.items()}


class SinkRun:
    """One driver with its JVM and its workers."""

    def __init__(
        self,
        directory: Path,
        name: str,
        *,
        master: str,
        source: Input,
        options: Mapping[str, str],
        settings: Mapping[str, str] | None = None,
        halt_at: str | None = None,
        on_executors: bool = False,
        flags: Sequence[str] = (),
    ) -> None:
        self.output = directory / f"driver-{name}.log"
        self._crash_file = directory / f"crash-{name}"
        command = [sys.executable, str(_JOB), "--master", master, "--input", str(source.folder)]
        command += ["--checkpoint", str(directory / "checkpoint"), *flags]
        for key, value in options.items():
            command += ["--option", f"{key}={value}"]
        for key, value in {"spark.driver.extraJavaOptions": small_spark_jvm(), **(settings or {})}.items():
            command += ["--setting", f"{key}={value}"]
        halt = {} if halt_at is None else {CRASH_POINT: halt_at, CRASH_FILE: str(self._crash_file)}
        if on_executors:
            for key, value in halt.items():
                command += ["--setting", f"spark.executorEnv.{key}={value}"]
        environment = {"SPARK_LOCAL_IP": "127.0.0.1", **halt}
        self._process = start_process(command, output=self.output, environment=environment)

    def wait_until_halted(self) -> int:
        """The process that has come to the point."""

        def halted() -> str:
            if self._process.poll() is not None:
                raise ProcessFailed(f"the driver ended with {self._process.returncode}:\n{tail(self.output)}")
            return self._crash_file.read_text() if self._crash_file.exists() else ""

        return int(wait_until(halted, within_seconds=REACH_SECONDS, what="the crash point"))

    def go_on(self) -> None:
        self._crash_file.write_text(GO)

    def wait_until_ended(self) -> None:
        """Well or not: somebody else has gone further."""
        wait_until(lambda: self._process.poll() is not None, within_seconds=REACH_SECONDS, what="the driver's end")

    def wait_until_done(self) -> None:
        wait_until(lambda: self._process.poll() is not None, within_seconds=REACH_SECONDS, what="the driver's end")
        if self._process.returncode != 0:
            raise ProcessFailed(f"the driver ended with {self._process.returncode}:\n{tail(self.output)}")

    def kill(self) -> None:
        """The driver, its JVM and all of its workers, as when their machine is lost."""
        with suppress(psutil.NoSuchProcess):
            driver = psutil.Process(self._process.pid)
            everybody = [driver, *driver.children(recursive=True)]
            for process in everybody:
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(signal.SIGKILL)
            psutil.wait_procs(everybody, timeout=20)
        self._process.wait(20)


@contextmanager
def sink_run(*arguments: object, **named: object) -> Iterator[SinkRun]:
    run = SinkRun(*arguments, **named)  # type: ignore[arg-type]
    try:
        yield run
    finally:
        run.kill()


@contextmanager
def watching(servers: str, topic: str) -> Iterator[Watcher]:
    watcher = Watcher(servers, topic)
    try:
        yield watcher
    finally:
        watcher.close()
