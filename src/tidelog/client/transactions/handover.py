"""Transactions that one process fills and another one ends: for systems whose workers write and whose driver decides.

It works with every Kafka broker, because EndTxn asks for the producer's id and epoch and for nothing else. It does not
outlive transaction.timeout.ms: then the coordinator aborts it, and ending it fails with FencedError. Brokers with
prepared transactions (KIP-939) can keep it open for as long as the decision takes (`TransactionHandover.keep`).
"""

from __future__ import annotations

from typing import Self

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.config import Options, producer_config
from tidelog.client.errors import ApiTimeout, OutcomeUnknown, TransactionError
from tidelog.client.transactions.coordinator_requests import Asking, CoordinatorRequests, ProducerIdAndEpoch
from tidelog.client.transactions.transactions import SECOND_PROTOCOL
from tidelog.client.transactions.verdicts import RequestKind
from tidelog.model.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTransaction:
    """What it takes to end a transaction."""

    transactional_id: str
    producer_id: int
    epoch: int
    second_protocol: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Who has an id now, and the producer id and epoch of the transaction that is open under it, if there is one."""

    begun_by: ProducerIdAndEpoch | None
    holder: OpenTransaction


class TransactionHandover:
    """Ends transactions that others have begun, all over the connections of one client. `config` is a producer's."""

    def __init__(self, config: Options) -> None:
        # A transaction that waits for a decision has no timeout; a configuration that names one is refused.
        given = {name: value for name, value in config.items() if name != "transaction.timeout.ms"}
        # Which id it is does not matter here.
        name = {"transactional.id": "handover"}
        self._config = producer_config({**config, **name})
        self._two_phase = producer_config({**given, **name, "transaction.two.phase.commit.enable": "true"})
        self._cluster = Cluster(self._config)

    async def __aenter__(self) -> Self:
        await self._cluster.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._cluster.close()

    async def end(self, transaction: OpenTransaction, *, commit: bool) -> None:
        """Raises FencedError if it is not open any more, and OutcomeUnknown if nobody answers."""
        asking = Asking(RequestKind.END)
        coordinator = CoordinatorRequests(self._cluster, self._config, transaction.transactional_id)
        try:
            await coordinator.end(
                asking,
                ProducerIdAndEpoch(transaction.producer_id, transaction.epoch),
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

    async def keep(self, transactional_id: str) -> Kept:
        """Take over an id together with what another producer has left open under it (KIP-939).

        From then on the transaction has no timeout, and only who has the result can end it.
        """
        coordinator = CoordinatorRequests(self._cluster, self._two_phase, transactional_id)
        given = await coordinator.initialize(keep_prepared=True)
        return Kept(
            begun_by=given.ongoing if given.ongoing.producer_id >= 0 else None,
            holder=OpenTransaction(
                transactional_id=transactional_id,
                producer_id=given.identity.producer_id,
                epoch=given.identity.epoch,
                second_protocol=coordinator.transaction_version >= SECOND_PROTOCOL,
            ),
        )

    async def take_fence(self, transactional_id: str) -> ProducerIdAndEpoch:
        """Take over an id from whoever has it. Raises FatalError if the brokers do not allow prepared transactions."""
        return (await CoordinatorRequests(self._cluster, self._two_phase, transactional_id).initialize()).identity

    async def renew_fence(self, transactional_id: str, myself: ProducerIdAndEpoch) -> ProducerIdAndEpoch:
        """The next epoch for `myself`. Raises FencedError if somebody has taken over the id since (KIP-360)."""
        coordinator = CoordinatorRequests(self._cluster, self._two_phase, transactional_id)
        return (await coordinator.initialize(myself=myself)).identity


async def end_transaction(config: Options, transaction: OpenTransaction, *, commit: bool) -> None:
    """End one transaction that its producer has handed over, as `TransactionHandover.end` does."""
    async with TransactionHandover(config) as handover:
        await handover.end(transaction, commit=commit)
