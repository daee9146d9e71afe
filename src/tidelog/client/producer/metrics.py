"""What a producer measures of itself, under Kafka's names: see `Producer.metrics`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tidelog.client.metrics import SampledMetrics
from tidelog.client.producer.batches import Accumulator, ProducerBatch
from tidelog.model.ports import Clock


class ProducerMetrics(SampledMetrics):
    """One line at each place in the sender where something happens."""

    def __init__(self, clock: Clock, accumulator: Accumulator, buffer_memory: int) -> None:
        super().__init__(clock)
        self._accumulator = accumulator
        self._buffer_memory = buffer_memory
        self._in_flight = 0
        self._records = self.new("record-send")
        self._errors = self.new("record-error")
        self._retries = self.new("record-retry")
        self._splits = self.new("batch-split")
        self._requests = self.new("request")
        self._bytes = self.new("outgoing-byte")
        self._exhausted = self.new("buffer-exhausted")
        self._batch_size = self.new("batch-size")
        self._compression = self.new("compression-rate")
        self._queue_time = self.new("record-queue-time")
        self._per_request = self.new("records-per-request")
        self._latency = self.new("request-latency")

    def request_sent(self, batches: Iterable[ProducerBatch]) -> Callable[[object], None]:
        """To be called when the request goes out; what it returns, when its answer is there."""
        now_ms = self._clock.monotonic_ms()
        records = size = 0
        for batch in batches:
            encoded = 0 if batch.encoded is None else len(batch.encoded)
            size += encoded
            self._batch_size.add(encoded, now_ms)
            records += batch.record_count
            if batch.attempts == 1:
                self._queue_time.add(now_ms - batch.created_ms, now_ms)
                self._compression.add(min(encoded / batch.size, 1.0) if batch.size else 1.0, now_ms)
        self._records.add(records, now_ms)
        self._per_request.add(records, now_ms)
        self._bytes.add(size, now_ms)
        self._requests.add(1, now_ms)
        self._in_flight += 1

        def answered(_: object) -> None:
            self._in_flight -= 1
            later_ms = self._clock.monotonic_ms()
            self._latency.add(later_ms - now_ms, later_ms)

        return answered

    def unanswered_sent(self, batches: Iterable[ProducerBatch]) -> None:
        """acks=0: nobody will answer."""
        self.request_sent(batches)
        self._in_flight -= 1

    def retried(self, batch: ProducerBatch) -> None:
        self._retries.add(batch.record_count, self._clock.monotonic_ms())

    def failed(self, batch: ProducerBatch) -> None:
        self._errors.add(batch.record_count, self._clock.monotonic_ms())

    def split(self) -> None:
        self._splits.add(1, self._clock.monotonic_ms())

    def exhausted(self) -> None:
        self._exhausted.add(1, self._clock.monotonic_ms())

    def snapshot(self) -> dict[str, float]:
        rates = self.rates(
            "record-send",
            "record-error",
            "record-retry",
            "batch-split",
            "request",
            "outgoing-byte",
            "buffer-exhausted",
        )
        averages = self.averages(
            "batch-size", "compression-rate", "record-queue-time", "records-per-request", "request-latency"
        )
        # Kafka has no such maxima.
        del averages["compression-rate-max"], averages["records-per-request-max"]
        return {
            **rates,
            **averages,
            "buffer-total-bytes": float(self._buffer_memory),
            "buffer-available-bytes": float(max(self._buffer_memory - self._accumulator.pending_bytes, 0)),
            "requests-in-flight": float(self._in_flight),
        }
