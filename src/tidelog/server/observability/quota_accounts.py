"""What the clients with quotas use of them, for operators: Kafka's byte-rate, request-time and throttle-time.

Clients choose their ids, so the page shows a bounded number of them: those whose use is nearest to their quota, or
furthest above it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import TYPE_CHECKING

from tidelog.model.ports import Clock
from tidelog.security.quotas.entities import QuotaKey
from tidelog.security.quotas.throttling import rate_throttle_ms
from tidelog.security.quotas.usage import ClientUsage, RateUsage

if TYPE_CHECKING:
    from prometheus_client.core import GaugeMetricFamily

# For each quota.
MOST_SHOWN = 100

_LABELS = ("quota", "user", "client_id")


class QuotaAccounts:
    """A collector for Prometheus' registry."""

    def __init__(self, usage: ClientUsage, clock: Clock) -> None:
        self._clock = clock
        self._usages: Mapping[QuotaKey, RateUsage] = {
            QuotaKey.PRODUCER_BYTE_RATE: usage.produce,
            QuotaKey.CONSUMER_BYTE_RATE: usage.fetch,
            QuotaKey.REQUEST_PERCENTAGE: usage.request,
        }

    def collect(self) -> Iterator[GaugeMetricFamily]:
        from prometheus_client.core import GaugeMetricFamily

        now_ms = int(self._clock.monotonic_ms())
        rates = GaugeMetricFamily(
            "tidelog_client_rate", "What a client with a quota uses: bytes per second, or percent", labels=_LABELS
        )
        limits = GaugeMetricFamily("tidelog_client_quota", "The quota that it is compared with", labels=_LABELS)
        throttles = GaugeMetricFamily(
            "tidelog_client_throttle_seconds", "How long it would be throttled now", labels=_LABELS
        )
        for key, usage in self._usages.items():
            used = [
                (account.measure.per_second(now_ms) / account.limit, counted, account)
                for counted, account in usage.accounts.items()
            ]
            for _, (user, client_id), account in heapq.nlargest(MOST_SHOWN, used, key=itemgetter(0)):
                labels = [key.value, user, client_id]
                rates.add_metric(labels, account.measure.per_second(now_ms))
                limits.add_metric(labels, account.limit)
                throttle_ms = rate_throttle_ms(account.measure, account.limit, now_ms)
                throttles.add_metric(labels, throttle_ms / 1000)
        return iter((rates, limits, throttles))
