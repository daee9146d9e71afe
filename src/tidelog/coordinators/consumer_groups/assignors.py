"""The assignors that members can ask for by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tidelog.coordinators.consumer_groups.assignment import Assignor
from tidelog.coordinators.consumer_groups.range_assignor import assign_ranges
from tidelog.coordinators.consumer_groups.uniform_assignor import assign_uniformly

ASSIGNORS: Mapping[str, Assignor] = MappingProxyType({"uniform": assign_uniformly, "range": assign_ranges})
