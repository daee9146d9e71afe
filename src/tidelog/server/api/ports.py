"""What handlers need besides parts of a node that they know by their own classes: narrow views, one for each need."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from tidelog.config.broker import BrokerConfig
from tidelog.coordinators.decision import ProducerIdentity
from tidelog.metadata.image import ClusterImage
from tidelog.model.errors import ErrorCode
from tidelog.network.later import Later
from tidelog.server.coordination.verification import Admission, ClientLevel, Write


class Metadata(Protocol):
    @property
    def image(self) -> ClusterImage:
        """The cluster as this node knows it now."""
        ...


class Configuration(Protocol):
    @property
    def config(self) -> BrokerConfig:
        """The properties as they are now, dynamic ones included."""
        ...


# Creates those of these topics that are missing; the errors of those that cannot be. Raises ApiError.
CreateMissing = Callable[[list[str]], Awaitable[dict[str, ErrorCode]]]
# Asks the transaction coordinator before a transaction's first write to a partition.
Admit = Callable[[str, ProducerIdentity, Sequence[Write], ClientLevel], Admission | Later[Admission]]
