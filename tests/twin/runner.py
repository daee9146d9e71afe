"""Asks both sides the same, and gathers where their replies differ."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from twin.asking import Case, Given, Step, build
from twin.comparison import Difference, differences, error_codes, short
from twin.differences import TABLE
from twin.side import Side
from twin.state import COORDINATOR_PARTITIONS

from tidelog.coordinators.placement import partition_for
from tidelog.model.errors import ErrorCode
from tidelog.protocol.api import request_class
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.schema import Message, covers

# Said by a node that has not yet caught up with what its cluster knows. Where only one side says so, it is asked again.
_NOT_YET = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.UNKNOWN_TOPIC_ID,
}
_PATIENCE_SECONDS = 3.0
_DONE_SECONDS = 20.0
# After so many waits that did not help there are real differences, and nothing is waited for any more.
_MAX_IN_VAIN = 5

# What changes nothing, and may be answered from what was there a moment ago.
_ONLY_READS = {
    ApiKey.FETCH,
    ApiKey.LIST_OFFSETS,
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
    ApiKey.DESCRIBE_LOG_DIRS,
    ApiKey.DESCRIBE_PRODUCERS,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.LIST_GROUPS,
    # Apache Kafka shows of groups and transactions what is committed, which is a moment later than the reply before.
    ApiKey.DESCRIBE_GROUPS,
    ApiKey.CONSUMER_GROUP_DESCRIBE,
    ApiKey.OFFSET_FETCH,
    ApiKey.DESCRIBE_TRANSACTIONS,
    ApiKey.LIST_TRANSACTIONS,
    ApiKey.DESCRIBE_ACLS,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    ApiKey.DESCRIBE_CLIENT_QUOTAS,
}

# After these the nodes of a cluster need a moment until all know.
_CHANGES_METADATA = {
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.UPDATE_FEATURES,
    ApiKey.ELECT_LEADERS,
    ApiKey.CREATE_ACLS,
    ApiKey.DELETE_ACLS,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    ApiKey.ALTER_CLIENT_QUOTAS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A request whose replies differ, with all that a developer needs to repeat it."""

    case: str
    key: ApiKey
    version: int
    node: int
    request: Message
    ours: Any
    theirs: Any
    found: tuple[Difference, ...]

    def __str__(self) -> str:
        lines = [
            f"{self.key.title} v{self.version} through node {self.node}: {self.case}",
            f"  request: {short(self.request, 4000)}",
            f"  tidelog: {short(self.ours, 4000)}",
            f"  Apache Kafka: {short(self.theirs, 4000)}",
            *(f"  differs: {each}" for each in self.found),
        ]
        return "\n".join(lines)


@dataclass(slots=True)
class Twin:
    ours: Side
    theirs: Side
    findings: list[Finding] = field(default_factory=list)
    asked: Counter[ApiKey] = field(default_factory=Counter)
    used: Counter[str] = field(default_factory=Counter)
    # Cases in which waiting has not helped before: a broken broker would cost minutes. Those whose errors stay
    # different (it may be intended), and those whose replies do.
    _in_vain: set[str] = field(default_factory=set)
    _never_equal: set[str] = field(default_factory=set)

    def versions(self, case: Case) -> list[int]:
        """The versions of the case that both serve."""
        ours, theirs = self.ours.versions.get(case.key), self.theirs.versions.get(case.key)
        if ours is None or theirs is None:
            return []
        low, high = request_class(case.key).SCHEMA.valid
        shared = range(max(ours[0], theirs[0], low), min(ours[1], theirs[1], high) + 1)
        return [version for version in shared if covers(case.versions, version)]

    def taken(self) -> list[Finding]:
        """What was found since the last time."""
        found, self.findings = self.findings, []
        return found

    async def run(self, case: Case, version: int, node: int = 1, *, given: Given | None = None, name: str = "") -> None:
        """One case in one version. `given` replaces what its only request asks.

        On several nodes a difference has to show twice, the second time with other names: what was only late does not.
        """
        found_before = len(self.findings)
        await self._run(case, version, node, given, name)
        if len(self.findings) > found_before and len(self.ours.addresses) > 1:
            del self.findings[found_before:]
            await self._run(case, version, node, given, f"{name}again")

    async def _run(self, case: Case, version: int, node: int, given: Given | None, name: str) -> None:
        run = f"{name or 'v'}{version}n{node}"
        title = f"{case.name}{name and ': '}{name}"
        for side in (self.ours, self.theirs):
            side.memory = {key: value for key, value in side.memory.items() if key.startswith("@")}
        steps = iter(case.steps)
        for each in steps:
            together = [each]
            while together[-1].together:
                together.append(next(steps))
            await asyncio.gather(
                *(
                    self._step(title, one, one.given if given is None else given, version, node, run, lane)
                    for lane, one in enumerate(together)
                )
            )

    async def _step(self, title: str, each: Step, given: Given, version: int, node: int, run: str, lane: int) -> None:
        asked_in = self._version(each, version)
        node = self._node(each, node, run)
        requests = {side: build(each.key, given, asked_in, run, side.memory) for side in (self.ours, self.theirs)}
        self.asked[each.key] += 1
        ours, theirs = await self._replies(title, each, requests, asked_in, node, lane)
        if each.key in _ONLY_READS and len(self.ours.addresses) > 1:
            ours, theirs = await self._once_caught_up(title, each, (ours, theirs), requests, asked_in, node)
        for side, reply in ((self.ours, ours), (self.theirs, theirs)):
            for name, path in each.keep.items():
                side.keep(run, name, _at(reply, path))
        our_tree, their_tree = self.ours.normalise(ours, each.key), self.theirs.normalise(theirs, each.key)
        found = tuple(self._unintended(each.key, our_tree, their_tree))
        if found:
            self.findings.append(
                Finding(
                    case=title,
                    key=each.key,
                    version=asked_in,
                    node=node,
                    request=requests[self.ours],
                    ours=our_tree,
                    theirs=their_tree,
                    found=found,
                )
            )

    def _node(self, each: Step, node: int, run: str) -> int:
        partition = each.leader
        if each.coordinator is not None:
            partition = partition_for(each.coordinator.replace("{run}", run), COORDINATOR_PARTITIONS)
        nodes = list(self.ours.addresses)
        return node if partition is None else nodes[partition % len(nodes)]

    def _version(self, each: Step, version: int) -> int:
        low = max(self.ours.versions[each.key][0], self.theirs.versions[each.key][0])
        high = min(self.ours.versions[each.key][1], self.theirs.versions[each.key][1])
        return max(request_class(each.key).SCHEMA.valid[0], low, min(high, each.version or version))

    async def _replies(
        self, title: str, each: Step, requests: Mapping[Side, Message], version: int, node: int, lane: int
    ) -> tuple[Any, Any]:
        async def one(side: Side) -> Any:
            return await side.outcome(node, requests[side], version, lane)

        replies = dict(zip(requests, await asyncio.gather(*map(one, requests)), strict=True))
        patience = 0.0 if title in self._in_vain else _DONE_SECONDS if each.until_done else _PATIENCE_SECONDS
        deadline = asyncio.get_running_loop().time() + patience
        while asyncio.get_running_loop().time() < deadline:
            codes = {side: set(error_codes(reply)) for side, reply in replies.items()}
            if each.until_done:
                late = [side for side, found in codes.items() if found]
            else:
                late = [
                    side
                    for side, other in ((self.ours, self.theirs), (self.theirs, self.ours))
                    if (codes[side] - codes[other]) & _NOT_YET
                ]
            if not late:
                break
            await asyncio.sleep(0.05)
            for side in late:
                replies[side] = await one(side)
        else:
            self._in_vain.add(title)
        if each.key in _CHANGES_METADATA:
            await asyncio.gather(self.ours.settle(), self.theirs.settle())
        return replies[self.ours], replies[self.theirs]

    async def _once_caught_up(
        self,
        title: str,
        each: Step,
        replies: tuple[Any, Any],
        requests: Mapping[Side, Message],
        version: int,
        node: int,
    ) -> tuple[Any, Any]:
        """Followers hear of records and watermarks a little later than leaders: where replies differ, ask again."""
        deadline = asyncio.get_running_loop().time() + _PATIENCE_SECONDS
        while not self._is_vain(title) and self._differ(each.key, *replies):
            if asyncio.get_running_loop().time() > deadline:
                self._never_equal.add(title)
                break
            await asyncio.sleep(0.1)
            sides = (self.ours, self.theirs)
            ours, theirs = [await side.outcome(node, requests[side], version) for side in sides]
            replies = ours, theirs
        return replies

    def _is_vain(self, title: str) -> bool:
        return title in self._never_equal or len(self._never_equal) >= _MAX_IN_VAIN

    def _differ(self, key: ApiKey, ours: Any, theirs: Any) -> bool:
        trees = self.ours.normalise(ours, key), self.theirs.normalise(theirs, key)
        return any(not _is_intended(key, each, *trees) for each in differences(*trees))

    def _unintended(self, key: ApiKey, ours: Any, theirs: Any) -> Iterator[Difference]:
        for difference in differences(ours, theirs):
            intended = next((each for each in TABLE if each.covers(key, difference, ours, theirs)), None)
            if intended is None:
                yield difference
            else:
                self.used[intended.title] += 1


def _is_intended(key: ApiKey, difference: Difference, ours: Any, theirs: Any) -> bool:
    return any(each.covers(key, difference, ours, theirs) for each in TABLE)


def _at(reply: Any, path: str) -> Any:
    """The value at a path such as `coordinators.0.node_id`; None where the reply has no such place."""
    for name in path.split("."):
        if isinstance(reply, list):
            reply = reply[int(name)] if int(name) < len(reply) else None
        else:
            reply = reply.get(name) if isinstance(reply, dict) else None
    return reply
