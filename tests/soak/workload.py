"""What uses the cluster while `soak.chaos` breaks it: applications that note what they were promised, and the checks.

Each check yields what is wrong, in words; nothing if all is well. The applications with transactions are those of
`support.transaction_workload`.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import Iterator
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from support.present import present
from support.transaction_workload import STEP_SECONDS, Application, Writer

import tidelog
from tidelog.client.errors import ClientError
from tidelog.model.errors import ApiError

FINISH_SECONDS = 120.0
Place = tuple[int, int]


class IdempotentLoad(Application):
    """Numbered records into all partitions, round about, through librdkafka."""

    def __init__(self, bootstrap_servers: str, topic: str, partitions: int) -> None:
        super().__init__(bootstrap_servers)
        self.topic = topic
        self.partitions = partitions
        self.acknowledged: dict[bytes, Place] = {}
        self.acknowledged_at: list[float] = []
        self.failures: list[str] = []
        self.sent = 0

    def work(self) -> None:
        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 2,
                "message.timeout.ms": int(FINISH_SECONDS * 1000),
                "retry.backoff.ms": 50,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )
        while not self.stopping:
            try:
                value = b"%d" % self.sent
                producer.produce(self.topic, value, partition=self.sent % self.partitions, on_delivery=self._delivered)
            except BufferError:
                producer.poll(0.05)
                continue
            self.sent += 1
            producer.poll(0.003)
        producer.flush(FINISH_SECONDS)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failures.append(str(error))
            return
        value, partition, offset = message.value(), message.partition(), message.offset()
        assert value is not None
        assert partition is not None
        assert offset is not None
        self.acknowledged[value] = (partition, offset)
        self.acknowledged_at.append(time.monotonic())

    def longest_silence(self) -> float:
        pairs = itertools.pairwise(self.acknowledged_at)
        return max((after - before for before, after in pairs), default=0.0)

    def check(self, found: list[dict[int, bytes]]) -> Iterator[str]:
        """Every acknowledged record is in its place, none is there twice, and they keep their order."""
        yield from (f"{self.topic}: a record was not delivered: {each}" for each in self.failures[:3])
        for value, (partition, offset) in self.acknowledged.items():
            stored = found[partition].get(offset)
            if stored != value:
                yield f"{self.topic}: {value!r} was acknowledged at {partition}:{offset}, which holds {stored!r}"
        for partition, records in enumerate(found):
            numbers = [int(records[offset]) for offset in sorted(records)]
            if len(numbers) != len(set(numbers)):
                yield f"{self.topic}-{partition}: a record is there twice"
            if numbers != sorted(numbers):
                yield f"{self.topic}-{partition}: records are out of order"


class OwnLoad(IdempotentLoad):
    """The same through tidelog's own producer."""

    def work(self) -> None:
        asyncio.run(self._produce())

    async def _produce(self) -> None:
        options = {
            "delivery.timeout.ms": str(int(FINISH_SECONDS * 1000)),
            "max.block.ms": str(int(FINISH_SECONDS * 1000)),
        }
        under_way: set[asyncio.Task[None]] = set()
        async with tidelog.Producer(self.bootstrap_servers, config=options) as producer:
            while not self.stopping:
                value, partition = b"%d" % self.sent, self.sent % self.partitions
                delivery = await producer.send(self.topic, value, partition=partition)
                self.sent += 1
                noting = asyncio.create_task(self._note(value, partition, delivery))
                under_way.add(noting)
                noting.add_done_callback(under_way.discard)
                await asyncio.sleep(0.005)
            await asyncio.gather(*under_way)

    async def _note(self, value: bytes, partition: int, delivery: Any) -> None:
        try:
            stored = await delivery
        except (ClientError, ApiError) as error:
            self.failures.append(str(error))
            return
        self.acknowledged[value] = (partition, stored.offset)
        self.acknowledged_at.append(time.monotonic())


class CommittedReader(Application):
    """Reads what the writer commits, while it does: nothing aborted, nothing twice, never back."""

    def __init__(self, bootstrap_servers: str, writer: Writer, topic: str, partitions: int) -> None:
        super().__init__(bootstrap_servers)
        self._writer = writer
        self._topic = topic
        self._partitions = partitions
        self.read = 0
        self.violations: list[str] = []

    def work(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "group.id": "watches-the-writer",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )
        consumer.assign([TopicPartition(self._topic, number, 0) for number in range(self._partitions)])
        last = dict.fromkeys(range(self._partitions), (-1, -1))
        while not self.stopping:
            for message in consumer.consume(500, 0.2):
                if message.error() is not None:
                    continue
                partition, offset = present(message.partition()), present(message.offset())
                number = int(present(message.value()))
                if (offset, number) <= last[partition] or number <= last[partition][1]:
                    self.violations.append(
                        f"{self._topic}-{partition}: {number} at {offset} came after {last[partition]}"
                    )
                if str(number) in self._writer.aborted:
                    self.violations.append(f"{self._topic}-{partition}: {number} was aborted and is visible")
                last[partition] = (offset, number)
                self.read += 1
        consumer.close()


class GroupReader(Application):
    """Two members of a group in turn: positions that are committed never go back."""

    def __init__(self, bootstrap_servers: str, topic: str, partitions: int) -> None:
        super().__init__(bootstrap_servers)
        self._topic = topic
        self._partitions = partitions
        self.group = "commits-as-it-reads"
        self.read = 0
        self.committed: dict[int, int] = {}
        self.violations: list[str] = []

    def work(self) -> None:
        while not self.stopping:
            consumer = Consumer(
                {
                    "bootstrap.servers": self.bootstrap_servers,
                    "group.id": self.group,
                    "auto.offset.reset": "earliest",
                    "enable.auto.commit": False,
                    "session.timeout.ms": 6000,
                    "reconnect.backoff.max.ms": 500,
                    "log_level": 0,
                }
            )
            consumer.subscribe([self._topic])
            try:
                self._be_member(consumer, until=time.monotonic() + 20)
            except KafkaException:
                continue
            finally:
                consumer.close()

    def _be_member(self, consumer: Consumer, until: float) -> None:
        first = True
        while not self.stopping and time.monotonic() < until:
            messages = [each for each in consumer.consume(500, 0.3) if each.error() is None]
            if not messages:
                continue
            if first:
                first = False
                for message in messages:
                    before = self.committed.get(present(message.partition()), 0)
                    if present(message.offset()) < before:
                        self.violations.append(
                            f"{self._topic}-{message.partition()}: {before} was committed, but {message.offset()} came"
                        )
            self.read += len(messages)
            positions = [each for each in consumer.position(consumer.assignment()) if each.offset >= 0]
            with contextlib.suppress(KafkaException):
                for each in consumer.commit(offsets=positions, asynchronous=False):
                    if each.error is None:
                        self.committed[each.partition] = max(each.offset, self.committed.get(each.partition, 0))

    def check(self, ends: list[int]) -> Iterator[str]:
        yield from self.violations[:3]
        consumer = Consumer({"bootstrap.servers": self.bootstrap_servers, "group.id": self.group, "log_level": 0})
        try:
            asked = [TopicPartition(self._topic, number) for number in range(self._partitions)]
            stored = {each.partition: each.offset for each in consumer.committed(asked, timeout=STEP_SECONDS)}
        finally:
            consumer.close()
        for partition, promised in self.committed.items():
            if not promised <= stored[partition] <= ends[partition]:
                yield (
                    f"{self._topic}-{partition}: the group stands at {stored[partition]}, was told {promised}, and the "
                    f"log ends at {ends[partition]}"
                )


def read_all(bootstrap_servers: str, topic: str, partitions: int) -> list[dict[int, bytes]]:
    """Everything that a read_committed reader finds, by offset, for each partition; to its end within a bound."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "reads-everything",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    found: list[dict[int, bytes]] = [{} for _ in range(partitions)]
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    at_end: set[int] = set()
    deadline = time.monotonic() + FINISH_SECONDS
    try:
        while len(at_end) < partitions:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{topic}: only {len(at_end)} of {partitions} partitions were read to their end")
            for message in consumer.consume(5000, 0.5):
                error, partition = message.error(), message.partition()
                assert partition is not None
                if error is None:
                    offset, value = message.offset(), message.value()
                    assert offset is not None
                    assert value is not None
                    found[partition][offset] = value
                elif error.code() == KafkaError._PARTITION_EOF:
                    at_end.add(partition)
    finally:
        consumer.close()
    return found


class Load:
    """All applications together."""

    def __init__(self, bootstrap_servers: str, partitions: int) -> None:
        self.plain = IdempotentLoad(bootstrap_servers, "plain", partitions)
        self.own = OwnLoad(bootstrap_servers, "own", partitions)
        self.writer = Writer(bootstrap_servers, "transactions", partitions)
        self.reader = CommittedReader(bootstrap_servers, self.writer, "transactions", partitions)
        self.group = GroupReader(bootstrap_servers, "plain", partitions)

    @property
    def applications(self) -> list[Application]:
        return [self.plain, self.own, self.writer, self.reader, self.group]

    def figures(self) -> dict[str, int]:
        return {
            "acknowledged": len(self.plain.acknowledged),
            "by our own client": len(self.own.acknowledged),
            "transactions": len(self.writer.committed),
            "read": self.reader.read + self.group.read,
        }
