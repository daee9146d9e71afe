"""Whatever number a client puts into a request: the coordinator decides, its records fit, and its log can be replayed.

Generated from the schemas: each integer field of each request to a coordinator gets every extreme value, in states in
which the request would be carried out.
"""

from __future__ import annotations

import inspect
import re
import struct

import pytest
from support.coordinator_moments import MOMENTS, Scene, request_for
from support.deep_state import deep_state
from support.extreme_values import with_extremes
from support.group_driver import Driver
from support.present import present

from tidelog.coordinators.decision import ShardDecision
from tidelog.coordinators.groups import offset_commit
from tidelog.coordinators.groups.replies import refuse
from tidelog.coordinators.groups.shard import GroupShard
from tidelog.coordinators.transactions.shard import TransactionShard
from tidelog.protocol.api import response_class
from tidelog.protocol.codec import encode
from tidelog.protocol.schema import Message

REQUESTS = [name for name, moment in MOMENTS.items() if moment().message is not None]
A_DAY_MS = 86_400_000


def check_extremes(name: str) -> int:
    """How many requests were tried. Raises whatever a decision, a record or a reply cannot hold."""
    first = MOMENTS[name]()
    assert first.message is not None
    tried = 0
    for path, number, message in with_extremes(first.message, first.version):
        try:
            _carry_out(MOMENTS[name](), message)
        except Exception as problem:
            problem.add_note(f"{name}: {type(message).__name__} with {'.'.join(map(str, path))} = {number}")
            raise
        tried += 1
    return tried


def _carry_out(scene: Scene, message: Message) -> None:
    # It must be a message that can arrive.
    encode(message, scene.version)
    request = request_for(message, scene.version)
    decision = scene.shard.decide(request, scene.now)
    assert isinstance(decision, ShardDecision)
    for answer in decision.answers:
        if answer.token == request.token:
            # In version 3 of AddPartitionsToTxn and below the handler rearranges the reply.
            kind = response_class(message.SCHEMA.api_key)
            assert isinstance(answer.response, kind)
            encode(answer.response, scene.version)
    # Encodes, and replays what is decoded.
    scene.apply(decision)
    deadline_ms = scene.shard.next_deadline()
    later = scene.now._replace(monotonic_ms=scene.now.monotonic_ms + A_DAY_MS, wall_ms=scene.now.wall_ms + A_DAY_MS)
    for _ in range(20):
        if deadline_ms is None or deadline_ms > later.monotonic_ms:
            break
        scene.apply(scene.shard.on_time(later))
        deadline_ms = scene.shard.next_deadline()


@pytest.mark.parametrize("name", REQUESTS)
def test_no_number_is_too_large_for_a_coordinator(name: str) -> None:
    tried = check_extremes(name)
    first = MOMENTS[name]()
    assert tried > 0 or not any(field.kind.startswith("int") for field in present(first.message).SCHEMA.fields)


def test_an_expiry_that_is_not_limited_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault that a stranger once found: now + retention_time_ms does not fit into the record."""
    monkeypatch.setattr(offset_commit, "LATEST_EXPIRY_MS", 1 << 80)
    with pytest.raises(struct.error, match="too large") as found:
        check_extremes("commit by nobody")
    assert "retention_time_ms = 922337203685477580" in "".join(found.value.__notes__)


def test_offsets_with_the_longest_retention_stay() -> None:
    driver = Driver()
    assert driver.commit(5, version=2, retention_ms=(1 << 63) - 1) == 0
    driver.advance(30 * A_DAY_MS)
    assert driver.fetch() == (5, 0)
    assert deep_state(driver.reloaded().describe_group("orders", 5)) == deep_state(
        driver.shard.describe_group("orders", 5)
    )


def test_every_request_to_the_group_coordinator_is_among_the_moments() -> None:
    """A request that is added later cannot be forgotten here: `refuse` lists them all."""
    named = set(re.findall(r"case (\w+ShardRequest)\(\)", inspect.getsource(refuse)))
    named |= set(re.findall(r"case (\w+ShardRequest)\(\)", inspect.getsource(TransactionShard.decide)))
    named |= set(re.findall(r"case (\w+ShardRequest)\(\)", inspect.getsource(GroupShard.decide)))
    covered = {type(MOMENTS[name]().message).__name__ for name in REQUESTS}
    assert named <= covered
