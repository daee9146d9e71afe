"""A model of Spark: its checkpoint, the drivers that work with it, and what can happen to both. Pure.

The input has two partitions of a few rows, so that micro-batches of the same number and size can read different rows.
When input arrives is not modelled by itself: a driver that plans may find any of it.

What is assumed of Spark (4.x, `MicroBatchExecution`): the offsets of a micro-batch are written before it runs, its
commit afterwards, each by creating a file that must not be there; a start looks at the newest offsets, runs them again
unless the commit of the same number is there, and begins where the offsets of the number before end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from tidelog.testing.exhaustive import Step

# The next offset of each of the two partitions.
Position = tuple[int, int]
BEGIN: Position = (0, 0)


class Bounds(NamedTuple):
    """How much of everything there may be. Each number multiplies the states."""

    rows: int = 2
    batches: int = 4
    starts: int = 3
    disasters: int = 2
    # Whether a micro-batch may be without input, such as one that only moves a watermark.
    without_data: bool = False


class Checkpoint(NamedTuple):
    """The two logs, by the number of the micro-batch. `query` is the id in its metadata."""

    query: int
    offsets: tuple[Position | None, ...]
    commits: tuple[bool, ...]

    @property
    def begun(self) -> int | None:
        return max((number for number, end in enumerate(self.offsets) if end is not None), default=None)

    @property
    def committed(self) -> int | None:
        return max((number for number, done in enumerate(self.commits) if done), default=None)

    def with_offsets(self, batch: int, end: Position) -> Checkpoint:
        return self._replace(offsets=(*self.offsets[:batch], end, *self.offsets[batch + 1 :]))

    def with_commit(self, batch: int) -> Checkpoint:
        return self._replace(commits=(*self.commits[:batch], True, *self.commits[batch + 1 :]))

    def damaged(self) -> Iterator[tuple[str, Checkpoint]]:
        """The newest files of a log are lost, one or two of them; of each log by itself."""
        begun, committed = self.begun, self.committed
        for count in (1, 2):
            if begun is not None and begun + 1 >= count:
                kept = tuple(None if number > begun - count else end for number, end in enumerate(self.offsets))
                yield f"the checkpoint loses its newest {count} offsets", self._replace(offsets=kept)
            if committed is not None and committed + 1 >= count:
                done = tuple(done and number <= committed - count for number, done in enumerate(self.commits))
                yield f"the checkpoint loses its newest {count} commits", self._replace(commits=done)


def new_checkpoint(bounds: Bounds, query: int = 0) -> Checkpoint:
    return Checkpoint(query, (None,) * bounds.batches, (False,) * bounds.batches)


class Driver(NamedTuple):
    """A driver in the middle of micro-batch `batch`, which reads from `start` to `end`.

    `phase` is where it is. IDLE is before `batch` is planned; those between READY and DONE are up to the sink.
    `content` is what the query made of the input, when it ran this time. `is_newest` and `seen` are the sink's own.
    """

    phase: str
    run: int
    query: int
    batch: int
    start: Position
    end: Position = BEGIN
    content: int = 0
    is_newest: bool = False
    seen: object = None


IDLE = "idle"
# The tasks are through, and the sink has to commit.
READY = "ready"
# The sink has committed, and Spark has not noted it yet.
DONE = "done"


def restarted(checkpoint: Checkpoint, run: int, first: Position = BEGIN) -> Driver | None:
    """A driver that starts with this checkpoint; None if Spark refuses it. `first` is where a new query begins."""
    begun = checkpoint.begun
    if begun is None:
        return Driver(IDLE, run, checkpoint.query, 0, first)
    end = checkpoint.offsets[begun]
    assert end is not None
    if checkpoint.committed == begun:
        return Driver(IDLE, run, checkpoint.query, begun + 1, end)
    start = first if begun == 0 else checkpoint.offsets[begun - 1]
    return None if start is None else Driver(READY, run, checkpoint.query, begun, start, end)


def rows_between(start: Position, end: Position, bounds: Bounds) -> list[int]:
    """The rows of both partitions, numbered."""
    return [*range(start[0], end[0]), *(bounds.rows + row for row in range(start[1], end[1]))]


Output = tuple[int, ...]


def no_output(bounds: Bounds) -> Output:
    """How often each row is in the output."""
    return (0,) * (2 * bounds.rows)


def written(output: Output, start: Position, end: Position, bounds: Bounds) -> Output:
    counts = list(output)
    for row in rows_between(start, end, bounds):
        counts[row] = min(counts[row] + 1, 2)
    return tuple(counts)


def output_problem(output: Output, drivers: tuple[Driver | None, ...], bounds: Bounds) -> str | None:
    """The invariant: no row is there twice, and no micro-batch is taken for done while a row before its end is missing.

    A driver that has passed a row is not wrong yet: the sink has not been asked, and may still stop it.
    """
    if max(output) > 1:
        return f"row {_named(output.index(2), bounds)} is in the output twice"
    for driver in drivers:
        if driver is not None and driver.phase == DONE:
            for row in rows_between(BEGIN, driver.end, bounds):
                if not output[row]:
                    return f"micro-batch {driver.batch} is taken for done, but row {_named(row, bounds)} is not there"
    return None


def _named(row: int, bounds: Bounds) -> str:
    return f"{row % bounds.rows} of partition {row // bounds.rows}"


class SparkState(Hashable, Protocol):
    """What every model that has Spark in it keeps, as a named tuple."""

    @property
    def checkpoint(self) -> Checkpoint: ...
    @property
    def copy(self) -> Checkpoint | None: ...
    @property
    def drivers(self) -> tuple[Driver | None, Driver | None]: ...
    @property
    def output(self) -> Output: ...
    @property
    def starts(self) -> int: ...
    @property
    def disasters(self) -> int: ...


S = TypeVar("S", bound=SparkState)


@dataclass(eq=False)
class SparkModel(ABC, Generic[S]):
    """Two drivers at once and a checkpoint that is copied, restored and damaged; the models differ in their sinks."""

    bounds: Bounds = Bounds()  # noqa: RUF009 - immutable
    _: KW_ONLY
    # How many different results a query may give for the same input.
    contents: int = 1

    @abstractmethod
    def _started(self, state: S, run: int) -> tuple[str, Driver] | None:
        """A driver that is started now; None if Spark refuses it."""

    @abstractmethod
    def _sink_steps(self, state: S, slot: int, driver: Driver) -> Iterator[tuple[str, S]]:
        """What a driver does between READY and DONE."""

    def problem(self, state: S) -> str | None:
        return output_problem(state.output, state.drivers, self.bounds)

    def steps(self, state: S) -> Iterator[Step[S]]:
        for slot, driver in enumerate(state.drivers):
            if driver is not None:
                name = f"driver {driver.run}"
                yield Step(f"{name} dies", with_driver(state, slot, None))
                for what, after in self._driver_steps(state, slot, driver):
                    yield Step(f"{name} {what}", after)
            elif state.starts < self.bounds.starts:
                yield from self._start(state, slot)
                # The other slot is the same by another name.
                break
        if state.disasters < self.bounds.disasters:
            yield from self._disasters(state)

    def _start(self, state: S, slot: int) -> Iterator[Step[S]]:
        run = state.starts + 1
        started = self._started(state, run)
        if started is not None:
            what, driver = started
            for content in range(self.contents) if driver.phase == READY else (0,):
                yield Step(what, with_driver(changed(state, starts=run), slot, driver._replace(content=content)))

    def _disasters(self, state: S) -> Iterator[Step[S]]:
        disasters = state.disasters + 1
        if state.copy is None:
            yield Step("a copy is made of the checkpoint", changed(state, copy=state.checkpoint))
        elif state.copy != state.checkpoint:
            restored = changed(state, disasters=disasters, checkpoint=state.copy)
            yield Step("the copy of the checkpoint is restored", restored)
        for what, checkpoint in state.checkpoint.damaged():
            yield Step(what, changed(state, disasters=disasters, checkpoint=checkpoint))

    def _driver_steps(self, state: S, slot: int, driver: Driver) -> Iterator[tuple[str, S]]:
        if driver.phase == IDLE:
            for what, planned, checkpoint in _plans(driver, state.checkpoint, self.bounds):
                after = changed(state, checkpoint=checkpoint)
                for content in range(self.contents) if planned is not None else (0,):
                    yield what, with_driver(after, slot, planned and planned._replace(content=content))
        elif driver.phase == DONE:
            what, onwards, checkpoint = _committed(driver, state.checkpoint)
            yield what, with_driver(changed(state, checkpoint=checkpoint), slot, onwards)
        else:
            yield from self._sink_steps(state, slot, driver)


def changed(state: S, **changes: Any) -> S:
    after: S = state._replace(**changes)  # type: ignore[attr-defined]
    return after


def with_driver(state: S, slot: int, driver: Driver | None) -> S:
    """Drivers are kept in an order, so that two states which differ only in the slots are one."""
    drivers = list(state.drivers)
    drivers[slot] = driver
    drivers.sort(key=lambda one: (one is None, one.run if one is not None else 0))
    return changed(state, drivers=(drivers[0], drivers[1]))


def _plans(driver: Driver, checkpoint: Checkpoint, bounds: Bounds) -> Iterator[tuple[str, Driver | None, Checkpoint]]:
    """What an idle driver may plan next. It stops (None) if somebody else has written these offsets."""
    batch, (first, second) = driver.batch, driver.start
    if batch >= bounds.batches:
        return
    if checkpoint.offsets[batch] is not None:
        yield f"finds that micro-batch {batch} was planned by somebody else, and stops", None, checkpoint
        return
    ends = [(first + 1, second), (first, second + 1), (first + 1, second + 1)]
    for end in ([driver.start] if bounds.without_data else []) + ends:
        if max(end) <= bounds.rows:
            step = f"plans micro-batch {batch}: {driver.start} to {end}"
            planned = driver._replace(phase=READY, end=end)
            yield step, planned, checkpoint.with_offsets(batch, end)


def _committed(driver: Driver, checkpoint: Checkpoint) -> tuple[str, Driver | None, Checkpoint]:
    """The driver writes the commit, and goes on; or stops, because somebody else has."""
    batch = driver.batch
    if checkpoint.commits[batch]:
        return f"finds that micro-batch {batch} was committed by somebody else, and stops", None, checkpoint
    onwards = Driver(IDLE, driver.run, driver.query, batch + 1, driver.end, seen=driver.seen)
    return f"logs micro-batch {batch} as committed", onwards, checkpoint.with_commit(batch)
