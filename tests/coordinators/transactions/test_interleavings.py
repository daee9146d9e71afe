"""Random histories of two producers with one transactional id, under fail-over, lost markers and a failing log.

What must hold however they interleave: a producer that was replaced achieves nothing any more, nothing that was decided
changes, and a new coordinator knows what the old one knew.
"""

from __future__ import annotations

from itertools import pairwise

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from support.transaction_driver import ORDERS, REFUNDS, TRANSACTIONAL_ID, Coordinator

from tidelog.coordinators.decision import ProducerIdentity
from tidelog.coordinators.transactions.records import read_transaction
from tidelog.coordinators.transactions.states import PREPARED, TRANSACTION, TransactionState
from tidelog.coordinators.transactions.transaction import Transaction
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.add_partitions_to_txn_response import AddPartitionsToTxnResponse
from tidelog.protocol.messages.end_txn_request import EndTxnRequest
from tidelog.protocol.messages.end_txn_response import EndTxnResponse
from tidelog.protocol.messages.init_producer_id_request import InitProducerIdRequest
from tidelog.protocol.messages.init_producer_id_response import InitProducerIdResponse
from tidelog.protocol.messages.transaction_log_value import TransactionLogValue
from tidelog.protocol.schema import Message

TIMEOUT_MS = 30_000
# One producer speaks the first protocol version, the other the second; or both the same.
PRODUCERS = st.sampled_from(["first", "second"])
PARTITIONS = st.sampled_from([ORDERS, REFUNDS])


class TwoProducers(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.coordinator = Coordinator()
        self.identities: dict[str, ProducerIdentity] = {}
        self.versions: dict[str, int] = {}
        # Whose initialisation was the last to succeed.
        self.owner: str | None = None
        # Identities that a new producer was given.
        self.given: set[ProducerIdentity] = set()
        # Requests that may arrive once more, and by whom they were sent, under which identity.
        self.delayed: list[tuple[str, ProducerIdentity, EndTxnRequest, int]] = []
        self.decided: dict[int, bool] = {}

    def is_v2(self, who: str) -> bool:
        return self.versions.get(who, 1) == 2

    # -- what producers do ---------------------------------------------------------------------------------------

    @rule(who=PRODUCERS, version=st.sampled_from([1, 2]))
    def starts(self, who: str, version: int) -> None:
        response = self.ask_init(None)
        if response is None or response.error_code:
            return
        identity = ProducerIdentity(response.producer_id, response.producer_epoch)
        assert identity not in self.given, "two producers got the same identity"
        self.given.add(identity)
        self.identities[who] = identity
        self.versions[who] = version
        self.owner = who

    @precondition(lambda self: self.identities)
    @rule(who=PRODUCERS)
    def asks_for_a_new_epoch(self, who: str) -> None:
        identity = self.identities.get(who)
        if identity is None:
            return
        response = self.ask_init(identity)
        if response is None or response.error_code:
            return
        assert who == self.owner, "a replaced producer got a new epoch"
        self.identities[who] = ProducerIdentity(response.producer_id, response.producer_epoch)
        self.given.add(self.identities[who])

    @precondition(lambda self: self.identities)
    @rule(who=PRODUCERS, partition=PARTITIONS)
    def adds(self, who: str, partition: object) -> None:
        identity = self.identities.get(who)
        if identity is None or self.coordinator.log_broken:
            return
        code = self.coordinator.add(identity, partition, version=5 if self.is_v2(who) else 3)  # type: ignore[arg-type]
        assert who == self.owner or code is not ErrorCode.NONE, "a replaced producer wrote"

    @precondition(lambda self: self.identities)
    @rule(who=PRODUCERS, commit=st.booleans(), reply_lost=st.booleans())
    def ends(self, who: str, commit: bool, reply_lost: bool) -> None:
        identity = self.identities.get(who)
        if identity is None:
            return
        request = EndTxnRequest(
            transactional_id=TRANSACTIONAL_ID,
            producer_id=identity.producer_id,
            producer_epoch=identity.producer_epoch,
            committed=commit,
        )
        version = 5 if self.is_v2(who) else 4
        response = self.coordinator.ask(request, version)
        self.delayed.append((who, identity, request, version))
        if response is None:
            return
        assert isinstance(response, EndTxnResponse)
        assert who == self.owner or response.error_code, "a replaced producer ended a transaction"
        if not response.error_code and self.is_v2(who) and not reply_lost:
            self.identities[who] = ProducerIdentity(response.producer_id, response.producer_epoch)

    @precondition(lambda self: self.delayed)
    @rule(data=st.data())
    def a_delayed_end_arrives(self, data: st.DataObject) -> None:
        who, identity, request, version = data.draw(st.sampled_from(self.delayed))
        before = self.last_record()
        self.coordinator.ask(request, version)
        if version >= 5 and identity != self.identities.get(who):
            assert self.last_record() == before, "a delayed request of version 2 ended another transaction"

    # -- what happens to the coordinator -------------------------------------------------------------------------

    @rule()
    def markers_are_written(self) -> None:
        if not self.coordinator.log_broken:
            self.coordinator.write_markers()

    @precondition(lambda self: self.coordinator.marker_work)
    @rule(data=st.data())
    def one_marker_is_written(self, data: st.DataObject) -> None:
        work = data.draw(st.sampled_from(self.coordinator.marker_work))
        if work.partitions:
            self.coordinator.write_marker(work, data.draw(st.sampled_from(sorted(work.partitions))))

    @rule()
    def coordinator_fails_over(self) -> None:
        self.coordinator.fail_over()

    @rule(milliseconds=st.sampled_from([1, 5000, TIMEOUT_MS]))
    def time_passes(self, milliseconds: int) -> None:
        self.coordinator.wait(milliseconds)

    @rule(broken=st.booleans())
    def log_breaks_or_heals(self, broken: bool) -> None:
        self.coordinator.log_broken = broken

    # -- what must hold ------------------------------------------------------------------------------------------

    @invariant()
    def replay_gives_the_same_state(self) -> None:
        live = {each.transactional_id: each for each in self.coordinator.shard.transactions}
        replayed = Coordinator(log=list(self.coordinator.log), now_ms=self.coordinator.now_ms).shard
        assert {each.transactional_id: each for each in replayed.transactions} == live

    @invariant()
    def every_step_is_in_the_table(self) -> None:
        for before, after in pairwise(self.history()):
            # A fence goes through a state of its own, which is not written.
            assert (before.state, after.state) in {(start, end) for (start, _), end in TRANSACTION.steps.items()}

    @invariant()
    def epochs_of_one_id_never_go_back(self) -> None:
        for before, after in pairwise(self.history()):
            if before.producer.producer_id == after.producer.producer_id:
                assert before.producer.producer_epoch <= after.producer.producer_epoch

    @invariant()
    def what_is_decided_stays_decided(self) -> None:
        for index, transaction in enumerate(self.history()):
            if transaction.state in PREPARED:
                commit = transaction.state is TransactionState.PREPARE_COMMIT
                assert self.decided.setdefault(index, commit) == commit
        for work in self.coordinator.marker_work:
            current = self.coordinator.transaction
            if current.state in PREPARED and current.producer == work.producer:
                assert work.commit == (current.state is TransactionState.PREPARE_COMMIT)

    @invariant()
    def in_the_second_version_each_transaction_has_an_epoch_of_its_own(self) -> None:
        ends = [each.producer for each in self.history() if each.state in PREPARED and each.client_version == 2]
        assert len(ends) == len(set(ends))

    def ask_init(self, expected: ProducerIdentity | None) -> InitProducerIdResponse | None:
        producer_id, producer_epoch = expected or (-1, -1)
        response: Message | None = self.coordinator.ask(
            InitProducerIdRequest(
                transactional_id=TRANSACTIONAL_ID,
                transaction_timeout_ms=TIMEOUT_MS,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
            ),
            5,
        )
        assert response is None or isinstance(response, InitProducerIdResponse)
        assert not isinstance(response, AddPartitionsToTxnResponse)
        return response

    def history(self) -> list[Transaction]:
        return [
            read_transaction(TRANSACTIONAL_ID, record.value)
            for record in self.coordinator.records()
            if isinstance(record.value, TransactionLogValue)
        ]

    def last_record(self) -> int:
        return len(self.coordinator.log)


TestTwoProducers = TwoProducers.TestCase
TestTwoProducers.settings = settings(max_examples=120, stateful_step_count=40)
