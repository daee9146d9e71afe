"""Three real processes that are killed, paused, wiped and restarted at random, under load; and what must hold after it.

`PYTHONPATH=tests python -m soak.chaos --minutes 10 --seed 1` shows what happens and ends with a report. The exit code
is 1 if anything was lost, stored twice, seen too early or left apart. `make soak` runs it; the suite has a short form.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from random import Random

from soak.workload import Load, read_all
from support.cluster_processes import NUMBERS, ClusterProcesses
from support.processes import tail, wait_until
from support.tidelog_command import run_tidelog
from support.transaction_workload import Copier, Feeder, read_committed

PARTITIONS = 3
TOPICS = {"plain": PARTITIONS, "own": PARTITIONS, "transactions": PARTITIONS, "source": 1, "target": 1}
# Kafka's own timeouts, except that a follower which lags is taken out of the in-sync set sooner.
PROPERTIES = {
    "broker.session.timeout.ms": "9000",
    "broker.heartbeat.interval.ms": "2000",
    "controller.quorum.election.timeout.ms": "1000",
    "controller.quorum.fetch.timeout.ms": "2000",
    "controller.quorum.election.backoff.max.ms": "1000",
    "replica.lag.time.max.ms": "5000",
    "min.insync.replicas": "2",
    "transaction.state.log.min.isr": "2",
    "default.replication.factor": "3",
}
# More than twice what an application waits for one answer before it begins again with a new client (`STEP_SECONDS`):
# librdkafka now and then waits for a coordinator that it has forgotten (its issues 3779 and 5511).
PROGRESS_SECONDS = 150.0
# Slow enough for the copier to keep up on a busy machine: it makes a transaction of each handful of records.
FEEDING_SECONDS = 0.25
CONVERGE_SECONDS = 60.0
# What a report names of each kind of violation.
MOST_TOLD = 10
# What must not be in the output of a node, whatever happens to it.
FORBIDDEN = ("Traceback (most recent call last)", "was never awaited")

# What is done to the cluster, and how often compared with the rest: a method of `Chaos` each.
KINDS = {
    "kill": 4,
    "kill and start at once": 2,
    "pause": 3,
    "kill two": 2,
    "kill all": 1,
    "kill while another is paused": 2,
    "wipe": 2,
    "stop while it starts": 1,
    "roll": 1,
}

Say = Callable[[str], None]


class Violated(Exception):
    """Something that must hold does not; the run ends here."""


class Chaos:
    """`run` it once. What was violated is in `violations`."""

    def __init__(
        self, directory: Path, *, seed: int, seconds: float, say: Say, kinds: Collection[str] | None = None
    ) -> None:
        self._chance = Random(seed)
        self._seconds = seconds
        # Those that come first, one after the other, and alone; None for all.
        self._kinds = kinds
        self._say = say
        self._cluster = ClusterProcesses(directory, PROPERTIES)
        self._load = Load(self._cluster.bootstrap_servers, PARTITIONS)
        self._feeder = Feeder(self._cluster.bootstrap_servers, "source", pause_seconds=FEEDING_SECONDS)
        self._copier = Copier(self._cluster.bootstrap_servers, "source", "target")
        self._began = time.monotonic()
        self._pauses: list[float] = []
        self.actions: Counter[str] = Counter()
        self.violations: list[str] = []

    # -- one run -------------------------------------------------------------------------------------------------

    def run(self) -> None:
        cluster = self._cluster
        try:
            cluster.start()
            cluster.heal()
            self._create_topics()
            self._under_load()
            self._check_files()
            self._check_outputs()
        except (Violated, AssertionError, TimeoutError) as problem:
            self.violations.append(str(problem))
        finally:
            cluster.close()

    def _create_topics(self) -> None:
        for name, partitions in TOPICS.items():
            options = ("--partitions", str(partitions), "--replication-factor", "3")
            run_tidelog("topics", "-b", self._cluster.bootstrap_servers, "--create", "--topic", name, *options)

    def _under_load(self) -> None:
        with contextlib.ExitStack() as copying:
            copying.enter_context(self._copier)
            with contextlib.ExitStack() as working:
                for application in (self._feeder, *self._load.applications):
                    working.enter_context(application)
                self._wait_for_progress("the first records")
                self._began = time.monotonic()
                self._break_things()
                self._tell("healing")
                self._cluster.heal()
                self._wait_for_progress("records after healing")
            self._tell("reading everything")
            written = self._feeder.written
            try:
                wait_until(
                    lambda: len(self._copies()) >= written,
                    within_seconds=PROGRESS_SECONDS,
                    what=f"the last of {written} copies",
                    every_seconds=1,
                )
            except TimeoutError as problem:
                copier = self._copier
                raise Violated(f"{problem}: {copier.copied} copied, last restart for {copier.restarted!r}") from None
        self._check_contents()

    def _break_things(self) -> None:
        kinds = {name: weight for name, weight in KINDS.items() if self._kinds is None or name in self._kinds}
        # Each kind once, in random order; then whatever comes.
        queue = list(kinds)
        self._chance.shuffle(queue)
        deadline = self._began + self._seconds
        # A run with chosen kinds is as long as those take.
        while queue or (self._kinds is None and time.monotonic() < deadline):
            name = queue.pop() if queue else self._chance.choices(list(kinds), list(kinds.values()))[0]
            self.actions[name] += 1
            self._tell(name)
            before = time.monotonic()
            getattr(self, f"_{name.replace(' ', '_')}")()
            self._wait_for_progress(f"progress after: {name}")
            self._pauses.append(time.monotonic() - before)
            self._check_while_running()
            time.sleep(self._chance.uniform(0.0, 2.0))

    # -- what is done to the cluster -----------------------------------------------------------------------------

    def _one(self) -> int:
        return self._chance.choice(NUMBERS)

    def _two(self) -> list[int]:
        return self._chance.sample(NUMBERS, 2)

    def _kill(self) -> None:
        number = self._one()
        self._cluster.kill(number)
        self._wait_for_progress("records without one node")
        time.sleep(self._chance.uniform(0.0, 4.0))
        self._cluster.start(number)

    def _kill_and_start_at_once(self) -> None:
        number = self._one()
        self._cluster.kill(number)
        self._cluster.start(number)

    def _kill_two(self) -> None:
        first, second = self._two()
        self._cluster.kill(first, second)
        time.sleep(self._chance.uniform(0.0, 4.0))
        self._cluster.start(first)
        time.sleep(self._chance.uniform(0.0, 2.0))
        self._cluster.start(second)

    def _kill_all(self) -> None:
        self._cluster.kill(*NUMBERS)
        self._cluster.start()

    def _pause(self) -> None:
        numbers = self._two() if self._chance.random() < 0.3 else [self._one()]
        self._cluster.pause(*numbers)
        time.sleep(self._chance.uniform(0.2, 12.0))
        self._cluster.resume(*numbers)

    def _kill_while_another_is_paused(self) -> None:
        paused, killed = self._two()
        self._cluster.pause(paused)
        time.sleep(self._chance.uniform(0.0, 3.0))
        self._cluster.kill(killed)
        time.sleep(self._chance.uniform(0.0, 3.0))
        self._cluster.resume(paused)
        self._cluster.start(killed)

    def _wipe(self) -> None:
        """A replaced disk. The others must have everything: done when all are in sync, over when they are again."""
        self._cluster.heal()
        number = self._one()
        self._cluster.kill(number)
        self._cluster.replace_disk(number)
        self._cluster.start(number)
        self._cluster.heal()

    def _stop_while_it_starts(self) -> None:
        number = self._one()
        self._cluster.kill(number)
        self._cluster.begin(number)
        time.sleep(self._chance.uniform(0.0, 1.5))
        self._end_in_order(number)
        self._cluster.start(number)

    def _roll(self) -> None:
        for number in self._chance.sample(NUMBERS, len(NUMBERS)):
            self._cluster.heal()
            self._end_in_order(number)
            self._cluster.start(number)

    def _end_in_order(self, number: int) -> None:
        code = self._cluster.shut_down(number)
        # Before Python has come to our code, a signal ends it as it ends everything.
        if code not in (0, -15):
            raise Violated(
                f"node {number} was asked to stop and ended with {code}: {tail(self._cluster.output(number))}"
            )

    # -- looking -------------------------------------------------------------------------------------------------

    def _wait_for_progress(self, what: str) -> None:
        before = self._load.figures()["acknowledged"]
        transactions = len(self._load.writer.committed)

        def moved() -> bool:
            self._check_alive()
            return (
                self._load.figures()["acknowledged"] > before + PARTITIONS
                and len(self._load.writer.committed) > transactions
            )

        wait_until(moved, within_seconds=PROGRESS_SECONDS, what=what)

    def _check_alive(self) -> None:
        for application in (self._feeder, self._copier, *self._load.applications):
            if application.failure is not None:
                raise Violated(f"{type(application).__name__} failed: {application.failure!r}")

    def _check_while_running(self) -> None:
        seen = [*self._load.reader.violations, *self._load.group.violations]
        if seen:
            raise Violated("; ".join(seen[:MOST_TOLD]))

    def _copies(self) -> list[str]:
        (copies,) = read_committed(self._cluster.bootstrap_servers, "target", 1)
        return copies

    def _check_contents(self) -> None:
        servers = self._cluster.bootstrap_servers
        found: list[str] = []
        ends: list[int] = []
        for load in (self._load.plain, self._load.own):
            records = read_all(servers, load.topic, load.partitions)
            found += load.check(records)
            ends = ends or [max(each, default=-1) + 1 for each in records]
        found += self._load.group.check(ends)
        try:
            self._load.writer.check(read_committed(servers, "transactions", PARTITIONS))
        except AssertionError as problem:
            found.append(f"transactions: {problem}")
        expected = [str(number) for number in range(self._feeder.written)]
        if self._copies() != expected:
            found.append(f"target: the copies are not the {len(expected)} records of source, once and in order")
        self.violations += found[:MOST_TOLD]

    def _check_files(self) -> None:
        """Every replica of every partition holds the same bytes, while the cluster runs and after a clean end."""
        self._tell("comparing replicas")
        differences: list[str] = []

        def equal() -> bool:
            differences[:] = self._differences()
            return not differences

        with contextlib.suppress(TimeoutError):
            wait_until(equal, within_seconds=CONVERGE_SECONDS, what="equal replicas", every_seconds=1)
        if not differences:
            for number in NUMBERS:
                self._end_in_order(number)
            differences[:] = self._differences()
        self.violations += differences[:MOST_TOLD]

    def _differences(self) -> Iterator[str]:
        folders = [self._cluster.log_directory(number) for number in NUMBERS]
        names = {path.parent.name for folder in folders for path in folder.glob("*/*.log")}
        for name in sorted(name for name in names if not name.startswith("__cluster_metadata")):
            contents = [_bytes_of(folder / name) for folder in folders]
            if len(set(contents)) > 1:
                sizes = ", ".join(
                    f"{len(each)} bytes on node {number}" for number, each in zip(NUMBERS, contents, strict=True)
                )
                yield f"the replicas of {name} differ: {sizes}"

    def _check_outputs(self) -> None:
        for path in sorted(self._cluster.outputs()):
            text = path.read_text(errors="replace")
            for each in FORBIDDEN:
                if each in text:
                    at = text.index(each)
                    self.violations.append(f"{path.name} has: {text[at : at + 1500]}")
                    break

    # -- telling -------------------------------------------------------------------------------------------------

    def _tell(self, what: str) -> None:
        figures = ", ".join(f"{count} {name}" for name, count in self._load.figures().items())
        self._say(f"{time.monotonic() - self._began:6.1f} s  {what:<32} {figures}, {self._copier.copied} copied")

    def report(self) -> list[str]:
        lines = [f"{count} x {name}" for name, count in sorted(self.actions.items())]
        lines += [f"{count} {name}" for name, count in self._load.figures().items()]
        lines += [
            f"{len(self._load.writer.unknown)} transactions without a known outcome",
            f"{self._copier.copied} records copied exactly once of {self._feeder.written}",
            f"longest time without an acknowledgement: {self._load.plain.longest_silence():.1f} s with librdkafka, "
            f"{self._load.own.longest_silence():.1f} s with tidelog's own client",
        ]
        if self._pauses:
            median, longest = statistics.median(self._pauses), max(self._pauses)
            lines.append(f"from a fault to progress after it: {median:.1f} s in the median, {longest:.1f} s at most")
        if not self.violations:
            lines.append("nothing lost, nothing twice, transactions whole, all replicas equal")
        return lines + [f"VIOLATED: {each}" for each in self.violations]


def _bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.glob("*.log"))) if folder.is_dir() else b""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m soak.chaos", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="how long to break things")
    parser.add_argument("--seed", type=int, default=1, help="which faults come in which order")
    parser.add_argument("--directory", type=Path, help="where data and logs of the nodes go, and stay")
    chosen = parser.parse_args()
    directory = chosen.directory or Path(tempfile.mkdtemp(prefix="tidelog-chaos-"))
    directory.mkdir(parents=True, exist_ok=True)
    chaos = Chaos(directory, seed=chosen.seed, seconds=chosen.minutes * 60, say=lambda line: print(line, flush=True))
    chaos.run()
    print("\n".join(chaos.report()), flush=True)
    if chaos.violations:
        print(f"data and logs are in {directory}", flush=True)
        return 1
    if chosen.directory is None:
        shutil.rmtree(directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
