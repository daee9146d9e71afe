"""The runtime of the transaction coordinator on a log in memory, with leaders that say what they are told to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from support.default_settings import transaction_settings
from support.memory_coordinator_log import MemoryCoordinatorLog
from support.processes import HANG_SECONDS

from tidelog.coordinators.transactions.listing import ListFilter
from tidelog.coordinators.transactions.markers import MarkerWork
from tidelog.coordinators.transactions.settings import TransactionSettings
from tidelog.coordinators.transactions.shard import TransactionShard
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.network.later import Later
from tidelog.network.system import SystemClock
from tidelog.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from tidelog.protocol.messages.end_txn_request import EndTxnRequest
from tidelog.protocol.messages.init_producer_id_request import InitProducerIdRequest
from tidelog.protocol.schema import Message
from tidelog.server.coordination.shard_runtime import ShardLimits
from tidelog.server.coordination.transactions import TransactionCoordinator

NAME = "payments"
ORDERS = TopicPartition("orders", 0)
REFUNDS = TopicPartition("refunds", 1)


@dataclass(slots=True)
class Leaders:
    """Writes markers: what each partition answers, in turn; NONE when nothing else was said."""

    says: dict[TopicPartition, list[ErrorCode]] = field(default_factory=dict)
    # While True, answers take until `release`.
    is_slow: bool = False
    # How many attempts raise something that nobody expects.
    breaks: int = 0
    written: list[tuple[MarkerWork, TopicPartition]] = field(default_factory=list)
    _released: asyncio.Event = field(default_factory=asyncio.Event)

    def write(self, work: MarkerWork, partitions: frozenset[TopicPartition]) -> Any:
        if self.is_slow:
            return Later.run(self._later(work, partitions))
        return self._write(work, partitions)

    async def _later(self, work: MarkerWork, partitions: frozenset[TopicPartition]) -> dict[TopicPartition, ErrorCode]:
        await self._released.wait()
        return self._write(work, partitions)

    def release(self) -> None:
        self._released.set()

    def _write(self, work: MarkerWork, partitions: frozenset[TopicPartition]) -> dict[TopicPartition, ErrorCode]:
        if self.breaks:
            self.breaks -= 1
            raise RuntimeError("a mistake in what writes markers")
        codes = {}
        for partition in sorted(partitions):
            answers = self.says.get(partition)
            codes[partition] = answers.pop(0) if answers else ErrorCode.NONE
            if codes[partition] is ErrorCode.NONE:
                self.written.append((work, partition))
        return codes


@dataclass(slots=True)
class ProducerIds:
    numbers: Any = field(default_factory=lambda: count(7))
    failure: ApiError | None = None

    async def next(self) -> int:
        await asyncio.sleep(0)
        if self.failure is not None:
            raise self.failure
        return int(next(self.numbers))


@dataclass(slots=True)
class Setting:
    log: MemoryCoordinatorLog = field(default_factory=MemoryCoordinatorLog)
    leaders: Leaders = field(default_factory=Leaders)
    producer_ids: ProducerIds = field(default_factory=ProducerIds)
    settings: TransactionSettings = field(default_factory=transaction_settings)
    commit_timeout_ms: int = 5000
    completion_wait_ms: int = 100

    def coordinator(self) -> TransactionCoordinator:
        return TransactionCoordinator(
            self.log,
            write_markers=self.leaders.write,
            next_producer_id=self.producer_ids.next,
            settings=lambda: self.settings,
            limits=ShardLimits(
                commit_timeout_ms=self.commit_timeout_ms,
                load_buffer_bytes=1 << 20,
            ),
            completion_wait_ms=self.completion_wait_ms,
            partition_count=lambda: 1,
            clock=SystemClock(),
        )

    async def loaded(self, *, epoch: int = 0) -> TransactionCoordinator:
        coordinator = self.coordinator()
        coordinator.lead(0, epoch)
        await until(lambda: coordinator.list_transactions(ListFilter()).error_code == 0)
        return coordinator


@pytest.fixture
def setting() -> Setting:
    return Setting()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        while not condition():
            await asyncio.sleep(0.005)


async def ask(coordinator: TransactionCoordinator, message: Message, version: int) -> Any:
    outcome: Message | Awaitable[Message] = coordinator.ask(NAME, message, version)
    return outcome if isinstance(outcome, Message) else await asyncio.wait_for(outcome, HANG_SECONDS)


def init(timeout_ms: int = 60_000) -> InitProducerIdRequest:
    return InitProducerIdRequest(transactional_id=NAME, transaction_timeout_ms=timeout_ms)


def add(*partitions: TopicPartition, epoch: int = 0) -> AddPartitionsToTxnRequest:
    topics = [AddPartitionsToTxnTopic(name=each.topic, partitions=[each.partition]) for each in partitions]
    transaction = AddPartitionsToTxnTransaction(
        transactional_id=NAME, producer_id=7, producer_epoch=epoch, topics=topics
    )
    return AddPartitionsToTxnRequest(transactions=[transaction])


def end(*, commit: bool = True, epoch: int = 0) -> EndTxnRequest:
    return EndTxnRequest(transactional_id=NAME, producer_id=7, producer_epoch=epoch, committed=commit)


def added_code(response: Any) -> ErrorCode:
    return ErrorCode(response.results_by_transaction[0].topic_results[0].results_by_partition[0].partition_error_code)


def state_of(coordinator: TransactionCoordinator) -> str:
    return coordinator.describe_transaction(NAME).transaction_state


async def begin(coordinator: TransactionCoordinator, *partitions: TopicPartition, timeout_ms: int = 60_000) -> None:
    response = await ask(coordinator, init(timeout_ms), 4)
    assert (response.error_code, response.producer_id, response.producer_epoch) == (0, 7, 0)
    assert added_code(await ask(coordinator, add(*(partitions or (ORDERS,))), 3)) is ErrorCode.NONE


# Answers and markers.


async def test_a_transaction_is_complete_before_its_producer_hears_of_it(setting: Setting) -> None:
    coordinator = await setting.loaded()
    await begin(coordinator, ORDERS, REFUNDS)
    outcome = coordinator.ask(NAME, end(), 4)

    assert isinstance(outcome, Message)
    assert state_of(coordinator) == "CompleteCommit"
    assert [partition for _, partition in setting.leaders.written] == [ORDERS, REFUNDS]


async def test_neither_answers_nor_markers_go_out_before_the_record_is_committed(setting: Setting) -> None:
    coordinator = await setting.loaded()
    await begin(coordinator)
    setting.log.holds_back = True
    outcome = asyncio.ensure_future(ask(coordinator, end(), 4))
    await asyncio.sleep(0.02)

    assert not outcome.done()
    assert setting.leaders.written == []
    assert state_of(coordinator) == "PrepareCommit"
    setting.log.holds_back = False
    setting.log.commit()
    assert (await outcome).error_code == ErrorCode.NONE
    await until(lambda: state_of(coordinator) == "CompleteCommit")


async def test_an_answer_without_records_waits_for_what_it_rests_on(setting: Setting) -> None:
    coordinator = await setting.loaded()
    await begin(coordinator)
    setting.log.holds_back = True
    first = asyncio.ensure_future(ask(coordinator, add(REFUNDS), 3))
    again = asyncio.ensure_future(ask(coordinator, add(REFUNDS), 3))
    await asyncio.sleep(0.02)

    assert not first.done()
    assert not again.done()
    setting.log.commit()
    assert added_code(await first) is added_code(await again) is ErrorCode.NONE


async def test_a_commit_that_takes_too_long_is_answered_and_still_carried_out(setting: Setting) -> None:
    setting.commit_timeout_ms = 30
    coordinator = await setting.loaded()
    await begin(coordinator)
    setting.log.holds_back = True

    assert (await ask(coordinator, end(), 4)).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert setting.leaders.written == []
    setting.log.holds_back = False
    setting.log.commit()
    await until(lambda: state_of(coordinator) == "CompleteCommit")


@pytest.mark.parametrize(
    ("refusal", "told"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
async def test_a_log_that_takes_no_records_changes_nothing(
    setting: Setting, refusal: ErrorCode, told: ErrorCode
) -> None:
    coordinator = await setting.loaded()
    await begin(coordinator)
    setting.log.refusal = ApiError(refusal)

    assert (await ask(coordinator, end(), 4)).error_code == told
    assert state_of(coordinator) == "Ongoing"
    setting.log.refusal = None
    assert (await ask(coordinator, end(), 4)).error_code == ErrorCode.NONE


async def test_markers_are_tried_again_until_they_are_written(setting: Setting) -> None:
    coordinator = await setting.loaded()
    await begin(coordinator, ORDERS, REFUNDS)
    setting.leaders.says[REFUNDS] = [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.REQUEST_TIMED_OUT]

    assert (await ask(coordinator, end(), 4)).error_code == ErrorCode.NONE
    assert state_of(coordinator) == "PrepareCommit"
    assert added_code(await ask(coordinator, add(ORDERS), 3)) is ErrorCode.CONCURRENT_TRANSACTIONS
    await until(lambda: state_of(coordinator) == "CompleteCommit")
    assert [partition for _, partition in setting.leaders.written] == [ORDERS, REFUNDS]


@pytest.mark.parametrize("is_slow", [False, True])
async def test_an_exception_while_markers_are_written_costs_one_attempt(setting: Setting, is_slow: bool) -> None:
    setting.leaders.breaks, setting.leaders.is_slow = 2, is_slow
    setting.leaders.release()
    coordinator = await setting.loaded()
    await begin(coordinator, ORDERS)

    assert (await ask(coordinator, end(), 4)).error_code == ErrorCode.NONE
    await until(lambda: state_of(coordinator) == "CompleteCommit")
    assert [partition for _, partition in setting.leaders.written] == [ORDERS]


async def test_the_next_transaction_waits_for_the_markers_of_the_last_one(setting: Setting) -> None:
    setting.completion_wait_ms = 60_000
    coordinator = await setting.loaded()
    await begin(coordinator)
    setting.leaders.is_slow = True
    assert (await ask(coordinator, end(), 4)).error_code == ErrorCode.NONE

    asked = [coordinator.ask_patiently(NAME, add(ORDERS), 3) for _ in range(3)]
    assert all(isinstance(each, Later) for each in asked)
    # One gives up before anything has happened; the others are none the worse for it.
    given_up = asked.pop()
    assert isinstance(given_up, Later)
    given_up.future.cancel()
    await asyncio.sleep(0)
    setting.leaders.is_slow = False
    setting.leaders.release()
    for each in asked:
        assert isinstance(each, Later)
        assert added_code(await asyncio.wait_for(each, HANG_SECONDS)) is ErrorCode.NONE
    assert state_of(coordinator) == "Ongoing"


@pytest.mark.parametrize("ends", ["its time", "the leadership"])
async def test_waiting_for_markers_has_an_end(setting: Setting, ends: str) -> None:
    setting.completion_wait_ms = 1 if ends == "its time" else 60_000
    coordinator = await setting.loaded()
    await begin(coordinator)
    setting.leaders.is_slow = True
    assert (await ask(coordinator, end(), 4)).error_code == ErrorCode.NONE
    asked = coordinator.ask_patiently(NAME, add(ORDERS), 3)
    assert isinstance(asked, Later)
    if ends == "the leadership":
        await asyncio.sleep(0)
        coordinator.stop_leading(0)
    expected = ErrorCode.CONCURRENT_TRANSACTIONS if ends == "its time" else ErrorCode.NOT_COORDINATOR
    assert added_code(await asyncio.wait_for(asked, HANG_SECONDS)) is expected


async def test_markers_that_take_a_while_do_not_hold_back_the_answer(setting: Setting) -> None:
    coordinator = await setting.loaded()
    await begin(coordinator)
    setting.leaders.is_slow = True

    assert (await ask(coordinator, end(commit=False), 4)).error_code == ErrorCode.NONE
    assert state_of(coordinator) == "PrepareAbort"
    setting.leaders.release()
    await until(lambda: state_of(coordinator) == "CompleteAbort")


async def test_a_deposed_coordinator_leaves_the_rest_to_its_successor(setting: Setting) -> None:
    coordinator = await setting.loaded()
    await begin(coordinator, ORDERS, REFUNDS)
    setting.leaders.says[REFUNDS] = [ErrorCode.TRANSACTION_COORDINATOR_FENCED]
    await ask(coordinator, end(), 4)
    await asyncio.sleep(0.1)

    assert state_of(coordinator) == "PrepareCommit"


async def test_a_completion_that_the_log_did_not_take_is_tried_again(setting: Setting) -> None:
    coordinator = await setting.loaded()
    await begin(coordinator)
    setting.leaders.is_slow = True
    await ask(coordinator, end(), 4)
    setting.log.refusal = ApiError(ErrorCode.NOT_ENOUGH_REPLICAS)
    setting.leaders.release()
    await until(lambda: len(setting.leaders.written) == 1)
    assert state_of(coordinator) == "PrepareCommit"
    setting.log.refusal = None

    await until(lambda: state_of(coordinator) == "CompleteCommit")


# Loading, leadership, faults.


async def test_scenario_17_a_decided_transaction_is_completed_after_a_restart(setting: Setting) -> None:
    first = await setting.loaded()
    await begin(first, ORDERS, REFUNDS)
    setting.leaders.says[REFUNDS] = [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 1000
    await ask(first, end(), 4)
    first.close()
    setting.leaders.says.clear()
    setting.leaders.written.clear()
    second = await setting.loaded(epoch=5)

    await until(lambda: state_of(second) == "CompleteCommit")
    assert {(work.commit, work.coordinator_epoch, at) for work, at in setting.leaders.written} == {
        (True, 5, ORDERS),
        (True, 5, REFUNDS),
    }


async def test_a_loading_shard_says_so(setting: Setting) -> None:
    coordinator = setting.coordinator()
    coordinator.lead(0, 0)

    assert (await ask(coordinator, init(), 4)).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert coordinator.list_transactions(ListFilter()).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    described = coordinator.describe_transaction(NAME)
    assert described.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


async def test_without_leadership_there_is_another_coordinator(setting: Setting) -> None:
    coordinator = await setting.loaded()
    await begin(coordinator)
    setting.log.holds_back = True
    waiting = asyncio.ensure_future(ask(coordinator, end(), 4))
    await asyncio.sleep(0.01)
    coordinator.stop_leading(0)

    assert (await waiting).error_code == ErrorCode.NOT_COORDINATOR
    assert (await ask(coordinator, init(), 4)).error_code == ErrorCode.NOT_COORDINATOR
    assert setting.leaders.written == []


async def test_a_new_leader_epoch_makes_a_new_shard(setting: Setting) -> None:
    coordinator = await setting.loaded()
    await begin(coordinator)
    coordinator.lead(0, 3)
    await until(lambda: state_of(coordinator) == "Ongoing")
    await ask(coordinator, end(), 4)

    ((work, _),) = setting.leaders.written
    assert work.coordinator_epoch == 3


async def test_an_exception_costs_its_request_and_changes_nothing(setting: Setting) -> None:
    coordinator = await setting.loaded()
    await begin(coordinator)
    setting.log.bug = RuntimeError("a fault that a test has put here")

    assert (await ask(coordinator, end(), 4)).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert state_of(coordinator) == "Ongoing"
    setting.log.bug = None
    assert (await ask(coordinator, end(), 4)).error_code == ErrorCode.NONE


async def test_a_shard_whose_log_holds_what_it_does_not_know_is_loaded_from_it(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    coordinator = await setting.loaded()
    await begin(coordinator)
    with monkeypatch.context() as patch:
        patch.setattr(TransactionShard, "replay", lambda *_, **__: 1 / 0)
        assert (await ask(coordinator, end(), 4)).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    await until(lambda: state_of(coordinator) == "CompleteCommit")


async def test_without_producer_ids_nobody_can_start_but_others_go_on(setting: Setting) -> None:
    coordinator = await setting.loaded()
    await begin(coordinator)
    setting.producer_ids.failure = ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    other = InitProducerIdRequest(transactional_id="other", transaction_timeout_ms=1000)

    assert (await ask(coordinator, other, 4)).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert (await ask(coordinator, end(), 4)).error_code == ErrorCode.NONE


# Time.


async def test_scenario_15_a_hung_transaction_is_aborted_by_the_clock(setting: Setting) -> None:
    coordinator = await setting.loaded()
    await begin(coordinator, timeout_ms=40)
    await until(lambda: state_of(coordinator) == "CompleteAbort")

    ((work, partition),) = setting.leaders.written
    assert (work.commit, work.producer, partition) == (False, (7, 1), ORDERS)
    assert (await ask(coordinator, end(), 4)).error_code == ErrorCode.PRODUCER_FENCED


async def test_a_transaction_that_ran_out_of_time_while_nobody_coordinated_is_aborted_at_once(
    setting: Setting,
) -> None:
    first = await setting.loaded()
    await begin(first, timeout_ms=40)
    first.close()
    await asyncio.sleep(0.06)
    second = await setting.loaded()

    await until(lambda: state_of(second) == "CompleteAbort")


async def test_unused_ids_expire(setting: Setting) -> None:
    setting.settings = transaction_settings(
        transactional_id_expiration_ms=1, transaction_remove_expired_transaction_cleanup_interval_ms=30
    )
    coordinator = await setting.loaded()
    await ask(coordinator, init(), 4)

    await until(lambda: coordinator.transactional_id_count() == 0)
    assert coordinator.describe_transaction(NAME).error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
