"""Many seeds, one after the other or in several processes, and what they covered together."""

from __future__ import annotations

import gc
import multiprocessing
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import field
from types import FrameType

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.simulation.faults.plan import FaultKind
from tidelog.simulation.run import RunReport, TookTooLong, run
from tidelog.simulation.scenario import draw_scenario

ALL_FAULTS = tuple(FaultKind)
# Of the processor, not of the clock, so that a busy machine makes no difference; fifty times what a seed takes.
MAX_PROCESSOR_SECONDS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """Which seeds to run, and how."""

    first_seed: int = 1
    seeds: int = 100
    seconds: float = 60.0
    nodes: int = 1
    faults: tuple[FaultKind, ...] = ALL_FAULTS
    jobs: int = 1

    def command(self, seed: int) -> str:
        """What to type to see one seed again."""
        parts = [f"tidelog simulate --first-seed {seed} --seeds 1 --seconds {self.seconds:g} --nodes {self.nodes}"]
        if set(self.faults) != set(ALL_FAULTS):
            parts.append(f"--faults {','.join(self.faults) or 'none'}")
        parts.append("--trace")
        return " ".join(parts)


@dataclass(slots=True)
class Coverage:
    """What all runs together have met."""

    counts: Counter[str] = field(default_factory=Counter)
    events: int = 0
    virtual_seconds: float = 0.0

    def add(self, report: RunReport) -> None:
        self.counts += report.counts
        self.events += report.events
        self.virtual_seconds += report.virtual_seconds

    def with_prefix(self, prefix: str) -> dict[str, int]:
        return {
            name.removeprefix(prefix): count for name, count in sorted(self.counts.items()) if name.startswith(prefix)
        }


def run_seed(campaign: Campaign, seed: int) -> RunReport:
    with _bounded(seed):
        return run(draw_scenario(seed, seconds=campaign.seconds, nodes=campaign.nodes, faults=campaign.faults))


@contextmanager
def _bounded(seed: int) -> Iterator[None]:
    """Code that never gives the loop back would stop virtual time for ever."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        where = "" if frame is None else f", now in {frame.f_code.co_filename}:{frame.f_lineno}"
        raise TookTooLong(f"seed {seed} has not ended after {MAX_PROCESSOR_SECONDS} s of processor time{where}")

    before = signal.signal(signal.SIGVTALRM, interrupt)
    signal.setitimer(signal.ITIMER_VIRTUAL, MAX_PROCESSOR_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def run_campaign(campaign: Campaign) -> Iterator[RunReport]:
    """Reports as they come; with several jobs that is not the order of the seeds."""
    seeds = range(campaign.first_seed, campaign.first_seed + campaign.seeds)
    if campaign.jobs <= 1:
        _prepare()
        for seed in seeds:
            yield run_seed(campaign, seed)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(campaign.jobs, mp_context=context, initializer=_prepare) as pool:
        waiting = [pool.submit(run_seed, campaign, seed) for seed in seeds]
        try:
            for done in as_completed(waiting):
                yield done.result()
        finally:
            for future in waiting:
                future.cancel()


def _prepare() -> None:
    """Modules live as long as the process: looking through them for garbage after every run only costs time."""
    gc.collect()
    gc.freeze()
