"""The runtime of coordinators, with a toy: what holds for every coordinator, whatever it coordinates."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import cast

import pytest
from server.coordination.toy_coordinator import Lease, LeaseCoordinator, LeaseShard
from support.memory_coordinator_log import MemoryCoordinatorLog
from support.processes import HANG_SECONDS
from support.steps_taken import steps_taken

from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.transitions import IllegalStep
from tidelog.network.later import Later
from tidelog.network.system import SystemClock
from tidelog.protocol.schema import Message
from tidelog.server.coordination import shard_runtime
from tidelog.server.coordination.lifecycle import SHARD_LIFECYCLE, ShardStage
from tidelog.server.coordination.shard_runtime import ShardLimits
from tidelog.server.replicas.replica import Replica

NAME = "printer"


def coordinator_on(log: MemoryCoordinatorLog, *, commit_timeout_ms: int = 5000) -> LeaseCoordinator:
    limits = ShardLimits(commit_timeout_ms=commit_timeout_ms, load_buffer_bytes=1 << 20)
    return LeaseCoordinator(log, limits=limits, partition_count=lambda: 1, clock=SystemClock())


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        while not condition():
            await asyncio.sleep(0.005)


async def loaded(log: MemoryCoordinatorLog, *, commit_timeout_ms: int = 5000) -> LeaseCoordinator:
    coordinator = coordinator_on(log, commit_timeout_ms=commit_timeout_ms)
    coordinator.lead(0, 0)
    await until(lambda: stage_of(coordinator) is ShardStage.ACTIVE)
    return coordinator


async def take(coordinator: LeaseCoordinator, holder: str) -> tuple[str, ErrorCode]:
    outcome = coordinator.take(NAME, holder)
    return read(outcome if isinstance(outcome, Message) else await asyncio.wait_for(outcome, HANG_SECONDS))


def read(reply: Message) -> tuple[str, ErrorCode]:
    assert isinstance(reply, Lease)
    return reply.holder, ErrorCode(reply.error_code)


def stage_of(coordinator: LeaseCoordinator) -> ShardStage:
    runtime = coordinator.runtime_of(NAME)
    assert runtime is not None
    return runtime.stage


# Lifecycle.


async def test_a_step_that_the_table_does_not_have_is_impossible() -> None:
    coordinator = await loaded(MemoryCoordinatorLog())
    runtime = coordinator.runtime_of(NAME)
    assert runtime is not None
    coordinator.close()
    with pytest.raises(IllegalStep, match=r"__leases-0: there is no step CLOSE .* from CLOSED"):
        runtime.close()


async def test_a_shard_refuses_until_it_is_loaded_and_after_it_is_closed() -> None:
    coordinator = coordinator_on(MemoryCoordinatorLog())
    assert await take(coordinator, "ann") == ("", ErrorCode.NOT_COORDINATOR)
    coordinator.lead(0, 0)
    assert await take(coordinator, "ann") == ("", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    assert coordinator.shards() is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    await until(lambda: stage_of(coordinator) is ShardStage.ACTIVE)
    assert await take(coordinator, "ann") == ("ann", ErrorCode.NONE)
    coordinator.close()
    assert await take(coordinator, "ann") == ("", ErrorCode.NOT_COORDINATOR)
    coordinator.lead(0, 1)
    assert coordinator.runtime_of(NAME) is None


async def test_only_replicas_of_the_coordinators_topic_count() -> None:
    def replica(topic: str) -> Replica:
        return cast(Replica, SimpleNamespace(topic_partition=TopicPartition(topic, 0), leader_epoch=3))

    coordinator = coordinator_on(MemoryCoordinatorLog())
    coordinator.became_leader(replica("orders"))
    assert coordinator.runtime_of(NAME) is None
    coordinator.became_leader(replica("__leases"))
    runtime = coordinator.runtime_of(NAME)
    assert runtime is not None
    assert runtime.leader_epoch == 3
    coordinator.stopped_leading(replica("orders"))
    assert coordinator.runtime_of(NAME) is runtime
    coordinator.stopped_leading(replica("__leases"))
    assert runtime.stage is ShardStage.CLOSED


@pytest.mark.parametrize("for_each_epoch", [False, True])
async def test_another_epoch_needs_another_shard_only_where_the_epoch_counts(
    for_each_epoch: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LeaseCoordinator, "has_shard_for_each_epoch", for_each_epoch)
    coordinator = await loaded(MemoryCoordinatorLog())
    before = coordinator.runtime_of(NAME)
    coordinator.lead(0, 0)
    assert coordinator.runtime_of(NAME) is before
    coordinator.lead(0, 1)
    assert (coordinator.runtime_of(NAME) is before) is not for_each_epoch
    coordinator.close()


async def test_a_log_that_cannot_be_read_makes_the_shard_fail() -> None:
    log = MemoryCoordinatorLog()
    await take(await loaded(log), "ann")
    log.batches[0][-1] ^= 0xFF
    coordinator = coordinator_on(log)
    coordinator.lead(0, 0)
    await until(lambda: stage_of(coordinator) is ShardStage.FAILED)
    assert await take(coordinator, "ann") == ("", ErrorCode.NOT_COORDINATOR)


async def test_every_step_of_the_lifecycle_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_runtime, "RELOAD_DELAY_SECONDS", 0.0)
    with steps_taken(SHARD_LIFECYCLE) as taken:
        await test_a_log_that_cannot_be_read_makes_the_shard_fail()
        coordinator = coordinator_on(MemoryCoordinatorLog())
        coordinator.lead(0, 0)
        coordinator.close()
        both = [await loaded(MemoryCoordinatorLog()) for _ in range(2)]
        with monkeypatch.context() as patch:
            patch.setattr(LeaseShard, "replay", lambda *_, **__: 1 / 0)
            for each in both:
                await take(each, "ann")
        both[0].close()
        await until(lambda: stage_of(both[1]) is ShardStage.ACTIVE)
        both[1].close()
    assert taken == set(SHARD_LIFECYCLE.steps)


# Decisions.


async def test_the_next_coordinator_knows_what_the_last_one_decided() -> None:
    log = MemoryCoordinatorLog()
    first = await loaded(log)
    assert await take(first, "ann") == ("ann", ErrorCode.NONE)
    first.close()
    second = await loaded(log)
    assert await take(second, "bob") == ("ann", ErrorCode.NONE)
    second.close()


async def test_a_decision_that_raises_costs_its_request_and_changes_nothing() -> None:
    coordinator = await loaded(MemoryCoordinatorLog())
    assert await take(coordinator, "nobody") == ("", ErrorCode.UNKNOWN_SERVER_ERROR)
    shard = coordinator.shard_of(NAME)
    assert isinstance(shard, LeaseShard)
    assert NAME not in shard.timers
    assert await take(coordinator, "ann") == ("ann", ErrorCode.NONE)
    coordinator.close()


async def test_what_the_log_refuses_is_an_error_and_not_replayed() -> None:
    log = MemoryCoordinatorLog()
    coordinator = await loaded(log)
    log.refusal = ApiError(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert await take(coordinator, "ann") == ("", ErrorCode.COORDINATOR_NOT_AVAILABLE)
    log.refusal = None
    assert await take(coordinator, "bob") == ("bob", ErrorCode.NONE)
    coordinator.close()


async def test_timers_fire_and_their_decisions_are_written() -> None:
    log = MemoryCoordinatorLog()
    coordinator = await loaded(log)
    await take(coordinator, "ann")
    await until(lambda: len(log.batches) == 2)
    assert await take(coordinator, "bob") == ("bob", ErrorCode.NONE)
    coordinator.close()


async def test_a_shard_whose_log_holds_what_it_does_not_know_is_loaded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_runtime, "RELOAD_DELAY_SECONDS", 0.05)
    coordinator = await loaded(MemoryCoordinatorLog())
    with monkeypatch.context() as patch:
        patch.setattr(LeaseShard, "replay", lambda *_, **__: 1 / 0)
        assert await take(coordinator, "ann") == ("", ErrorCode.UNKNOWN_SERVER_ERROR)
        assert stage_of(coordinator) is ShardStage.FAILED
        assert coordinator.shards() is ErrorCode.UNKNOWN_SERVER_ERROR
    await until(lambda: stage_of(coordinator) is ShardStage.ACTIVE)
    assert await take(coordinator, "bob") == ("ann", ErrorCode.NONE)
    coordinator.close()


async def test_a_failed_shard_that_is_closed_is_not_loaded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_runtime, "RELOAD_DELAY_SECONDS", 0.02)
    coordinator = await loaded(MemoryCoordinatorLog())
    runtime = coordinator.runtime_of(NAME)
    assert runtime is not None
    with monkeypatch.context() as patch:
        patch.setattr(LeaseShard, "replay", lambda *_, **__: 1 / 0)
        await take(coordinator, "ann")
    coordinator.stop_leading(0)
    await asyncio.sleep(0.05)
    assert runtime.stage is ShardStage.CLOSED


# Waiting for the commit.


async def test_answers_wait_until_the_records_are_committed() -> None:
    log = MemoryCoordinatorLog()
    coordinator = await loaded(log)
    log.holds_back = True
    asked = [coordinator.take(NAME, holder) for holder in ("ann", "bob")]
    assert all(isinstance(each, Later) for each in asked)
    await asyncio.sleep(0.01)
    log.commit()
    for each in asked:
        assert isinstance(each, Later)
        assert read(await asyncio.wait_for(each, HANG_SECONDS)) == ("ann", ErrorCode.NONE)
    coordinator.close()


@pytest.mark.parametrize("ends", ["its time", "the leadership", "the log", "the broker"])
async def test_waiting_for_the_commit_has_an_end(ends: str) -> None:
    log = MemoryCoordinatorLog()
    coordinator = await loaded(log, commit_timeout_ms=20 if ends == "its time" else 60_000)
    log.holds_back = True
    waiting = asyncio.ensure_future(take(coordinator, "ann"))
    await asyncio.sleep(0)
    if ends == "the leadership":
        coordinator.stop_leading(0)
    elif ends == "the log":
        log.stop_leading()
    elif ends == "the broker":
        coordinator.close()
    expected = ErrorCode.COORDINATOR_NOT_AVAILABLE if ends == "its time" else ErrorCode.NOT_COORDINATOR
    assert await waiting == ("", expected)
    coordinator.close()


async def test_a_client_that_gives_up_leaves_nothing_behind() -> None:
    log = MemoryCoordinatorLog()
    coordinator = await loaded(log)
    log.holds_back = True
    asked = coordinator.take(NAME, "ann")
    assert isinstance(asked, Later)
    asked.future.cancel()
    await asyncio.sleep(0)
    log.commit()
    log.holds_back = False
    assert await take(coordinator, "bob") == ("ann", ErrorCode.NONE)
    coordinator.close()
