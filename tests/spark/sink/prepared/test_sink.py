"""atomicity=prepared without Spark between tasks and driver: each of them dies, is stopped and goes on at each step."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from confluent_kafka import Consumer, TopicPartition
from support.filled_topics import FilledTopics
from support.prepared_query import PreparedQuery
from support.sink_crash_points import PREPARED_DRIVER_CRASH_POINTS, PREPARED_TASK_CRASH_POINTS

import tidelog
from tidelog.client.admin import Admin
from tidelog.spark.sink import modes
from tidelog.spark.sink.batch import BatchMode
from tidelog.spark.sink.checkpoint import planned_batch
from tidelog.spark.sink.columns import SinkColumns
from tidelog.spark.sink.delivery import plan_micro_batch
from tidelog.spark.sink.errors import CannotTellIfPublished, InvalidSinkOptions, PublishFailed, PublishFenced, SinkError
from tidelog.spark.sink.event_loop import run
from tidelog.spark.sink.modes import SinkMode
from tidelog.spark.sink.plan import SinkPlan
from tidelog.spark.sink.prepared import decision, recovery, sink
from tidelog.spark.sink.prepared.sink import TaskPrepared, plan_prepared
from tidelog.spark.sink.staging import plan_folder
from tidelog.spark.sink.task import TaskMode
from tidelog.spark.sink.topics import partition_counts
from tidelog.testing.broker_thread import BrokerThread

T = TypeVar("T")
Visible = Callable[[], list[str]]
DECIDED_FROM = PREPARED_DRIVER_CRASH_POINTS.index("after-decision")


class Died(BaseException):
    """As a process that is killed: nothing is cleaned up."""


@pytest.fixture
def topic(two_phase_broker: BrokerThread) -> str:
    return FilledTopics(two_phase_broker.bootstrap_servers).create("prepared", partitions=1)


Queries = Callable[..., PreparedQuery]


@pytest.fixture
def query(two_phase_broker: BrokerThread, topic: str, tmp_path: Path) -> Queries:
    def start(**given: str) -> PreparedQuery:
        return PreparedQuery(two_phase_broker.bootstrap_servers, topic, tmp_path / "checkpoint", **given)

    return start


@pytest.fixture
def visible(two_phase_broker: BrokerThread, topic: str) -> Iterator[Visible]:
    """What readers of committed records see now."""
    settings = {"bootstrap.servers": two_phase_broker.bootstrap_servers, "group.id": "reader"}
    consumer = Consumer({**settings, "enable.partition.eof": True, "isolation.level": "read_committed", "log_level": 0})

    def read() -> list[str]:
        consumer.assign([TopicPartition(topic, 0, 0)])
        values: list[str] = []
        while True:
            message = consumer.poll(30)
            assert message is not None, "the end of the partition was not reached"
            if message.error() is not None:
                return sorted(values)
            values.append((message.value() or b"").decode())

    yield read
    consumer.close()


def rows(batch: int, count: int = 20) -> list[str]:
    return [f"{batch}-{number:04d}" for number in range(count)]


def die_at(monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    def crash_point(name: str, batch: int) -> None:
        if name == point:
            raise Died

    for module in (modes, sink):
        monkeypatch.setattr(module, "crash_point", crash_point)


def in_a_thread(do: Callable[[], T]) -> T:
    """What another process does meanwhile: crash points are passed on an event loop."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(do).result()


# What happens when nothing happens


def test_rows_become_visible_with_the_decision_and_not_before(query: Queries, visible: Visible) -> None:
    current = query()
    messages = current.tasks(0, rows(0)[:7], [], rows(0)[7:])
    assert len(current.open_transactions()) == 2
    assert visible() == []
    current.commit(0, messages)
    assert visible() == rows(0)
    for batch in (1, 2):
        current.run(batch, rows(batch))
    assert visible() == rows(0) + rows(1) + rows(2)
    assert current.open_transactions() == []


def test_transactional_ids_are_used_again(query: Queries) -> None:
    current = query()
    for batch in range(4):
        current.run(batch, rows(batch), rows(batch))

    async def ask() -> set[str]:
        async with Admin(config=current.options.connection()) as admin:
            found = await admin.list_transactions(pattern=decision.slots_pattern(current.name))
        return {one.transactional_id for one in found}

    assert len(asyncio.run(ask())) == 2


def test_a_micro_batch_without_rows_is_decided_too(query: Queries, visible: Visible) -> None:
    query().run(0, [])
    query().run(1, rows(1))
    assert visible() == rows(1)


def test_a_decision_of_many_tasks_has_several_parts(
    query: Queries, visible: Visible, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decision, "_LIST_BYTES", 20)
    die_at(monkeypatch, "after-half-of-the-tasks")
    everything = rows(0, 8)
    with pytest.raises(Died):
        query().run(0, *([row] for row in everything))
    assert len(visible()) == 4
    monkeypatch.undo()
    query().plan(0)
    assert visible() == everything


# Deaths


@pytest.mark.parametrize("point", PREPARED_DRIVER_CRASH_POINTS)
def test_wherever_the_driver_dies_each_row_is_visible_once(
    query: Queries, visible: Visible, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    query().run(0, rows(0))
    die_at(monkeypatch, point)
    with pytest.raises(Died):
        query().run(1, rows(1)[:5], rows(1)[5:])
    monkeypatch.undo()
    is_decided = PREPARED_DRIVER_CRASH_POINTS.index(point) >= DECIDED_FROM
    successor = query()
    # Divided into other tasks than before.
    plan = successor.plan(1)
    assert successor.open_transactions() == []
    assert visible() == (rows(0) + rows(1) if is_decided else rows(0))
    messages = [successor.task(plan, 1, number, [row]) for number, row in enumerate(rows(1))]
    assert all(isinstance(one, TaskPrepared) and one.verified_only == is_decided for one in messages)
    successor.commit(1, messages)
    successor.run(2, rows(2))
    assert visible() == rows(0) + rows(1) + rows(2)


@pytest.mark.parametrize("point", PREPARED_TASK_CRASH_POINTS)
def test_wherever_a_task_dies_its_next_attempt_counts(
    query: Queries, visible: Visible, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    current = query()
    plan = current.plan(0)
    monkeypatch.setattr(sink._TaskTransaction, "__exit__", lambda *_: None)
    die_at(monkeypatch, point)
    with pytest.raises(Died):
        current.task(plan, 0, 0, rows(0, 200))
    monkeypatch.undo()
    message = current.task(plan, 0, 0, rows(0, 200), attempt=1)
    current.commit(0, [message])
    assert visible() == rows(0, 200)
    assert current.open_transactions() == []


def test_both_attempts_of_a_task_may_end_and_one_counts(query: Queries, visible: Visible) -> None:
    current = query()
    plan = current.plan(0)
    first, second = (current.task(plan, 0, 0, rows(0), attempt=attempt) for attempt in (0, 1))
    assert isinstance(first, TaskPrepared)
    assert isinstance(second, TaskPrepared)
    assert first.begun is not None
    assert second.begun is not None
    assert first.begun.slot != second.begun.slot
    current.commit(0, [second])
    assert visible() == rows(0)
    assert current.open_transactions() == []


def test_a_micro_batch_that_is_given_up_holds_back_nobody(query: Queries, visible: Visible) -> None:
    current = query()
    messages = current.tasks(0, rows(0))
    current.mode.abort(current.options, [*messages, None], None)  # type: ignore[list-item]
    assert current.open_transactions() == []
    assert visible() == []
    query().run(0, rows(0))
    assert visible() == rows(0)


def test_a_commit_that_fails_after_its_decision_is_not_given_up(
    query: Queries, visible: Visible, monkeypatch: pytest.MonkeyPatch
) -> None:
    current = query()
    messages = current.tasks(0, rows(0))

    async def fail(*_: object) -> None:
        raise PublishFailed("the network is gone")

    monkeypatch.setattr(sink, "commit_all", fail)
    with pytest.raises(PublishFailed):
        current.commit(0, messages)
    # Spark calls this after a commit that failed.
    current.mode.abort(current.options, messages, None)  # type: ignore[arg-type]
    monkeypatch.undo()
    query().plan(0)
    assert visible() == rows(0)


# Zombies


def test_a_driver_that_was_overtaken_cannot_decide(query: Queries, visible: Visible) -> None:
    zombie = query()
    late = zombie.tasks(0, rows(0))
    successor = query()
    messages = successor.tasks(0, rows(0))
    with pytest.raises(PublishFenced, match="another driver runs the same query"):
        zombie.commit(0, late)
    # What Spark does next must not disturb the other one either.
    zombie.mode.abort(zombie.options, late, None)  # type: ignore[arg-type]
    successor.commit(0, messages)
    assert visible() == rows(0)
    assert successor.open_transactions() == []


def test_a_driver_that_stops_after_its_decision_and_goes_on_does_no_harm(
    query: Queries, visible: Visible, monkeypatch: pytest.MonkeyPatch
) -> None:
    zombie, successor = query(), query()

    def overtake(name: str, batch: int) -> None:
        # The successor completes micro-batch 0 and has the next one prepared under the same ids.
        if name == "after-decision" and batch == 0:
            waiting.append(in_a_thread(lambda: successor.tasks(1, rows(1)[:5], rows(1)[5:])))

    waiting: list[list[object]] = []
    monkeypatch.setattr(sink, "crash_point", overtake)
    zombie.run(0, rows(0)[:5], rows(0)[5:])
    assert visible() == rows(0)
    successor.commit(1, waiting[0])
    assert visible() == rows(0) + rows(1)


def test_a_successor_that_stops_while_it_settles_does_no_harm(
    query: Queries, visible: Visible, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has seen transactions that nobody had decided, stops, and goes on when others use the same ids."""
    query().tasks(0, rows(0))
    third = query()
    messages: list[object] = []
    original = recovery.abort_all

    async def stopped(*arguments: object) -> None:
        monkeypatch.setattr(recovery, "abort_all", original)
        messages.extend(await asyncio.to_thread(third.tasks, 0, rows(0)))
        await original(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(recovery, "abort_all", stopped)
    query().plan(0)
    assert messages
    third.commit(0, messages)
    assert visible() == rows(0)


def test_a_task_of_a_dead_driver_cannot_end_what_it_finds_under_its_ids(
    query: Queries, visible: Visible, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = query()
    plan = dead.plan(0)
    successor = query()
    messages = successor.tasks(0, rows(0))

    # It wakes up after the decision, and before the transactions are completed.
    def wake_up(name: str, batch: int) -> None:
        if name == "after-decision":
            in_a_thread(lambda: dead.task(plan, 0, 0, rows(0)))

    monkeypatch.setattr(sink, "crash_point", wake_up)
    successor.commit(0, messages)
    monkeypatch.undo()
    assert visible()[:20] == rows(0)
    # What it has prepared is aborted when the next micro-batch is planned.
    query().run(1, rows(1))
    assert visible() == rows(0) + rows(1)
    assert successor.open_transactions() == []


def test_what_is_never_started_again_can_be_aborted_by_hand(query: Queries, topic: str, visible: Visible) -> None:
    (left,) = query().tasks(0, rows(0))
    assert isinstance(left, TaskPrepared)
    assert left.begun is not None
    begun = left.begun
    other = query()
    other.options = replace(other.options, transactional_id_prefix="another")
    other.run(0, rows(5))
    # Readers wait behind it.
    assert visible() == []

    async def abort() -> None:
        async with Admin(config=other.options.connection()) as admin:
            at = tidelog.TopicPartition(topic, 0)
            epochs = {"producer_epoch": begun.epoch, "coordinator_epoch": 0}
            await admin.abort_transaction(at, producer_id=begun.producer_id, **epochs)

    asyncio.run(abort())
    assert visible() == rows(5)
    # And if it is started all the same, it begins with the micro-batch that was lost.
    query().run(0, rows(0))
    assert visible() == rows(0) + rows(5)


# Refusals


def test_brokers_that_do_not_allow_prepared_transactions_are_named(broker: BrokerThread, tmp_path: Path) -> None:
    topic = FilledTopics(broker.bootstrap_servers).create("refused")
    with pytest.raises(InvalidSinkOptions, match="needs brokers with prepared transactions") as refused:
        PreparedQuery(broker.bootstrap_servers, topic, tmp_path / "checkpoint").plan(0)
    assert "transaction.two.phase.commit.enable" in str(refused.value)
    assert "Use atomicity=batch" in str(refused.value)


def test_without_a_checkpoint_that_can_be_read_nothing_begins(query: Queries, tmp_path: Path) -> None:
    current = query()
    (tmp_path / "checkpoint" / "metadata").unlink()
    with pytest.raises(InvalidSinkOptions, match="needs the option checkpointLocation"):
        plan_micro_batch(current.options, SinkColumns(value=0))


def test_a_checkpoint_that_is_older_than_the_decision_is_refused(query: Queries) -> None:
    query().run(0, rows(0))
    query().run(1, rows(1))
    with pytest.raises(CannotTellIfPublished, match="older than what was written"):
        query().run(0, rows(0))


def test_open_transactions_without_a_note_are_left_alone(query: Queries, visible: Visible) -> None:
    current = query()
    current.tasks(0, rows(0))
    with pytest.raises(CannotTellIfPublished, match=r"1 transactions of tasks .* are open, but there is no note"):
        run(plan_prepared(current.options, current.query_id, batch=3))
    assert len(current.open_transactions()) == 1
    chosen = query(missingMarker="publish")
    run(plan_prepared(chosen.options, chosen.query_id, batch=3))
    assert chosen.open_transactions() == []


@pytest.mark.parametrize("mode", [BatchMode(), TaskMode()])
def test_another_atomicity_does_not_skip_what_may_not_be_complete(
    query: Queries, visible: Visible, monkeypatch: pytest.MonkeyPatch, mode: SinkMode
) -> None:
    die_at(monkeypatch, "after-half-of-the-tasks")
    with pytest.raises(Died):
        query().run(0, rows(0)[:5], rows(0)[5:])
    monkeypatch.undo()
    other = query(atomicity="batch" if isinstance(mode, BatchMode) else "task")
    other.mode = mode
    plan = SinkPlan(
        options=other.options,
        columns=SinkColumns(value=0),
        partition_counts=run(partition_counts(other.options)),
        folder=plan_folder(other.options) if isinstance(mode, BatchMode) else None,
        planned=planned_batch(other.options.checkpoint_location),
    )
    with pytest.raises(SinkError, match="Start the query once with atomicity=prepared"):
        other.commit(0, [other.task(plan, 0, 0, rows(0))])
    # And it does.
    query().plan(0)
    assert visible() == rows(0)
