"""`ExactlyOnceLoop`: consume, process, produce, so that each record of the input counts once in the output.

The offsets of what was read are committed in the transaction that carries what was written, so both happen or neither
does. What can come in between, and what is done about it:

- The processing fails, a record cannot be stored, or a broker wants the transaction aborted: it is aborted, and the
  records are read again from the committed offsets.
- A rebalance has given the partitions to another member: the group refuses the offsets, because they come from an
  earlier generation (KIP-447), and the transaction is aborted. The other member does the work.
- The answer to a commit is lost: the producer initializes again, which waits until the outcome is settled, and reading
  goes on from the committed offsets, which show what it was.
- Another instance with the same transactional id has come: `FencedError`. This one has to stop.
- The process dies: its open transaction is aborted when it comes back under the same transactional id, or by timeout.
  Until then nobody gets the offsets of its partitions, because they are not stable.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from tidelog.client.config import Options, OptionValue
from tidelog.client.consumer import Consumer
from tidelog.client.consumer.fetched import ConsumerRecord
from tidelog.client.errors import AbortableError, OutcomeUnknown
from tidelog.client.offsets.committed import OffsetAndMetadata
from tidelog.client.producer.producer import Producer
from tidelog.config.definitions import InvalidConfig
from tidelog.model.ids import TopicPartition
from tidelog.model.ports import Clock, Randomness
from tidelog.network.port import Network

logger = logging.getLogger(__name__)

# Gets what was read, and sends what becomes of it with the producer, which has a transaction open.
Process = Callable[[list[ConsumerRecord], Producer], Awaitable[None]]


class ExactlyOnceLoop:
    """Reads topics as a member of a group, and writes with a transaction for each list of records that is read.

        async def process(records, producer):
            for record in records:
                await producer.send("output", record.value.upper(), key=record.key)

        async with ExactlyOnceLoop(
            "input", bootstrap_servers="127.0.0.1:9092", group_id="upper", transactional_id="upper-1", process=process
        ) as loop:
            await loop.run()

    `transactional_id` is this instance's own, and the same after a restart. `consumer` and `producer` are further
    options; max.poll.records bounds a transaction, and transaction.timeout.ms how long it may take. The input is read
    with isolation.level=read_committed, from its beginning where nothing is committed, unless they say otherwise.
    """

    def __init__(
        self,
        *topics: str,
        bootstrap_servers: OptionValue,
        group_id: str,
        transactional_id: str,
        process: Process,
        consumer: Options | None = None,
        producer: Options | None = None,
        network: Network | None = None,
        clock: Clock | None = None,
        randomness: Randomness | None = None,
    ) -> None:
        reading = {"isolation.level": "read_committed", "auto.offset.reset": "earliest", **_dotted(consumer)}
        if reading.get("enable.auto.commit") not in (None, False, "false"):
            raise InvalidConfig(
                "enable.auto.commit=true would commit offsets outside of the transaction: leave it out here"
            )
        self._process = process
        self.consumer = Consumer(
            *topics,
            bootstrap_servers=bootstrap_servers,
            config={**reading, "enable.auto.commit": False, "group.id": group_id},
            network=network,
            clock=clock,
            randomness=randomness,
        )
        self.producer = Producer(
            bootstrap_servers,
            config={**_dotted(producer), "transactional.id": transactional_id},
            network=network,
            clock=clock,
            randomness=randomness,
        )
        # Where the records begin that were read but are not known to be committed.
        self._to_repeat: dict[TopicPartition, int] = {}
        self._outcome_unknown = False
        self._stopping = False

    async def __aenter__(self) -> ExactlyOnceLoop:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def start(self) -> None:
        await self.producer.start()
        try:
            # Before reading: what a predecessor has left open is settled then, and its offsets are stable.
            await self.producer.init_transactions()
            await self.consumer.start()
        except BaseException:
            await self.producer.close()
            raise

    async def close(self) -> None:
        """Abort what is open, leave the group, and let go of everything."""
        try:
            await self.producer.close()
        finally:
            await self.consumer.close()

    async def run(self) -> None:
        """Until `stop`. Raises what the processing raises, and FatalError; after the former it can be called again."""
        self._stopping = False
        while not self._stopping:
            await self.step()

    def stop(self) -> None:
        """Let `run` return after the transaction that is open."""
        self._stopping = True

    async def step(self, *, timeout_ms: float = 1_000) -> int:
        """One transaction, or none if nothing comes in time. The number of records that it has committed."""
        if self._to_repeat:
            await self._go_back()
        records = await self.consumer.poll(timeout_ms=timeout_ms)
        if not records:
            return 0
        # A rebalance happens within `poll` only: this is the generation to which the records belong.
        group = self.consumer.group_metadata()
        for record in records:
            self._to_repeat.setdefault(record.topic_partition, record.offset)
        try:
            async with self.producer.transaction():
                await self._process(records, self.producer)
                await self.producer.send_offsets(_behind(records), group)
        except AbortableError as error:
            logger.info("aborted, to be read again: %s", error)
            return 0
        except OutcomeUnknown as error:
            logger.warning("to be looked up: %s", error)
            self._outcome_unknown = True
            return 0
        self._to_repeat.clear()
        return len(records)

    async def _go_back(self) -> None:
        """Read on from the committed offsets: those of this transaction, if it was committed after all."""
        if self._outcome_unknown:
            await self.producer.init_transactions()
            self._outcome_unknown = False
        assigned = self.consumer.assignment()
        committed = await self.consumer.committed(
            *(partition for partition in self._to_repeat if partition in assigned)
        )
        # Partitions that have gone to another member are its business; if they come back, it is with their offsets.
        for partition in sorted(self.consumer.assignment() & self._to_repeat.keys()):
            self.consumer.seek(partition, committed.get(partition, self._to_repeat[partition]))
        self._to_repeat.clear()


def _behind(records: list[ConsumerRecord]) -> dict[TopicPartition, OffsetAndMetadata]:
    """The offsets to commit: of the next record in each partition."""
    return {
        record.topic_partition: OffsetAndMetadata(offset=record.offset + 1, leader_epoch=record.leader_epoch)
        for record in records
    }


def _dotted(options: Options | None) -> dict[str, OptionValue]:
    return {name.replace("_", "."): value for name, value in (options or {}).items()}
