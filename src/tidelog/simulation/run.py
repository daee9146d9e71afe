"""One run: a world and clients from a seed, faults, healing, and the verdict."""

from __future__ import annotations

import asyncio
import logging
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

from tidelog.model.invariants import InvariantBroken
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.server.observability.logs import INVARIANT_LOGGER
from tidelog.simulation.checks.checkers import MAX_REPORTED, Violation, check
from tidelog.simulation.checks.disturbance import disturbances
from tidelog.simulation.checks.history import Ended, FinalState, History
from tidelog.simulation.checks.stalls import stalls
from tidelog.simulation.checks.trace import Trace
from tidelog.simulation.ending import Finish, finish
from tidelog.simulation.faults.plan import draw_plan
from tidelog.simulation.machines.clock import draw_from
from tidelog.simulation.machines.loop import SimulatedLoop, SimulationStuck, new_loop
from tidelog.simulation.machines.node import NodeFactory, real_node
from tidelog.simulation.machines.process import CURRENT
from tidelog.simulation.machines.world import World
from tidelog.simulation.scenario import COPIES, TOPIC, Scenario
from tidelog.simulation.setup import add_clients, add_nodes, create_topics
from tidelog.storage.files.filesystem import TOO_MANY_OPEN_FILES, StorageFailure

# A node must serve, and the topics must be there, within this time; nothing is broken yet.
START_SECONDS = 60.0
# Failures of the disk are logged as errors, and are what the run asked for.
_EXPECTED_ERRORS = (StorageFailure, OSError)


class TookTooLong(KeyboardInterrupt):
    """A run does not come to its end. An interrupt, because nothing else gets out of every loop there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """What came of a seed."""

    seed: int
    violations: Sequence[Violation]
    # The same in every process that runs the seed with the same code.
    digest: str
    virtual_seconds: float
    events: int
    # Faults, error codes and what else was counted.
    counts: Counter[str]

    @property
    def failed(self) -> bool:
        return bool(self.violations)


def run(
    scenario: Scenario,
    *,
    factory: NodeFactory = real_node,
    write_line: Callable[[str], None] | None = None,
    history: History | None = None,
) -> RunReport:
    """Run one scenario to its end. `write_line` gets what happens, line by line; `history` gets the history."""
    loop = new_loop()
    trace = Trace(write_line)
    history = History() if history is None else history
    world = World(scenario.seed, loop, trace)
    if scenario.late_steps:
        loop.lateness = draw_from(scenario.seed, "lateness")
    final = FinalState()
    problems: list[Violation] = []
    with _listen_to_logs(loop, problems, write_line), _listen_to_warnings(problems):
        try:
            final = loop.run_until_complete(_live(world, scenario, history, factory))
        except (SimulationStuck, _NoStart, TookTooLong) as error:
            problems.append(Violation("stuck", str(error)))
        except InvariantBroken as error:
            problems.append(Violation("invariant", f"at {loop.time():.3f} s: {error}"))
        finally:
            loop.close()
            digest = trace.digest()
            bury(world)
    problems += [Violation("failure", _describe(failure)) for failure in loop.failures]
    problems += [Violation("I10", message) for message in world.wrong_verdicts]
    if not any(problem.invariant in ("stuck", "invariant") for problem in problems):
        problems += check(history, final)
        if not scenario.kinds and history.events:
            late = islice(stalls(history, history.events[0].time), MAX_REPORTED)
            problems += [Violation("I11", message) for message in late]
    disturbed = islice(disturbances(history, calm=not scenario.kinds), MAX_REPORTED)
    problems += [Violation("I12", message) for message in disturbed]
    _count_history(history, trace.counts)
    return RunReport(
        seed=scenario.seed,
        violations=problems,
        digest=digest,
        virtual_seconds=loop.time(),
        events=loop.events_run,
        counts=trace.counts,
    )


def bury(world: World) -> None:
    """What dead processes say about their end is of no interest."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            # A process may have died between making a coroutine and awaiting it.
            warnings.simplefilter("ignore", RuntimeWarning)
            world.bury()
    finally:
        logging.disable(before)


class _NoStart(Exception):
    """The cluster did not come up although nothing was broken."""


async def _live(world: World, scenario: Scenario, history: History, factory: NodeFactory) -> FinalState:
    loop = world.loop
    add_nodes(world, scenario, factory)
    for node in world.nodes.values():
        node.start()
    try:
        async with asyncio.timeout(START_SECONDS):
            await create_topics(world, scenario)
    except TimeoutError as error:
        raise _NoStart(f"no topics {START_SECONDS:g} s after the start") from error
    clients = add_clients(world, scenario, history)
    tasks = clients.start()
    began = loop.time()
    plan = draw_plan(
        draw_from(scenario.seed, "faults"),
        scenario.kinds,
        nodes=list(world.nodes),
        clients=clients.hosts,
        seconds=scenario.seconds,
        begin=began,
    )
    world.begin_faults(plan)
    await asyncio.sleep(scenario.seconds)
    await world.heal()
    return await finish(
        Finish(
            world=world,
            clients=clients,
            tasks=tasks,
            sources=scenario.topic_partitions,
            partitions=scenario.all_partitions,
            derived={COPIES: TOPIC} if scenario.copiers else {},
        )
    )


@contextmanager
def _listen_to_warnings(problems: list[Violation]) -> Iterator[None]:
    """A coroutine that was made and never awaited has not done what it was made for."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", message=".* was never awaited", category=RuntimeWarning)
        yield
    problems += [Violation("failure", str(warning.message)) for warning in caught]


@contextmanager
def _listen_to_logs(
    loop: SimulatedLoop, problems: list[Violation], write_line: Callable[[str], None] | None
) -> Iterator[None]:
    logger = logging.getLogger("tidelog")
    before = (logger.level, logger.propagate)
    handler = _LogHandler(loop, problems, write_line)
    logger.addHandler(handler)
    logger.setLevel(logging.ERROR if write_line is None else logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before[0])
        logger.propagate = before[1]


class _LogHandler(logging.Handler):
    """Exceptions that code under test only logs are violations; the rest is for the reader of a trace."""

    def __init__(
        self, loop: SimulatedLoop, problems: list[Violation], write_line: Callable[[str], None] | None
    ) -> None:
        super().__init__()
        self._loop = loop
        self._problems = problems
        self._write_line = write_line

    def emit(self, record: logging.LogRecord) -> None:
        process = CURRENT.get()
        name = "outside" if process is None else process.name
        message = record.getMessage()
        error = record.exc_info[1] if record.exc_info else None
        alive = process is None or process.alive
        if self._write_line is not None:
            self._write_line(f"{self._loop.time():12.6f} {name} {record.levelname} {message} ({record.name})")
            if error is not None:
                self._write_line("".join(traceback.format_exception(error)))
        if alive and record.name == INVARIANT_LOGGER:
            self._problems.append(Violation("I11", f"{name} at {self._loop.time():.3f} s: {message}"))
        if alive and isinstance(error, Exception) and not _is_expected(error):
            at = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{at.filename.rpartition('/')[2]}:{at.lineno}"
            self._problems.append(
                Violation("failure", f"{name} at {self._loop.time():.3f} s: {message}: {error!r} in {where}")
            )


def _is_expected(error: Exception) -> bool:
    # Disks fail, and that ends things. For want of descriptors nothing ends.
    cause = error.cause if isinstance(error, StorageFailure) else error
    return isinstance(error, _EXPECTED_ERRORS) and getattr(cause, "errno", None) not in TOO_MANY_OPEN_FILES


def _describe(failure: tuple[float, object, str, BaseException | None]) -> str:
    time, process, message, error = failure
    lines = "".join(traceback.format_exception(error)) if error is not None else ""
    return f"{process} at {time:.3f} s: {message}\n{lines}".rstrip()


def _count_history(history: History, counts: Counter[str]) -> None:
    for event in history.events:
        counts[f"history {type(event).__name__.lower()}"] += 1
        if isinstance(event, Ended):
            counts[f"transaction {event.outcome.name.lower()}"] += 1
