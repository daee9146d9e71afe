"""What must hold in every history of a quorum. Each checker has a name, and a violation says which one found it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from consensus.simulated_log import Entry


class Violation(AssertionError):
    def __init__(self, checker: str, message: str) -> None:
        super().__init__(f"{checker}: {message}")
        self.checker = checker


class History:
    """What the replicas of one quorum have shown of themselves so far."""

    def __init__(self) -> None:
        self.committed: list[Entry] = []
        # In which epoch each of them was committed.
        self.committed_in: list[int] = []
        self.leaders: dict[int, tuple[int, int]] = {}
        self.votes: dict[tuple[int, int], int] = {}
        self.epochs: dict[int, int] = {}

    def check_epoch(self, node_id: int, epoch: int) -> None:
        before = self.epochs.get(node_id, 0)
        if epoch < before:
            raise Violation("epochs never go back", f"node {node_id} went from epoch {before} to {epoch}")
        self.epochs[node_id] = epoch

    def forget(self, node_id: int) -> None:
        """The node has a new disk: it may begin at epoch 0 again, but what it has voted for still counts."""
        self.epochs.pop(node_id, None)

    def check_vote(self, voter_id: int, epoch: int, candidate_id: int) -> None:
        before = self.votes.setdefault((voter_id, epoch), candidate_id)
        if before != candidate_id:
            raise Violation(
                "one vote per epoch", f"node {voter_id} voted for {before} and for {candidate_id} in epoch {epoch}"
            )

    def check_leader(self, node_id: int, incarnation: int, epoch: int, entries: Sequence[Entry]) -> None:
        before = self.leaders.setdefault(epoch, (node_id, incarnation))
        if before != (node_id, incarnation):
            raise Violation("one leader per epoch", f"epoch {epoch} is led by {before} and by {(node_id, incarnation)}")
        for offset, entry in enumerate(self.committed):
            # Votes can arrive so late that a later epoch is under way: its records are unknown to this leader, who
            # will not commit anything.
            if self.committed_in[offset] < epoch and (offset >= len(entries) or entries[offset] != entry):
                raise Violation(
                    "leaders have everything committed",
                    f"node {node_id}, leader of epoch {epoch}, lacks offset {offset}: {entry}",
                )

    def check_commit(
        self, node_id: int, epoch: int, before: int, high_watermark: int, entries: Sequence[Entry]
    ) -> None:
        """A node says that everything before `high_watermark` is committed; last time it said so of `before`."""
        if high_watermark > len(entries):
            raise Violation("committed records exist", f"node {node_id} has {len(entries)} records of {high_watermark}")
        for offset in range(before, high_watermark):
            if offset == len(self.committed):
                self.committed.append(entries[offset])
                self.committed_in.append(epoch)
            elif entries[offset] != self.committed[offset]:
                raise Violation(
                    "committed records never change",
                    f"node {node_id} has {entries[offset]} at offset {offset}, not {self.committed[offset]}",
                )

    def check_logs(self, logs: Iterable[tuple[int, Sequence[Entry]]]) -> None:
        """Two records with the same offset and epoch are the same, and so is everything before them."""
        known = list(logs)
        for index, (one_id, one) in enumerate(known):
            for other_id, other in known[:index]:
                last = min(len(one), len(other)) - 1
                while last >= 0 and one[last].epoch != other[last].epoch:
                    last -= 1
                if one[: last + 1] != other[: last + 1]:
                    raise Violation("logs match", f"nodes {one_id} and {other_id} differ before offset {last + 1}")
