"""What a partition's leader does when the marker of a transaction comes while it asks about the next one."""

from __future__ import annotations

import pytest
from server.conftest import create_topic
from support.raw_client import raw_client
from support.raw_transactions import RawProducer

import tidelog
from tidelog.model.errors import ErrorCode
from tidelog.network.later import Later
from tidelog.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest
from tidelog.protocol.schema import Message
from tidelog.server.coordination.transactions import TransactionCoordinator


async def test_a_marker_between_question_and_answer_does_not_end_the_next_transaction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A producer of the second protocol may write before the markers of its last transaction have arrived."""
    async with tidelog.Broker() as broker, raw_client(broker.bootstrap_servers) as client:
        await create_topic(client, "t")
        producer = RawProducer(client, "x", protocol=2)
        await producer.init()
        await producer.send("t", "first")
        await producer.end(commit=True)
        replica = broker.running.node.replicas.leader("t", 0)
        assert not isinstance(replica, ErrorCode)
        original = TransactionCoordinator.ask_as_broker
        questions = 0

        def ask_slowly(
            self: TransactionCoordinator, transactional_id: str, message: AddPartitionsToTxnRequest, version: int
        ) -> Later[Message]:
            async def answer() -> Message:
                nonlocal questions
                questions += 1
                if questions == 1:
                    # This is what the marker does to a question that is under way.
                    replica.log.producer_states.verifications.end(producer.producer_id)
                given = original(self, transactional_id, message, version)
                return given if isinstance(given, Message) else await given

            return Later.run(answer())

        monkeypatch.setattr(TransactionCoordinator, "ask_as_broker", ask_slowly)
        assert await producer.produce("t", "second") is ErrorCode.NONE
        assert questions == 2
        assert await producer.end(commit=True) is ErrorCode.NONE
