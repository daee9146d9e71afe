"""`make run`: a broker, a pipeline on Spark for its orders, and a kill -9 in the middle of a commit.

The same pipeline runs twice: exactly once, and the way Spark usually writes to Kafka, at least once. Each time its
driver is killed in the middle of a commit and started again. Then output and input are compared, row by row.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.rule import Rule

from tidelog.spark.demo.driver import DemoDriver, DriverFailed
from tidelog.spark.session.java import JavaMissing, require_or_install_java

SOURCE = "orders"
PARTITIONS = 3
DEFAULT_ORDERS = 60_000
BATCHES = 4
KILLED_IN_BATCH = 2
# The records of the batch are with the broker, and Spark has not noted yet that the batch is done.
CRASH_POINT = "before-commit-log"


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to deliver."""

    delivery: str
    title: str

    @property
    def target(self) -> str:
        return f"totals-{self.delivery.replace('_', '-')}"


EXACTLY_ONCE = Way(delivery="exactly_once", title="exactly once (tidelog)")
AT_LEAST_ONCE = Way(delivery="at_least_once", title="at least once (Spark's usual way)")
WAYS = (EXACTLY_ONCE, AT_LEAST_ONCE)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tidelog.spark.demo", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--orders", type=int, default=DEFAULT_ORDERS, help="how many orders to write")
    orders: int = parser.parse_args().orders
    console = Console()
    # Whoever ends this politely must not leave a driver behind: it is in a session of its own.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        java = require_or_install_java(lambda text: console.print(text, style="yellow", markup=False))
        console.print(f"Spark will run on Java {java.version} ({java.program}).")
        with tempfile.TemporaryDirectory(prefix="tidelog-demo-") as folder:
            return Demonstration(console, Path(folder), orders).run()
    except (JavaMissing, DriverFailed) as problem:
        console.print(str(problem), style="red", markup=False)
        return 1


class Demonstration:
    def __init__(self, console: Console, folder: Path, orders: int) -> None:
        self._console = console
        self._folder = folder
        self._orders = orders
        self._servers = ""

    def run(self) -> int:
        # Imported here: where there is no Java, that is said at once.
        from tidelog.spark.demo.comparison import compare
        from tidelog.spark.demo.pipeline import SQL
        from tidelog.spark.demo.report import comparison_table
        from tidelog.spark.demo.topics import create_topics, read_values, write_orders
        from tidelog.testing.broker_thread import BrokerThread

        with BrokerThread(data_dir=str(self._folder / "broker")) as broker:
            self._servers = broker.bootstrap_servers
            self._console.print(Rule("a broker and its orders"))
            self._console.print(f"A tidelog broker listens on {self._servers}.")
            topics = (SOURCE, *(way.target for way in WAYS))
            asyncio.run(create_topics(self._servers, topics, partitions=PARTITIONS))
            with self._bar("orders written") as show:
                asyncio.run(write_orders(self._servers, SOURCE, self._orders, show))
            self._console.print(f"The pipeline `transform` will work on them: {SQL}", markup=False)
            source = read_values(self._servers, SOURCE)
            results = {}
            for way in WAYS:
                self._console.print(Rule(f"the pipeline, {way.title}"))
                self._run_pipeline(way)
                results[way] = compare(source, read_values(self._servers, way.target))
        self._console.print(comparison_table({way.title: found for way, found in results.items()}))
        return 0 if results[EXACTLY_ONCE].exact else 1

    def _run_pipeline(self, way: Way) -> None:
        from tidelog.spark.demo.pipeline import pipeline_file

        pipeline = self._folder / f"{way.target}.toml"
        pipeline.write_text(
            pipeline_file(
                servers=self._servers,
                source=SOURCE,
                target=way.target,
                delivery=way.delivery,
                checkpoint=self._folder / f"checkpoint-{way.delivery}",
                orders_per_batch=-(-self._orders // BATCHES),
            )
        )
        log = self._folder / f"driver-{way.delivery}.log"
        self._console.print("Spark starts. Its driver will be killed.")
        killer = f"{CRASH_POINT}:{KILLED_IN_BATCH}"
        with self._rows(way) as look, DemoDriver(pipeline, log=log, crash_point=killer) as driver:
            driver.wait_for_crash_point(look)
            driver.kill()
        self._console.print(
            f"[red]kill -9[/] has hit the driver in the commit of batch {KILLED_IN_BATCH}: the broker has its rows, "
            "but Spark has not logged it."
        )
        self._console.print("Spark starts again, from its checkpoint.")
        with self._rows(way) as look, DemoDriver(pipeline, log=log) as driver:
            driver.wait_for_end(look)

    @contextmanager
    def _rows(self, way: Way) -> Iterator[Callable[[], None]]:
        """Shows how many rows of the output can be seen, whenever it is called."""
        from tidelog.spark.demo.topics import topic_options, visible_rows
        from tidelog.spark.source.cluster import SourceCluster

        with SourceCluster(topic_options(self._servers, way.target)) as cluster, self._bar("rows out") as show:
            # Offsets of transaction markers are no rows, and rows that came twice do not make a job more than done.
            yield lambda: show(min(visible_rows(cluster), self._orders))

    @contextmanager
    def _bar(self, label: str) -> Iterator[Callable[[int], None]]:
        columns = (TextColumn("{task.description:>14}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self._console) as progress:
            task = progress.add_task(label, total=self._orders)
            yield lambda done: progress.update(task, completed=done)


if __name__ == "__main__":
    sys.exit(main())
