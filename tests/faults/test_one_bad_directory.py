"""A request that asks about several things, of which one lies in a directory that breaks while the request is served.

It costs that one, at whichever call to the file system it happens, on the event loop or in a thread: the others are
answered for as if nothing had happened. Every API that can say an error for a part of its answer is asked.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from server.conftest import create_topic
from support.bad_disk import TwoDisks, two_disks
from support.eventually import eventually
from support.present import present
from support.raw_client import RawClient
from support.raw_transactions import RawProducer, now_ms

from tidelog.coordinators.placement import partition_for
from tidelog.model.errors import ErrorCode
from tidelog.model.topics import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from tidelog.protocol.api import response_class
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from tidelog.protocol.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from tidelog.protocol.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from tidelog.protocol.messages.delete_groups_request import DeleteGroupsRequest
from tidelog.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tidelog.protocol.messages.describe_groups_request import DescribeGroupsRequest
from tidelog.protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from tidelog.protocol.messages.describe_producers_request import DescribeProducersRequest, TopicRequest
from tidelog.protocol.messages.describe_topic_partitions_request import (
    DescribeTopicPartitionsRequest,
)
from tidelog.protocol.messages.describe_topic_partitions_request import TopicRequest as DescribedTopic
from tidelog.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from tidelog.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from tidelog.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tidelog.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tidelog.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.protocol.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestGroup
from tidelog.protocol.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tidelog.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.protocol.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tidelog.protocol.schema import Message
from tidelog.records.compression import Compression
from tidelog.records.record import encode_batch
from tidelog.records.validation import PROMPT_BYTES
from tidelog.server.api.catalogue import served_on
from tidelog.server.declaration import Forwarding, ListenerKind

# Not long ago: a marker of now would begin another segment.
NOW: Final = now_ms()
SOUGHT: Final = NOW + 4
PROPERTIES: Final = {
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    # Nothing but the request touches the directories.
    "log.flush.offset.checkpoint.interval.ms": "3600000",
    "log.flush.start.offset.checkpoint.interval.ms": "3600000",
    "replica.high.watermark.checkpoint.interval.ms": "3600000",
    "log.retention.check.interval.ms": "3600000",
    "log.cleaner.backoff.ms": "3600000",
}
# What a client learns of something whose directory has failed.
GONE: Final = {
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
}
_ENOUGH_CALLS: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What lies in one of the two directories."""

    directory: Path
    partition: int
    group: str
    producer: RawProducer

    @property
    def names(self) -> set[object]:
        """By which of these an answer can be for it."""
        return {self.partition, self.group, self.producer.transactional_id, str(self.directory)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Both:
    topic_id: bytes
    bad: Side
    good: Side

    def each(self, make: Callable[[Side], Any]) -> list[Any]:
        """The bad one first: what it breaks, it breaks for the other."""
        return [make(self.bad), make(self.good)]


# -- what is asked -----------------------------------------------------------------------------------------------------


def produce(both: Both) -> ProduceRequest:
    data = both.each(lambda side: PartitionProduceData(index=side.partition, records=batch(NOW + 9)))
    topics = [TopicProduceData(topic_id=both.topic_id, partition_data=data)]
    return ProduceRequest(acks=-1, timeout_ms=20_000, topic_data=topics)


def fetch(both: Both) -> FetchRequest:
    wanted = both.each(
        lambda side: FetchPartition(partition=side.partition, fetch_offset=1, partition_max_bytes=1 << 20)
    )
    topics = [FetchTopic(topic_id=both.topic_id, partitions=wanted)]
    return FetchRequest(max_wait_ms=0, session_epoch=-1, isolation_level=1, topics=topics)


def list_offsets(timestamp: int) -> Callable[[Both], ListOffsetsRequest]:
    def ask(both: Both) -> ListOffsetsRequest:
        wanted = both.each(lambda side: ListOffsetsPartition(partition_index=side.partition, timestamp=timestamp))
        return ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=wanted)])

    return ask


def delete_records(both: Both) -> DeleteRecordsRequest:
    wanted = both.each(lambda side: DeleteRecordsPartition(partition_index=side.partition, offset=2))
    return DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="t", partitions=wanted)], timeout_ms=20_000)


def offset_for_leader_epoch(both: Both) -> OffsetForLeaderEpochRequest:
    wanted = both.each(lambda side: OffsetForLeaderPartition(partition=side.partition, leader_epoch=0))
    return OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic="t", partitions=wanted)])


def describe_producers(both: Both) -> DescribeProducersRequest:
    return DescribeProducersRequest(
        topics=[TopicRequest(name="t", partition_indexes=both.each(lambda side: side.partition))]
    )


def stay(both: Both) -> AlterReplicaLogDirsRequest:
    """Each partition where it is: a move reads and writes both directories."""

    def directory(side: Side) -> AlterReplicaLogDir:
        topic = AlterReplicaLogDirTopic(name="t", partitions=[side.partition])
        return AlterReplicaLogDir(path=str(side.directory), topics=[topic])

    return AlterReplicaLogDirsRequest(dirs=both.each(directory))


def write_markers(both: Both) -> WriteTxnMarkersRequest:
    topic = WritableTxnMarkerTopic(name="t", partition_indexes=both.each(lambda side: side.partition))
    return WriteTxnMarkersRequest(markers=[WritableTxnMarker(producer_id=77, topics=[topic])])


def add_partitions(both: Both) -> AddPartitionsToTxnRequest:
    def transaction(side: Side) -> AddPartitionsToTxnTransaction:
        return AddPartitionsToTxnTransaction(
            transactional_id=side.producer.transactional_id,
            producer_id=side.producer.producer_id,
            producer_epoch=side.producer.producer_epoch,
            topics=[AddPartitionsToTxnTopic(name="t", partitions=[both.good.partition])],
        )

    return AddPartitionsToTxnRequest(transactions=both.each(transaction))


def groups_of(both: Both) -> list[str]:
    return both.each(lambda side: side.group)


def transactions_of(both: Both) -> list[str]:
    return both.each(lambda side: side.producer.transactional_id)


ASKED: Final[dict[str, tuple[ApiKey, Callable[[Both], Message]]]] = {
    "Produce": (ApiKey.PRODUCE, produce),
    "Fetch": (ApiKey.FETCH, fetch),
    "ListOffsets, by time": (ApiKey.LIST_OFFSETS, list_offsets(SOUGHT)),
    "ListOffsets, largest time": (ApiKey.LIST_OFFSETS, list_offsets(-3)),
    "DeleteRecords": (ApiKey.DELETE_RECORDS, delete_records),
    "OffsetForLeaderEpoch": (ApiKey.OFFSET_FOR_LEADER_EPOCH, offset_for_leader_epoch),
    "DescribeProducers": (ApiKey.DESCRIBE_PRODUCERS, describe_producers),
    "DescribeLogDirs": (ApiKey.DESCRIBE_LOG_DIRS, lambda both: DescribeLogDirsRequest(topics=None)),
    "AlterReplicaLogDirs": (ApiKey.ALTER_REPLICA_LOG_DIRS, stay),
    "WriteTxnMarkers": (ApiKey.WRITE_TXN_MARKERS, write_markers),
    "AddPartitionsToTxn": (ApiKey.ADD_PARTITIONS_TO_TXN, add_partitions),
    "DescribeTransactions": (
        ApiKey.DESCRIBE_TRANSACTIONS,
        lambda both: DescribeTransactionsRequest(transactional_ids=transactions_of(both)),
    ),
    "OffsetFetch": (
        ApiKey.OFFSET_FETCH,
        lambda both: OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup(group_id=group, topics=None) for group in groups_of(both)]
        ),
    ),
    "DescribeGroups": (ApiKey.DESCRIBE_GROUPS, lambda both: DescribeGroupsRequest(groups=groups_of(both))),
    "ConsumerGroupDescribe": (
        ApiKey.CONSUMER_GROUP_DESCRIBE,
        lambda both: ConsumerGroupDescribeRequest(group_ids=groups_of(both)),
    ),
    "DeleteGroups": (ApiKey.DELETE_GROUPS, lambda both: DeleteGroupsRequest(groups_names=groups_of(both))),
    "FindCoordinator": (
        ApiKey.FIND_COORDINATOR,
        lambda both: FindCoordinatorRequest(coordinator_keys=groups_of(both)),
    ),
    "Metadata": (ApiKey.METADATA, lambda both: MetadataRequest(topics=[MetadataRequestTopic(name="t")])),
    "DescribeTopicPartitions": (
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        lambda both: DescribeTopicPartitionsRequest(topics=[DescribedTopic(name="t")]),
    ),
}
# They list what one log holds, or what no file does, or the controller decides.
ONE_FOR_ALL: Final = {
    ApiKey.OFFSET_COMMIT: "one group, so one log",
    ApiKey.OFFSET_DELETE: "one group, so one log",
    ApiKey.TXN_OFFSET_COMMIT: "one group, so one log",
    ApiKey.LEAVE_GROUP: "one group, so one log",
    ApiKey.DESCRIBE_CONFIGS: "the image and the configuration",
    ApiKey.ALTER_CONFIGS: "the configuration, and the controller",
    ApiKey.INCREMENTAL_ALTER_CONFIGS: "the configuration, and the controller",
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: "the image",
    ApiKey.FETCH_SNAPSHOT: "the metadata log, in one directory",
}


def test_every_api_with_an_error_for_a_part_of_its_answer_is_asked() -> None:
    answered_here = [key for key, api in served_on(ListenerKind.BROKER).items() if api.forwarding is not Forwarding.ALL]
    partial = {key for key in answered_here if _has_error(response_class(key), within=False)}
    assert partial == {key for key, _ in ASKED.values()} | set(ONE_FOR_ALL)


def _has_error(kind: type[Message], *, within: bool) -> bool:
    """Whether something in a list can have an error of its own."""
    for field in kind.SCHEMA.fields:
        if within and field.name in ("error_code", "partition_error_code"):
            return True
        nested = kind.STRUCTS.get(field.kind.removeprefix("[]"))
        if nested is not None and _has_error(nested, within=within or field.kind.startswith("[]")):
            return True
    return False


# -- where it is asked -------------------------------------------------------------------------------------------------


def batch(timestamp: int) -> bytes:
    return encode_batch([(timestamp, b"k", b"v", ())])


def large_batch() -> bytes:
    """Whoever looks for `SOUGHT` has to unpack it all, and does not find it behind the first record."""
    records = [(SOUGHT, b"a", b"", ()), (NOW, b"b", bytes(2 * PROMPT_BYTES), ()), (NOW, b"c", b"", ())]
    return encode_batch(records, compression=Compression.ZSTD)


async def prepare(disks: TwoDisks, client: RawClient) -> Both:
    topic_id = await create_topic(client, "t", 2, flush_messages="1", max_message_bytes="2000000")
    for partition in range(2):
        for records in (large_batch(), batch(SOUGHT)):
            assert (await client.produce_batch("t", records, partition=partition)).error_code == 0
    first = [DeleteRecordsPartition(partition_index=partition, offset=1) for partition in range(2)]
    deleted = await client.ask(DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="t", partitions=first)]))
    assert [each.error_code for each in deleted.topics[0].partitions] == [0, 0]
    producers = [RawProducer(client, name) for name in ("transaction-1", "transaction-2")]
    for producer in producers:
        assert await producer.init() == ErrorCode.NONE
    for group in ("group-1", "group-2"):
        await commit(client, group)

    def side(directory: Path) -> Side:
        (partition,) = disks.partitions(directory)
        (of_groups,) = disks.partitions(directory, CONSUMER_OFFSETS_TOPIC)
        (of_transactions,) = disks.partitions(directory, TRANSACTION_STATE_TOPIC)
        (group,) = [each for each in ("group-1", "group-2") if partition_for(each, 2) == of_groups]
        (producer,) = [each for each in producers if partition_for(each.transactional_id, 2) == of_transactions]
        return Side(directory=directory, partition=partition, group=group, producer=producer)

    return Both(topic_id=topic_id, bad=side(disks.bad), good=side(disks.good))


async def commit(client: RawClient, group: str) -> None:
    await client.ask(FindCoordinatorRequest(coordinator_keys=[group]))

    async def committed() -> None:
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
        topic = OffsetCommitRequestTopic(name="t", partitions=[partition])
        reply = await client.ask(OffsetCommitRequest(group_id=group, topics=[topic]), 8)
        assert reply.topics[0].partitions[0].error_code == 0

    await eventually(committed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The error codes of the answers for either side; None where nothing answers for it."""

    calls: int
    bad: set[int] | None
    good: set[int] | None


async def ask(at: Path, make: Callable[[Both], Message], *, breaks_after: int, error: int) -> Outcome:
    disks = two_disks(at)
    async with disks.running(**PROPERTIES) as client:
        both = await prepare(disks, client)
        request = make(both)
        node = present(disks.node).node
        for replica in node.replicas:
            # Nothing is left for the flush that runs every second.
            await node.flusher.flush(replica)
        disks.disk.fail_after(breaks_after, error)
        reply = await client.ask(request)
        calls = disks.disk.calls
        disks.disk.error = None
    return Outcome(calls=calls, bad=codes_for(both.bad, reply), good=codes_for(both.good, reply))


def codes_for(side: Side, reply: Message) -> set[int] | None:
    answers = list(_answers(reply, side.names))
    return {code for answer in answers for code in _codes(answer)} if answers else None


_NAMED_BY: Final = ("partition_index", "partition", "index", "group_id", "key", "transactional_id", "log_dir")


def _answers(value: Any, names: set[object]) -> Iterator[Message]:
    if isinstance(value, list | tuple):
        for each in value:
            yield from _answers(each, names)
    elif isinstance(value, Message):
        named = [getattr(value, name) for name in _NAMED_BY if name in value.__slots__]
        if not named:
            for name in value.__slots__:
                yield from _answers(getattr(value, name), names)
        elif named[0] in names:
            yield value


def _codes(value: Any) -> Iterator[int]:
    if isinstance(value, list | tuple):
        for each in value:
            yield from _codes(each)
    elif isinstance(value, Message):
        for name in value.__slots__:
            if name in ("error_code", "partition_error_code"):
                yield getattr(value, name)
            else:
                yield from _codes(getattr(value, name))


# A disk that fails goes offline; one that cannot be read or written just now refuses, and that is all. Only a marker
# that is in the log and not on the device yet waits for that, for half a minute.
FAULTS: Final = [
    (name, error)
    for name in ASKED
    for error in (errno.EIO, errno.EMFILE)
    if (name, error) != ("WriteTxnMarkers", errno.EMFILE)
]


@pytest.mark.parametrize(("name", "error"), FAULTS, ids=[f"{name}, {errno.errorcode[error]}" for name, error in FAULTS])
async def test_a_directory_that_breaks_costs_only_the_part_of_the_answer_that_lies_in_it(
    tmp_path: Path, name: str, error: int
) -> None:
    _, make = ASKED[name]
    healthy = await ask(tmp_path / "healthy", make, breaks_after=_ENOUGH_CALLS, error=error)
    assert healthy.calls < _ENOUGH_CALLS
    for codes in (healthy.bad, healthy.good):
        assert codes is not None
        assert not codes & GONE
    for calls in range(healthy.calls):
        broken = await ask(tmp_path / str(calls), make, breaks_after=calls, error=error)
        assert broken.good == healthy.good
        assert broken.bad is not None
        assert broken.bad & GONE
