"""The states of a micro-batch on its way into the topics, and the steps between them: one table.

A driver that dies leaves the micro-batch where it is. The next one begins with it again; what it finds in the topics,
if anything, is what the transaction had become (`tidelog.spark.sink.note`).
"""

from __future__ import annotations

from enum import Enum

from tidelog.model.transitions import Transitions


class BatchState(Enum):
    WRITTEN = "Written"
    OTHERS_FENCED = "OthersFenced"
    PUBLISHING = "Publishing"
    NOTED = "Noted"
    COMMITTED = "Committed"
    SKIPPED = "Skipped"
    STOPPED = "Stopped"


class BatchStep(Enum):
    FENCE = "InitProducerId fences earlier drivers"
    BEGIN = "its rows are not in the topics yet"
    SKIP = "its rows are in the topics already"
    NOTE = "all rows are sent, and the note with them"
    COMMIT = "the transaction is committed"
    RETRY = "an error leaves open what has happened"
    STOP = "it is refused, fenced, or fails too often"


_UNDER_WAY = (BatchState.WRITTEN, BatchState.OTHERS_FENCED, BatchState.PUBLISHING, BatchState.NOTED)
SINK_BATCH = Transitions(
    name="Micro-batch of the sink",
    meaning="What the driver does with a micro-batch (atomicity=batch); if it dies, the next one begins at Written.",
    initial=(BatchState.WRITTEN,),
    states={
        BatchState.WRITTEN: "The tasks have encoded all rows, inline or staged in files; no broker knows of it.",
        BatchState.OTHERS_FENCED: "No earlier driver can write any more, and the note says what they have committed.",
        BatchState.PUBLISHING: "Rows go into a transaction, of which readers see nothing.",
        BatchState.NOTED: "All rows and the note are in the transaction, and its commit is under way.",
        BatchState.COMMITTED: "Rows and note are in the topics, and Spark may log the micro-batch as done.",
        BatchState.SKIPPED: "They were already in the topics: an earlier driver died before Spark logged it.",
        BatchState.STOPPED: "The query ends with an error, and may be started again.",
    },
    steps={
        (BatchState.WRITTEN, BatchStep.FENCE): BatchState.OTHERS_FENCED,
        (BatchState.OTHERS_FENCED, BatchStep.BEGIN): BatchState.PUBLISHING,
        (BatchState.OTHERS_FENCED, BatchStep.SKIP): BatchState.SKIPPED,
        (BatchState.PUBLISHING, BatchStep.NOTE): BatchState.NOTED,
        (BatchState.NOTED, BatchStep.COMMIT): BatchState.COMMITTED,
        **{(state, BatchStep.RETRY): BatchState.WRITTEN for state in _UNDER_WAY},
        **{(state, BatchStep.STOP): BatchState.STOPPED for state in _UNDER_WAY},
    },
)
