"""The name of a prepared transaction (KIP-939), to be stored with the decision of another system."""

from __future__ import annotations

from tidelog.model.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedTransactionState:
    """Which transaction was prepared. As text, `str` and `parse`, it is `producer id:epoch`, as in Kafka's Java client.

    A producer without an open transaction has -1 for both, and the empty text.
    """

    producer_id: int = -1
    epoch: int = -1

    @property
    def is_empty(self) -> bool:
        return self.producer_id < 0

    def __str__(self) -> str:
        return "" if self.is_empty else f"{self.producer_id}:{self.epoch}"

    @classmethod
    def parse(cls, text: str) -> PreparedTransactionState:
        if not text:
            return cls()
        producer_id, colon, epoch = text.partition(":")
        if not colon or not (producer_id.isdecimal() and epoch.isdecimal()):
            raise ValueError(f"{text!r} is not the state of a prepared transaction, such as 4711:3")
        return cls(producer_id=int(producer_id), epoch=int(epoch))
