"""The life of one shard on this broker: its stages and the steps between them, as one table."""

from __future__ import annotations

from enum import Enum

from tidelog.model.errors import ErrorCode
from tidelog.model.transitions import Transitions


class ShardStage(Enum):
    """Only an active shard decides; the others refuse every request."""

    LOADING = "Loading"
    ACTIVE = "Active"
    FAILED = "Failed"
    CLOSED = "Closed"


class ShardStep(Enum):
    LOADED = "the log is replayed"
    UNREADABLE = "the log cannot be read"
    BROKEN = "the log holds what the shard does not know"
    RELOAD = "a broken shard is loaded again"
    CLOSE = "the broker stops leading the partition, or stops"


SHARD_LIFECYCLE = Transitions(
    name="Shard of a coordinator",
    meaning="Whether the leader of a partition of a coordinator's topic can decide what is asked of it.",
    initial=(ShardStage.LOADING,),
    states={
        ShardStage.LOADING: "The log is being replayed.",
        ShardStage.ACTIVE: "Requests and timers are decided.",
        ShardStage.FAILED: "What is in memory cannot be relied on.",
        ShardStage.CLOSED: "Another broker is the coordinator.",
    },
    steps={
        (ShardStage.LOADING, ShardStep.LOADED): ShardStage.ACTIVE,
        (ShardStage.LOADING, ShardStep.UNREADABLE): ShardStage.FAILED,
        (ShardStage.LOADING, ShardStep.CLOSE): ShardStage.CLOSED,
        (ShardStage.ACTIVE, ShardStep.BROKEN): ShardStage.FAILED,
        (ShardStage.ACTIVE, ShardStep.CLOSE): ShardStage.CLOSED,
        (ShardStage.FAILED, ShardStep.RELOAD): ShardStage.LOADING,
        (ShardStage.FAILED, ShardStep.CLOSE): ShardStage.CLOSED,
    },
)

# What requests are answered with after each step.
REFUSAL_AFTER: dict[ShardStep, ErrorCode] = {
    ShardStep.LOADED: ErrorCode.NONE,
    ShardStep.UNREADABLE: ErrorCode.NOT_COORDINATOR,
    ShardStep.BROKEN: ErrorCode.UNKNOWN_SERVER_ERROR,
    ShardStep.RELOAD: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ShardStep.CLOSE: ErrorCode.NOT_COORDINATOR,
}
