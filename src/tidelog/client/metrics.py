"""What producers and consumers measure of themselves, under Kafka's names. See `Producer.metrics`, `Consumer.metrics`.

Everything is counted per batch, request or chunk of records, never per record. Averages, maxima and rates are those of
the last 30 to 60 seconds, as in Kafka (two samples of 30 seconds); totals are since the start. Without a sample an
average or maximum is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from tidelog.client.producer.batches import Accumulator, ProducerBatch
from tidelog.model.ports import Clock

if TYPE_CHECKING:
    from tidelog.client.consumer.positions import Positions

SAMPLE_MS: Final = 30_000.0
# A rate over less time than this would say more about the moment than about the client.
_LEAST_ELAPSED_MS: Final = 1_000.0
_NOTHING: Final = float("nan")


class Samples:
    """Sum, number and maximum of values: in all, and in the current and the previous sample."""

    __slots__ = ("_before", "_count", "_most", "_started_ms", "_sum", "total")

    def __init__(self, now_ms: float) -> None:
        self.total = 0.0
        self._started_ms = now_ms
        self._sum = 0.0
        self._count = 0
        self._most = -float("inf")
        # Start, sum, number and maximum of the sample before.
        self._before: tuple[float, float, int, float] | None = None

    def add(self, value: float, now_ms: float) -> None:
        if now_ms - self._started_ms >= SAMPLE_MS:
            self._roll(now_ms)
        self.total += value
        self._sum += value
        self._count += 1
        if value > self._most:
            self._most = value

    def _roll(self, now_ms: float) -> None:
        recent = now_ms - self._started_ms < 2 * SAMPLE_MS
        self._before = (self._started_ms, self._sum, self._count, self._most) if recent else None
        self._started_ms = now_ms
        self._sum, self._count, self._most = 0.0, 0, -float("inf")

    def read(self, now_ms: float) -> tuple[float, float, float]:
        """(rate per second, average, maximum)."""
        if now_ms - self._started_ms >= SAMPLE_MS:
            self._roll(now_ms)
        start, total, count, most = self._started_ms, self._sum, self._count, self._most
        if self._before is not None:
            start = self._before[0]
            total += self._before[1]
            count += self._before[2]
            most = max(most, self._before[3])
        rate = total * 1000 / max(now_ms - start, _LEAST_ELAPSED_MS)
        return (rate, total / count, most) if count else (rate, _NOTHING, _NOTHING)


class _Metrics:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._samples: dict[str, Samples] = {}

    def _new(self, name: str) -> Samples:
        samples = self._samples[name] = Samples(self._clock.monotonic_ms())
        return samples

    def _rates(self, *names: str) -> dict[str, float]:
        """`<name>-rate` and `<name>-total`."""
        now_ms = self._clock.monotonic_ms()
        found: dict[str, float] = {}
        for name in names:
            samples = self._samples[name]
            found[f"{name}-rate"] = samples.read(now_ms)[0]
            found[f"{name}-total"] = samples.total
        return found

    def _averages(self, *names: str) -> dict[str, float]:
        """`<name>-avg` and `<name>-max`."""
        now_ms = self._clock.monotonic_ms()
        found: dict[str, float] = {}
        for name in names:
            _, found[f"{name}-avg"], found[f"{name}-max"] = self._samples[name].read(now_ms)
        return found


class ProducerMetrics(_Metrics):
    """One line at each place in the sender where something happens."""

    def __init__(self, clock: Clock, accumulator: Accumulator, buffer_memory: int) -> None:
        super().__init__(clock)
        self._accumulator = accumulator
        self._buffer_memory = buffer_memory
        self._in_flight = 0
        self._records = self._new("record-send")
        self._errors = self._new("record-error")
        self._retries = self._new("record-retry")
        self._splits = self._new("batch-split")
        self._requests = self._new("request")
        self._bytes = self._new("outgoing-byte")
        self._exhausted = self._new("buffer-exhausted")
        self._batch_size = self._new("batch-size")
        self._compression = self._new("compression-rate")
        self._queue_time = self._new("record-queue-time")
        self._per_request = self._new("records-per-request")
        self._latency = self._new("request-latency")

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
        rates = self._rates(
            "record-send",
            "record-error",
            "record-retry",
            "batch-split",
            "request",
            "outgoing-byte",
            "buffer-exhausted",
        )
        averages = self._averages(
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


class ConsumerMetrics(_Metrics):
    """One line at each place in the fetcher and the reader where something happens."""

    def __init__(self, clock: Clock, positions: Positions, *, read_committed: bool) -> None:
        super().__init__(clock)
        self._positions = positions
        self._read_committed = read_committed
        self._records = self._new("records-consumed")
        self._bytes = self._new("bytes-consumed")
        self._fetches = self._new("fetch")
        self._latency = self._new("fetch-latency")
        self._size = self._new("fetch-size")
        self._per_request = self._new("records-per-request")
        self._throttle = self._new("fetch-throttle-time")
        self._handed_out = 0

    def fetched(self, started_ms: float, size: int, throttle_ms: int) -> None:
        """An answer with `size` bytes of records has come."""
        now_ms = self._clock.monotonic_ms()
        self._fetches.add(1, now_ms)
        self._latency.add(now_ms - started_ms, now_ms)
        self._size.add(size, now_ms)
        self._bytes.add(size, now_ms)
        self._throttle.add(throttle_ms, now_ms)
        # What was handed out since the last answer came with the answers before it.
        self._per_request.add(self._handed_out, now_ms)
        self._handed_out = 0

    def consumed(self, records: int) -> None:
        """So many records have been taken to be handed out."""
        self._handed_out += records
        self._records.add(records, self._clock.monotonic_ms())

    def snapshot(self) -> dict[str, float]:
        rates = self._rates("records-consumed", "bytes-consumed", "fetch")
        averages = self._averages("fetch-latency", "fetch-size", "records-per-request", "fetch-throttle-time")
        del averages["records-per-request-max"]
        return {
            **rates,
            **averages,
            "records-lag-max": max(self._lags(), default=_NOTHING),
            "records-lead-min": min(self._leads(), default=_NOTHING),
            "assigned-partitions": float(len(self._positions.assigned)),
        }

    def _lags(self) -> Iterable[float]:
        for entry in self._positions:
            end = entry.last_stable_offset if self._read_committed else entry.high_watermark
            if end is not None and entry.position is not None:
                yield float(max(end - entry.position, 0))

    def _leads(self) -> Iterable[float]:
        for entry in self._positions:
            if entry.log_start_offset is not None and entry.position is not None:
                yield float(max(entry.position - entry.log_start_offset, 0))
