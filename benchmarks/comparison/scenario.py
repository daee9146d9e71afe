"""One measurement, and the turns in which the sides take it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from benchmarks.comparison.contestants import Contestant, Server
from benchmarks.comparison.figures import PLAIN, Figure, Result
from benchmarks.comparison.machine import MOST_TAKEN, touch_memory, watch_neighbours

Measured = Mapping[str, float]
# How often a turn is taken at most, if others had too much of the machine.
MOST_TRIES = 3
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A client library that is one side of a comparison."""

    name: str
    # What its samples are counted as: tidelog's, tidelog's in plain Python, or those of another library.
    side: str
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one side gets when it is its turn."""

    contestant: Contestant
    # The running server; scenarios that start their own get none.
    _server: Server | None
    # Tells topics and groups of the rounds apart.
    label: str
    # 1 for the full measurement; counts are multiplied by it.
    scale: float
    _library: Library | None = None

    @property
    def library(self) -> Library:
        if self._library is None:
            raise RuntimeError("this scenario compares no client libraries")
        return self._library

    @property
    def server(self) -> Server:
        if self._server is None:
            raise RuntimeError("this scenario starts its servers itself")
        return self._server

    def scaled(self, count: int) -> int:
        return max(1, int(count * self.scale))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """`measure` takes one sample of every figure on one side."""

    name: str
    figures: tuple[Figure, ...]
    measure: Callable[[Turn], Measured]
    # 0: it starts and stops servers by itself.
    nodes: int = 1
    properties: Mapping[str, str] = field(default_factory=dict)
    rounds: int = 3
    # Rounds that are not counted: code is compiled, files and connections are opened.
    warm_up_rounds: int = 1
    # Part of `make bench-quick`.
    quick: bool = False
    # Measured without the compiled parts as well.
    plain: bool = False
    # Measured with a server that does nothing as well.
    empty: bool = False
    # What a turn uses of memory: files that it writes, and what the client queues.
    touched_megabytes: int = 0
    # Client libraries that take turns on one server of tidelog, instead of servers.
    libraries: tuple[Library, ...] = ()


def without_plain(scenario: Scenario) -> Scenario:
    """The same without what runs in plain Python."""
    libraries = tuple(library for library in scenario.libraries if library.side != PLAIN)
    return replace(scenario, plain=False, libraries=libraries)


def run_together(
    scenarios: Sequence[Scenario], contestants: Sequence[Contestant], *, scale: float, most_rounds: int, say: Say
) -> Iterator[tuple[Scenario, list[Result] | Exception]]:
    """All of them on the same servers, which run side by side; scenarios need equal nodes and properties.

    A scenario that cannot be measured gives the reason, whatever it is: the others have taken an hour.
    """
    nodes, properties = scenarios[0].nodes, scenarios[0].properties
    with contextlib.ExitStack() as stack:
        servers: dict[str, Server | None] = {side.name: None for side in contestants}
        if nodes:
            for side in contestants:
                say(f"starting {side.name}, {nodes} node{'s' if nodes > 1 else ''}")
                servers[side.name] = stack.enter_context(side.running(nodes=nodes, properties=properties))
        for scenario in scenarios:
            try:
                results = _in_turns(scenario, contestants, servers, scale=scale, most_rounds=most_rounds, say=say)
            except Exception as problem:
                yield scenario, problem
            else:
                yield scenario, results


def _in_turns(
    scenario: Scenario,
    contestants: Sequence[Contestant],
    servers: Mapping[str, Server | None],
    *,
    scale: float,
    most_rounds: int,
    say: Say,
) -> list[Result]:
    samples: dict[str, dict[str, list[float]]] = {figure.name: {} for figure in scenario.figures}
    sides: list[tuple[str, Contestant, Library | None]] = [(side.name, side, None) for side in contestants]
    if scenario.libraries:
        sides = [(library.side, contestants[0], library) for library in scenario.libraries]
    for number in range(scenario.warm_up_rounds + min(scenario.rounds, most_rounds)):
        is_counted = number >= scenario.warm_up_rounds
        # Every other round goes the other way round, so that nobody is always first.
        for name, contestant, library in sides if number % 2 else reversed(sides):
            turn = Turn(
                contestant=contestant,
                _server=servers[contestant.name],
                label=f"{scenario.name}-{number}",
                scale=scale,
                _library=library,
            )
            say_here = partial(_say_of, say, f"{scenario.name}, round {number}, {library.name if library else name}")
            measured = _undisturbed(scenario, turn, say_here, most_tries=MOST_TRIES if is_counted else 1)
            say_here(_described(measured))
            if measured.keys() - samples.keys():
                raise RuntimeError(f"{scenario.name} measures {sorted(measured.keys() - samples.keys())} undeclared")
            for figure, value in measured.items() if is_counted else ():
                samples[figure].setdefault(name, []).append(value)
    return [Result(figure=figure, samples=samples[figure.name]) for figure in scenario.figures]


def _say_of(say: Say, what: str, text: str) -> None:
    say(f"{what}: {text}")


def _undisturbed(scenario: Scenario, turn: Turn, say: Say, *, most_tries: int) -> Measured:
    """Take the turn, and again if the machine's neighbours took too much of it; the least disturbed try counts."""
    least, found = 1.0, None
    for number in range(most_tries):
        touch_memory(int(scenario.touched_megabytes * turn.scale))
        taken = watch_neighbours()
        measured = scenario.measure(turn if not number else replace(turn, label=f"{turn.label}-{number}"))
        part = taken()
        if found is None or part < least:
            least, found = part, measured
        if part <= MOST_TAKEN:
            break
        say(f"others took {part:.0%} of the machine's time")
    assert found is not None
    return found


def _described(measured: Measured) -> str:
    return ", ".join(f"{name} {value:,.4g}" for name, value in measured.items())
