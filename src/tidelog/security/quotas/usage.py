"""What the clients of one broker have used of their quotas. Mutable; one owner, the broker.

Each quota is counted in accounts of its own, one for each user, client id or pair that has one (`entities.py` says
which). A client to whom no quota applies has no account, and costs one look-up. (Kafka counts for it as well, once
anybody has a quota. That shows only when it is given one: what it used before does not count here.)

Clients choose their client ids, so the number of accounts is bounded, by MAX_ACCOUNTS for each key. When there are so
many, those are dropped that make next to no difference: after a whole span of windows without an event, a new account
counts what the old one would have counted, and a throttle time differs by less than two windows. If none can be
dropped, further clients share one account, each compared with its own quota. So memory is bounded, those who have an
account keep theirs, and who changes the client id with each request gains no more than MAX_ACCOUNTS times its quota;
but a newcomer may be throttled for what others use, until accounts become free.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView
from typing import Generic, Protocol, TypeVar

from tidelog.security.quotas.book import QuotaBook
from tidelog.security.quotas.entities import ClientLimits, Counted, QuotaKey
from tidelog.security.quotas.rates import QuotaWindows, SampledRate, TokenBucket
from tidelog.security.quotas.throttling import (
    LONGEST_THROTTLE_MS,
    MutationAllowance,
    MutationMode,
    rate_throttle_ms,
)

# An account takes up to 2 KB once all its windows have been used, so those of one key take 20 MB at most.
MAX_ACCOUNTS = 10_000
# Kafka's bound for sensors that record nothing.
IDLE_MS = 3_600_000
# Dropping accounts is a walk over all of them, which takes milliseconds. So it is made once in this time, even if each
# walk finds some: clients with random ids would otherwise cause one for each request.
_WALK_MS = 1_000


class _Measure(Protocol):
    def is_forgotten(self, now_ms: int) -> bool: ...


M = TypeVar("M", bound=_Measure)
Key = TypeVar("Key")


class Account(Generic[M]):
    __slots__ = ("limit", "measure", "used_ms")

    def __init__(self, limit: float, measure: M, now_ms: int) -> None:
        self.limit = limit
        self.measure = measure
        self.used_ms = now_ms


class AccountTable(Generic[Key, M]):
    """A bounded number of accounts."""

    __slots__ = ("_accounts", "_limit_of", "_max_accounts", "_next_walk_ms", "_open", "_shared")

    def __init__(
        self,
        limit_of: Callable[[Key], float | None],
        open_measure: Callable[[float, int], M],
        *,
        max_accounts: int = MAX_ACCOUNTS,
    ) -> None:
        """`open_measure` is given the limit and the time."""
        self._limit_of = limit_of
        self._open = open_measure
        self._max_accounts = max_accounts
        self._accounts: dict[Key, Account[M]] = {}
        self._shared: Account[M] | None = None
        self._next_walk_ms = 0

    def __len__(self) -> int:
        return len(self._accounts)

    def items(self) -> ItemsView[Key, Account[M]]:
        """All accounts but the shared one."""
        return self._accounts.items()

    @property
    def is_shared(self) -> bool:
        """Whether there were too many clients for an account each."""
        return self._shared is not None

    def find(self, key: Key, now_ms: int) -> Account[M] | None:
        """None if there is no limit."""
        account = self._accounts.get(key)
        if account is None:
            account = self._new(key, now_ms)
            if account is None:
                return None
        account.used_ms = now_ms
        return account

    def adopt(self, limit_of: Callable[[Key], float | None]) -> None:
        """The limits have changed. What has been used goes on counting, except where there is no limit any more."""
        self._limit_of = limit_of
        for key, account in list(self._accounts.items()):
            limit = limit_of(key)
            if limit is None:
                del self._accounts[key]
            else:
                account.limit = limit

    def expire(self, now_ms: int) -> int:
        """Drops accounts that have been idle for long, and returns how many."""
        idle = [key for key, account in self._accounts.items() if now_ms - account.used_ms > IDLE_MS]
        for key in idle:
            del self._accounts[key]
        shared = self._shared
        if shared is not None and shared.measure.is_forgotten(now_ms):
            self._shared = None
        return len(idle)

    def _new(self, key: Key, now_ms: int) -> Account[M] | None:
        limit = self._limit_of(key)
        if limit is None:
            return None
        if len(self._accounts) >= self._max_accounts and not self._make_room(now_ms):
            if self._shared is None:
                self._shared = Account(limit, self._open(limit, now_ms), now_ms)
            # It is looked up anew for each request, so this is always the limit of the client that asks.
            self._shared.limit = limit
            return self._shared
        account = self._accounts[key] = Account(limit, self._open(limit, now_ms), now_ms)
        return account

    def _make_room(self, now_ms: int) -> bool:
        if now_ms < self._next_walk_ms:
            return False
        self._next_walk_ms = now_ms + _WALK_MS
        forgotten = [key for key, account in self._accounts.items() if account.measure.is_forgotten(now_ms)]
        for key in forgotten:
            del self._accounts[key]
        return bool(forgotten)


class RateUsage:
    """What was produced, fetched, or taken as request time."""

    __slots__ = ("_accounts", "_is_limited", "_limits", "_longest_ms", "_windows")

    def __init__(
        self,
        limits: ClientLimits,
        *,
        windows: QuotaWindows,
        longest_ms: int = LONGEST_THROTTLE_MS,
        max_accounts: int = MAX_ACCOUNTS,
    ) -> None:
        self._limits = limits
        # Kept, because it is asked for each request, most often by brokers without quotas.
        self._is_limited = bool(limits)
        self._windows = windows
        self._longest_ms = longest_ms
        self._accounts: AccountTable[Counted, SampledRate] = AccountTable(
            limits.limit_of, lambda limit, now_ms: SampledRate(windows), max_accounts=max_accounts
        )

    @property
    def accounts(self) -> AccountTable[Counted, SampledRate]:
        return self._accounts

    def adopt(self, limits: ClientLimits) -> None:
        self._limits = limits
        self._is_limited = bool(limits)
        self._accounts.adopt(limits.limit_of)

    def record(self, amount: float, user: str, client_id: str, now_ms: int) -> int:
        """How many milliseconds the client has to wait after this."""
        if not self._is_limited:
            return 0
        account = self._accounts.find(self._limits.counted_for(user, client_id), now_ms)
        if account is None:
            return 0
        account.measure.record(amount, now_ms)
        return rate_throttle_ms(account.measure, account.limit, now_ms, longest_ms=self._longest_ms)

    def record_unchecked(self, amount: float, user: str, client_id: str, now_ms: int) -> None:
        """Throttles nobody now; it counts when the next request is recorded."""
        if self._is_limited:
            account = self._accounts.find(self._limits.counted_for(user, client_id), now_ms)
            if account is not None:
                account.measure.record(amount, now_ms)

    def unrecord(self, amount: float, user: str, client_id: str, now_ms: int) -> None:
        """For a fetch that is throttled: it returns no records, so their bytes must not count."""
        self.record_unchecked(-amount, user, client_id, now_ms)

    def largest(self, user: str, client_id: str) -> float | None:
        """More than this at once is throttled in any case, so a fetch returns no more. None if there is no limit."""
        limit = self._limits.limit_of(self._limits.counted_for(user, client_id))
        if limit is None:
            return None
        return limit * (self._windows.count - 1) * (self._windows.size_ms / 1_000.0)

    def expire(self, now_ms: int) -> int:
        return self._accounts.expire(now_ms)


class MutationUsage:
    """Partitions that clients have created and deleted. The active controller counts them (KIP-599)."""

    __slots__ = ("_accounts", "_limits")

    def __init__(self, limits: ClientLimits, *, windows: QuotaWindows, max_accounts: int = MAX_ACCOUNTS) -> None:
        self._limits = limits
        self._accounts: AccountTable[Counted, TokenBucket] = AccountTable(
            limits.limit_of,
            lambda limit, now_ms: TokenBucket(limit, windows, now_ms),
            max_accounts=max_accounts,
        )

    @property
    def accounts(self) -> AccountTable[Counted, TokenBucket]:
        return self._accounts

    def adopt(self, limits: ClientLimits) -> None:
        self._limits = limits
        self._accounts.adopt(limits.limit_of)

    def allowance(self, mode: MutationMode, user: str, client_id: str, now_ms: int) -> MutationAllowance:
        """For one request."""
        limits = self._limits
        if not limits:
            return MutationAllowance(None, mode)
        account = self._accounts.find(limits.counted_for(user, client_id), now_ms)
        if account is None:
            return MutationAllowance(None, mode)
        account.measure.per_second = account.limit
        return MutationAllowance(account.measure, mode)

    def expire(self, now_ms: int) -> int:
        return self._accounts.expire(now_ms)


class ClientUsage:
    """All accounts of the clients of one node, but for those of mutations, which the active controller has."""

    __slots__ = ("fetch", "produce", "request")

    def __init__(
        self,
        book: QuotaBook,
        *,
        windows: QuotaWindows,
        max_accounts: int = MAX_ACCOUNTS,
    ) -> None:
        limits = book.limits
        self.produce = RateUsage(limits[QuotaKey.PRODUCER_BYTE_RATE], windows=windows, max_accounts=max_accounts)
        self.fetch = RateUsage(limits[QuotaKey.CONSUMER_BYTE_RATE], windows=windows, max_accounts=max_accounts)
        self.request = RateUsage(
            limits[QuotaKey.REQUEST_PERCENTAGE],
            windows=windows,
            longest_ms=windows.size_ms,
            max_accounts=max_accounts,
        )

    def adopt(self, book: QuotaBook) -> None:
        self.produce.adopt(book.limits[QuotaKey.PRODUCER_BYTE_RATE])
        self.fetch.adopt(book.limits[QuotaKey.CONSUMER_BYTE_RATE])
        self.request.adopt(book.limits[QuotaKey.REQUEST_PERCENTAGE])

    def expire(self, now_ms: int) -> int:
        """Drops accounts that have been idle for an hour; called now and then, such as every 30 s."""
        usages = (self.produce, self.fetch, self.request)
        return sum(usage.expire(now_ms) for usage in usages)
