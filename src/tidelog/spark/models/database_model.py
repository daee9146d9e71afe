"""A model of the database sink: drivers that write rows and progress in one transaction of the database. Pure.

As `tidelog.spark.models.sink_model`, with one thing more: the checkpoint may be deleted, which the messages
recommend, and the next query takes over where the database ends. The decisions are those of
`tidelog.spark.databases.progress`; `DatabaseModel` takes others, so that a test can plant a mistake and see it found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tidelog.spark.databases.progress import (
    BatchRefused,
    PipelineBatch,
    Progress,
    ProgressVerdict,
    Span,
    check_spans,
    decide,
)
from tidelog.spark.models.sink_model import identity_between
from tidelog.spark.models.spark_model import (
    BEGIN,
    DONE,
    IDLE,
    READY,
    Bounds,
    Checkpoint,
    Driver,
    Output,
    Position,
    new_checkpoint,
    no_output,
    noted,
    output_problem,
    plans,
    restarted,
    rows_between,
    written,
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


class DatabaseModel:
    """The protocol as it is; each argument leaves a part of it out, or lets the world be worse."""

    def __init__(
        self,
        bounds: Bounds = Bounds(),  # noqa: B008 - immutable
        *,
        decide: Decide = decide,
        contents: int = 1,
        checks_spans: bool = True,
        remembers_starting: bool = True,
    ) -> None:
        self._bounds = bounds
        self._decide = decide
        self._contents = range(contents)
        self._checks_spans = checks_spans
        self._remembers_starting = remembers_starting

    def initial(self) -> Iterator[DatabaseState]:
        checkpoint = new_checkpoint(self._bounds)
        yield DatabaseState(checkpoint, None, (None, None), None, BEGIN, BEGIN, no_output(self._bounds), 0, 0)

    def problem(self, state: DatabaseState) -> str | None:
        return output_problem(state.output, state.drivers, self._bounds)

    def steps(self, state: DatabaseState) -> Iterator[Step[DatabaseState]]:
        for slot, driver in enumerate(state.drivers):
            if driver is not None:
                name = f"driver {driver.run}"
                yield Step(f"{name} dies", _with(state, slot, None))
                for what, after in self._driver_steps(state, slot, driver):
                    yield Step(f"{name} {what}", after)
            elif state.starts < self._bounds.starts:
                yield from self._start(state, slot)
                break
        if state.disasters < self._bounds.disasters:
            yield from self._disasters(state)

    def _start(self, state: DatabaseState, slot: int) -> Iterator[Step[DatabaseState]]:
        """Where a query begins that has no checkpoint, or repeats its first batch, is decided by the pipeline."""
        run = state.starts + 1
        known = state.progress
        first = state.ends
        if self._remembers_starting and known is not None and known.query_id == str(state.checkpoint.query):
            first = state.starting if known.batch == 0 else first
        driver = restarted(state.checkpoint, run, first)
        if driver is None:
            return
        # What is in the database, seen when the query starts: whom it takes over, and where it began.
        seen = (None if known is None else known.query_id, first)
        step = f"driver {run} starts query {driver.query} with batch {driver.batch} at {driver.start}"
        for content in self._contents if driver.phase == READY else (0,):
            started = driver._replace(content=content, seen=seen)
            yield Step(step, _with(state._replace(starts=run), slot, started))

    def _disasters(self, state: DatabaseState) -> Iterator[Step[DatabaseState]]:
        worse = state._replace(disasters=state.disasters + 1)
        if state.copy is None:
            yield Step("a copy is made of the checkpoint", state._replace(copy=state.checkpoint))
        elif state.copy != state.checkpoint:
            yield Step("the copy of the checkpoint is restored", worse._replace(checkpoint=state.copy))
        for what, checkpoint in state.checkpoint.damaged():
            yield Step(what, worse._replace(checkpoint=checkpoint))
        if state.checkpoint.begun is not None:
            anew = new_checkpoint(self._bounds, state.disasters + 1)
            yield Step("the checkpoint is deleted", worse._replace(checkpoint=anew))

    def _driver_steps(self, state: DatabaseState, slot: int, driver: Driver) -> Iterator[tuple[str, DatabaseState]]:
        match driver.phase:
            case phase if phase == IDLE:
                for what, planned, checkpoint in plans(driver, state.checkpoint, self._bounds):
                    after = state._replace(checkpoint=checkpoint)
                    for content in self._contents if planned is not None else (0,):
                        yield what, _with(after, slot, planned and planned._replace(content=content))
            case phase if phase == READY:
                yield from self._apply(state, slot, driver)
            case phase if phase == DONE:
                what, onwards, checkpoint = noted(driver, state.checkpoint)
                onwards = onwards and onwards._replace(seen=driver.seen)
                yield what, _with(state._replace(checkpoint=checkpoint), slot, onwards)

    def _apply(self, state: DatabaseState, slot: int, driver: Driver) -> Iterator[tuple[str, DatabaseState]]:
        """One transaction: it happens, or not; and the driver may not learn which, and repeats it."""
        verdict = self.verdict(state, driver)
        if verdict is None:
            yield f"is refused batch {driver.batch}, and stops with an error", _with(state, slot, None)
            return
        if verdict is ProgressVerdict.ALREADY_APPLIED:
            yield f"learns that batch {driver.batch} is in the table", _with(state, slot, driver._replace(phase=DONE))
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
            output=written(state.output, driver.start, driver.end, self._bounds),
        )
        yield f"writes batch {driver.batch}", _with(applied, slot, driver._replace(phase=DONE))
        yield f"writes batch {driver.batch}, and does not get the answer", _with(applied, slot, driver)

    def verdict(self, state: DatabaseState, driver: Driver) -> ProgressVerdict | None:
        """What is decided; None if the batch is refused."""
        try:
            verdict = self._decide(state.progress, self._coming(driver))
            if verdict is ProgressVerdict.APPLY and self._checks_spans:
                known = {("t", number): end for number, end in enumerate(state.ends)}
                check_spans("p", spans_of(driver), known)
        except BatchRefused:
            return None
        return verdict

    def progress(self, driver: Driver) -> Progress:
        """What is noted beside the offsets."""
        return self._coming(driver).progress()

    def _coming(self, driver: Driver) -> PipelineBatch:
        assert isinstance(driver.seen, tuple)
        identity = identity_between(
            driver.batch,
            BEGIN if driver.batch == 0 else driver.start,
            driver.end,
            driver.content,
            0,
            # Rows have their offsets, so that others are not the same by accident.
            rows=len(rows_between(driver.start, driver.end, self._bounds)),
            reads_known=True,
        )
        return PipelineBatch(pipeline="p", query_id=str(driver.query), identity=identity, takes_over=driver.seen[0])


def spans_of(driver: Driver) -> list[Span]:
    return [
        Span("t", number, first, until - 1)
        for number, (first, until) in enumerate(zip(driver.start, driver.end, strict=True))
        if until > first
    ]


def _with(state: DatabaseState, slot: int, driver: Driver | None) -> DatabaseState:
    drivers = list(state.drivers)
    drivers[slot] = driver
    drivers.sort(key=lambda one: (one is None, one.run if one is not None else 0))
    return state._replace(drivers=(drivers[0], drivers[1]))
