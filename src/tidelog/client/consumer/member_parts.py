"""What a member of a group works with, in either protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.config import ConsumerConfig
from tidelog.client.consumer.listeners import Holdings
from tidelog.client.consumer.subscription import Subscription


class MemberParts(NamedTuple):
    cluster: Cluster
    config: ConsumerConfig
    group_id: str
    subscription: Subscription
    holdings: Holdings
    on_news: Callable[[], None]
