"""How much clients may change at the active controller (KIP-599): partitions that they create and delete.

How much is too much is in `tidelog.security.quotas`; the decisions in `tidelog.controller` ask for each topic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tidelog.config.broker import BrokerConfig
from tidelog.model.ports import Clock
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.schema import Message, replaced
from tidelog.security.quotas.book import QuotaBook
from tidelog.security.quotas.entities import QuotaEntity, QuotaKey
from tidelog.security.quotas.rates import QuotaWindows
from tidelog.security.quotas.throttling import MutationAllowance, MutationMode, mutation_mode
from tidelog.security.quotas.usage import MutationUsage

_EXPIRY_MS = 30_000

_CHANGING = frozenset({ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS})


class MutationTurn:
    """What one request may change."""

    __slots__ = ("_allowance", "_clock")

    def __init__(self, allowance: MutationAllowance, clock: Clock) -> None:
        self._allowance = allowance
        self._clock = clock

    def may_change(self, partitions: int) -> bool:
        """Whether so many may be created or deleted; if not, the error is THROTTLING_QUOTA_EXCEEDED."""
        return self._allowance.take(partitions, int(self._clock.monotonic_ms()))

    def throttled(self, response: Message) -> Message:
        """The reply, with the time that the client has to wait."""
        wait_ms = self._allowance.throttle_ms(int(self._clock.monotonic_ms()))
        return replaced(response, throttle_time_ms=wait_ms) if wait_ms > 0 else response


class ControllerMutations:
    """Of all clients, as this node has counted them. The successor of an active controller begins with nothing."""

    def __init__(
        self, config: BrokerConfig, quotas: Callable[[], Mapping[QuotaEntity, Mapping[str, float]]], clock: Clock
    ) -> None:
        """`quotas` returns those of the committed image."""
        self._quotas = quotas
        self._clock = clock
        self._book = QuotaBook()
        windows = QuotaWindows(
            count=config.controller_quota_window_num, size_ms=config.controller_quota_window_size_seconds * 1000
        )
        self._usage = MutationUsage(self._book.limits[QuotaKey.CONTROLLER_MUTATION_RATE], windows=windows)
        self._expired_ms = 0

    def turn(self, api_key: int, version: int, user: str, client_id: str | None) -> MutationTurn | None:
        """For one request; None if it is not one that changes topics."""
        if api_key not in _CHANGING:
            return None
        self._follow()
        now_ms = int(self._clock.monotonic_ms())
        if now_ms - self._expired_ms > _EXPIRY_MS:
            self._expired_ms = now_ms
            self._usage.expire(now_ms)
        mode: MutationMode = mutation_mode(ApiKey(api_key), version)
        return MutationTurn(self._usage.allowance(mode, user, client_id or "", now_ms), self._clock)

    def _follow(self) -> None:
        quotas = self._quotas()
        # An image shares with the one before what has not changed.
        if quotas is not self._book.quotas:
            self._book = self._book.adopt(quotas)
            self._usage.adopt(self._book.limits[QuotaKey.CONTROLLER_MUTATION_RATE])
