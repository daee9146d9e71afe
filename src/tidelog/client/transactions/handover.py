"""Transactions that one process fills and another one ends: for systems whose workers write and whose driver decides.

It works with every Kafka broker, because EndTxn asks for the producer's id and epoch and for nothing else. Unlike a
prepared transaction (KIP-939) it does not outlive transaction.timeout.ms: then the coordinator aborts it, and ending it
fails with FencedError.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.client.cluster import Cluster
from tidelog.client.config import Options, producer_config
from tidelog.client.errors import ApiTimeout, OutcomeUnknown, TransactionError
from tidelog.client.transactions.coordinator import Asking, ProducerIdentity, TransactionCoordinator
from tidelog.client.transactions.verdicts import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTransaction:
    """What it takes to end a transaction."""

    transactional_id: str
    producer_id: int
    epoch: int
    second_protocol: bool


async def end_transaction(config: Options, transaction: OpenTransaction, *, commit: bool) -> None:
    """End a transaction that its producer has handed over. `config` is that of a producer.

    Raises FencedError if it is not open any more, and OutcomeUnknown if nobody answers.
    """
    settings = producer_config({**config, "transactional.id": transaction.transactional_id})
    asking = Asking(Request.END)
    async with Cluster(settings) as cluster:
        coordinator = TransactionCoordinator(cluster, settings, transaction.transactional_id)
        try:
            await coordinator.end(
                asking,
                ProducerIdentity(transaction.producer_id, transaction.epoch),
                commit=commit,
                second_protocol=transaction.second_protocol,
            )
        except (TransactionError, ApiTimeout) as error:
            if asking.may_be_done:
                what = "committed" if commit else "aborted"
                raise OutcomeUnknown(
                    f"it is not known whether {transaction.transactional_id!r} is {what}: {error}", error
                ) from error
            raise
