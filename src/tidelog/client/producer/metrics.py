"""What a producer measures of itself, under Kafka's names: see `Producer.metrics`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar

from tidelog.client.metrics import SampledMetrics
from tidelog.client.producer.batches import Accumulator, ProducerBatch
from tidelog.model.ports import Clock


class ProducerMetrics(SampledMetrics):
    """One line at each place in the sender where something happens."""

    RATES = (
        "record-send",
        "record-error",
        "record-retry",
        "batch-split",
        "request",
        "outgoing-byte",
        "buffer-exhausted",
    )
    AVERAGES: ClassVar = {
        "batch-size": True,
        # Kafka has no such maxima.
        "compression-rate": False,
        "records-per-request": False,
        "record-queue-time": True,
        "request-latency": True,
    }

    def __init__(self, clock: Clock, accumulator: Accumulator, buffer_memory: int) -> None:
        super().__init__(clock)
        self._accumulator = accumulator
        self._buffer_memory = buffer_memory
        self._in_flight = 0

    def request_sent(self, batches: Iterable[ProducerBatch]) -> Callable[[object], None]:
        """To be called when the request goes out; what it returns, when its answer is there."""
        now_ms = self._clock.monotonic_ms()
        samples = self._samples
        records = size = 0
        for batch in batches:
            encoded = 0 if batch.encoded is None else len(batch.encoded)
            size += encoded
            samples["batch-size"].add(encoded, now_ms)
            records += batch.record_count
            if batch.attempts == 1:
                samples["record-queue-time"].add(now_ms - batch.created_ms, now_ms)
                samples["compression-rate"].add(min(encoded / batch.size, 1.0) if batch.size else 1.0, now_ms)
        samples["record-send"].add(records, now_ms)
        samples["records-per-request"].add(records, now_ms)
        samples["outgoing-byte"].add(size, now_ms)
        samples["request"].add(1, now_ms)
        self._in_flight += 1

        def answered(_: object) -> None:
            self._in_flight -= 1
            later_ms = self._clock.monotonic_ms()
            samples["request-latency"].add(later_ms - now_ms, later_ms)

        return answered

    def unanswered_sent(self, batches: Iterable[ProducerBatch]) -> None:
        """acks=0: nobody will answer."""
        self.request_sent(batches)
        self._in_flight -= 1

    def retried(self, batch: ProducerBatch) -> None:
        self._samples["record-retry"].add(batch.record_count, self._clock.monotonic_ms())

    def failed(self, batch: ProducerBatch) -> None:
        self._samples["record-error"].add(batch.record_count, self._clock.monotonic_ms())

    def split(self) -> None:
        self._samples["batch-split"].add(1, self._clock.monotonic_ms())

    def exhausted(self) -> None:
        self._samples["buffer-exhausted"].add(1, self._clock.monotonic_ms())

    def snapshot(self) -> dict[str, float]:
        return {
            **super().snapshot(),
            "buffer-total-bytes": float(self._buffer_memory),
            "buffer-available-bytes": float(max(self._buffer_memory - self._accumulator.pending_bytes, 0)),
            "requests-in-flight": float(self._in_flight),
        }
