"""What the guides say that the connectors say: every message of their tables is produced here.

A table that begins with `| it says |` or `| the message says |` is a table of messages. In its first column `...`
stands for what differs, and ` / ` is between messages that mean the same. What needs more than a broker is produced by
the tests of its own part; here it is only looked up that they expect it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType
from support.filled_topics import FilledTopics, new_topic_name
from support.processes import free_port

from tidelog.client.errors import FencedError
from tidelog.model.ids import TopicPartition
from tidelog.spark.databases.progress import PipelineBatch, Progress
from tidelog.spark.databases.progress import decide as decide_database
from tidelog.spark.mirror.progress import is_last_batch, is_mirrored
from tidelog.spark.outbox.marks import (
    Mark,
    Place,
    StoredMark,
    explain_unproved,
    not_the_owner,
    why_lost,
)
from tidelog.spark.outbox.tables import PositionLost
from tidelog.spark.sink.batch import BatchMode
from tidelog.spark.sink.batch_identity import BatchIdentity, Reads
from tidelog.spark.sink.columns import SinkColumns
from tidelog.spark.sink.delivery import plan_micro_batch
from tidelog.spark.sink.encode import TaskEncoder
from tidelog.spark.sink.errors import CannotTellIfPublished
from tidelog.spark.sink.note import Note, Refuse, decide, decide_tasks, overtaken
from tidelog.spark.sink.options import sink_options
from tidelog.spark.sink.plan import SinkPlan, TaskPlace
from tidelog.spark.sink.publish_errors import explain
from tidelog.spark.sink.writers import batch_writer, stream_writer
from tidelog.spark.source.readers import batch_reader, stream_reader
from tidelog.spark.source.schema import source_columns
from tidelog.testing.broker_thread import BrokerThread

GUIDES = Path(__file__).parents[2] / "docs" / "guide"
TABLE_HEADS = ("| it says |", "| the message says |")


@dataclass(frozen=True, slots=True)
class Here:
    """What a message is produced with."""

    broker: BrokerThread
    refusing: BrokerThread
    topics: FilledTopics
    folder: Path

    # -- the source ----------------------------------------------------------------------------------------------

    def read(self, **options: Any) -> None:
        reader = batch_reader(self.source_options(options), source_columns(include_headers=False))
        for partition in reader.partitions():
            for _ in reader.read(partition):
                pass

    def stream(self, **options: Any) -> None:
        """Until there is nothing more to read."""
        reader = stream_reader(self.source_options(options), source_columns(include_headers=False))
        try:
            start = reader.initialOffset()
            end = reader.latestOffset(start, reader.getDefaultReadLimit())
            for partition in reader.partitions(start, end):
                for _ in reader.read(partition):
                    pass
        finally:
            reader.stop()

    def source_options(self, options: dict[str, Any]) -> dict[str, str]:
        given = {"kafka.bootstrap.servers": self.broker.bootstrap_servers, "fetchOffset.retryIntervalMs": "1"}
        given |= {name.replace("__", "."): str(value) for name, value in options.items()}
        return {name: value for name, value in given.items() if value != "None"}

    def filled(self, count: int = 3) -> str:
        topic = self.topics.create()
        self.topics.fill(topic, [f"{number}" for number in range(count)], partition=0)
        return topic

    def aged_out(self) -> None:
        topic = self.filled()
        reader = batch_reader(self.source_options({"subscribe": topic}), source_columns(include_headers=False))
        (partition,) = reader.partitions()
        self.topics.delete_records(topic, 0, 2)
        list(reader.read(partition))

    def recreated(self) -> None:
        topic = self.filled()
        options = self.source_options({"subscribe": topic, "startingOffsets": "earliest"})
        reader = stream_reader(options, source_columns(include_headers=False))
        try:
            start = reader.initialOffset()
            reader.latestOffset(start, reader.getDefaultReadLimit())
            self.topics.delete(topic)
            self.topics.create(name=topic)
            reader.latestOffset(start, reader.getDefaultReadLimit())
        finally:
            reader.stop()

    def unanswered(self) -> None:
        topic = self.filled(1)
        options = self.source_options({"subscribe": topic, "kafkaConsumer.pollTimeoutMs": 700})
        reader = stream_reader({**options, "startingOffsets": "earliest"}, source_columns(include_headers=False))
        try:
            for partition in reader.partitions(reader.initialOffset(), {topic: {"0": 5}}):
                for _ in reader.read(partition):
                    pass
        finally:
            reader.stop()

    # -- the sink ------------------------------------------------------------------------------------------------

    def write(self, columns: dict[str, Any] | None = None, *, refusing: bool = False, **options: Any) -> None:
        """One micro-batch of a job with these columns."""
        chosen = columns or {"value": ["a"]}
        rows = pa.record_batch(chosen)
        given = self.sink_options(options, refusing=refusing)
        places = {name: index for index, name in enumerate(chosen)}
        plan = plan_micro_batch(sink_options(given), SinkColumns(**places))
        mode = BatchMode()
        place = TaskPlace(query_id=new_topic_name("guide"), batch=0, task=0, attempt=0)
        mode.commit(plan.options, [mode.run_task(plan, place, iter([rows]))], 0)

    def sink_options(self, options: dict[str, Any], *, refusing: bool = False) -> dict[str, str]:
        broker = self.refusing if refusing else self.broker
        given = {"kafka.bootstrap.servers": broker.bootstrap_servers, "checkpointLocation": str(self.folder)}
        return given | {name.replace("__", "."): str(value) for name, value in options.items()}

    def writer(self, schema: StructType | None = None, **options: Any) -> None:
        chosen = schema or StructType([StructField("value", StringType())])
        stream_writer(self.sink_options({"topic": "t", **options}), chosen, overwrite=False)

    def encode(self, rows: pa.RecordBatch, columns: SinkColumns, **options: Any) -> None:
        plan = SinkPlan(
            options=sink_options(self.sink_options(options)), columns=columns, partition_counts={"t": 2}, folder=None
        )
        encoder = TaskEncoder(plan, lambda topic, partition, count, content: None, task=0)
        encoder.add(rows)
        encoder.finish()


def nobody() -> str:
    return f"127.0.0.1:{free_port()}"


SOURCE: dict[str, Callable[[Here], object]] = {
    "... is not an option of the tidelog source; did you mean ...?": lambda here: here.read(subscribes="t"),
    "kafka.bootstrap.servers is missing": lambda here: here.read(subscribe="t", kafka__bootstrap__servers=None),
    "exactly one of subscribe, subscribePattern, assign must say what to read; given are ...": lambda here: here.read(
        subscribe="t", subscribePattern="t"
    ),
    "kafka.auto.offset.reset is not supported: ...": lambda here: here.read(
        subscribe="t", kafka__auto__offset__reset="earliest"
    ),
    "endingOffsets is for batch reads: a streaming query has no end": lambda here: here.stream(
        subscribe="t", endingOffsets="latest"
    ),
    "startingOffsets=latest: a batch read that begins at the end has nothing to read": lambda here: here.read(
        subscribe="t", startingOffsets="latest"
    ),
    "the tidelog source has fixed columns and takes no schema": lambda here: batch_reader(
        here.source_options({"subscribe": "t"}), StructType([StructField("a", StringType())])
    ),
    "there is no topic ...: create it first, or name another topic": lambda here: here.read(
        subscribe=new_topic_name("none")
    ),
    "assign names partition ..., which does not exist": lambda here: here.read(assign=f'{{"{here.filled()}":[7]}}'),
    "startingOffsets must name each partition that is read": lambda here: here.read(
        subscribe=here.topics.create("two", partitions=2, name="guide-two"), startingOffsets='{"guide-two":{"0":0}}'
    ),
    "startingOffsets names offset ... of partition ..., which ends at ...": lambda here: here.stream(
        subscribe=here.topics.create(name="guide-short"), startingOffsets='{"guide-short":{"0":9}}'
    ),
    "partition ... has no record from the time ... on": lambda here: here.stream(
        subscribe=here.filled(), startingTimestamp=2**50
    ),
    "partition ... begins at offset ...: ... are gone": lambda here: here.aged_out(),
    "topic ... was deleted and recreated": lambda here: here.recreated(),
    "the records from offset ... to ... of partition ... did not arrive within ... ms (kafkaConsumer.pollTimeoutMs)": (
        lambda here: here.unanswered()
    ),
    "no broker answers at ...": lambda here: here.read(subscribe="t", kafka__bootstrap__servers=nobody()),
}

_LARGE = "x" * 5000

SINK: dict[str, Callable[[Here], object]] = {
    "... is not a property of the sink; did you mean ...?": lambda here: here.writer(atomicty="batch"),
    "kafka.acks cannot be set: ...": lambda here: here.writer(kafka__acks="1"),
    "there is no column `value` (the columns are: ...)": lambda here: here.writer(
        StructType([StructField("body", StringType())])
    ),
    "column 'value' is bigint, and must be string or binary": lambda here: here.writer(
        StructType([StructField("value", LongType())])
    ),
    "there is neither the option `topic` nor a column `topic`": lambda here: stream_writer(
        here.sink_options({}), StructType([StructField("value", StringType())]), overwrite=False
    ),
    "topic ... does not exist, and the broker has auto.create.topics.enable=false": lambda here: here.write(
        topic=new_topic_name("none"), refusing=True
    ),
    "topic ... cannot be written to: INVALID_TOPIC_EXCEPTION": lambda here: here.write(topic="a/b"),
    "a row names a topic that does not exist (existing topics: ...): ...": lambda here: here.write(
        {"value": ["a"], "topic": [new_topic_name("none")]}, refusing=True
    ),
    "the column `topic` is null in ... rows, and there is no option `topic`": lambda here: here.encode(
        pa.record_batch({"value": ["a"], "topic": pa.array([None], pa.string())}), SinkColumns(value=0, topic=1)
    ),
    "a row names partition ... of topic ..., which has the partitions 0 to ...": lambda here: here.encode(
        pa.record_batch({"value": ["a"], "partition": pa.array([9], pa.int32())}),
        SinkColumns(value=0, partition=1),
        topic="t",
    ),
    "a row takes ... bytes, and kafka.max.request.size is ...": lambda here: here.encode(
        pa.record_batch({"value": [_LARGE]}), SinkColumns(value=0), topic="t", kafka__max__request__size="1000"
    ),
    "the broker refuses a record batch as too large": lambda here: here.write(
        {"value": [_LARGE]}, topic=here.topics.create("small", config={"max.message.bytes": "300"})
    ),
    "a topic cannot be overwritten: use mode('append')": lambda here: batch_writer(
        here.sink_options({"topic": "t"}), StructType([StructField("value", StringType())]), overwrite=True
    ),
    "atomicity=prepared needs the option jobId": lambda here: batch_writer(
        here.sink_options({"topic": "t", "atomicity": "prepared"}),
        StructType([StructField("value", StringType())]),
        overwrite=False,
    ),
    "jobId is for df.write": lambda here: here.writer(jobId="x"),
    "no broker answers at ...": lambda here: here.write(topic="t", kafka__bootstrap__servers=nobody()),
}


def reads(start: str, end: str) -> Reads:
    return Reads(start=start, end=end, until=end)


def micro_batch(batch: int = 3, **given: Any) -> BatchIdentity:
    return BatchIdentity(**{"batch": batch, "rows": 5, "content": "x", "reads": reads("b", "c"), **given})


def refused(decision: object) -> None:
    assert isinstance(decision, Refuse), decision
    raise CannotTellIfPublished(decision.problem)


def marked(identity: BatchIdentity, note: Note | None) -> None:
    refused(decide(identity, note, group="q"))


def note(batch: int = 3, **given: Any) -> Note:
    return Note(**{"batch": batch, "rows": 5, "content": "x", "reads": reads("b", "c"), **given})


def fenced() -> None:
    raise explain("micro-batch 3", sink_options({"kafka.bootstrap.servers": "127.0.0.1:1"}), FencedError("taken over"))


EXACTLY_ONCE: dict[str, Callable[[Here], object]] = {
    "the checkpoint is older than what was written": lambda here: marked(micro_batch(2), note(3)),
    "the query does not give the same rows for the same input": lambda here: marked(micro_batch(content="y"), note()),
    "does not begin where the last one in the topics ended": lambda here: marked(
        micro_batch(), note(2, reads=reads("a", "elsewhere"))
    ),
    "the last one in the topics is ...": lambda here: marked(micro_batch(), note(1)),
    "has no note of an earlier one": lambda here: marked(micro_batch(), None),
    "could not be read from the checkpoint": lambda here: marked(micro_batch(reads=None), note()),
    "written by an earlier version of tidelog": lambda here: marked(micro_batch(), note(content=None, reads=None)),
    "another driver runs the same query": lambda here: refused(overtaken(3, begun=4, committed=3)),
    "another writer uses its transactional id": lambda here: fenced(),
    "nobody can tell which rows are missing": lambda here: refused(
        decide_tasks(note(tasks=2, division="x"), note(tasks=3, division="y"), any_committed=True, group="q")
    ),
}


def stored(batch: int = 3, **given: Any) -> Progress:
    return Progress(**{"query_id": "q", "batch": batch, "rows": 5, "content": "x", "reads": reads("b", "c"), **given})


def apply(known: Progress | None, identity: BatchIdentity, query_id: str = "q") -> None:
    decide_database(known, PipelineBatch(pipeline="p", query_id=query_id, identity=identity))


_PLACE = Place(system="1", timeline=1, table=1)
_MARK = Mark(token="t", reader="r", transaction=7, place=_PLACE)


_STORED = StoredMark(reader="r", transaction=7, written_by=7)


def lost(stored: StoredMark | None, here: Place) -> None:
    raise PositionLost(why_lost(_MARK, stored, here, "outbox"))


def unproved(text: str) -> None:
    raise PositionLost(text)


# The folder and the words of a test that meets it with a real database, or with Spark.
_ELSEWHERE = {
    "is an older copy of the database, or another one": ("outbox", "older copy"),
    "is a hot standby": ("outbox", "hot standby"),
    "does not fit the schema": ("pipelines", "does not fit the schema"),
    "holds ... rows instead of ...": ("databases", "holds 0 rows instead of 1"),
    "the replication slot ... does not exist": ("outbox", "does not exist"),
    "the replication slot ... was invalidated": ("outbox", "was invalidated"),
    "the replication slot ... begins at ...": ("outbox", "begins at"),
    "the replication slot ... is read by another pipeline": ("outbox", "is read by another pipeline"),
    "something else reads the slot": ("outbox", "something else reads the slot"),
    "has too little in it with wal_level = ...": ("outbox", "has too little in it with wal_level"),
    "was taken out of the publication ... and put back": ("outbox", "was taken out of the publication"),
    "atomicity=prepared needs brokers with prepared transactions (KIP-939) ...": (
        "sink/prepared",
        "needs brokers with prepared transactions",
    ),
    "atomicity=prepared needs the option checkpointLocation ...": (
        "sink/prepared",
        "needs the option checkpointLocation",
    ),
    "micro-batch ... stops, because another driver runs the same query": (
        "sink/prepared",
        "another driver runs the same query",
    ),
    "micro-batch ... was being published with atomicity=...": ("sink/prepared", "Start the query once with atomicity="),
    "... transactions of tasks of ... are open, but there is no note": (
        "sink/prepared",
        "are open, but there is no note",
    ),
}


def mirrored(batch: int = 3, **changed: Any) -> Note:
    return replace(Note(run="a", batch=batch, reads=reads("b", "c")), **changed)


PIPELINES: dict[str, Callable[[Here], object]] = {
    "this database has lost what was committed at transaction ...": lambda here: lost(None, _PLACE),
    "this is another PostgreSQL server": lambda here: lost(_STORED, replace(_PLACE, system="2")),
    "was dropped and recreated": lambda here: lost(_STORED, replace(_PLACE, table=2)),
    "the checkpoint was written by a version that kept no mark": lambda here: unproved(explain_unproved("outbox")),
    "another pipeline, or another checkpoint of this one, deletes the rows": lambda here: unproved(
        not_the_owner("outbox")
    ),
    "the checkpoint ... was rolled back": lambda here: apply(stored(), micro_batch(2)),
    "is older than what was written": lambda here: apply(stored(reads=reads("b", "d")), micro_batch()),
    "with other input": lambda here: is_last_batch(mirrored(reads=reads("b", "d")), mirrored(), group="m"),
    "does not begin where the last one at the target ended": lambda here: is_last_batch(
        mirrored(), mirrored(2, reads=reads("a", "elsewhere")), group="m"
    ),
    "the checkpoint is not the one of the target": lambda here: is_last_batch(mirrored(), mirrored(1), group="m"),
    "begins at another offset": lambda here: apply(stored(2, reads=reads("a", "elsewhere")), micro_batch()),
    "those between are missing": lambda here: apply(stored(1), micro_batch()),
    "an earlier version of tidelog has written it": lambda here: apply(stored(content=None, reads=None), micro_batch()),
    "could not be read from the checkpoint": lambda here: apply(stored(), micro_batch(reads=None)),
    "does not give the same rows for the same input": lambda here: apply(stored(), micro_batch(content="y")),
    "another driver runs the same query": lambda here: refused(overtaken(3, begun=4, committed=3)),
    "is written by another query": lambda here: apply(stored(), micro_batch(), "another"),
    "knows nothing of earlier batches": lambda here: apply(None, micro_batch()),
    "has no offsets": lambda here: is_mirrored(1, {TopicPartition("t", 0): range(2)}, {}, group="m"),
}

MESSAGES = {
    "spark-source.md": SOURCE,
    "spark-sink.md": SINK,
    "exactly-once.md": EXACTLY_ONCE,
    "pipelines.md": PIPELINES,
}


def said_in(guide: Path) -> Iterator[str]:
    """The first column of each table of messages."""
    inside = False
    for line in guide.read_text().splitlines():
        if line.startswith(TABLE_HEADS):
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not line.startswith("|---"):
            cell = (
                line.split(" | ")[0].removeprefix("| ").removeprefix("`sink-db`: ").removeprefix("`mirror`: ").strip()
            )
            whole = cell[1:-1] if cell.startswith("`") and cell.count("`") == 2 else cell
            yield from whole.split(" / ")


@pytest.mark.parametrize("guide", sorted(GUIDES.glob("*.md")), ids=lambda path: path.name)
def test_every_message_in_a_guide_is_produced(guide: Path) -> None:
    produced = MESSAGES.get(guide.name, {})
    assert [message for message in said_in(guide) if message not in _ELSEWHERE] == list(produced)


@pytest.mark.parametrize("message", _ELSEWHERE)
def test_what_needs_more_is_expected_by_the_tests_of_its_part(message: str) -> None:
    folder, words = _ELSEWHERE[message]
    assert any(message in said_in(guide) for guide in GUIDES.glob("*.md"))
    assert any(words in path.read_text() for path in (Path(__file__).parent / folder).glob("test_*.py"))


@pytest.fixture(scope="module")
def refusing() -> Iterator[BrokerThread]:
    with BrokerThread(properties={"auto.create.topics.enable": "false"}) as running:
        yield running


@pytest.mark.parametrize(
    ("guide", "message"), [(guide, message) for guide, messages in MESSAGES.items() for message in messages]
)
def test_what_a_guide_says_is_what_is_said(
    guide: str,
    message: str,
    broker: BrokerThread,
    refusing: BrokerThread,
    topics: FilledTopics,
    tmp_path: Path,
) -> None:
    here = Here(broker=broker, refusing=refusing, topics=topics, folder=tmp_path)
    pattern = ".+".join(re.escape(part) for part in message.split("..."))

    with pytest.raises(Exception, match=pattern) as raised:
        MESSAGES[guide][message](here)

    # One line, from a class of ours.
    assert "\n" not in str(raised.value)
    assert type(raised.value).__module__.startswith("tidelog.")
