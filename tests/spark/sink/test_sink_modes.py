"""What tasks and the driver do, without Spark between them: commits that are repeated, doubled, late or in vain."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, TopicPartition
from support.checkpoint_files import CheckpointFiles
from support.filled_topics import FilledTopics

from tidelog.client.admin import Admin
from tidelog.client.errors import DeliveryFailed
from tidelog.client.offsets.committed import OffsetAndMetadata
from tidelog.client.producer.producer import Producer
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.spark.sink.batch import BatchMode
from tidelog.spark.sink.checkpoint import planned_batch
from tidelog.spark.sink.columns import SinkColumns
from tidelog.spark.sink.errors import (
    CannotTellIfPublished,
    MessageTooLarge,
    PlanChanged,
    PublishFailed,
    PublishFenced,
    SinkError,
    StagingFailed,
    TransactionTimedOut,
)
from tidelog.spark.sink.event_loop import run
from tidelog.spark.sink.modes import SinkMode
from tidelog.spark.sink.note_store import note_partition
from tidelog.spark.sink.options import sink_options
from tidelog.spark.sink.plan import SinkPlan, TaskOutput, TaskPlace, TaskTransaction
from tidelog.spark.sink.sending import AtLeastOnceMode
from tidelog.spark.sink.staging import plan_folder
from tidelog.spark.sink.task import TaskMode
from tidelog.spark.sink.topics import partition_counts
from tidelog.testing.broker_thread import BrokerThread

Rows = Sequence[str]


class Job:
    """A query as its tasks and its driver see it."""

    def __init__(self, broker: BrokerThread, topic: str, mode: SinkMode, checkpoint: Path, **given: str) -> None:
        self.options = sink_options(
            {
                "kafka.bootstrap.servers": broker.bootstrap_servers,
                "topic": topic,
                "checkpointLocation": str(checkpoint),
                "inlineBytes": "100",
                "kafka.batch.size": "500",
                **given,
            }
        )
        self.mode = mode
        self.query_id = topic
        self.checkpoint = CheckpointFiles(checkpoint)

    def tasks(self, batch: int, *divided: Rows, until: int | None = None) -> list[object]:
        """`until` is the offset up to which the micro-batch reads."""
        self.checkpoint.forget_from(batch)
        for number in range(batch + 1):
            self.checkpoint.begin(number, 100 * number if until is None or number < batch else until)
        plan = SinkPlan(
            options=self.options,
            columns=SinkColumns(value=0),
            partition_counts=run(partition_counts(self.options)),
            folder=plan_folder(self.options) if isinstance(self.mode, BatchMode) else None,
            planned=planned_batch(self.options.checkpoint_location),
        )
        return [
            self.mode.run_task(
                plan,
                TaskPlace(
                    query_id=self.query_id,
                    batch=batch,
                    task=number,
                    attempt=number,
                    run="run",
                    planned=plan.planned,
                ),
                iter([pa.record_batch({"value": list(rows)})]),
            )
            for number, rows in enumerate(divided)
        ]

    def commit(self, batch: int, messages: Sequence[object]) -> None:
        self.mode.commit(self.options, messages, batch)  # type: ignore[arg-type]

    def run(self, batch: int, *divided: Rows, until: int | None = None) -> None:
        self.commit_or_abort(batch, self.tasks(batch, *divided, until=until))

    def commit_or_abort(self, batch: int, messages: Sequence[object]) -> None:
        """As Spark does it."""
        try:
            self.commit(batch, messages)
        except SinkError:
            self.mode.abort(self.options, messages, None)  # type: ignore[arg-type]
            raise


@pytest.fixture
def topic(topics: FilledTopics) -> str:
    return topics.create("sink", partitions=1)


@pytest.fixture
def visible(broker: BrokerThread, topic: str) -> Iterator[Callable[[], list[str]]]:
    """Reads what readers of committed records see now."""
    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "reader", "enable.partition.eof": True}
    consumer = Consumer({**settings, "isolation.level": "read_committed", "log_level": 0})

    def read() -> list[str]:
        consumer.assign([TopicPartition(topic, 0, 0)])
        values: list[str] = []
        while True:
            message = consumer.poll(30)
            assert message is not None, "the end of the partition was not reached"
            if message.error() is not None:
                return values
            values.append((message.value() or b"").decode())

    yield read
    consumer.close()


Visible = Callable[[], list[str]]
Jobs = Callable[..., Job]


@pytest.fixture
def job(broker: BrokerThread, topic: str, tmp_path: Path) -> Jobs:
    def make(mode: SinkMode | None = None, **given: str) -> Job:
        return Job(broker, topic, mode or BatchMode(), tmp_path / "checkpoint", **given)

    return make


def rows(batch: int, count: int = 20) -> list[str]:
    return [f"{batch}-{number:04d}" for number in range(count)]


# -- one transaction for the micro-batch ---------------------------------------------------------------------------


def test_rows_of_all_tasks_become_visible_in_the_order_of_the_tasks(job: Jobs, visible: Visible) -> None:
    everything = rows(0, 100)

    job().run(0, everything[:30], everything[30:31], [], everything[31:])

    assert visible() == everything


def test_micro_batch_that_comes_again_is_not_published_again_however_it_is_divided(job: Jobs, visible: Visible) -> None:
    job().run(0, rows(0)[:10], rows(0)[10:])
    job().run(0, rows(0)[:5], rows(0)[5:6], rows(0)[6:])
    job().run(1, rows(1))

    assert visible() == rows(0) + rows(1)


def test_micro_batch_without_rows_leaves_a_note_too(job: Jobs, visible: Visible) -> None:
    job().run(0, [])
    job().run(1, rows(1))

    assert visible() == rows(1)


def test_nothing_is_visible_or_left_behind_if_the_tasks_of_a_micro_batch_are_given_up(
    job: Jobs, visible: Visible, tmp_path: Path
) -> None:
    current = job()
    messages = current.tasks(0, rows(0), rows(1))

    current.mode.abort(current.options, [*messages, None], None)  # type: ignore[list-item]

    assert visible() == []
    assert not list((tmp_path / "checkpoint" / "tidelog-staging").iterdir())


def test_commit_with_a_task_missing_is_refused(job: Jobs, visible: Visible) -> None:
    messages = job().tasks(0, rows(0))

    with pytest.raises(PublishFailed, match="1 of 2 tasks"):
        job().commit(0, [*messages, None])
    assert visible() == []


def test_commit_with_a_task_of_another_micro_batch_is_refused(job: Jobs, visible: Visible) -> None:
    messages = job().tasks(0, rows(0)) + job().tasks(1, rows(1))

    with pytest.raises(PublishFailed, match="other micro-batches"):
        job().commit(1, messages)
    assert visible() == []


def test_commit_fails_and_can_be_repeated_if_a_staged_file_is_gone(job: Jobs, visible: Visible) -> None:
    messages = job().tasks(0, rows(0, 50))
    output = messages[0]
    assert isinstance(output, TaskOutput)
    assert not isinstance(output.content, bytes)
    Path(output.content.path).unlink()

    with pytest.raises(StagingFailed):
        job().commit(0, messages)
    assert visible() == []
    job().run(0, rows(0, 50))
    assert visible() == rows(0, 50)


def test_two_drivers_that_commit_the_same_micro_batch_at_once_publish_it_once(job: Jobs, visible: Visible) -> None:
    drivers = [(one := job(), one.tasks(0, rows(0, 200))) for _ in range(3)]
    problems: list[SinkError] = []

    def commit(driver: Job, messages: Sequence[object]) -> None:
        try:
            driver.commit(0, messages)
        except SinkError as problem:
            problems.append(problem)

    threads = [threading.Thread(target=commit, args=driver) for driver in drivers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert visible() == rows(0, 200)
    # Those who were fenced say so; files that another one has removed are not there any more.
    assert all(isinstance(problem, (PublishFenced, StagingFailed, PublishFailed)) for problem in problems)
    assert len(problems) < len(drivers)


def test_lost_note_stops_the_query_unless_the_user_knows_better(job: Jobs, visible: Visible) -> None:
    job().run(0, rows(0))

    with pytest.raises(CannotTellIfPublished, match="missingMarker=publish"):
        job(transactionalIdPrefix="another").run(1, rows(1))
    assert visible() == rows(0)
    job(transactionalIdPrefix="another", missingMarker="publish").run(1, rows(1))
    assert visible() == rows(0) + rows(1)


def test_checkpoint_that_was_rolled_back_stops_the_query(job: Jobs, visible: Visible) -> None:
    for batch in range(3):
        job().run(batch, rows(batch))

    with pytest.raises(CannotTellIfPublished, match="says that 2 is already in the topics"):
        job().run(1, rows(1))
    assert visible() == rows(0) + rows(1) + rows(2)


def test_micro_batch_that_gives_other_rows_for_the_same_input_stops_unless_the_user_keeps_what_is_there(
    job: Jobs, visible: Visible
) -> None:
    job().run(0, rows(0))

    for changed in (rows(0, 25), rows(1), [*rows(0)[1:], rows(0)[1]]):
        with pytest.raises(CannotTellIfPublished, match="does not give the same rows for the same input"):
            job().run(0, changed)
    job(changedBatch="skip").run(0, rows(0, 25))
    job().run(1, rows(1))
    assert visible() == rows(0) + rows(1)


@pytest.mark.parametrize("mode", [BatchMode, TaskMode])
def test_micro_batch_of_the_same_number_and_rows_with_other_input_stops_whatever_the_user_says(
    job: Jobs, visible: Visible, mode: type[SinkMode]
) -> None:
    job(mode()).run(0, rows(0))
    job(mode()).run(1, rows(1), until=150)

    for allowed in ({}, {"changedBatch": "skip"}, {"missingMarker": "publish"}):
        with pytest.raises(SinkError, match="read up to 150, and now it goes up to 170: the checkpoint is older"):
            job(mode(), **allowed).run(1, rows(1), until=170)
    assert visible() == rows(0) + rows(1)


@pytest.mark.parametrize("mode", [BatchMode, TaskMode])
def test_micro_batch_that_does_not_begin_where_the_last_one_ended_stops(
    job: Jobs, visible: Visible, mode: type[SinkMode]
) -> None:
    job(mode()).run(0, rows(0))
    job(mode()).run(1, rows(1), until=150)

    with pytest.raises(CannotTellIfPublished, match="does not begin where the last one in the topics ended"):
        # Planned with 100 as the end of micro-batch 1.
        job(mode()).run(2, rows(2))
    job(mode(), missingMarker="publish").run(2, rows(2))
    job(mode()).run(3, rows(3))
    with pytest.raises(CannotTellIfPublished, match="the last one in the topics is 3"):
        job(mode()).run(5, rows(5))
    assert visible() == rows(0) + rows(1) + rows(2) + rows(3)


def test_checkpoint_that_cannot_be_read_is_no_reason_to_skip(job: Jobs, visible: Visible, tmp_path: Path) -> None:
    current = job()
    for batch in (0, 1):
        messages = current.tasks(batch, rows(batch))
        current.commit(batch, [_unplanned(message, run="first") for message in messages])
    again = [_unplanned(message, run="second") for message in current.tasks(1, rows(1))]

    with pytest.raises(CannotTellIfPublished, match="could not be read from the checkpoint"):
        current.commit(1, again)
    # The driver that tries once more knows that it is the same one.
    current.commit(1, [_unplanned(message, run="first") for message in current.tasks(1, rows(1))])
    job(changedBatch="skip").commit(1, [_unplanned(message, run="third") for message in current.tasks(1, rows(1))])
    assert visible() == rows(0) + rows(1)


def _unplanned(message: object, *, run: str) -> TaskOutput:
    assert isinstance(message, TaskOutput)
    place = replace(message.written.place, planned=None, run=run)
    return replace(message, written=replace(message.written, place=place))


def test_driver_that_was_overtaken_says_so_and_does_not_disturb_the_other_one(job: Jobs, visible: Visible) -> None:
    late = job()
    messages = late.tasks(1, rows(1))
    job().run(0, rows(0))
    job().run(1, rows(1))
    late.checkpoint.finish(1)

    with pytest.raises(PublishFenced, match="in the checkpoint it is committed: another driver runs the same query"):
        late.commit(1, messages)
    other = job()
    running = other.tasks(2, rows(2))
    with pytest.raises(PublishFenced, match="micro-batch 2 has begun: another driver runs the same query"):
        late.commit(1, messages)
    other.commit(2, running)
    assert visible() == rows(0) + rows(1) + rows(2)


def test_note_of_an_earlier_version_stops_its_own_micro_batch_and_lets_the_next_one_pass(
    job: Jobs, visible: Visible
) -> None:
    current = job()
    current.run(0, rows(0))
    earlier = OffsetAndMetadata(offset=0, metadata='{"tasks":1,"rows":20,"digest":"20:1234abcd"}')
    group = f"{current.options.transactional_id_prefix}-{current.query_id}"

    async def write_as_before() -> None:
        async with Admin(config=dict(current.options.connection())) as admin:
            await admin.alter_group_offsets(group, {note_partition(current.options): earlier})

    run(write_as_before())
    with pytest.raises(CannotTellIfPublished, match=r"written by an earlier version of tidelog.*changedBatch=skip"):
        job().run(0, rows(0))
    job(changedBatch="skip").run(0, rows(0))
    job().run(1, rows(1))
    assert visible() == rows(0) + rows(1)


def test_publish_that_takes_longer_than_the_transaction_may_is_explained(job: Jobs, visible: Visible) -> None:
    with pytest.raises(TransactionTimedOut, match=r"kafka\.transaction\.timeout\.ms=1,"):
        job(**{"kafka.transaction.timeout.ms": "1"}).run(0, rows(0, 500))

    job().run(0, rows(0, 500))
    assert visible() == rows(0, 500)


@pytest.mark.parametrize("code", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_TXN_STATE])
def test_records_that_come_after_the_end_of_the_transaction_are_explained(
    job: Jobs, monkeypatch: pytest.MonkeyPatch, code: ErrorCode
) -> None:
    """Which of them is refused first, records or the end of the transaction, is a matter of milliseconds."""

    pause_seconds = 0.0

    async def refused(_: Producer) -> None:
        await asyncio.sleep(pause_seconds)
        raise DeliveryFailed("33 record(s) were not stored", ApiError(code))

    monkeypatch.setattr(Producer, "flush", refused)
    with pytest.raises(PublishFailed, match="were not stored") as in_time:
        job().run(0, rows(0))
    assert not isinstance(in_time.value, TransactionTimedOut)
    pause_seconds = 1.1
    with pytest.raises(TransactionTimedOut, match=r"kafka\.transaction\.timeout\.ms=1000, after which brokers abort"):
        job(**{"kafka.transaction.timeout.ms": "1000"}).run(0, rows(0))


def test_transaction_timeout_that_brokers_do_not_allow_is_explained(job: Jobs) -> None:
    with pytest.raises(PublishFailed, match=r"transaction\.max\.timeout\.ms"):
        job(**{"kafka.transaction.timeout.ms": "2000000000"}).run(0, rows(0))


def test_batch_that_the_topic_does_not_take_is_explained(
    broker: BrokerThread, topics: FilledTopics, tmp_path: Path
) -> None:
    small = topics.create("small", config={"max.message.bytes": "300"})
    current = Job(broker, small, BatchMode(), tmp_path / "checkpoint")

    with pytest.raises(MessageTooLarge, match=r"lower kafka\.batch\.size, which is 500"):
        current.run(0, rows(0, 100))


# -- a transaction for each task -----------------------------------------------------------------------------------


def test_transactions_of_tasks_are_visible_only_after_the_driver_committed_them(job: Jobs, visible: Visible) -> None:
    current = job(TaskMode())
    messages = current.tasks(0, rows(0)[:10], rows(0)[10:])

    assert visible() == []
    current.commit(0, messages)
    current.run(1, rows(1))
    assert sorted(visible()) == rows(0) + rows(1)


def test_task_that_was_run_twice_counts_once(job: Jobs, visible: Visible) -> None:
    current = job(TaskMode())
    current.tasks(0, rows(0))

    current.run(0, rows(0))

    assert visible() == rows(0)


def commit_half(current: Job, batch: int, *divided: Rows) -> None:
    """As far as a driver comes that dies between two commits: the division is written down, one task is visible."""
    messages = current.tasks(batch, *divided)
    broken = messages[1]
    assert isinstance(broken, TaskTransaction)
    assert broken.transaction is not None
    # An epoch that no producer has: the second commit is refused.
    messages[1] = replace(broken, transaction=replace(broken.transaction, epoch=broken.transaction.epoch + 10))
    with pytest.raises(SinkError):
        current.commit(batch, messages)


def test_micro_batch_of_which_half_is_visible_is_completed_by_the_same_tasks(job: Jobs, visible: Visible) -> None:
    commit_half(job(TaskMode()), 0, rows(0), rows(1))

    job(TaskMode()).run(0, rows(0), rows(1))
    job(TaskMode()).run(0, rows(0), rows(1))

    assert sorted(visible()) == rows(0) + rows(1)


@pytest.mark.parametrize(
    "divided",
    [
        pytest.param((rows(0) + rows(1),), id="one task"),
        pytest.param((rows(0)[:5], rows(0)[5:], rows(1)), id="three tasks"),
        pytest.param((rows(1), rows(0)), id="another order"),
    ],
)
def test_micro_batch_of_which_half_is_visible_cannot_be_divided_anew(
    job: Jobs, visible: Visible, divided: tuple[Rows, ...]
) -> None:
    commit_half(job(TaskMode()), 0, rows(0), rows(1))

    with pytest.raises(PlanChanged, match="divided into 2 tasks with 40 rows"):
        job(TaskMode()).run(0, *divided)
    job(TaskMode()).run(0, rows(0), rows(1))
    assert sorted(visible()) == rows(0) + rows(1)


def test_micro_batch_of_which_nothing_is_visible_may_be_divided_anew(job: Jobs, visible: Visible) -> None:
    current = job(TaskMode())
    messages = current.tasks(0, rows(0), rows(1))
    for position, message in enumerate(messages):
        assert isinstance(message, TaskTransaction)
        assert message.transaction is not None
        messages[position] = replace(message, transaction=replace(message.transaction, epoch=30_000))
    with pytest.raises(SinkError):
        current.commit(0, messages)

    job(TaskMode()).run(0, rows(0) + rows(1))

    assert visible() == rows(0) + rows(1)


def test_second_commit_of_an_earlier_driver_cannot_add_rows(job: Jobs, visible: Visible) -> None:
    earlier = job(TaskMode())
    messages = earlier.tasks(0, rows(0), rows(1))
    job(TaskMode()).run(0, rows(0) + rows(1))

    with pytest.raises(SinkError):
        earlier.commit_or_abort(0, messages)

    assert visible() == rows(0) + rows(1)


def test_tasks_that_are_given_up_do_not_hold_back_readers(job: Jobs, visible: Visible, topics: FilledTopics) -> None:
    current = job(TaskMode())
    messages = current.tasks(0, rows(0))

    current.mode.abort(current.options, messages, None)  # type: ignore[arg-type]
    topics.fill(current.query_id, ["after"])

    assert visible() == ["after"]


def test_giving_up_after_the_commit_takes_nothing_back(job: Jobs, visible: Visible) -> None:
    current = job(TaskMode())
    messages = current.tasks(0, rows(0))
    current.commit(0, messages)

    current.mode.abort(current.options, messages, None)  # type: ignore[arg-type]

    assert visible() == rows(0)


# -- at least once -------------------------------------------------------------------------------------------------


def test_at_least_once_stores_rows_when_their_task_ends_and_again_when_it_is_repeated(
    job: Jobs, visible: Visible
) -> None:
    current = job(AtLeastOnceMode())

    messages = current.tasks(0, rows(0), rows(1))
    assert visible() == rows(0) + rows(1)
    current.commit(0, messages)
    current.tasks(0, rows(0))

    assert visible() == rows(0) + rows(1) + rows(0)


def test_at_least_once_explains_what_a_topic_does_not_take(
    broker: BrokerThread, topics: FilledTopics, tmp_path: Path
) -> None:
    small = topics.create("small", config={"max.message.bytes": "300"})

    with pytest.raises(MessageTooLarge):
        Job(broker, small, AtLeastOnceMode(), tmp_path).tasks(0, rows(0, 100))
