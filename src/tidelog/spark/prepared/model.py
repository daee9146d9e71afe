"""The protocol of atomicity=prepared as a model for `tidelog.testing.exhaustive`: drivers, tasks, brokers and Spark.

The micro-batches are run by drivers that may die at any step, be started again, or be stopped while another one is
started and then go on (zombies): every order of their steps is explored. Tasks may be tried twice, both attempts may
end, and either counts. What is settled is decided by the code that the sink runs (`decision.settle`).

The invariant: no row is visible before its micro-batch is decided, none is visible twice, all rows of a micro-batch
that Spark has noted as done are visible, and what was decided is never aborted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from tidelog.spark.prepared.decision import Begun, CommitDecision, Fence, Settlement, Slot, settle
from tidelog.testing.exhaustive import Step

# What a driver does next. It begins with what it finds at the start of a micro-batch.
Stage = Literal["list", "fence", "read", "settle", "tasks", "refence", "check", "decide", "complete", "note"]
# "late": its task has been stopped before it began, and its driver is dead.
TransactionState = Literal["late", "open", "prepared", "committed", "aborted"]


@dataclass(frozen=True, slots=True)
class ModelTransaction:
    batch: int
    fence: int
    task: int
    attempt: int
    state: TransactionState = "open"

    @property
    def begun(self) -> Begun:
        """No two transactions of a slot have the same epoch; here the fence is enough."""
        return Begun(Slot(self.task, self.attempt), 0, self.fence)

    @property
    def name(self) -> str:
        return f"attempt {self.attempt} of task {self.task} with fence {self.fence}"


@dataclass(frozen=True, slots=True)
class PreparedDriver:
    """What one driver knows. `fence` is 0 until it has one."""

    batch: int
    stage: Stage = "list"
    fence: int = 0
    seen_before: frozenset[Begun] = frozenset()
    # As it was read after the fence: (batch, fence, attempts).
    decided: tuple[int, int, tuple[Begun, ...]] | None = None
    # Whether its tasks only look, since the micro-batch was decided when it planned.
    looks_only: bool = False
    attempts: tuple[Begun, ...] = ()
    to_commit: frozenset[Begun] = frozenset()


@dataclass(frozen=True, slots=True)
class PreparedWorld:
    drivers: tuple[PreparedDriver, ...]
    # Of the query's own transactional id; the decision that was committed last with its note.
    fence: int = 0
    decided: tuple[int, int, tuple[Begun, ...]] | None = None
    transactions: tuple[ModelTransaction, ...] = ()
    # The last micro-batch that Spark has noted as done.
    noted: int = -1
    starts: int = 1
    retries: int = 0


Settle = Callable[..., Settlement]


class PreparedModel:
    """`starts` drivers at most, two of them alive at once; `retries` second attempts of tasks."""

    def __init__(
        self,
        *,
        batches: int = 2,
        tasks: int = 2,
        starts: int = 3,
        retries: int = 1,
        settle: Settle = settle,
        fence_again: bool = False,
    ) -> None:
        self._tasks = tasks
        # A mistake that the exploration must find: a fence that is taken when the decision is written.
        self._fence_again = fence_again
        self._batches = batches
        self._starts = starts
        self._retries = retries
        self._settle = settle

    def initial(self) -> Iterable[PreparedWorld]:
        yield PreparedWorld(drivers=(PreparedDriver(0),))

    # What can happen

    def steps(self, world: PreparedWorld) -> Iterable[Step[PreparedWorld]]:
        for number, driver in enumerate(world.drivers):
            yield from self._driver_steps(world, number, driver)
        if world.starts < self._starts and len(world.drivers) < 2 and world.noted + 1 < self._batches:
            # With the earlier driver dead, or stopped and thought to be dead.
            drivers = (*world.drivers, PreparedDriver(world.noted + 1))
            yield Step("a driver is started", replace(world, drivers=drivers, starts=world.starts + 1))
        for at, transaction in enumerate(world.transactions):
            # Tasks do not need their driver for this.
            if transaction.state == "late":
                yield Step(f"{transaction.name} is begun by a zombie", self._with_state(world, at, "open"))
            elif transaction.state == "open":
                yield Step(f"{transaction.name} is prepared", self._with_state(world, at, "prepared"))
                yield Step(f"{transaction.name} times out", self._with_state(world, at, "aborted"))

    def _driver_steps(self, world: PreparedWorld, number: int, driver: PreparedDriver) -> Iterable[Step[PreparedWorld]]:
        def becomes(what: str, world: PreparedWorld, after: PreparedDriver | None) -> Step[PreparedWorld]:
            drivers = [*world.drivers[:number], *world.drivers[number + 1 :]]
            if after is not None:
                drivers.insert(number, after)
            story = f"driver of micro-batch {driver.batch} with fence {driver.fence}: {what}"
            return Step(story, replace(world, drivers=tuple(drivers)))

        def goes_on(what: str, world: PreparedWorld, **changes: object) -> Step[PreparedWorld]:
            return becomes(what, world, replace(driver, **changes))  # type: ignore[arg-type]

        def ends(what: str, world: PreparedWorld = world) -> Step[PreparedWorld]:
            return becomes(what, world, None)

        yield ends("dies")
        if driver.stage == "tasks" and not driver.looks_only and not _of(world, driver.fence):
            late = ModelTransaction(driver.batch, driver.fence, 0, 0, "late")
            leaves = replace(world, transactions=(*world.transactions, late))
            yield ends("dies, and leaves a task that has not begun", leaves)
        match driver.stage:
            case "list":
                yield goes_on("lists", world, stage="fence", seen_before=_open(world))
            case "fence":
                fence = world.fence + 1
                yield goes_on("gets the fence", replace(world, fence=fence), stage="read", fence=fence)
            case "read":
                yield goes_on("reads the decision", world, stage="settle", decided=world.decided)
            case "settle":
                found = self._settle(
                    seen_before=driver.seen_before, decision=_decision(driver.decided), open_now=_open(world)
                )
                if found.commit:
                    one = min(found.commit)
                    yield goes_on(f"commits {one}", _end(world, one, "committed"))
                elif found.abort:
                    one = min(found.abort)
                    yield goes_on(f"aborts {one}", _end(world, one, "aborted"))
                else:
                    looks_only = driver.decided is not None and driver.decided[0] == driver.batch
                    yield goes_on(
                        "plans", world, stage="tasks", looks_only=looks_only, seen_before=frozenset(), decided=None
                    )
            case "tasks":
                yield from self._task_steps(world, driver, goes_on)
            case "refence":
                if world.fence == driver.fence:
                    yield goes_on("still has the fence", world, stage="check")
                elif self._fence_again:
                    taken = replace(world, fence=world.fence + 1)
                    yield goes_on("takes the fence again", taken, stage="check")
                else:
                    yield ends("is fenced")
            case "check":
                if world.decided is not None and world.decided[0] >= driver.batch:
                    is_same = driver.looks_only and world.decided[0] == driver.batch
                    yield goes_on("skips it", world, stage="note") if is_same else ends("refuses")
                elif driver.looks_only:
                    yield ends("misses the decision")
                else:
                    yield goes_on("decides next", world, stage="decide")
            case "decide":
                if world.fence != driver.fence and not self._fence_again:
                    yield ends("is fenced")
                else:
                    decided = (driver.batch, driver.fence, driver.attempts)
                    to_commit = frozenset(driver.attempts)
                    yield goes_on("decides", replace(world, decided=decided), stage="complete", to_commit=to_commit)
            case "complete":
                there = driver.to_commit & _open(world)
                if there:
                    one = min(there)
                    yield goes_on(f"completes {one}", _end(world, one, "committed"))
                else:
                    yield goes_on("has completed", world, stage="note", to_commit=frozenset(), attempts=())
            case "note":
                noted = replace(world, noted=max(world.noted, driver.batch))
                if driver.batch + 1 < self._batches:
                    yield becomes("notes it", noted, PreparedDriver(driver.batch + 1))
                else:
                    yield ends("notes it", noted)

    def _task_steps(
        self, world: PreparedWorld, driver: PreparedDriver, goes_on: Callable[..., Step[PreparedWorld]]
    ) -> Iterable[Step[PreparedWorld]]:
        if driver.looks_only:
            yield goes_on("its tasks look", world, stage="refence")
            return
        done = {one.slot.task for one in driver.attempts}
        mine = _of(world, driver.fence)
        for task in range(self._tasks):
            if task in done:
                continue
            attempts = [one for one in mine if one.task == task]
            if len(attempts) < 1 + (world.retries < self._retries):
                begun = ModelTransaction(driver.batch, driver.fence, task, len(attempts))
                retries = world.retries + bool(attempts)
                yield goes_on(
                    f"task {task} begins", replace(world, transactions=(*world.transactions, begun), retries=retries)
                )
        for one in mine:
            if one.state == "prepared" and one.task not in done:
                counted = tuple(sorted((*driver.attempts, one.begun)))
                stage = "refence" if len(counted) == self._tasks else "tasks"
                yield goes_on(f"{one.name} counts", world, attempts=counted, stage=stage)

    def _with_state(self, world: PreparedWorld, at: int, state: TransactionState) -> PreparedWorld:
        transactions = list(world.transactions)
        transactions[at] = replace(transactions[at], state=state)
        return replace(world, transactions=tuple(transactions))

    # What must hold

    def problem(self, world: PreparedWorld) -> str | None:
        for batch in range(self._batches):
            for task in range(self._tasks):
                visible = [
                    one
                    for one in world.transactions
                    if (one.batch, one.task) == (batch, task) and one.state == "committed"
                ]
                if len(visible) > 1:
                    return f"task {task} of micro-batch {batch} is visible twice"
                if visible and (world.decided is None or world.decided[0] < batch):
                    return f"task {task} of micro-batch {batch} is visible and not decided"
                if not visible and world.noted >= batch:
                    return f"task {task} of micro-batch {batch} is noted as done and not visible"
        decision = _decision(world.decided)
        decided = () if decision is None else decision.transactions
        if any(one.state == "aborted" for one in world.transactions if one.begun in decided):
            return "what was decided is aborted"
        return None


def _of(world: PreparedWorld, fence: int) -> list[ModelTransaction]:
    return [one for one in world.transactions if one.fence == fence]


def _open(world: PreparedWorld) -> frozenset[Begun]:
    return frozenset(one.begun for one in world.transactions if one.state in ("open", "prepared"))


def _end(world: PreparedWorld, begun: Begun, state: TransactionState) -> PreparedWorld:
    return replace(
        world,
        transactions=tuple(
            replace(one, state=state) if one.begun == begun and one.state in ("open", "prepared") else one
            for one in world.transactions
        ),
    )


def _decision(decided: tuple[int, int, tuple[Begun, ...]] | None) -> CommitDecision | None:
    if decided is None:
        return None
    batch, fence, attempts = decided
    return CommitDecision(batch=batch, fence=Fence(0, fence), transactions=attempts)
