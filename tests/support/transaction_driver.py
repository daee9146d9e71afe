"""A shard of the transaction coordinator with a log in memory: what the server does around it, without a server.

Every record goes through its bytes, so that what is replayed is what would be read back.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from support.default_settings import transaction_settings

from tidelog.coordinators.decision import (
    CoordinatorRecord,
    Moment,
    ProducerIdentity,
    ShardDecision,
    ShardRequest,
    Token,
)
from tidelog.coordinators.transactions.markers import MarkerWork
from tidelog.coordinators.transactions.records import decode_record, encode_record
from tidelog.coordinators.transactions.settings import TransactionSettings
from tidelog.coordinators.transactions.shard import TransactionShard
from tidelog.coordinators.transactions.state import ProducerIdNeeded
from tidelog.coordinators.transactions.transaction import Transaction
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from tidelog.protocol.messages.add_partitions_to_txn_response import AddPartitionsToTxnResponse
from tidelog.protocol.messages.end_txn_request import EndTxnRequest
from tidelog.protocol.messages.end_txn_response import EndTxnResponse
from tidelog.protocol.messages.init_producer_id_request import InitProducerIdRequest
from tidelog.protocol.messages.init_producer_id_response import InitProducerIdResponse
from tidelog.protocol.schema import Message

TRANSACTIONAL_ID = "payments"
ORDERS = TopicPartition("orders", 0)
REFUNDS = TopicPartition("refunds", 3)

INIT_V1 = 4
ADD_V1 = 3
END_V1 = 4
INIT_V2 = 5
ADD_V2 = 5
END_V2 = 5


@dataclass(slots=True)
class Coordinator:
    """`log_broken` makes every append fail, as when too few replicas are in sync."""

    settings: TransactionSettings = field(default_factory=transaction_settings)
    now_ms: int = 1_700_000_000_000
    log: list[tuple[bytes, bytes | None]] = field(default_factory=list)
    log_broken: bool = False
    next_producer_id: int = 1000
    coordinator_epoch: int = 0
    # Decided transactions whose markers are to be written.
    marker_work: list[MarkerWork] = field(default_factory=list)
    shard: TransactionShard = field(init=False)

    def __post_init__(self) -> None:
        self.shard = self._load()

    # -- time and fail-over --------------------------------------------------------------------------------------

    @property
    def moment(self) -> Moment:
        return Moment(float(self.now_ms - 1_600_000_000_000), self.now_ms)

    def wait(self, milliseconds: int) -> ShardDecision:
        self.now_ms += milliseconds
        decision = self.shard.on_time(self.moment)
        self._apply(decision)
        return decision

    def fail_over(self) -> None:
        """Another broker takes over, from the log alone."""
        self.coordinator_epoch += 1
        self.shard = self._load()

    def _load(self) -> TransactionShard:
        shard = TransactionShard(self.settings, coordinator_epoch=self.coordinator_epoch)
        for offset, (key, value) in enumerate(self.log):
            shard.replay(decode_record(key, value), offset=offset)
        shard.on_loaded(self.moment)
        self.marker_work = shard.take_marker_work()
        shard.check_invariants()
        return shard

    # -- requests ------------------------------------------------------------------------------------------------

    def ask(self, message: Message, version: int) -> Message | None:
        """None if the log could not be written."""
        request = ShardRequest(token=Token(7), message=message, version=version)
        decision = self.shard.decide(request, self.moment)
        if isinstance(decision, ProducerIdNeeded):
            self.next_producer_id += 1
            request = replace(request, fresh_producer_id=self.next_producer_id)
            decision = self.shard.decide(request, self.moment)
        assert isinstance(decision, ShardDecision)
        if not self._apply(decision):
            return None
        ((token, response),) = decision.answers
        assert token == Token(7)
        return response

    def init(
        self,
        *,
        expected: ProducerIdentity | None = None,
        timeout_ms: int = 60_000,
        version: int = INIT_V1,
        two_phase: bool = False,
        keep: bool = False,
        transactional_id: str | None = TRANSACTIONAL_ID,
    ) -> InitProducerIdResponse:
        producer_id, producer_epoch = expected or (-1, -1)
        response = self.ask(
            InitProducerIdRequest(
                transactional_id=transactional_id,
                transaction_timeout_ms=timeout_ms,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                enable2_pc=two_phase,
                keep_prepared_txn=keep,
            ),
            version,
        )
        assert isinstance(response, InitProducerIdResponse)
        return response

    def producer(self, **options: object) -> ProducerIdentity:
        """Initialise as clients do: again and again while the predecessor's transaction is being ended."""
        for _ in range(3):
            response = self.init(**options)  # type: ignore[arg-type]
            if response.error_code != ErrorCode.CONCURRENT_TRANSACTIONS:
                break
            self.write_markers()
        assert response.error_code == ErrorCode.NONE, ErrorCode(response.error_code)
        return ProducerIdentity(response.producer_id, response.producer_epoch)

    def add(
        self,
        producer: ProducerIdentity,
        *partitions: TopicPartition,
        version: int = ADD_V1,
        verify_only: bool = False,
        transactional_id: str = TRANSACTIONAL_ID,
    ) -> ErrorCode:
        """The one code that all partitions got."""
        codes = self.add_each(
            producer, *partitions, version=version, verify_only=verify_only, transactional_id=transactional_id
        )
        (code,) = set(codes.values())
        return code

    def add_each(
        self,
        producer: ProducerIdentity,
        *partitions: TopicPartition,
        version: int = ADD_V1,
        verify_only: bool = False,
        transactional_id: str = TRANSACTIONAL_ID,
    ) -> dict[TopicPartition, ErrorCode]:
        transaction = AddPartitionsToTxnTransaction(
            transactional_id=transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            verify_only=verify_only,
            topics=[
                AddPartitionsToTxnTopic(name=each.topic, partitions=[each.partition])
                for each in partitions or (ORDERS,)
            ],
        )
        response = self.ask(AddPartitionsToTxnRequest(transactions=[transaction]), version)
        assert isinstance(response, AddPartitionsToTxnResponse)
        (result,) = response.results_by_transaction
        return {
            TopicPartition(topic.name, partition.partition_index): ErrorCode(partition.partition_error_code)
            for topic in result.topic_results
            for partition in topic.results_by_partition
        }

    def end(
        self,
        producer: ProducerIdentity,
        *,
        commit: bool,
        version: int = END_V1,
        transactional_id: str = TRANSACTIONAL_ID,
    ) -> EndTxnResponse:
        response = self.ask(
            EndTxnRequest(
                transactional_id=transactional_id,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                committed=commit,
            ),
            version,
        )
        assert isinstance(response, EndTxnResponse)
        return response

    # -- markers -------------------------------------------------------------------------------------------------

    def write_markers(self) -> list[MarkerWork]:
        """All that are due, in all partitions; returns what was written."""
        written, self.marker_work = self.marker_work, []
        for work in written:
            self._apply(self.shard.on_markers_written(work, work.partitions, self.moment))
        return written

    def write_marker(self, work: MarkerWork, partition: TopicPartition) -> None:
        self._apply(self.shard.on_markers_written(work, [partition], self.moment))

    # -- looking -------------------------------------------------------------------------------------------------

    @property
    def transaction(self) -> Transaction:
        return self.named(TRANSACTIONAL_ID)

    def named(self, transactional_id: str) -> Transaction:
        (found,) = [each for each in self.shard.transactions if each.transactional_id == transactional_id]
        return found

    def records(self) -> list[CoordinatorRecord]:
        return [decode_record(key, value) for key, value in self.log]

    def _apply(self, decision: ShardDecision) -> bool:
        if self.log_broken and decision.records:
            self.shard.check_invariants()
            return False
        for record in decision.records:
            key, value = encode_record(record)
            self.log.append((key, value))
            self.shard.replay(decode_record(key, value), offset=len(self.log) - 1)
        self.marker_work += self.shard.take_marker_work()
        self.shard.check_invariants()
        return True
