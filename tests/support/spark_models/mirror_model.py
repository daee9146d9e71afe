"""A model of the mirror: what is at the target is known by the source offsets that are committed there. Pure.

It is that of the database sink with the decisions of `tidelog.spark.mirror.progress`. That one driver publishes at a
time, and learns what earlier ones did, is what `support.spark_models.sink_model` is about.
"""

from __future__ import annotations

from dataclasses import dataclass

from support.spark_models.database_model import DatabaseModel, DatabaseState, spans_of
from support.spark_models.spark_model import Driver

from tidelog.model.ids import TopicPartition
from tidelog.spark.databases.progress import Progress
from tidelog.spark.databases.progress import ProgressVerdict as Written
from tidelog.spark.mirror.progress import MirrorRefused, is_last_batch, is_mirrored
from tidelog.spark.sink.note import Note


@dataclass(eq=False, kw_only=True)
class MirrorModel(DatabaseModel):
    """`checks_order` is whether a batch must be the next one, or only its offsets be new."""

    remembers_starting: bool = False
    checks_order: bool = True

    def verdict(self, state: DatabaseState, driver: Driver) -> Written | None:
        spans = {
            TopicPartition(span.topic, span.partition): range(span.first, span.last + 1) for span in spans_of(driver)
        }
        committed = {TopicPartition("t", number): end for number, end in enumerate(state.ends) if end}
        try:
            last = None if state.progress is None else _noted(state.progress)
            if self.checks_order and is_last_batch(_noted(self.progress(driver)), last, group="g"):
                return Written.ALREADY_APPLIED
            if not spans:
                return Written.APPLY if self.checks_order else Written.ALREADY_APPLIED
            mirrored = is_mirrored(driver.batch, spans, committed, group="g")
        except MirrorRefused:
            return None
        return Written.ALREADY_APPLIED if mirrored else Written.APPLY


def _noted(progress: Progress) -> Note:
    return Note(run=progress.query_id, batch=progress.batch, reads=progress.reads)
