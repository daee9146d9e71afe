"""All scenarios, in the order of the report."""

from __future__ import annotations

from benchmarks.comparison import (
    clients,
    cores,
    growth,
    latency,
    replication,
    requests,
    security,
    starting,
    throughput,
    transactions,
    upkeep,
)
from benchmarks.comparison.scenario import Scenario

_MODULES = (
    throughput,
    requests,
    latency,
    transactions,
    starting,
    growth,
    replication,
    cores,
    upkeep,
    security,
    clients,
)


def all_scenarios() -> list[Scenario]:
    found = [scenario for module in _MODULES for scenario in module.scenarios()]
    names = [scenario.name for scenario in found] + [figure.name for each in found for figure in each.figures]
    if len(names) != len(set(names)):
        raise RuntimeError("two scenarios or figures have one name")
    return found
