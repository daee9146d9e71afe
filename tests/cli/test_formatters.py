"""The formatters of `tidelog consume` for topics of coordinators."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.clients.confluent import ConfluentClient
from support.clients.json_lines import JavaClient
from support.tidelog_command import Command
from support.tidelog_process import TidelogBroker
from support.transactional.confluent import ConfluentTransactions

from tidelog.cli.record_format import make_formatter
from tidelog.client.consumer.fetched import ConsumerRecord
from tidelog.coordinators.consumer_groups import records as consumer_group_records
from tidelog.coordinators.decision import CoordinatorRecord, ProducerIdentity
from tidelog.coordinators.groups import records as group_records
from tidelog.coordinators.transactions import records as transaction_records
from tidelog.coordinators.transactions.states import TransactionState
from tidelog.coordinators.transactions.transaction import NO_PRODUCER, Transaction
from tidelog.model.ids import TopicPartition
from tidelog.protocol.codec import ProtocolError
from tidelog.protocol.messages.group_metadata_value import GroupMetadataValue
from tidelog.protocol.messages.offset_commit_value import OffsetCommitValue
from tidelog.protocol.messages.transaction_log_key import TransactionLogKey

OLD_TRANSACTIONS = "kafka.coordinator.transaction.TransactionLog$TransactionLogMessageFormatter"
NEW_TRANSACTIONS = "org.apache.kafka.tools.consumer.TransactionLogMessageFormatter"
OLD_OFFSETS = "kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter"
NEW_OFFSETS = "org.apache.kafka.tools.consumer.OffsetsMessageFormatter"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"


def _shown(formatter: str, topic: str, key: bytes | None, value: bytes | None) -> str:
    record = ConsumerRecord(topic, 0, 42, 0, 0, key, value, (), 0)
    return make_formatter(formatter, {})(record).decode()


def _shown_record(formatter: str, record: CoordinatorRecord) -> str:
    if isinstance(record.key, TransactionLogKey):
        return _shown(formatter, "__transaction_state", *transaction_records.encode_record(record))
    return _shown(formatter, "__consumer_offsets", *group_records.encode_record(record))


def _transaction(state: TransactionState, *partitions: TopicPartition) -> CoordinatorRecord:
    return transaction_records.transaction_record(
        Transaction(
            transactional_id="payments",
            producer=ProducerIdentity(13, 11),
            next_producer=NO_PRODUCER,
            previous_producer_id=-1,
            timeout_ms=60_000,
            state=state,
            partitions=frozenset(partitions),
            start_ms=1700726792453,
            last_update_ms=1700726838082,
            client_version=0,
        )
    )


@pytest.mark.parametrize("formatter", ["transaction-log", OLD_TRANSACTIONS])
def test_a_transaction_as_text(formatter: str) -> None:
    record = _transaction(TransactionState.PREPARE_COMMIT, TopicPartition("b", 0), TopicPartition("a", 1))
    assert _shown_record(formatter, record) == (
        "payments::TransactionMetadata(transactionalId=payments, producerId=13, producerEpoch=11, txnTimeoutMs=60000, "
        "state=PrepareCommit, pendingState=None, topicPartitions=HashSet(a-1, b-0), txnStartTimestamp=1700726792453, "
        "txnLastUpdateTimestamp=1700726838082)\n"
    )
    empty = _shown_record(formatter, _transaction(TransactionState.EMPTY))
    assert "state=Empty, pendingState=None, topicPartitions=HashSet()," in empty
    assert _shown_record(formatter, transaction_records.transaction_tombstone("payments")) == "payments::NULL\n"


@pytest.mark.parametrize("formatter", ["transaction-log-json", NEW_TRANSACTIONS])
def test_a_transaction_as_json(formatter: str) -> None:
    shown = json.loads(_shown_record(formatter, _transaction(TransactionState.ONGOING, TopicPartition("a", 1))))
    assert shown["key"] == {"type": 0, "data": {"transactionalId": "payments"}}
    assert shown["value"]["version"] == 1
    assert shown["value"]["data"]["transactionStatus"] == 1
    assert shown["value"]["data"]["transactionPartitions"] == [{"topic": "a", "partitionIds": [1]}]
    gone = json.loads(_shown_record(formatter, transaction_records.transaction_tombstone("payments")))
    assert gone["value"] is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            OffsetCommitValue(offset=7, leader_epoch=-1, metadata="", commit_timestamp=5, expire_timestamp=-1),
            "offset=7, leaderEpoch=Optional.empty, metadata=, commitTimestamp=5, expireTimestamp=None",
        ),
        (
            OffsetCommitValue(offset=7, leader_epoch=3, metadata="m", commit_timestamp=5, expire_timestamp=-1),
            "offset=7, leaderEpoch=Optional[3], metadata=m, commitTimestamp=5, expireTimestamp=None",
        ),
        (
            OffsetCommitValue(offset=7, metadata="", commit_timestamp=5, expire_timestamp=9),
            "offset=7, leaderEpoch=Optional.empty, metadata=, commitTimestamp=5, expireTimestamp=Some(9)",
        ),
    ],
)
def test_an_offset_as_text(value: OffsetCommitValue, text: str) -> None:
    record = group_records.offset_record("billing", "orders", 2, value)
    for formatter in ("offsets", OLD_OFFSETS):
        assert _shown_record(formatter, record) == f"[billing,orders,2]::OffsetAndMetadata({text})\n"


def test_a_deleted_offset_as_text() -> None:
    assert _shown_record("offsets", group_records.offset_tombstone("g", "t", 0)) == "[g,t,0]::NULL\n"


def test_offsets_and_groups_are_told_apart() -> None:
    offset = group_records.offset_record("g", "t", 0, OffsetCommitValue(offset=1))
    classic = group_records.group_record("g", GroupMetadataValue(protocol_type="consumer"))
    consumer = consumer_group_records.group_record("g", 3, 77)
    for formatter in ("offsets", "offsets-json", NEW_OFFSETS):
        assert _shown_record(formatter, offset)
        assert _shown_record(formatter, classic) == _shown_record(formatter, consumer) == ""
    assert json.loads(_shown_record(NEW_OFFSETS, offset))["key"]["data"] == {"group": "g", "topic": "t", "partition": 0}
    assert _shown_record("group-metadata", offset) == ""
    assert json.loads(_shown_record("group-metadata", classic))["key"] == {"type": 2, "data": {"group": "g"}}
    assert json.loads(_shown_record("group-metadata", consumer)) == {
        "key": {"type": 3, "data": {"groupId": "g"}},
        "value": {"version": 0, "data": {"epoch": 3, "metadataHash": 77}},
    }


def test_what_a_newer_version_has_written_is_skipped() -> None:
    assert _shown("transaction-log", "__transaction_state", b"\0\x63", b"") == ""
    assert _shown("group-metadata", "__consumer_offsets", b"\0\x63", b"") == ""


@pytest.mark.parametrize(("key", "why"), [(None, "no key"), (b"k", "only 1 bytes"), (b"key", "is unknown")])
def test_records_of_other_topics_are_refused(key: bytes | None, why: str) -> None:
    with pytest.raises(ProtocolError, match=f"offset 42 of orders-0 is none of __transaction_state: .*{why}"):
        _shown("transaction-log", "orders", key, b"v")


# ----------------------------------------------------------------------------------------------------------------
# A broker's own topics.


@pytest.fixture
def producer(broker: TidelogBroker, topic: str) -> Iterator[ConfluentTransactions]:
    """A producer that is named after the topic, and has been initialised."""
    ConfluentClient(broker.bootstrap_servers).create_topic(topic)
    client = ConfluentTransactions(broker.bootstrap_servers)
    client.init(topic, topic)
    yield client
    client.close_all()


def _trace(at_broker: Command, topic: str) -> list[str]:
    """What the log says about the transactional id, without numbers that differ from run to run."""
    arguments = ("--topic", "__transaction_state", "--from-beginning", "--formatter", OLD_TRANSACTIONS)
    shown = at_broker("consume", *arguments, "--timeout-ms", "2000").stdout.splitlines()
    return [
        re.sub(r"producerId=\d+", "producerId=N", re.sub(r"Timestamp=\d+", "Timestamp=T", line)).replace(topic, "t")
        for line in shown
        if line.startswith(f"{topic}::")
    ]


def _line(state: str, partitions: str, start: str, epoch: int = 0) -> str:
    return (
        f"t::TransactionMetadata(transactionalId=t, producerId=N, producerEpoch={epoch}, txnTimeoutMs=60000, "
        f"state={state}, pendingState=None, topicPartitions=HashSet({partitions}), txnStartTimestamp={start}, "
        "txnLastUpdateTimestamp=T)"
    )


def test_the_trace_of_a_commit(at_broker: Command, producer: ConfluentTransactions, topic: str) -> None:
    producer.begin(topic)
    producer.send(topic, topic, "value")
    producer.commit(topic)
    assert _trace(at_broker, topic) == [
        _line("Empty", "", "-1"),
        _line("Ongoing", "t-0", "T"),
        _line("PrepareCommit", "t-0", "T"),
        _line("CompleteCommit", "", "T"),
    ]


def test_the_trace_of_an_abort(at_broker: Command, producer: ConfluentTransactions, topic: str) -> None:
    producer.begin(topic)
    producer.send(topic, topic, "value")
    producer.abort(topic)
    assert _trace(at_broker, topic) == [
        _line("Empty", "", "-1"),
        _line("Ongoing", "t-0", "T"),
        _line("PrepareAbort", "t-0", "T"),
        _line("CompleteAbort", "", "T"),
    ]


def test_the_trace_of_two_transactions_after_one_initialisation(
    at_broker: Command, producer: ConfluentTransactions, topic: str
) -> None:
    for value in ("first", "second"):
        producer.begin(topic)
        producer.send(topic, topic, value)
        producer.commit(topic)
    one = [
        _line("Ongoing", "t-0", "T"),
        _line("PrepareCommit", "t-0", "T"),
        _line("CompleteCommit", "", "T"),
    ]
    assert _trace(at_broker, topic) == [_line("Empty", "", "-1"), *one, *one]


def test_json_is_one_option_away(at_broker: Command, topic: str) -> None:
    at_broker("produce", "--topic", topic, stdin="a\n")
    at_broker("groups", "--reset-offsets", "--group", topic, "--topic", topic, "--to-latest", "--execute")
    arguments = ("--topic", "__consumer_offsets", "--from-beginning", "--formatter", "offsets", "--timeout-ms", "2000")
    lines = [json.loads(line) for line in at_broker("consume", *arguments, "--json").stdout.splitlines()]
    (found,) = [line["value"]["data"]["offset"] for line in lines if line["key"]["data"]["group"] == topic]
    assert found == 1


@pytest.mark.maven
@pytest.mark.xdist_group("jvm")
def test_the_json_is_that_of_kafkas_formatters(
    at_broker: Command, broker: TidelogBroker, producer: ConfluentTransactions, topic: str, jars: Path, tmp_path: Path
) -> None:
    producer.begin(topic)
    producer.send(topic, topic, "value")
    producer.send_offsets(topic, topic, topic, 1)
    producer.commit(topic)
    kafka = JavaClient(broker.bootstrap_servers, jars=jars, log=tmp_path / "client.log")
    try:
        for log, formatter in (("__transaction_state", NEW_TRANSACTIONS), ("__consumer_offsets", NEW_OFFSETS)):
            arguments = ("--topic", log, "--from-beginning", "--formatter", formatter, "--timeout-ms", "4000")
            theirs = _about(topic, _objects(kafka.run_tool(CONSOLE_CONSUMER, *arguments)))
            ours = _about(topic, map(json.loads, at_broker("consume", *arguments).stdout.splitlines()))
            assert ours == theirs != []
    finally:
        kafka.close()


def _objects(output: str) -> Iterator[Any]:
    """Kafka's formatters print one object after the other, without anything between them."""
    decoder = json.JSONDecoder()
    at = output.find('{"key"')
    while at >= 0:
        found, end = decoder.raw_decode(output, at)
        yield found
        at = output.find('{"key"', end)


def _about(topic: str, records: Iterable[Any]) -> list[Any]:
    return [each for each in records if topic in each["key"]["data"].values()]
