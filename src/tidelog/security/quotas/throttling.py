"""How long a client is throttled that has used more than its quota. Who has which quota is in `entities.py`.

Three kinds of quotas, three rules:

Bytes (KIP-13)
    Producing and fetching. If O is the rate in bytes per second over a window of W, and T the quota, the client waits
    X such that O * W / (W + X) = T.

Request time (KIP-124)
    The same rule for the time that the broker spends on the requests of a client, but the client waits one window at
    most. The unit is a percentage of one thread. Kafka's brokers have num.io.threads + num.network.threads of them, by
    default 11, so all clients together can use 1100 %. A tidelog broker does all of that on one event loop: 100 % is
    the whole broker, and a quota of 100 or more never throttles. What runs in other threads, such as fsync, is not
    counted.

Mutations of the controller (KIP-599)
    Partitions that are created or deleted take tokens from a bucket. Old versions of the requests cannot be refused for
    that, so they are done and the client is throttled (permissive). New ones are refused with
    THROTTLING_QUOTA_EXCEEDED while the bucket is in debt (strict).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum

from tidelog.protocol.messages import ApiKey
from tidelog.security.quotas.rates import SampledRate, TokenBucket

# What throttle_time_ms of a reply can say. A greater time wraps in Kafka, which can make it negative, that is, none.
LONGEST_THROTTLE_MS = (1 << 31) - 1

PERCENT_PER_NANOSECOND = 100.0 / 1_000_000_000


class MutationMode(Enum):
    STRICT = "strict"
    PERMISSIVE = "permissive"


# The first versions whose clients know THROTTLING_QUOTA_EXCEEDED. A broker that creates a topic on demand asks in the
# newest version: the topic is not created, and the client asks for it again.
STRICT_SINCE: Mapping[ApiKey, int] = {
    ApiKey.CREATE_TOPICS: 6,
    ApiKey.DELETE_TOPICS: 5,
    ApiKey.CREATE_PARTITIONS: 3,
}


def mutation_mode(api_key: ApiKey, version: int) -> MutationMode:
    strict_since = STRICT_SINCE.get(api_key)
    if strict_since is None or version < strict_since:
        return MutationMode.PERMISSIVE
    return MutationMode.STRICT


def percent_of_thread(nanoseconds: int) -> float:
    """What is recorded for a request that took so long: recorded in one second, it is that percentage of a thread."""
    return nanoseconds * PERCENT_PER_NANOSECOND


def rate_throttle_ms(rate: SampledRate, quota: float, now_ms: int, *, longest_ms: int = LONGEST_THROTTLE_MS) -> int:
    """0 as long as the rate is not above the quota."""
    per_second = rate.per_second(now_ms)
    if per_second <= quota:
        return 0
    # The time until the rate is the quota, if nothing is recorded until then.
    return excess_throttle_ms(per_second, quota, rate.window_ms(now_ms), longest_ms=longest_ms)


def excess_throttle_ms(
    per_second: float, quota: float, window_ms: int, *, longest_ms: int = LONGEST_THROTTLE_MS
) -> int:
    if quota == 0:
        return longest_ms
    return min(rounded((per_second - quota) / quota * window_ms), longest_ms)


def bucket_throttle_ms(tokens: float, per_second: float) -> int:
    """The time until a bucket that has less than no tokens is out of debt."""
    if tokens >= 0:
        return 0
    return min(rounded(-tokens / per_second * 1_000), LONGEST_THROTTLE_MS)


def rounded(value: float) -> int:
    """As Java rounds: a half goes up. `value + 0.5` would be 1 for the largest number below a half."""
    if value >= LONGEST_THROTTLE_MS:
        return LONGEST_THROTTLE_MS
    whole = math.floor(value)
    return whole + 1 if value - whole >= 0.5 else whole


class MutationAllowance:
    """What one request may change. It lives as long as the request: `take` for each topic, `throttle_ms` at the end.

    Without a bucket there is no quota.
    """

    __slots__ = ("_bucket", "_mode", "_since_ms", "_throttle_ms")

    def __init__(self, bucket: TokenBucket | None, mode: MutationMode) -> None:
        self._bucket = bucket
        self._mode = mode
        self._throttle_ms = 0
        self._since_ms = 0

    @property
    def is_exceeded(self) -> bool:
        """Whether part of the request was refused."""
        return self._mode is MutationMode.STRICT and self._throttle_ms > 0

    def take(self, partitions: int, now_ms: int) -> bool:
        """Whether so many partitions may be created or deleted; if not, the error is THROTTLING_QUOTA_EXCEEDED.

        The strict mode refuses everything while the bucket is in debt, and otherwise allows any number at once. Each
        topic of a request is decided on its own, so the first one may be created and the second one refused.
        """
        bucket = self._bucket
        if bucket is None:
            return True
        if self._mode is MutationMode.STRICT:
            tokens = bucket.tokens(now_ms)
            if tokens < 0:
                self._throttle(tokens, bucket, now_ms)
                return False
            bucket.take(partitions, now_ms)
            return True
        bucket.take(partitions, now_ms)
        tokens = bucket.tokens(now_ms)
        if tokens < 0:
            self._throttle(tokens, bucket, now_ms)
        return True

    def throttle_ms(self, now_ms: int) -> int:
        """For the reply. Time has passed since `take`, while the records were committed: it counts as waited."""
        if self._throttle_ms == 0:
            return 0
        return max(0, self._throttle_ms - (now_ms - self._since_ms))

    def _throttle(self, tokens: float, bucket: TokenBucket, now_ms: int) -> None:
        self._throttle_ms = bucket_throttle_ms(tokens, bucket.per_second)
        self._since_ms = now_ms
