"""The runtime of the group coordinator on a log in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from support.default_settings import group_settings
from support.memory_coordinator_log import MemoryCoordinatorLog
from support.processes import HANG_SECONDS

from tidelog.coordinators.consumer_groups.topics import TopicTable
from tidelog.coordinators.groups import presence
from tidelog.coordinators.groups.shard import GroupShard
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.network.system import SystemClock, SystemRandomness
from tidelog.protocol.messages.delete_groups_request import DeleteGroupsRequest
from tidelog.protocol.messages.heartbeat_request import HeartbeatRequest
from tidelog.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from tidelog.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.protocol.messages.offset_fetch_request import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from tidelog.protocol.messages.sync_group_request import SyncGroupRequest
from tidelog.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tidelog.protocol.schema import Message
from tidelog.records.batch import parse_header
from tidelog.server.coordination import shard_runtime
from tidelog.server.coordination.groups import GroupCoordinator
from tidelog.server.coordination.shard_runtime import ShardLimits

GROUP = "orders"
SETTINGS = group_settings(group_initial_rebalance_delay_ms=0, group_min_session_timeout_ms=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    version: int = 9
    client_id: str | None = "client"
    client_host: str = "/127.0.0.1"


def coordinator_on(log: MemoryCoordinatorLog, *, commit_timeout_ms: int = 5000, load_bytes: int = 1 << 20) -> Any:
    return GroupCoordinator(
        log,
        settings=lambda: SETTINGS,
        topics=TopicTable,
        limits=ShardLimits(commit_timeout_ms=commit_timeout_ms, load_buffer_bytes=load_bytes),
        partition_count=lambda: 1,
        clock=SystemClock(),
        randomness=SystemRandomness(),
    )


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        while not condition():
            await asyncio.sleep(0.005)


async def loaded(log: MemoryCoordinatorLog, **options: int) -> GroupCoordinator:
    coordinator: GroupCoordinator = coordinator_on(log, **options)
    coordinator.lead(0, 0)
    await until(lambda: not coordinator.describe_group(GROUP, 5).error_code)
    return coordinator


async def ask(coordinator: GroupCoordinator, message: Any, version: int = 9) -> Any:
    outcome: Message | Awaitable[Message] = coordinator.ask(GROUP, message, Client(version=version))
    return outcome if isinstance(outcome, Message) else await asyncio.wait_for(outcome, HANG_SECONDS)


async def ask_as(coordinator: GroupCoordinator, group: str, message: Any, version: int = 9) -> Any:
    """The same request for another group."""
    outcome = coordinator.ask(group, replace_fields(message, group_id=group), Client(version=version))
    return outcome if isinstance(outcome, Message) else await asyncio.wait_for(outcome, HANG_SECONDS)


def replace_fields(message: Any, **changes: Any) -> Any:
    return type(message)(**{name: getattr(message, name) for name in message.__slots__} | changes)


def commit_of(offset: int, partitions: int = 1, metadata: str = "") -> OffsetCommitRequest:
    return OffsetCommitRequest(
        group_id=GROUP,
        topics=[
            OffsetCommitRequestTopic(
                name="orders",
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=number, committed_offset=offset, committed_metadata=metadata
                    )
                    for number in range(partitions)
                ],
            )
        ],
    )


def join(member_id: str = "", session_ms: int = 60_000) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=GROUP,
        member_id=member_id,
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range")],
    )


async def fetched(coordinator: GroupCoordinator, require_stable: bool = False) -> tuple[int, int]:
    wanted = [OffsetFetchRequestTopics(name="orders", partition_indexes=[0])]
    request = OffsetFetchRequestGroup(group_id=GROUP, topics=wanted)
    reply = await coordinator.fetch_offsets(request, require_stable=require_stable)
    if reply.error_code:
        return -1, reply.error_code
    return reply.topics[0].partitions[0].committed_offset, reply.topics[0].partitions[0].error_code


def code_of(reply: Any) -> int:
    return int(reply.topics[0].partitions[0].error_code)


async def test_who_does_not_lead_the_partition_is_not_the_coordinator() -> None:
    coordinator = coordinator_on(MemoryCoordinatorLog())
    assert (await ask(coordinator, join())).error_code == ErrorCode.NOT_COORDINATOR
    assert await fetched(coordinator) == (-1, ErrorCode.NOT_COORDINATOR)
    assert coordinator.describe_group(GROUP, 6).error_code == ErrorCode.NOT_COORDINATOR
    assert coordinator.list_groups([], []).groups == []


async def test_while_loading_everybody_is_asked_for_patience_but_heartbeats_are_taken() -> None:
    coordinator = coordinator_on(MemoryCoordinatorLog())
    coordinator.lead(0, 0)
    loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert (await ask(coordinator, join())).error_code == loading
    assert await fetched(coordinator) == (-1, loading)
    assert coordinator.list_groups([], []).error_code == loading
    assert (await ask(coordinator, HeartbeatRequest(group_id=GROUP))).error_code == 0


async def test_the_next_coordinator_knows_what_the_last_one_wrote() -> None:
    log = MemoryCoordinatorLog()
    first = await loaded(log)
    assert code_of(await ask(first, commit_of(42))) == 0
    first.stop_leading(0)
    second = await loaded(log)
    assert await fetched(second) == (42, 0)


async def test_a_long_log_is_loaded_piece_by_piece_while_others_work() -> None:
    log = MemoryCoordinatorLog()
    first = await loaded(log)
    for offset in range(50):
        await ask(first, commit_of(offset, partitions=100))
    turns = 0
    coordinator = coordinator_on(log, load_bytes=4096)
    coordinator.lead(0, 0)
    while coordinator.describe_group(GROUP, 5).error_code:
        turns += 1
        await asyncio.sleep(0)
    assert turns > 20
    assert log.reads > 20
    assert await fetched(coordinator) == (49, 0)


async def test_answers_wait_until_the_records_are_committed() -> None:
    log = MemoryCoordinatorLog()
    coordinator = await loaded(log)
    log.holds_back = True
    committing = asyncio.ensure_future(ask(coordinator, commit_of(42)))
    fetching = asyncio.ensure_future(fetched(coordinator))
    await asyncio.sleep(0.05)
    assert not committing.done()
    log.commit()
    assert code_of(await committing) == 0
    await fetching
    assert await fetched(coordinator) == (42, 0)


async def test_an_offset_that_is_not_committed_in_the_log_is_not_told() -> None:
    log = MemoryCoordinatorLog()
    coordinator = await loaded(log)
    log.holds_back = True
    committing = asyncio.ensure_future(ask(coordinator, commit_of(42)))
    await asyncio.sleep(0)
    fetching = asyncio.ensure_future(fetched(coordinator))
    await asyncio.sleep(0.05)
    assert not fetching.done()
    log.stop_leading()
    assert await fetching == (-1, ErrorCode.NOT_COORDINATOR)
    assert code_of(await committing) == ErrorCode.NOT_COORDINATOR


async def test_a_commit_that_takes_too_long_is_an_error() -> None:
    log = MemoryCoordinatorLog()
    coordinator = await loaded(log, commit_timeout_ms=30)
    log.holds_back = True
    assert code_of(await ask(coordinator, commit_of(42))) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert await fetched(coordinator) == (-1, ErrorCode.NOT_COORDINATOR)


@pytest.mark.parametrize(
    ("refusal", "expected"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.INVALID_COMMIT_OFFSET_SIZE),
    ],
)
async def test_what_the_log_refuses_is_an_error_and_changes_nothing(refusal: ErrorCode, expected: ErrorCode) -> None:
    log = MemoryCoordinatorLog()
    coordinator = await loaded(log)
    await ask(coordinator, commit_of(1))
    log.refusal = ApiError(refusal)
    assert code_of(await ask(coordinator, commit_of(2))) == expected
    log.refusal = None
    assert await fetched(coordinator) == (1, 0)


async def test_a_group_comes_together_in_time() -> None:
    coordinator = await loaded(MemoryCoordinatorLog())
    required = await ask(coordinator, join())
    assert required.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert required.member_id.startswith("client-")
    joined = await ask(coordinator, join(required.member_id))
    assert joined.generation_id == 1
    synced = await ask(coordinator, SyncGroupRequest(group_id=GROUP, generation_id=1, member_id=joined.member_id))
    assert synced.error_code == 0
    assert coordinator.describe_group(GROUP, 6).group_state == "Stable"
    assert coordinator.group_count() == 1


async def test_member_ids_are_never_the_same() -> None:
    coordinator = await loaded(MemoryCoordinatorLog())
    ids = {(await ask(coordinator, join())).member_id for _ in range(20)}
    assert len(ids) == 20


async def test_silent_members_are_dropped_when_their_time_is_over() -> None:
    coordinator = await loaded(MemoryCoordinatorLog())
    joined = await ask(coordinator, join(session_ms=50), version=3)
    await ask(coordinator, SyncGroupRequest(group_id=GROUP, generation_id=1, member_id=joined.member_id))
    assert coordinator.describe_group(GROUP, 6).group_state == "Stable"
    await until(lambda: coordinator.describe_group(GROUP, 6).group_state == "Empty")


async def test_whoever_waits_is_told_when_leadership_is_lost() -> None:
    coordinator = await loaded(MemoryCoordinatorLog())
    joined = await ask(coordinator, join(), version=3)
    await ask(coordinator, SyncGroupRequest(group_id=GROUP, generation_id=1, member_id=joined.member_id))
    waiting = asyncio.ensure_future(ask(coordinator, join(), version=3))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    coordinator.stop_leading(0)
    assert (await waiting).error_code == ErrorCode.NOT_COORDINATOR
    assert (await ask(coordinator, join())).error_code == ErrorCode.NOT_COORDINATOR


async def test_a_client_that_goes_away_leaves_nothing_behind_but_its_member() -> None:
    coordinator = await loaded(MemoryCoordinatorLog())
    joined = await ask(coordinator, join(), version=3)
    await ask(coordinator, SyncGroupRequest(group_id=GROUP, generation_id=1, member_id=joined.member_id))
    gone = asyncio.ensure_future(ask(coordinator, join(), version=3))
    await asyncio.sleep(0)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    # The rebalance that it caused goes on without it being there to hear of it.
    rejoined = await ask(coordinator, join(joined.member_id))
    assert rejoined.generation_id == 2
    assert len(rejoined.members) == 2


async def test_an_exception_costs_its_request_and_nobody_elses() -> None:
    """Also not those who wait: whoever joins is answered when the group is complete."""
    log = MemoryCoordinatorLog()
    coordinator = await loaded(log)
    await ask(coordinator, commit_of(1))
    joined = await ask(coordinator, join(), version=3)
    waiting = asyncio.ensure_future(ask(coordinator, join(), version=3))
    await asyncio.sleep(0)
    log.bug = RuntimeError("this cannot happen")
    assert code_of(await ask(coordinator, commit_of(2), version=2)) == ErrorCode.UNKNOWN_MEMBER_ID
    other = commit_of(2)
    assert code_of(await ask_as(coordinator, "other", other)) == ErrorCode.UNKNOWN_SERVER_ERROR
    log.bug = None
    assert coordinator.list_groups([], []).error_code == 0
    assert await fetched(coordinator) == (1, 0)
    assert (await ask(coordinator, join(joined.member_id))).error_code == 0
    assert (await waiting).error_code == 0


async def test_the_longest_retention_disturbs_no_group() -> None:
    log = MemoryCoordinatorLog()
    coordinator = await loaded(log)
    longest = replace_fields(commit_of(7), retention_time_ms=(1 << 63) - 1)
    assert code_of(await ask(coordinator, longest, version=2)) == 0
    assert await fetched(coordinator) == (7, 0)
    assert coordinator.list_groups([], []).error_code == 0


async def test_a_timer_whose_decision_fails_is_tried_again_and_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = MemoryCoordinatorLog()
    coordinator = await loaded(log)
    original = presence.on_session_timer
    failures = 0

    def failing(state: Any, group: Any, *rest: Any) -> None:
        nonlocal failures
        if group.group_id == "cursed" and failures < 2:
            failures += 1
            raise RuntimeError("this cannot happen")
        original(state, group, *rest)

    monkeypatch.setattr(presence, "on_session_timer", failing)
    assert (await ask_as(coordinator, "cursed", join(session_ms=50), version=3)).error_code == 0
    assert (await ask(coordinator, join(session_ms=50), version=3)).error_code == 0
    await until(lambda: coordinator.describe_group(GROUP, 5).group_state == "Empty")
    assert failures >= 1
    await until(lambda: coordinator.describe_group("cursed", 5).group_state == "Empty")
    assert failures == 2


async def test_a_shard_whose_log_holds_what_it_does_not_know_is_loaded_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    log = MemoryCoordinatorLog()
    coordinator = await loaded(log)
    await ask(coordinator, commit_of(1))
    with monkeypatch.context() as patch:
        patch.setattr(GroupShard, "replay", lambda *_, **__: 1 / 0)
        assert code_of(await ask(coordinator, commit_of(2))) == ErrorCode.UNKNOWN_SERVER_ERROR
        assert coordinator.list_groups([], []).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    await until(lambda: not coordinator.describe_group(GROUP, 5).error_code)
    assert await fetched(coordinator) == (2, 0)


async def test_a_log_that_cannot_be_read_makes_the_shard_unavailable() -> None:
    log = MemoryCoordinatorLog()
    first = await loaded(log)
    await ask(first, commit_of(1))
    log.batches[0][-1] ^= 0xFF
    coordinator = coordinator_on(log)
    coordinator.lead(0, 0)
    await until(lambda: coordinator.describe_group(GROUP, 5).error_code == ErrorCode.NOT_COORDINATOR)


async def test_records_that_need_not_be_together_are_written_in_several_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # With the real bound it takes twenty thousand records, and seconds.
    batch_bytes = 8 * 1024
    monkeypatch.setattr(shard_runtime, "MAX_BATCH_BYTES", batch_bytes)
    log = MemoryCoordinatorLog()
    coordinator = await loaded(log)
    for first in range(20):
        # Partitions 0 to 49 in each of twenty topics.
        message = commit_of(first, partitions=50)
        named = OffsetCommitRequestTopic(name=f"topic-{first}", partitions=message.topics[0].partitions)
        await ask(coordinator, OffsetCommitRequest(group_id=GROUP, topics=[named]))
    before = len(log.batches)
    reply = await ask(coordinator, DeleteGroupsRequest(groups_names=[GROUP]), version=2)
    assert reply.results[0].error_code == 0
    written = log.batches[before:]
    assert len(written) > 1
    assert max(map(len, written)) < 2 * batch_bytes
    assert coordinator.list_groups([], []).groups == []
    assert (await loaded(log)).list_groups([], []).groups == []


async def test_offsets_of_deleted_topics_go() -> None:
    coordinator = await loaded(MemoryCoordinatorLog())
    await ask(coordinator, commit_of(1))
    coordinator.partitions_deleted([TopicPartition("orders", 0)])
    assert await fetched(coordinator) == (-1, 0)


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("reload_before_marker", [True, False])
async def test_transactional_offsets_count_when_the_marker_says_so(commit: bool, reload_before_marker: bool) -> None:
    log = MemoryCoordinatorLog()
    coordinator = await loaded(log)
    await ask(coordinator, commit_of(1))
    partitions = [TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=2)]
    topics = [TxnOffsetCommitRequestTopic(name="orders", partitions=partitions)]
    message = TxnOffsetCommitRequest(transactional_id="t", group_id=GROUP, producer_id=7, topics=topics)
    assert code_of(await ask(coordinator, message, version=3)) == 0
    header = parse_header(log.batches[-1])
    assert (header.is_transactional, header.producer_id) == (True, 7)
    if reload_before_marker:
        coordinator = await loaded(log)
    assert await fetched(coordinator) == (1, 0)
    assert await fetched(coordinator, require_stable=True) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    log.append_marker(7, commit=commit)
    coordinator.transaction_ended(0, 7, commit=commit)
    expected = (2 if commit else 1, 0)
    assert await fetched(coordinator, require_stable=True) == expected
    assert await fetched(await loaded(log), require_stable=True) == expected
