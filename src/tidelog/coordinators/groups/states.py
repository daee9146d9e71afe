"""The states of a classic group and the steps between them: one table, which everything else asks."""

from __future__ import annotations

from enum import Enum

from tidelog.model.transitions import Transitions

# What a description says of a group that does not exist.
DEAD = "Dead"


class GroupState(Enum):
    """Spelled as in replies."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"


class GroupStep(Enum):
    REBALANCE = "members come, go or change"
    JOINED = "the wait for members ends"
    DESERTED = "nobody is left"
    MEMBERS_REPLAYED = "a record with members is replayed"
    NOBODY_REPLAYED = "a record without members is replayed"


CLASSIC_GROUP = Transitions(
    name="Classic group",
    meaning="Whether the members of a group of the classic protocol share partitions, or join to share them again.",
    initial=(GroupState.EMPTY,),
    states={
        GroupState.EMPTY: "No members; offsets may still be there.",
        GroupState.PREPARING_REBALANCE: "Members are asked to join, or to join again.",
        GroupState.COMPLETING_REBALANCE: "All have joined, and the leader works out the assignment.",
        GroupState.STABLE: "Every member has, or can get, an assignment.",
    },
    steps={
        (GroupState.EMPTY, GroupStep.REBALANCE): GroupState.PREPARING_REBALANCE,
        (GroupState.EMPTY, GroupStep.MEMBERS_REPLAYED): GroupState.STABLE,
        (GroupState.EMPTY, GroupStep.NOBODY_REPLAYED): GroupState.EMPTY,
        (GroupState.PREPARING_REBALANCE, GroupStep.JOINED): GroupState.COMPLETING_REBALANCE,
        (GroupState.PREPARING_REBALANCE, GroupStep.DESERTED): GroupState.EMPTY,
        (GroupState.COMPLETING_REBALANCE, GroupStep.REBALANCE): GroupState.PREPARING_REBALANCE,
        (GroupState.COMPLETING_REBALANCE, GroupStep.MEMBERS_REPLAYED): GroupState.STABLE,
        (GroupState.STABLE, GroupStep.REBALANCE): GroupState.PREPARING_REBALANCE,
        # One generation follows on another when a log is loaded, and when a static member comes back.
        (GroupState.STABLE, GroupStep.MEMBERS_REPLAYED): GroupState.STABLE,
        (GroupState.STABLE, GroupStep.NOBODY_REPLAYED): GroupState.EMPTY,
    },
)
