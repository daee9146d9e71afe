"""A model of the database sink: drivers that write rows and progress in one transaction of the database. Pure.

As `support.spark_models.sink_model`, with one thing more: the checkpoint may be deleted, which the messages
recommend, and the next query takes over where the database ends. The decisions are those of
`tidelog.spark.databases.progress`; `DatabaseModel` takes others, so that a test can plant a mistake and see it found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from support.spark_models.sink_model import identity_between
from support.spark_models.spark_model import (
    BEGIN,
    DONE,
    Checkpoint,
    Driver,
    Output,
    Position,
    SparkModel,
    new_checkpoint,
    no_output,
    restarted,
    rows_between,
    with_driver,
    written,
)

from tidelog.spark.databases.progress import (
    BatchRefused,
    PipelineBatch,
    Progress,
    ProgressVerdict,
    Span,
    check_spans,
    decide,
)
from tidelog.testing.exhaustive import Step

Decide = Callable[[Progress | None, PipelineBatch], ProgressVerdict]


class DatabaseState(NamedTuple):
    """`ends` are the offsets that the database has, `progress` and `starting` what it knows of the last batch."""

    checkpoint: Checkpoint
    copy: Checkpoint | None
    drivers: tuple[Driver | None, Driver | None]
    progress: Progress | None
    starting: Position
    ends: Position
    output: Output
    starts: int
    disasters: int


@dataclass(eq=False, kw_only=True)
class DatabaseModel(SparkModel[DatabaseState]):
    """The protocol as it is; each argument leaves a part of it out, or lets the world be worse."""

    decide: Decide = decide
    checks_spans: bool = True
    remembers_starting: bool = True

    def initial(self) -> Iterator[DatabaseState]:
        checkpoint = new_checkpoint(self.bounds)
        yield DatabaseState(checkpoint, None, (None, None), None, BEGIN, BEGIN, no_output(self.bounds), 0, 0)

    def _started(self, state: DatabaseState, run: int) -> tuple[str, Driver] | None:
        """Where a query begins that has no checkpoint, or repeats its first batch, is decided by the pipeline."""
        known = state.progress
        first = state.ends
        if self.remembers_starting and known is not None and known.query_id == str(state.checkpoint.query):
            first = state.starting if known.batch == 0 else first
        driver = restarted(state.checkpoint, run, first)
        if driver is None:
            return None
        # What is in the database, seen when the query starts: whom it takes over, and where it began.
        seen = (None if known is None else known.query_id, first)
        what = f"driver {run} starts query {driver.query} with batch {driver.batch} at {driver.start}"
        return what, driver._replace(seen=seen)

    def _disasters(self, state: DatabaseState) -> Iterator[Step[DatabaseState]]:
        yield from super()._disasters(state)
        if state.checkpoint.begun is not None:
            disasters = state.disasters + 1
            recreated = new_checkpoint(self.bounds, disasters)
            yield Step("the checkpoint is deleted", state._replace(disasters=disasters, checkpoint=recreated))

    def _sink_steps(self, state: DatabaseState, slot: int, driver: Driver) -> Iterator[tuple[str, DatabaseState]]:
        """One transaction: it happens, or not; and the driver may not learn which, and repeats it."""
        verdict = self.verdict(state, driver)
        if verdict is None:
            yield f"is refused batch {driver.batch}, and stops with an error", with_driver(state, slot, None)
            return
        if verdict is ProgressVerdict.ALREADY_APPLIED:
            yield (
                f"learns that batch {driver.batch} is in the table",
                with_driver(state, slot, driver._replace(phase=DONE)),
            )
            return
        assert isinstance(driver.seen, tuple)
        ends = tuple(
            max(end, after) if after > before else end
            for end, before, after in zip(state.ends, driver.start, driver.end, strict=True)
        )
        applied = state._replace(
            progress=self.progress(driver),
            starting=driver.seen[1],
            ends=(ends[0], ends[1]),
            output=written(state.output, driver.start, driver.end, self.bounds),
        )
        yield f"writes batch {driver.batch}", with_driver(applied, slot, driver._replace(phase=DONE))
        yield f"writes batch {driver.batch}, and does not get the answer", with_driver(applied, slot, driver)

    def verdict(self, state: DatabaseState, driver: Driver) -> ProgressVerdict | None:
        """What is decided; None if the batch is refused."""
        try:
            verdict = self.decide(state.progress, self._coming(driver))
            if verdict is ProgressVerdict.APPLY and self.checks_spans:
                known = {("t", number): end for number, end in enumerate(state.ends)}
                check_spans("p", spans_of(driver), known)
        except BatchRefused:
            return None
        return verdict

    def progress(self, driver: Driver) -> Progress:
        """What is noted beside the offsets."""
        return progress_of(self._coming(driver))

    def _coming(self, driver: Driver) -> PipelineBatch:
        assert isinstance(driver.seen, tuple)
        identity = identity_between(
            driver.batch,
            BEGIN if driver.batch == 0 else driver.start,
            driver.end,
            driver.content,
            0,
            # Rows have their offsets, so that others are not the same by accident.
            rows=len(rows_between(driver.start, driver.end, self.bounds)),
            reads_known=True,
        )
        return PipelineBatch(pipeline="p", query_id=str(driver.query), identity=identity, takes_over=driver.seen[0])


def progress_of(coming: PipelineBatch) -> Progress:
    """What the database knows once the batch is written."""
    one = coming.identity
    return Progress(
        query_id=coming.query_id,
        batch=one.batch,
        rows=one.rows,
        content=one.content,
        reads=one.reads,
        run=one.run,
        starting=coming.starting,
    )


def spans_of(driver: Driver) -> list[Span]:
    return [
        Span("t", number, first, until - 1)
        for number, (first, until) in enumerate(zip(driver.start, driver.end, strict=True))
        if until > first
    ]
