"""What a consumer measures of itself, under Kafka's names: see `Consumer.metrics`."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.client.consumer.positions import Positions
from tidelog.client.metrics import NOTHING, SampledMetrics
from tidelog.model.ports import Clock


class ConsumerMetrics(SampledMetrics):
    """One line at each place in the fetcher and the reader where something happens."""

    def __init__(self, clock: Clock, positions: Positions, *, read_committed: bool) -> None:
        super().__init__(clock)
        self._positions = positions
        self._read_committed = read_committed
        self._records = self.new("records-consumed")
        self._bytes = self.new("bytes-consumed")
        self._fetches = self.new("fetch")
        self._latency = self.new("fetch-latency")
        self._size = self.new("fetch-size")
        self._per_request = self.new("records-per-request")
        self._throttle = self.new("fetch-throttle-time")
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
        rates = self.rates("records-consumed", "bytes-consumed", "fetch")
        averages = self.averages("fetch-latency", "fetch-size", "records-per-request", "fetch-throttle-time")
        del averages["records-per-request-max"]
        return {
            **rates,
            **averages,
            "records-lag-max": max(self._lags(), default=NOTHING),
            "records-lead-min": min(self._leads(), default=NOTHING),
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
