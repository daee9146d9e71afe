"""Small transactions one after the other, on one node and on three, beside Apache Kafka.

A transaction of 100 records is a handful of round trips: what it takes is waiting, and how much of that there is shows
the detours between brokers. All clusters run at the same time and are asked in turns, so that whatever else the machine
does meets all of them; what counts are the ratios of medians. Both clients are what people use: librdkafka, which adds
partitions to the transaction itself, and the Java client, which leaves that to its writes (KIP-890).

CONCURRENT_TRANSACTIONS, which tells a producer to come again, is counted in a round of its own, in the clients' logs.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import statistics
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.comparison.contestants import ApacheKafka, Contestant, Tidelog, Unavailable
from benchmarks.comparison.figures import APACHE_KAFKA, TIDELOG

RECORDS = 100
VALUE = b"x" * 100
PARTITIONS = 3
NODES = 3
ROUNDS = 4
# Per round; those at the beginning of each are left out, where connections are opened and code is compiled.
TRANSACTIONS = 100
WARM_UP = 40
COUNTED_TRANSACTIONS = 60

MOST_TIMES_ONE_NODE = 10.0
LEAST_OF_KAFKA = 1.0

OURS, THEIRS = TIDELOG, APACHE_KAFKA
_RUN_TIMEOUT_SECONDS = 300
_RETRY = "CONCURRENT_TRANSACTIONS"
# librdkafka tells the error by its text.
_RETRY_TEXT = "concurrent operation on the same transaction"

_JAVA_LOG = """\
status = off
rootLogger.level = warn
rootLogger.appenderRef.out.ref = OUT
logger.transactions.name = org.apache.kafka.clients.producer.internals
logger.transactions.level = trace
appender.out.type = Console
appender.out.name = OUT
appender.out.target = SYSTEM_ERR
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %m%n
"""

Row = tuple[str, str, str]


class Cluster(NamedTuple):
    name: str
    nodes: int
    bootstrap_servers: str


@dataclass(slots=True)
class Measured:
    milliseconds: list[float] = field(default_factory=list)
    retries: int = 0

    @property
    def median(self) -> float:
        return statistics.median(self.milliseconds)


# Commits so many transactions; the milliseconds that each took, and how often the broker said "come again" if counted.
Client = Callable[[Cluster, str, int, bool], Measured]


def run() -> Iterator[Row]:
    theirs: ApacheKafka | None = None
    try:
        theirs = ApacheKafka.from_maven()
    except Unavailable as problem:
        yield ("Apache Kafka and the Java client", f"cannot be had: {problem}", "")
    with contextlib.ExitStack() as stack:
        sides: list[Contestant] = [Tidelog(), *([theirs] if theirs else [])]
        clusters = [
            Cluster(side.name, nodes, stack.enter_context(side.running(nodes=nodes)).bootstrap_servers)
            for side in sides
            for nodes in (1, NODES)
        ]
        clients: dict[str, Client] = {"librdkafka": librdkafka}
        if theirs is not None:
            if shutil.which("javac"):
                clients["Java client"] = stack.enter_context(java_client(theirs.jars))
            else:
                yield ("Java client", "left out: there is no javac", "")
        topics = {cluster: _create_topic(cluster) for cluster in clusters}
        for name, client in clients.items():
            yield from _compare(name, client, topics)


def _compare(name: str, client: Client, topics: dict[Cluster, str]) -> Iterator[Row]:
    measured = {cluster: Measured() for cluster in topics}
    for turn in range(ROUNDS):
        order = list(topics)[:: 1 if turn % 2 else -1]
        for cluster in order:
            times = client(cluster, topics[cluster], WARM_UP + TRANSACTIONS, False).milliseconds
            measured[cluster].milliseconds += times[WARM_UP:]
    for cluster, topic in topics.items():
        measured[cluster].retries = client(cluster, topic, COUNTED_TRANSACTIONS, True).retries
    by_name = {(cluster.name, cluster.nodes): each for cluster, each in measured.items()}
    for (whose, nodes), each in by_name.items():
        share = statistics.quantiles(each.milliseconds, n=100)
        yield (
            f"transaction of {RECORDS} records, {name}, {whose}, {nodes} node{'s' if nodes > 1 else ''}",
            f"median {each.median:.1f} ms, p95 {share[94]:.1f} ms, {1000 / each.median:.0f}/s, "
            f"{each.retries} times {_RETRY} in {COUNTED_TRANSACTIONS}",
            "",
        )
    ours, one = by_name[OURS, NODES], by_name[OURS, 1]
    yield (
        f"three nodes next to one, {name}, tidelog",
        f"{ours.median / one.median:.1f} times",
        f"at most {MOST_TIMES_ONE_NODE:.0f}",
    )
    theirs = by_name.get((THEIRS, NODES))
    if theirs is not None:
        yield (
            f"three nodes next to one, {name}, Apache Kafka",
            f"{theirs.median / by_name[THEIRS, 1].median:.1f} times",
            "",
        )
        yield (
            f"transactions/s on three nodes next to Apache Kafka's, {name}",
            f"{theirs.median / ours.median:.2f} times",
            f"at least {LEAST_OF_KAFKA:.1f}",
        )
        yield (f"{_RETRY} on three nodes, {name}", f"{ours.retries}", f"at most Apache Kafka's {theirs.retries}")


def _create_topic(cluster: Cluster) -> str:
    topic = f"transactions-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
    deadline = time.monotonic() + 60
    while len(admin.list_topics(timeout=30).brokers) < cluster.nodes:
        if time.monotonic() > deadline:
            raise TimeoutError(f"the nodes of {cluster.name} have not found each other within 60 s")
        time.sleep(0.1)
    admin.create_topics([NewTopic(topic, PARTITIONS, min(3, cluster.nodes))])[topic].result(60)
    return topic


def librdkafka(cluster: Cluster, topic: str, transactions: int, count: bool) -> Measured:
    measured = Measured()
    counter = _CountingHandler(measured)
    logger = logging.Logger("librdkafka")
    logger.addHandler(counter)
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "transactional.id": f"bench-{uuid.uuid4().hex[:8]}",
            "linger.ms": 0,
            **({"debug": "eos"} if count else {}),
        },
        logger=logger,
    )
    producer.init_transactions(60)
    for _ in range(transactions):
        started = time.perf_counter()
        producer.begin_transaction()
        for _ in range(RECORDS):
            producer.produce(topic, VALUE)
        producer.commit_transaction(60)
        measured.milliseconds.append((time.perf_counter() - started) * 1000)
        if count:
            # What librdkafka logs is handed over here.
            producer.poll(0)
    return measured


class _CountingHandler(logging.Handler):
    def __init__(self, measured: Measured) -> None:
        super().__init__()
        self._measured = measured

    def emit(self, record: logging.LogRecord) -> None:
        if _RETRY_TEXT in record.getMessage():
            self._measured.retries += 1


@contextlib.contextmanager
def java_client(jars: Path) -> Iterator[Client]:
    source = Path(__file__).with_name("SequentialTransactions.java")
    with tempfile.TemporaryDirectory(prefix="tidelog-bench-") as folder:
        subprocess.run(["javac", "-cp", f"{jars}/*", "-d", folder, str(source)], check=True, timeout=120)
        log = Path(folder, "log4j2.properties")
        log.write_text(_JAVA_LOG)
        quiet = Path(folder, "quiet.properties")
        quiet.write_text("status = off\nrootLogger.level = off\n")

        def client(cluster: Cluster, topic: str, transactions: int, count: bool) -> Measured:
            command = ["java", "-Xmx256m", f"-Dlog4j2.configurationFile={log if count else quiet}"]
            arguments = [cluster.bootstrap_servers, topic, f"bench-{uuid.uuid4().hex[:8]}", transactions, RECORDS]
            done = subprocess.run(
                [*command, "-cp", f"{folder}:{jars}/*", "SequentialTransactions", *map(str, arguments)],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_RUN_TIMEOUT_SECONDS,
                check=True,
            )
            retries = sum(_RETRY in line for line in done.stderr.splitlines())
            return Measured([float(line) for line in done.stdout.split()], retries)

        yield client
