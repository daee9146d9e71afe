"""Transactions over a real socket, request by request, in both protocol versions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from server.conftest import create_topic
from support.decoding import decode_all
from support.default_settings import log_config
from support.processes import HANG_SECONDS
from support.raw_client import RawClient, raw_client
from support.raw_transactions import READ_COMMITTED, READ_UNCOMMITTED, RawProducer, end_offset, fetch, now_ms, read

import tidelog
from tidelog.coordinators.placement import partition_for
from tidelog.coordinators.transactions.records import (
    decode_record,
    encode_record,
    read_transaction,
    transaction_record,
)
from tidelog.coordinators.transactions.states import TransactionStep
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.topics import TRANSACTION_STATE_TOPIC
from tidelog.network.system import SystemRandomness
from tidelog.partition.producers import AppendOrigin
from tidelog.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from tidelog.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from tidelog.protocol.messages.describe_producers_request import DescribeProducersRequest, TopicRequest
from tidelog.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from tidelog.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from tidelog.protocol.messages.list_transactions_request import ListTransactionsRequest
from tidelog.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tidelog.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.protocol.messages.transaction_log_value import TransactionLogValue
from tidelog.protocol.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tidelog.records.batch import iterate_headers, parse_header
from tidelog.records.record import encode_batch
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.files.local_filesystem import LocalFileSystem
from tidelog.storage.log.appending import append_as_leader
from tidelog.storage.log.reader import read_records
from tidelog.storage.log.results import ReadResult

PROTOCOLS = pytest.mark.parametrize("protocol", [1, 2])
FEW_PARTITIONS = {"transaction.state.log.num.partitions": "3", "offsets.topic.num.partitions": "3"}


@pytest.fixture
async def broker() -> AsyncIterator[tidelog.Broker]:
    async with tidelog.Broker(properties=FEW_PARTITIONS) as running:
        yield running


@asynccontextmanager
async def restarted(data_dir: Path) -> AsyncIterator[RawClient]:
    async with (
        tidelog.Broker(data_dir=str(data_dir), properties=FEW_PARTITIONS) as broker,
        raw_client(broker.bootstrap_servers) as client,
    ):
        yield client


async def started(client: RawClient, protocol: int, name: str = "payments", **options: int) -> RawProducer:
    producer = RawProducer(client, name, protocol)
    assert await producer.init(**options) is ErrorCode.NONE
    return producer


async def until_read(client: RawClient, topic: str, expected: list[str]) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        while await read(client, topic) != expected:
            await asyncio.sleep(0.01)


async def committed_offset(client: RawClient, group: str, topic: str, *, stable: bool = False) -> tuple[int, ErrorCode]:
    await client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[group]), 4)
    wanted = OffsetFetchRequestGroup(
        group_id=group, topics=[OffsetFetchRequestTopics(name=topic, partition_indexes=[0])]
    )
    while True:
        response = await client.ask(OffsetFetchRequest(groups=[wanted], require_stable=stable), 8)
        if response.groups[0].error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            break
    partition = response.groups[0].topics[0].partitions[0]
    return partition.committed_offset, ErrorCode(partition.error_code)


# Commit, abort, and what readers see.


@PROTOCOLS
async def test_committed_records_are_read_and_aborted_ones_are_not(client: RawClient, protocol: int) -> None:
    await create_topic(client, "t")
    producer = await started(client, protocol)
    for number, commit in enumerate([True, False, True, True, False]):
        assert await producer.send("t", f"{number}-a", f"{number}-b") is ErrorCode.NONE
        assert await producer.end(commit=commit) is ErrorCode.NONE

    assert await read(client, "t") == ["0-a", "0-b", "2-a", "2-b", "3-a", "3-b"]
    everything = await read(client, "t", isolation=READ_UNCOMMITTED)
    assert everything == [f"{number}-{letter}" for number in range(5) for letter in "ab"]


@PROTOCOLS
async def test_the_epoch_of_records_and_markers(client: RawClient, protocol: int) -> None:
    """The first version keeps the producer's epoch, as in the study notes; the second raises it with each end."""
    await create_topic(client, "t")
    producer = await started(client, protocol)
    for _ in range(2):
        await producer.send("t", "a")
        await producer.end(commit=True)
    data = await fetch(client, "t", isolation=READ_UNCOMMITTED)
    headers = [header for _, header in iterate_headers(bytes(data.records or b""))]

    assert [header.is_control for header in headers] == [False, True, False, True]
    assert [header.producer_epoch for header in headers] == ([0, 0, 0, 0] if protocol == 1 else [0, 1, 1, 2])
    sequences = [header.base_sequence for header in headers]
    assert sequences == ([0, -1, 1, -1] if protocol == 1 else [0, -1, 0, -1])


@PROTOCOLS
async def test_scenario_16_the_last_stable_offset_holds_readers_back_and_releases_in_order(
    client: RawClient, protocol: int
) -> None:
    await create_topic(client, "t")
    first = await started(client, protocol, "first")
    second = await started(client, protocol, "second")
    await client.produce("t", b"plain", timestamp=now_ms())
    await first.send("t", "first")
    await second.send("t", "second")
    await second.end(commit=True)
    await client.produce("t", b"after", timestamp=now_ms())

    assert await read(client, "t") == ["plain"]
    assert await end_offset(client, "t", isolation=READ_COMMITTED) == 1
    assert await end_offset(client, "t", isolation=READ_UNCOMMITTED) == 5
    await first.end(commit=True)
    assert await read(client, "t") == ["plain", "first", "second", "after"]
    assert await end_offset(client, "t", isolation=READ_COMMITTED) == 6


@PROTOCOLS
async def test_a_transaction_spans_partitions_and_topics(client: RawClient, protocol: int) -> None:
    await create_topic(client, "a", partitions=2)
    await create_topic(client, "b")
    producer = await started(client, protocol)
    producer_b = producer
    await producer.send("a", "a0")
    assert await producer.add("a", 1) is ErrorCode.NONE or protocol == 2
    assert await producer.produce("a", "a1", partition=1, sequence=0) is ErrorCode.NONE
    if protocol == 1:
        await producer_b.add("b")
    assert await producer_b.produce("b", "b0", sequence=0) is ErrorCode.NONE

    assert [await read(client, "a"), await read(client, "a", partition=1), await read(client, "b")] == [[], [], []]
    assert await producer.end(commit=True) is ErrorCode.NONE
    assert [await read(client, "a"), await read(client, "a", partition=1), await read(client, "b")] == [
        ["a0"],
        ["a1"],
        ["b0"],
    ]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (
            ["init", "commit", "init", "commit"],
            [
                (0, "Empty", False),
                (0, "Ongoing", True),
                (0, "PrepareCommit", True),
                (0, "CompleteCommit", False),
                (1, "Empty", False),
                (1, "Ongoing", True),
                (1, "PrepareCommit", True),
                (1, "CompleteCommit", False),
            ],
        ),
        (
            ["init", "abort"],
            [(0, "Empty", False), (0, "Ongoing", True), (0, "PrepareAbort", True), (0, "CompleteAbort", False)],
        ),
        (
            ["init", "commit", "commit"],
            [
                (0, "Empty", False),
                (0, "Ongoing", True),
                (0, "PrepareCommit", True),
                (0, "CompleteCommit", False),
                (0, "Ongoing", True),
                (0, "PrepareCommit", True),
                (0, "CompleteCommit", False),
            ],
        ),
    ],
)
async def test_the_log_of_the_coordinator_is_that_of_the_study_notes(
    client: RawClient, steps: list[str], expected: list[tuple[int, str, bool]]
) -> None:
    """Commit, abort, and several transactions after one init: epoch, state, and whether the partition is listed."""
    await create_topic(client, "transaction-topic")
    producer = RawProducer(client, "Lee-Dong-Hee")
    for step in steps:
        if step == "init":
            assert await producer.init() is ErrorCode.NONE
        else:
            assert await producer.send("transaction-topic", "Hello Kafka TX - 0") is ErrorCode.NONE
            assert await producer.end(commit=step == "commit") is ErrorCode.NONE
    partition = partition_for("Lee-Dong-Hee", 3)
    data = await fetch(client, TRANSACTION_STATE_TOPIC, isolation=READ_UNCOMMITTED, partition=partition)
    lines = []
    for record in decode_all(bytes(data.records or b"")):
        assert record.key is not None
        value = decode_record(record.key, record.value).value
        assert isinstance(value, TransactionLogValue)
        found = read_transaction("Lee-Dong-Hee", value)
        lines.append((found.producer.producer_epoch, found.state.label, bool(found.partitions)))

    assert lines == expected


# Two-phase commit (KIP-939).


async def test_a_prepared_transaction_waits_for_its_producers_successor(tmp_path: Path) -> None:
    properties = {**FEW_PARTITIONS, "transaction.two.phase.commit.enable": "true"}
    async with (
        tidelog.Broker(data_dir=str(tmp_path), properties=properties) as broker,
        raw_client(broker.bootstrap_servers) as client,
    ):
        await create_topic(client, "t")
        first = RawProducer(client, "participant", 2)
        assert await first.init(enable2_pc=True) is ErrorCode.NONE
        await first.send("t", "prepared")
        successor = RawProducer(client, "participant", 2)
        assert await successor.init(enable2_pc=True, keep_prepared_txn=True) is ErrorCode.NONE

        assert successor.producer_epoch == first.producer_epoch + 1
        assert await first.end(commit=True) is ErrorCode.PRODUCER_FENCED
        assert await read(client, "t") == []
        assert await successor.end(commit=True) is ErrorCode.NONE
        assert await read(client, "t") == ["prepared"]
        assert await successor.send("t", "next") is ErrorCode.NONE
        assert await successor.end(commit=True) is ErrorCode.NONE
        assert await read(client, "t") == ["prepared", "next"]


async def test_two_phase_commit_is_off_unless_the_broker_allows_it(client: RawClient) -> None:
    producer = RawProducer(client, "participant", 2)

    assert await producer.init(enable2_pc=True) is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


# Fencing and time.


@PROTOCOLS
async def test_scenario_14_a_zombie_is_refused_everywhere(client: RawClient, protocol: int) -> None:
    await create_topic(client, "t")
    await committed_offset(client, "g", "t")
    zombie = await started(client, protocol)
    await zombie.send("t", "lost")
    if protocol == 1:
        await zombie.add_offsets("g")
    assert await zombie.commit_offset("g", "t", 5) is ErrorCode.NONE
    successor = await started(client, protocol)

    assert successor.producer_epoch > zombie.producer_epoch
    assert await zombie.produce("t", "late") is ErrorCode.INVALID_PRODUCER_EPOCH
    assert await zombie.end(commit=True) is ErrorCode.PRODUCER_FENCED
    assert await zombie.commit_offset("g", "t", 7) is ErrorCode.INVALID_PRODUCER_EPOCH
    if protocol == 1:
        assert await zombie.add("t") is ErrorCode.PRODUCER_FENCED
        assert await zombie.add_offsets("g") is ErrorCode.PRODUCER_FENCED
    await successor.send("t", "kept")
    await successor.end(commit=True)
    assert await read(client, "t") == ["kept"]
    assert await committed_offset(client, "g", "t") == (-1, ErrorCode.NONE)


@PROTOCOLS
async def test_scenario_15_a_hung_transaction_is_aborted(client: RawClient, protocol: int) -> None:
    await create_topic(client, "t")
    producer = await started(client, protocol, timeout_ms=100)
    await producer.send("t", "hung")
    await client.produce("t", b"after", timestamp=now_ms())

    assert await read(client, "t") == []
    await until_read(client, "t", ["after"])
    assert await producer.produce("t", "late") is ErrorCode.INVALID_PRODUCER_EPOCH
    assert await producer.end(commit=True) in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_TXN_STATE)


async def test_scenario_15_a_timeout_above_the_maximum_is_refused(client: RawClient) -> None:
    producer = RawProducer(client, "payments")

    assert await producer.init(timeout_ms=900_001) is ErrorCode.INVALID_TRANSACTION_TIMEOUT


async def test_scenario_18_a_delayed_commit_is_refused_in_the_next_transaction(client: RawClient) -> None:
    await create_topic(client, "t")
    producer = await started(client, 2)
    await producer.send("t", "first")
    delayed = producer.copy()
    await producer.end(commit=True)
    await producer.send("t", "second")

    assert await delayed.end(commit=True) is ErrorCode.PRODUCER_FENCED
    assert await read(client, "t") == ["first"]
    assert await producer.end(commit=False) is ErrorCode.NONE
    assert await read(client, "t") == ["first"]


async def test_a_repeated_commit_of_the_second_version_gets_the_same_answer(client: RawClient) -> None:
    await create_topic(client, "t")
    producer = await started(client, 2)
    await producer.send("t", "once")
    again = producer.copy()
    await producer.end(commit=True)

    assert await again.end(commit=True) is ErrorCode.NONE
    assert (again.producer_id, again.producer_epoch) == (producer.producer_id, producer.producer_epoch)
    assert await read(client, "t") == ["once"]


# Verification (KIP-890).


@pytest.mark.parametrize(
    ("version", "code"), [(10, ErrorCode.INVALID_TXN_STATE), (11, ErrorCode.TRANSACTION_ABORTABLE)]
)
async def test_a_write_to_a_partition_that_was_not_added_is_refused(
    client: RawClient, version: int, code: ErrorCode
) -> None:
    await create_topic(client, "t", partitions=2)
    producer = await started(client, 1)
    await producer.add("t", 1)

    assert await producer.produce("t", "stray", version=version) is code
    assert await read(client, "t", isolation=READ_UNCOMMITTED) == []


async def test_a_late_record_of_a_finished_transaction_does_not_hang(client: RawClient) -> None:
    await create_topic(client, "t")
    producer = await started(client, 1)
    await producer.send("t", "in time")
    await producer.end(commit=True)

    assert await producer.produce("t", "late") is ErrorCode.INVALID_TXN_STATE
    await client.produce("t", b"after", timestamp=now_ms())
    assert await read(client, "t") == ["in time", "after"]


async def test_a_late_record_of_the_second_version_is_fenced(client: RawClient) -> None:
    await create_topic(client, "t")
    producer = await started(client, 2)
    late = producer.copy()
    await producer.send("t", "in time")
    await producer.end(commit=True)

    assert await late.produce("t", "late", sequence=1) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert await read(client, "t") == ["in time"]


async def test_transactional_records_without_a_transactional_id_are_refused(client: RawClient) -> None:
    await create_topic(client, "t")
    producer = await started(client, 1)
    records = encode_batch(
        [(1, None, b"x", ())], producer_id=producer.producer_id, producer_epoch=0, base_sequence=0, transactional=True
    )
    data = PartitionProduceData(index=0, records=records)
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=[data])])
    response = await client.ask(request, 10)

    assert response.responses[0].partition_responses[0].error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


async def test_one_request_cannot_carry_transactions_of_two_producers(client: RawClient) -> None:
    await create_topic(client, "t", partitions=2)
    producer = await started(client, 2)
    batches = [
        encode_batch([(1, None, b"x", ())], producer_id=number, producer_epoch=0, base_sequence=0, transactional=True)
        for number in (producer.producer_id, producer.producer_id + 1)
    ]
    parts = [PartitionProduceData(index=index, records=records) for index, records in enumerate(batches)]
    request = ProduceRequest(
        transactional_id="payments",
        acks=-1,
        timeout_ms=1000,
        topic_data=[TopicProduceData(name="t", partition_data=parts)],
    )
    response = await client.ask(request, 12)

    codes = {part.error_code for part in response.responses[0].partition_responses}
    assert codes == {ErrorCode.INVALID_PRODUCER_ID_MAPPING}


async def test_five_requests_of_one_transaction_in_flight_arrive_once_and_in_order(client: RawClient) -> None:
    await create_topic(client, "t")
    producer = await started(client, 2)
    asked = []
    for number in range(5):
        records = encode_batch(
            [(1, None, str(number).encode(), ())],
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            base_sequence=number,
            transactional=True,
        )
        data = PartitionProduceData(index=0, records=records)
        request = ProduceRequest(
            transactional_id="payments",
            acks=-1,
            timeout_ms=1000,
            topic_data=[TopicProduceData(name="t", partition_data=[data])],
        )
        asked.append(client.send(request, 12))
    responses = [await client.receive(each) for each in asked]

    assert [each.responses[0].partition_responses[0].error_code for each in responses] == [0] * 5
    assert await producer.end(commit=True) is ErrorCode.NONE
    assert await read(client, "t") == ["0", "1", "2", "3", "4"]


# Offsets (KIP-447).


@PROTOCOLS
@pytest.mark.parametrize("commit", [True, False])
async def test_scenario_19_offsets_appear_with_the_commit_never_before_never_after_an_abort(
    client: RawClient, protocol: int, commit: bool
) -> None:
    await create_topic(client, "t")
    assert await committed_offset(client, "g", "t") == (-1, ErrorCode.NONE)
    producer = await started(client, protocol)
    if protocol == 1:
        assert await producer.add_offsets("g") is ErrorCode.NONE
    assert await producer.commit_offset("g", "t", 42) is ErrorCode.NONE

    assert await committed_offset(client, "g", "t") == (-1, ErrorCode.NONE)
    assert await committed_offset(client, "g", "t", stable=True) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    assert await producer.end(commit=commit) is ErrorCode.NONE
    expected = 42 if commit else -1
    assert await committed_offset(client, "g", "t", stable=True) == (expected, ErrorCode.NONE)


async def test_offsets_of_a_group_that_was_not_added_are_refused(client: RawClient) -> None:
    await create_topic(client, "t")
    await committed_offset(client, "g", "t")
    producer = await started(client, 1)

    assert await producer.commit_offset("g", "t", 42) is ErrorCode.INVALID_TXN_STATE
    assert await producer.commit_offset("g", "t", 42, version=4) is ErrorCode.TRANSACTION_ABORTABLE
    assert await committed_offset(client, "g", "t", stable=True) == (-1, ErrorCode.NONE)


@PROTOCOLS
async def test_scenario_21_offsets_of_a_stale_generation_are_refused(client: RawClient, protocol: int) -> None:
    await create_topic(client, "t")
    await committed_offset(client, "g", "t")
    producer = await started(client, protocol)
    if protocol == 1:
        await producer.add_offsets("g")
    code = await producer.commit_offset("g", "t", 42, generation_id=3, member_id="left-behind")

    assert code is ErrorCode.ILLEGAL_GENERATION
    assert await producer.end(commit=False) is ErrorCode.NONE


async def test_offsets_of_topics_that_do_not_exist_are_refused_one_by_one(client: RawClient) -> None:
    await create_topic(client, "t")
    await committed_offset(client, "g", "t")
    producer = await started(client, 2)

    assert await producer.commit_offset("g", "nowhere", 1) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await producer.commit_offset("g", "t", 1) is ErrorCode.NONE


# What administrators and other brokers ask.


async def test_partitions_that_do_not_exist_keep_the_others_from_being_added(client: RawClient) -> None:
    await create_topic(client, "t")
    producer = await started(client, 1)
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="payments",
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.producer_epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(name="t", partitions=[0, 9])],
    )
    response = await client.ask(request, 3)
    (topic,) = response.results_by_topic_v3_and_below
    codes = {part.partition_index: part.partition_error_code for part in topic.results_by_partition}

    assert codes == {0: ErrorCode.OPERATION_NOT_ATTEMPTED, 9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    described = await client.ask(DescribeTransactionsRequest(transactional_ids=["payments"]))
    assert described.transaction_states[0].transaction_state == "Empty"


async def test_brokers_ask_for_several_transactions_at_once(client: RawClient) -> None:
    await create_topic(client, "t")
    first = await started(client, 1, "first")
    second = await started(client, 1, "second")
    await first.add("t")

    def question(producer: RawProducer) -> AddPartitionsToTxnTransaction:
        return AddPartitionsToTxnTransaction(
            transactional_id=producer.transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            verify_only=True,
            topics=[AddPartitionsToTxnTopic(name="t", partitions=[0])],
        )

    response = await client.ask(AddPartitionsToTxnRequest(transactions=[question(first), question(second)]), 4)
    codes = {
        result.transactional_id: result.topic_results[0].results_by_partition[0].partition_error_code
        for result in response.results_by_transaction
    }
    assert codes == {"first": ErrorCode.NONE, "second": ErrorCode.TRANSACTION_ABORTABLE}


async def test_transactions_are_listed_and_described(client: RawClient) -> None:
    await create_topic(client, "t")
    producer = await started(client, 2, "busy-1")
    await started(client, 1, "idle-1")
    await producer.send("t", "open")

    async def listed(version: int = 2, **filters: object) -> list[tuple[str, str]]:
        response = await client.ask(ListTransactionsRequest(**filters), version)  # type: ignore[arg-type]
        assert response.error_code == 0
        return sorted((each.transactional_id, each.transaction_state) for each in response.transaction_states)

    assert await listed() == [("busy-1", "Ongoing"), ("idle-1", "Empty")]
    assert await listed(state_filters=["Ongoing"], version=0) == [("busy-1", "Ongoing")]
    assert await listed(producer_id_filters=[producer.producer_id]) == [("busy-1", "Ongoing")]
    assert await listed(duration_filter=3_600_000, state_filters=["Ongoing"], version=1) == []
    assert await listed(transactional_id_pattern="idle-.*") == [("idle-1", "Empty")]
    problem = await client.ask(ListTransactionsRequest(transactional_id_pattern="("), 2)
    assert problem.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    unknown = await client.ask(ListTransactionsRequest(state_filters=["Nonsense"]), 2)
    assert unknown.unknown_state_filters == ["Nonsense"]

    response = await client.ask(DescribeTransactionsRequest(transactional_ids=["busy-1", "nobody", ""]))
    busy, nobody, unnamed = response.transaction_states
    assert (busy.transaction_state, busy.producer_id) == ("Ongoing", producer.producer_id)
    assert [(topic.topic, list(topic.partitions)) for topic in busy.topics] == [("t", [0])]
    assert nobody.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert unnamed.error_code == ErrorCode.INVALID_REQUEST


async def test_an_administrator_ends_a_hanging_transaction(client: RawClient) -> None:
    """As `kafka-transactions abort` does: DescribeProducers, then a marker for the producer and its epoch."""
    await create_topic(client, "t")
    producer = await started(client, 1)
    await producer.send("t", "hanging")
    await client.produce("t", b"after", timestamp=now_ms())
    asked = DescribeProducersRequest(topics=[TopicRequest(name="t", partition_indexes=[0])])
    before = (await client.ask(asked)).topics[0].partitions[0].active_producers[0]
    assert (before.producer_id, before.current_txn_start_offset) == (producer.producer_id, 0)
    marker = WritableTxnMarker(
        producer_id=before.producer_id,
        producer_epoch=before.producer_epoch,
        coordinator_epoch=before.coordinator_epoch,
        transaction_result=False,
        topics=[WritableTxnMarkerTopic(name="t", partition_indexes=[0, 7])],
    )
    response = await client.ask(WriteTxnMarkersRequest(markers=[marker]), 1)
    (topic,) = response.markers[0].topics

    assert {each.partition_index: each.error_code for each in topic.partitions} == {
        0: ErrorCode.NONE,
        7: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert await read(client, "t") == ["after"]
    after = (await client.ask(asked)).topics[0].partitions[0].active_producers[0]
    assert after.current_txn_start_offset == -1


async def test_a_marker_of_a_deposed_coordinator_is_refused(client: RawClient) -> None:
    await create_topic(client, "t")
    producer = await started(client, 1)
    await producer.send("t", "a")

    async def mark(coordinator_epoch: int) -> ErrorCode:
        marker = WritableTxnMarker(
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            coordinator_epoch=coordinator_epoch,
            transaction_result=True,
            topics=[WritableTxnMarkerTopic(name="t", partition_indexes=[0])],
        )
        response = await client.ask(WriteTxnMarkersRequest(markers=[marker]), 2)
        return ErrorCode(response.markers[0].topics[0].partitions[0].error_code)

    assert await mark(5) is ErrorCode.NONE
    assert await mark(4) is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert await mark(5) is ErrorCode.NONE


# Restart.


@PROTOCOLS
async def test_an_open_transaction_survives_a_restart(tmp_path: Path, protocol: int) -> None:
    async with restarted(tmp_path) as client:
        await create_topic(client, "t")
        producer = await started(client, protocol)
        await producer.send("t", "before")
    async with restarted(tmp_path) as client:
        producer.client = client
        assert await read(client, "t") == []
        while (code := await producer.produce("t", "after")) is ErrorCode.NOT_ENOUGH_REPLICAS:
            await asyncio.sleep(0.01)
        assert code is ErrorCode.NONE
        while (code := await producer.end(commit=True)) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            await asyncio.sleep(0.01)
        assert code is ErrorCode.NONE
        assert await read(client, "t") == ["before", "after"]


@PROTOCOLS
@pytest.mark.parametrize("commit", [True, False])
async def test_scenario_17_a_broker_that_died_after_the_decision_carries_it_out_when_it_is_back(
    tmp_path: Path, protocol: int, commit: bool
) -> None:
    """The decision is in the log, no marker is: as after a crash between the two."""
    async with restarted(tmp_path) as client:
        await create_topic(client, "t")
        await committed_offset(client, "g", "t")
        producer = await started(client, protocol)
        await producer.send("t", "value")
        if protocol == 1:
            await producer.add_offsets("g")
        assert await producer.commit_offset("g", "t", 7) is ErrorCode.NONE
    write_decision(tmp_path, "payments", commit=commit)
    async with restarted(tmp_path) as client:
        await until_state(client, "CompleteCommit" if commit else "CompleteAbort")
        assert await read(client, "t") == (["value"] if commit else [])
        assert await end_offset(client, "t", isolation=READ_COMMITTED) == 2
        assert await committed_offset(client, "g", "t", stable=True) == (7 if commit else -1, ErrorCode.NONE)


async def until_state(client: RawClient, state: str) -> None:
    asked = DescribeTransactionsRequest(transactional_ids=["payments"])
    async with asyncio.timeout(HANG_SECONDS):
        while (await client.ask(asked)).transaction_states[0].transaction_state != state:
            await asyncio.sleep(0.01)


def write_decision(data_dir: Path, transactional_id: str, *, commit: bool) -> None:
    """Append what a coordinator would have appended, to the files of a broker that is not running."""
    directory = LogDirectory.open(str(data_dir), LocalFileSystem(), SystemRandomness())
    directory.load(lambda _: log_config(), now_ms(), lambda _: None)
    log = directory.logs[TopicPartition(TRANSACTION_STATE_TOPIC, partition_for(transactional_id, 3))]
    found = read_records(log, 0, max_bytes=1 << 20)
    assert isinstance(found, ReadResult)
    key, value = [(each.key, each.value) for each in decode_all(found.records)][-1]
    assert key is not None
    latest = decode_record(key, value)
    assert isinstance(latest.value, TransactionLogValue)
    transaction = read_transaction(transactional_id, latest.value)
    step = TransactionStep.COMMIT if commit else TransactionStep.ABORT
    version = transaction.client_version
    decided = transaction.prepared(step, version=version, now_ms=now_ms(), fresh_producer_id=-1)
    batch = bytearray(encode_batch([(now_ms(), *encode_record(transaction_record(decided)), ())]))
    append_as_leader(log, batch, [parse_header(batch)], 0, now_ms=now_ms(), origin=AppendOrigin.COORDINATOR)
    directory.close(now_ms(), broker_epoch=-1)


async def test_a_deleted_topic_does_not_keep_a_transaction_from_ending(client: RawClient) -> None:
    await create_topic(client, "doomed")
    await create_topic(client, "t")
    producer = await started(client, 2)
    await producer.produce("doomed", "x", sequence=0)
    await producer.produce("t", "y", sequence=0)
    await client.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="doomed")], timeout_ms=5000), 6)

    assert await producer.end(commit=True) is ErrorCode.NONE
    assert await read(client, "t") == ["y"]
    described = await client.ask(DescribeTransactionsRequest(transactional_ids=["payments"]))
    assert described.transaction_states[0].transaction_state == "CompleteCommit"
