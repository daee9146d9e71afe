"""All cases, and how many of their variations are asked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from random import Random

from twin.asking import Case
from twin.cases import configs, consumer_groups, groups, records, security, topics, transactions
from twin.runner import Finding, Twin
from twin.variation import variations

from tidelog.protocol.messages import ApiKey

# Another seed asks other variations; more of them take longer.
SEED = int(os.environ.get("TIDELOG_TWIN_SEED", "1"))
VARIATIONS = int(os.environ.get("TIDELOG_TWIN_VARIATIONS", "12"))

CASES: list[Case] = [
    *records.CASES,
    *topics.CASES,
    *groups.CASES,
    *consumer_groups.CASES,
    *transactions.CASES,
    *configs.CASES,
    *security.CASES,
]
# In the order in which they come first.
KEYS = list(dict.fromkeys(case.key for case in CASES))


async def ask_one_node(twin: Twin, key: ApiKey) -> list[Finding]:
    """Every case in every version, and variations of those that are varied."""
    return await ask_single(twin, [case for case in CASES if case.key is key])


async def ask_single(twin: Twin, cases: Sequence[Case]) -> list[Finding]:
    for case in cases:
        if not case.three_nodes:
            for version in twin.versions(case):
                await twin.run(case, version)
                if case.varied:
                    await _ask_variations(twin, case, version, 1, VARIATIONS)
    return twin.taken()


async def ask_three_nodes(twin: Twin, key: ApiKey) -> list[Finding]:
    """Every case through each node, in the lowest and the highest version and one between them."""
    for case in CASES:
        if case.key is not key or case.one_node:
            continue
        for version in _some_versions(twin, case):
            for node in twin.ours.addresses:
                await twin.run(case, version, node)
                if case.varied:
                    await _ask_variations(twin, case, version, node, VARIATIONS // 4)
    return twin.taken()


def _some_versions(twin: Twin, case: Case) -> list[int]:
    versions = twin.versions(case)
    random = Random(f"{SEED}-{case.key.name}-{case.name}")
    chosen = {*versions[:1], *versions[-1:], *random.sample(versions, min(1, len(versions)))}
    return sorted(chosen)


async def _ask_variations(twin: Twin, case: Case, version: int, node: int, limit: int) -> None:
    random = Random(f"{SEED}-{case.key.name}-{case.name}-{version}-{node}")
    for name, given in variations(case, version, random, limit):
        await twin.run(case, version, node, given=given, name=name)
