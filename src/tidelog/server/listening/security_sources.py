"""Where listeners find what they need to know who connects.

Apart from `listener_security.py`, which uses it: that one is imported only if a listener has TLS or SASL.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tidelog.config.broker import BrokerConfig
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.ports import Clock, Randomness
from tidelog.security.scram import ScramCredential, ScramMechanism
from tidelog.server.observability.metrics import Metrics

Credentials = Callable[[ScramMechanism, str], ScramCredential | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecuritySources:
    # As it is now.
    config: Callable[[], BrokerConfig]
    credentials: Credentials
    clock: Clock
    randomness: Randomness
    metrics: Metrics
    # Credentials are there once this is set; None if they are there from the beginning.
    ready: asyncio.Event | None = None
