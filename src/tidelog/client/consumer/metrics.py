"""What a consumer measures of itself, under Kafka's names: see `Consumer.metrics`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from tidelog.client.consumer.positions import Positions
from tidelog.client.metrics import NOTHING, SampledMetrics
from tidelog.model.ports import Clock


class ConsumerMetrics(SampledMetrics):
    """One line at each place in the fetcher and the reader where something happens."""

    RATES = ("records-consumed", "bytes-consumed", "fetch")
    AVERAGES: ClassVar = {
        "fetch-latency": True,
        "fetch-size": True,
        # Kafka has no such maximum.
        "records-per-request": False,
        "fetch-throttle-time": True,
    }

    def __init__(self, clock: Clock, positions: Positions, *, read_committed: bool) -> None:
        super().__init__(clock)
        self._positions = positions
        self._read_committed = read_committed
        self._handed_out = 0

    def fetched(self, started_ms: float, size: int, throttle_ms: int) -> None:
        """An answer with `size` bytes of records has come."""
        now_ms = self._clock.monotonic_ms()
        samples = self._samples
        samples["fetch"].add(1, now_ms)
        samples["fetch-latency"].add(now_ms - started_ms, now_ms)
        samples["fetch-size"].add(size, now_ms)
        samples["bytes-consumed"].add(size, now_ms)
        samples["fetch-throttle-time"].add(throttle_ms, now_ms)
        # What was handed out since the last answer came with the answers before it.
        samples["records-per-request"].add(self._handed_out, now_ms)
        self._handed_out = 0

    def consumed(self, records: int) -> None:
        """So many records have been taken to be handed out."""
        self._handed_out += records
        self._samples["records-consumed"].add(records, self._clock.monotonic_ms())

    def snapshot(self) -> dict[str, float]:
        return {
            **super().snapshot(),
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
