"""Which source of a broker property wins: the broker's dynamic value, the cluster-wide dynamic value, the file the
broker was started with, and last the default. Topic overrides, which win over all of them, are in
`tidelog.config.topic`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType

from tidelog.config.definitions import ConfigSource
from tidelog.model.lazy_dataclasses import dataclass

NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class LayeredValue:
    """The text of one property in one layer."""

    name: str
    # It may be a secret.
    text: str = field(repr=False)
    source: ConfigSource


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerLayers:
    """The raw texts of a broker's properties, one mapping per source. Some are secret, so none is in the repr."""

    static: Mapping[str, str] = field(default_factory=lambda: NOTHING, repr=False)
    cluster: Mapping[str, str] = field(default_factory=lambda: NOTHING, repr=False)
    broker: Mapping[str, str] = field(default_factory=lambda: NOTHING, repr=False)

    def values_of(self, names: Sequence[str]) -> Iterator[LayeredValue]:
        """All values that are set for any of `names`, the winning one first."""
        for texts, source in (
            (self.broker, ConfigSource.DYNAMIC_BROKER_CONFIG),
            (self.cluster, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
            (self.static, ConfigSource.STATIC_BROKER_CONFIG),
        ):
            for name in names:
                if name in texts:
                    yield LayeredValue(name=name, text=texts[name], source=source)
