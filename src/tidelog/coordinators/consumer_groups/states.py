"""The states of a consumer group and of its members, and the steps between them: two tables.

A member takes the steps of its table. A group only follows from its epochs and members, and so takes none itself: its
table says what a request or a timer can make of it, and the tests compare both.
"""

from __future__ import annotations

from enum import Enum, IntEnum

from tidelog.model.transitions import Transitions


class MemberState(IntEnum):
    """The numbers are those of the records."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127


class MemberStep(Enum):
    REVOKE = "has partitions to give up"
    WAIT = "others have partitions that it is to get"
    ARRIVE = "owns its whole target"
    LEAVE_FOR_A_WHILE = "a static member goes and means to return"


CONSUMER_MEMBER = Transitions(
    name="Member of a consumer group",
    meaning="How far a member has come towards what it is to own; it gives up before it takes.",
    initial=(MemberState.STABLE,),
    states={
        MemberState.STABLE: "It owns what it is to own.",
        MemberState.UNREVOKED_PARTITIONS: "It must give up partitions before it goes on.",
        MemberState.UNRELEASED_PARTITIONS: "It waits for partitions that others have to give up.",
        MemberState.UNKNOWN: "Written by a newer version.",
    },
    steps={
        **{(state, MemberStep.REVOKE): MemberState.UNREVOKED_PARTITIONS for state in MemberState},
        **{(state, MemberStep.WAIT): MemberState.UNRELEASED_PARTITIONS for state in MemberState},
        **{(state, MemberStep.ARRIVE): MemberState.STABLE for state in MemberState},
        **{(state, MemberStep.LEAVE_FOR_A_WHILE): MemberState.STABLE for state in MemberState},
    },
)


class ConsumerGroupState(Enum):
    """Spelled as in replies."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


class ConsumerGroupStep(Enum):
    CHANGE = "members, subscriptions or topics change"
    ASSIGN = "a new target is computed"
    ARRIVE = "every member has reached the target"
    DESERT = "the last member leaves"


CONSUMER_GROUP = Transitions(
    name="Consumer group",
    meaning="Whether the members of a group of the consumer protocol (KIP-848) own what they are to own.",
    # A classic group that changes its protocol brings its members with it.
    initial=(ConsumerGroupState.EMPTY, ConsumerGroupState.RECONCILING),
    states={
        ConsumerGroupState.EMPTY: "No members; offsets may still be there.",
        ConsumerGroupState.ASSIGNING: "The target assignment is older than the group; a later heartbeat computes one.",
        ConsumerGroupState.RECONCILING: "Members are on their way to the target.",
        ConsumerGroupState.STABLE: "Every member owns what it is to own.",
    },
    steps={
        (ConsumerGroupState.EMPTY, ConsumerGroupStep.CHANGE): ConsumerGroupState.ASSIGNING,
        (ConsumerGroupState.EMPTY, ConsumerGroupStep.ARRIVE): ConsumerGroupState.STABLE,
        (ConsumerGroupState.ASSIGNING, ConsumerGroupStep.ASSIGN): ConsumerGroupState.RECONCILING,
        (ConsumerGroupState.ASSIGNING, ConsumerGroupStep.ARRIVE): ConsumerGroupState.STABLE,
        (ConsumerGroupState.ASSIGNING, ConsumerGroupStep.DESERT): ConsumerGroupState.EMPTY,
        (ConsumerGroupState.RECONCILING, ConsumerGroupStep.CHANGE): ConsumerGroupState.ASSIGNING,
        (ConsumerGroupState.RECONCILING, ConsumerGroupStep.ARRIVE): ConsumerGroupState.STABLE,
        (ConsumerGroupState.RECONCILING, ConsumerGroupStep.DESERT): ConsumerGroupState.EMPTY,
        (ConsumerGroupState.STABLE, ConsumerGroupStep.CHANGE): ConsumerGroupState.ASSIGNING,
        (ConsumerGroupState.STABLE, ConsumerGroupStep.ASSIGN): ConsumerGroupState.RECONCILING,
        (ConsumerGroupState.STABLE, ConsumerGroupStep.DESERT): ConsumerGroupState.EMPTY,
    },
)
