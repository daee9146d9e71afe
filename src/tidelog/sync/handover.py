"""Takes records from the user's threads to the loop's, in order.

Compiled (decision 37), but for what waits: that is in `tidelog.sync.producer`.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from mypy_extensions import mypyc_attr

from tidelog.client.producer.delivery import Delivery, RecordMetadata
from tidelog.client.producer.intake import Intake
from tidelog.records.record import Header

if TYPE_CHECKING:
    import asyncio

    from tidelog.sync.producer import Producer

# Records that wait to be handed over. When there are so many, `send` waits until the loop's thread has taken all of
# them: only one of the two threads can run, and a turn that is taken away from the other one costs up to 5 ms
# (`sys.getswitchinterval`). So they take turns of about that by themselves.
MOST_HANDED_OVER: Final = 10_000

# Topic, value, key, headers, partition, timestamp.
Arguments = tuple[str, bytes | None, bytes | None, tuple[Header, ...], int | None, int | None]


# As for `Delivery`: one for each record.
@mypyc_attr(acyclic=True)
class BlockingDelivery:
    """The delivery of one record: `result()` waits for its RecordMetadata, or raises what says why it is not stored."""

    __slots__ = ("_producer", "arguments", "delivery", "failure", "observed", "waiters")

    def __init__(self, producer: Producer, arguments: Arguments | None) -> None:
        self._producer = producer
        # The record, until it has been handed over.
        self.arguments = arguments
        self.delivery: Delivery | None = None
        self.failure: Exception | None = None
        # Whether somebody has asked about the failure.
        self.observed = False
        self.waiters: list[asyncio.Future[None]] | None = None

    def done(self) -> bool:
        return self.failure is not None or (self.delivery is not None and self.delivery.done())

    def result(self, timeout: float | None = None) -> RecordMetadata:
        """Waits for `timeout` seconds, or for as long as the producer tries (delivery.timeout.ms)."""
        return self._producer._result_of(self, timeout)

    def taken(self, delivery: Delivery | None, failure: Exception | None) -> None:
        """The record is in its batch, or has been refused."""
        self.arguments = None
        self.delivery, self.failure = delivery, failure
        if self.waiters is not None:
            waiters, self.waiters = self.waiters, None
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(None)


class Handover:
    """The queue between the threads. A user's thread puts, the loop's thread takes."""

    def __init__(self, producer: Producer, wake: Callable[[], None]) -> None:
        """`wake` is called on the user's thread when the loop's thread has to begin."""
        self._producer = producer
        self._wake = wake
        # Appending to and taking from a deque need no lock. The threads agree by the order in which they look: a user's
        # thread appends and then asks whether the loop's is awake; that one falls asleep and then looks once more.
        self._records: deque[BlockingDelivery] = deque()
        self._awake = False
        self._room = threading.Event()

    def put(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: tuple[Header, ...],
        partition: int | None,
        timestamp_ms: int | None,
    ) -> BlockingDelivery:
        """Waits while too many are on their way."""
        delivery = BlockingDelivery(self._producer, (topic, value, key, headers, partition, timestamp_ms))
        records = self._records
        records.append(delivery)
        if not self._awake:
            self._awake = True
            self._wake()
        if len(records) >= MOST_HANDED_OVER:
            self._room.clear()
            if len(records) >= MOST_HANDED_OVER:
                self._room.wait()
        return delivery

    @property
    def is_empty(self) -> bool:
        return not self._records

    def fall_asleep(self) -> bool:
        """False if a record has come in the meantime."""
        if not self._records:
            self._awake = False
            self._room.set()
            if not self._records:
                return True
            self._awake = True
        return False

    def take_some(self, intake: Intake | None) -> BlockingDelivery | None:
        """Hand records over until none is left or a batch is closed; returns one that has to wait or is refused."""
        records = self._records
        while records:
            waiting = records.popleft()
            if not records:
                self._room.set()
            arguments = waiting.arguments
            assert arguments is not None
            topic, value, key, headers, partition, timestamp_ms = arguments
            taken = None
            if intake is not None:
                try:
                    taken = intake.take(topic, value, key, headers, partition, timestamp_ms)
                except Exception as error:
                    # A partitioner of the user's may raise anything.
                    waiting.failure = error
            if taken is None:
                return waiting
            waiting.taken(taken, None)
            if intake is not None and intake.has_closed_a_batch:
                break
        return None
