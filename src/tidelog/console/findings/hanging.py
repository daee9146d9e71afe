"""Which open transactions hang, and why nobody ends them (KIP-664). No I/O.

A transaction hangs if it is open in a partition, but no coordinator will write a marker there: the producer wrote to
the partition without adding it to its transaction, or so late that the transaction had ended. Brokers before Kafka 3.6,
and those with `transaction.partition.verification.enable=false`, let that happen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tidelog.client.admin import HangingTransaction, ProducerState, TransactionListing
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphan:
    """A hanging transaction. `transactional_id` is that of its producer, if a coordinator still knows it.

    `may_go_on` if that is not certain: an id that this client does not see may have the producer, and be in use.
    """

    hanging: HangingTransaction
    transactional_id: str | None
    may_go_on: bool
    why: str


def silent_transactions(
    answers: Mapping[TopicPartition, Sequence[ProducerState] | ApiError], silent_since_ms: int
) -> list[HangingTransaction]:
    """Those that may hang: nothing was written to them since then."""
    return [
        HangingTransaction(partition=partition, producer=producer)
        for partition, producers in answers.items()
        if not isinstance(producers, ApiError)
        for producer in producers
        if producer.transaction_start is not None and producer.last_timestamp < silent_since_ms
    ]


def orphans(
    found: Iterable[HangingTransaction], listed: Iterable[TransactionListing], *, ids_may_be_hidden: bool
) -> list[Orphan]:
    ids = {listing.producer_id: listing for listing in listed}
    return [_orphan(each, ids.get(each.producer.producer_id), ids_may_be_hidden) for each in found]


def matching(
    producers: Iterable[ProducerState], producer_id: int, producer_epoch: int, start_offset: int
) -> ProducerState | None:
    """The producer whose open transaction begins there."""
    for producer in producers:
        if (producer.producer_id, producer.producer_epoch) == (producer_id, producer_epoch):
            return producer if producer.transaction_start == start_offset else None
    return None


def _orphan(hanging: HangingTransaction, listing: TransactionListing | None, ids_may_be_hidden: bool) -> Orphan:
    producer_id = hanging.producer.producer_id
    if listing is None and ids_may_be_hidden:
        return Orphan(
            hanging=hanging,
            transactional_id=None,
            may_go_on=True,
            why=f"Perhaps it does not hang: no transactional id that this client sees has producer id {producer_id}. "
            "It has expired, or the client has no right to describe it (Describe on the transactional id).",
        )
    if listing is None:
        return Orphan(
            hanging=hanging,
            transactional_id=None,
            may_go_on=False,
            why=f"No coordinator knows producer id {producer_id}: its transactional id has expired, or another "
            "producer id has taken its place.",
        )
    return Orphan(
        hanging=hanging,
        transactional_id=listing.transactional_id,
        may_go_on=False,
        why=f"{listing.transactional_id} is {listing.state} at its coordinator, and {hanging.partition} is not among "
        "the partitions of its transaction.",
    )
