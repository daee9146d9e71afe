"""The protocol of atomicity=prepared as a model for `tidelog.testing.exhaustive`: drivers, tasks, brokers and Spark.

The micro-batches are run by drivers that may die at any step, be started again, or be stopped while another one is
started and then go on (zombies): every order of their steps is explored. Tasks may be tried twice, both attempts may
end, and either counts. What a successor completes and aborts is decided by the code that the sink runs
(`decision.plan_recovery`).

The invariant: no row is visible before its micro-batch is decided, none is visible twice, all rows of a micro-batch
in Spark's commit log are visible, and what was decided is never aborted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from tidelog.spark.sink.prepared.decision import Begun, CommitDecision, Fence, RecoveryPlan, Slot, plan_recovery
from tidelog.testing.exhaustive import Step

# What a driver does next. It begins with what it finds at the start of a micro-batch.
Stage = Literal["list", "fence", "read", "recover", "tasks", "refence", "check", "decide", "complete", "log"]
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
    verifies_only: bool = False
    attempts: tuple[Begun, ...] = ()
    to_commit: frozenset[Begun] = frozenset()


@dataclass(frozen=True, slots=True)
class PreparedWorld:
    drivers: tuple[PreparedDriver, ...]
    # Of the query's own transactional id; the decision that was committed last with its note.
    fence: int = 0
    decided: tuple[int, int, tuple[Begun, ...]] | None = None
    transactions: tuple[ModelTransaction, ...] = ()
    # The last micro-batch in Spark's commit log.
    logged: int = -1
    starts: int = 1
    retries: int = 0


PlanRecovery = Callable[..., RecoveryPlan]


@dataclass(frozen=True, slots=True)
class _Turn:
    """One driver's turn in a world, and the steps that it may take."""

    world: PreparedWorld
    number: int
    driver: PreparedDriver

    def becomes(self, what: str, world: PreparedWorld, after: PreparedDriver | None) -> Step[PreparedWorld]:
        drivers = [*world.drivers[: self.number], *world.drivers[self.number + 1 :]]
        if after is not None:
            drivers.insert(self.number, after)
        story = f"driver of micro-batch {self.driver.batch} with fence {self.driver.fence}: {what}"
        return Step(story, replace(world, drivers=tuple(drivers)))

    def goes_on(self, what: str, world: PreparedWorld, **changes: object) -> Step[PreparedWorld]:
        return self.becomes(what, world, replace(self.driver, **changes))  # type: ignore[arg-type]

    def ends(self, what: str, world: PreparedWorld | None = None) -> Step[PreparedWorld]:
        return self.becomes(what, self.world if world is None else world, None)


class PreparedModel:
    """`starts` drivers at most, two of them alive at once; `retries` second attempts of tasks."""

    def __init__(
        self,
        *,
        batches: int = 2,
        tasks: int = 2,
        starts: int = 3,
        retries: int = 1,
        plan_recovery: PlanRecovery = plan_recovery,
        fence_again: bool = False,
    ) -> None:
        self._tasks = tasks
        # A mistake that the exploration must find: a fence that is taken when the decision is written.
        self._fence_again = fence_again
        self._batches = batches
        self._starts = starts
        self._retries = retries
        self._plan_recovery = plan_recovery

    def initial(self) -> Iterable[PreparedWorld]:
        yield PreparedWorld(drivers=(PreparedDriver(0),))

    # What can happen

    def steps(self, world: PreparedWorld) -> Iterable[Step[PreparedWorld]]:
        for number, driver in enumerate(world.drivers):
            yield from self._driver_steps(_Turn(world, number, driver))
        if world.starts < self._starts and len(world.drivers) < 2 and world.logged + 1 < self._batches:
            # With the earlier driver dead, or stopped and thought to be dead.
            drivers = (*world.drivers, PreparedDriver(world.logged + 1))
            yield Step("a driver is started", replace(world, drivers=drivers, starts=world.starts + 1))
        for at, transaction in enumerate(world.transactions):
            # Tasks do not need their driver for this.
            if transaction.state == "late":
                yield Step(f"{transaction.name} is begun by a zombie", self._with_state(world, at, "open"))
            elif transaction.state == "open":
                yield Step(f"{transaction.name} is prepared", self._with_state(world, at, "prepared"))
                yield Step(f"{transaction.name} times out", self._with_state(world, at, "aborted"))

    def _driver_steps(self, turn: _Turn) -> Iterable[Step[PreparedWorld]]:
        world, driver = turn.world, turn.driver
        yield turn.ends("dies")
        match driver.stage:
            case "list" | "fence" | "read" | "recover":
                yield self._recovery_step(turn)
            case "tasks":
                if not driver.verifies_only and not _of(world, driver.fence):
                    late = ModelTransaction(driver.batch, driver.fence, 0, 0, "late")
                    leaves = replace(world, transactions=(*world.transactions, late))
                    yield turn.ends("dies, and leaves a task that has not begun", leaves)
                yield from self._task_steps(turn)
            case "refence" | "check" | "decide":
                yield self._decision_step(turn)
            case "complete":
                there = driver.to_commit & _open(world)
                if there:
                    one = min(there)
                    yield turn.goes_on(f"completes {one}", _end(world, one, "committed"))
                else:
                    yield turn.goes_on("has completed", world, stage="log", to_commit=frozenset(), attempts=())
            case "log":
                logged = replace(world, logged=max(world.logged, driver.batch))
                following = PreparedDriver(driver.batch + 1) if driver.batch + 1 < self._batches else None
                yield turn.becomes("logs it as done", logged, following)

    def _recovery_step(self, turn: _Turn) -> Step[PreparedWorld]:
        """Before tasks run: end what others have left."""
        world, driver = turn.world, turn.driver
        if driver.stage == "list":
            return turn.goes_on("lists", world, stage="fence", seen_before=_open(world))
        if driver.stage == "fence":
            fence = world.fence + 1
            return turn.goes_on("gets the fence", replace(world, fence=fence), stage="read", fence=fence)
        if driver.stage == "read":
            return turn.goes_on("reads the decision", world, stage="recover", decided=world.decided)
        found = self._plan_recovery(
            seen_before=driver.seen_before, decision=_decision(driver.decided), open_now=_open(world)
        )
        if found.commit:
            one = min(found.commit)
            return turn.goes_on(f"commits {one}", _end(world, one, "committed"))
        if found.abort:
            one = min(found.abort)
            return turn.goes_on(f"aborts {one}", _end(world, one, "aborted"))
        verifies_only = driver.decided is not None and driver.decided[0] == driver.batch
        return turn.goes_on(
            "plans", world, stage="tasks", verifies_only=verifies_only, seen_before=frozenset(), decided=None
        )

    def _decision_step(self, turn: _Turn) -> Step[PreparedWorld]:
        """After all tasks: one transaction that only the holder of the fence can commit."""
        world, driver = turn.world, turn.driver
        if driver.stage == "refence":
            if world.fence == driver.fence:
                return turn.goes_on("still has the fence", world, stage="check")
            if self._fence_again:
                return turn.goes_on("takes the fence again", replace(world, fence=world.fence + 1), stage="check")
            return turn.ends("is fenced")
        if driver.stage == "check":
            if world.decided is not None and world.decided[0] >= driver.batch:
                is_same = driver.verifies_only and world.decided[0] == driver.batch
                return turn.goes_on("skips it", world, stage="log") if is_same else turn.ends("refuses")
            if driver.verifies_only:
                return turn.ends("misses the decision")
            return turn.goes_on("decides next", world, stage="decide")
        if world.fence != driver.fence and not self._fence_again:
            return turn.ends("is fenced")
        decided = (driver.batch, driver.fence, driver.attempts)
        to_commit = frozenset(driver.attempts)
        return turn.goes_on("decides", replace(world, decided=decided), stage="complete", to_commit=to_commit)

    def _task_steps(self, turn: _Turn) -> Iterable[Step[PreparedWorld]]:
        world, driver = turn.world, turn.driver
        if driver.verifies_only:
            yield turn.goes_on("its tasks verify", world, stage="refence")
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
                yield turn.goes_on(
                    f"task {task} begins", replace(world, transactions=(*world.transactions, begun), retries=retries)
                )
        for one in mine:
            if one.state == "prepared" and one.task not in done:
                counted = tuple(sorted((*driver.attempts, one.begun)))
                stage = "refence" if len(counted) == self._tasks else "tasks"
                yield turn.goes_on(f"{one.name} counts", world, attempts=counted, stage=stage)

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
                if not visible and world.logged >= batch:
                    return f"task {task} of micro-batch {batch} is logged as done and not visible"
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
