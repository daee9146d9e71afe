"""The transactions of one partition that readers of committed data must still wait for.

A transaction is *open* until its marker is in the log, and after that *unreplicated* until the high watermark has
passed the marker: only then can no election take the marker away again. The last stable offset lies before the first
record of all of them. Which producer may do what is decided in `tidelog.partition.producers`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from heapq import heappop, heappush
from itertools import pairwise
from typing import NamedTuple

from tidelog.model.invariants import require


class StartedTransaction(NamedTuple):
    first_offset: int
    producer_id: int


class CompletedTransaction(NamedTuple):
    first_offset: int
    # The offset of the marker.
    last_offset: int


class AbortedTransaction(NamedTuple):
    """What the transaction index of the segment that holds the marker keeps of it."""

    producer_id: int
    first_offset: int
    # The offset of the marker.
    last_offset: int
    # Where the last stable offset will be once the marker is replicated.
    last_stable_offset: int


class UnstableTransactions:
    """Open and unreplicated transactions, ordered so that the first one is found at once."""

    __slots__ = ("_open", "_unreplicated")

    def __init__(self) -> None:
        # First offset to producer id. Offsets only grow, so the order of insertion is the order of offsets.
        self._open: dict[int, int] = {}
        # A heap.
        self._unreplicated: list[CompletedTransaction] = []

    def first_unstable_offset(self, high_watermark: int) -> int | None:
        """The first record that is undecided, or whose decision the high watermark has not passed.

        Transactions that the watermark has passed are forgotten here: it never goes back.
        """
        unreplicated = self._unreplicated
        while unreplicated and unreplicated[0][1] < high_watermark:
            heappop(unreplicated)
        undecided = next(iter(self._open), None)
        if not unreplicated:
            return undecided
        decided = unreplicated[0][0]
        return decided if undecided is None or decided < undecided else undecided

    def first_open_offset_besides(
        self, completed: Collection[int], started: Sequence[StartedTransaction]
    ) -> int | None:
        """Where the oldest transaction begins that stays open after a plan that starts and completes some."""
        for first_offset in self._open:
            if first_offset not in completed:
                return first_offset
        for transaction in started:
            if transaction.first_offset not in completed:
                return transaction.first_offset
        return None

    def start(self, transaction: StartedTransaction) -> None:
        self._open[transaction.first_offset] = transaction.producer_id

    def complete(self, transaction: CompletedTransaction) -> None:
        del self._open[transaction.first_offset]
        heappush(self._unreplicated, transaction)

    def reload(self, transactions: Sequence[StartedTransaction]) -> None:
        """Start over from what a snapshot says is open."""
        self._open = {transaction.first_offset: transaction.producer_id for transaction in sorted(transactions)}
        self._unreplicated.clear()

    def check_invariants(self, expected: Mapping[int, int], end_offset: int) -> None:
        """`expected` are the transactions, by first offset, that the entries of the producers say are open.

        They may begin before the start of the log: records can be deleted up to the high watermark.
        """
        undecided = self._open
        require(undecided == expected, self, "open transactions are those of the producers", expected=expected)
        require(all(a < b for a, b in pairwise(undecided)), self, "open transactions are in the order of their offsets")
        require(all(first < end_offset for first in undecided), self, "transactions lie in the log", end=end_offset)
        for first_offset, marker in self._unreplicated:
            require(0 <= first_offset < marker < end_offset, self, "a marker follows its records", end=end_offset)

    def __repr__(self) -> str:
        return f"UnstableTransactions(open={self._open}, unreplicated={self._unreplicated})"
