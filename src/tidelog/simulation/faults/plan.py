"""What goes wrong and when: the plan of a run, drawn from its seed before the run begins.

A plan is a value, so it can be printed and drawn again. `tidelog.simulation.machines.world` carries it out.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from enum import StrEnum

from tidelog.model.lazy_dataclasses import dataclass


class FaultKind(StrEnum):
    # Processes of brokers.
    KILL = "kill"
    CRASH_IN_CALL = "crash-in-call"
    POWER_LOSS = "power-loss"
    RESTART = "restart"
    PAUSE = "pause"
    # The network.
    PARTITION = "partition"
    ONE_WAY_PARTITION = "one-way-partition"
    PACKET_LOSS = "packet-loss"
    SLOW_LINK = "slow-link"
    RESET = "reset"
    FLAKY_LINK = "flaky-link"
    DUPLICATION = "duplication"
    # Clocks and disks.
    CLOCK_JUMP = "clock-jump"
    DISK_ERROR = "disk-error"
    DISK_FULL = "disk-full"
    SLOW_DISK = "slow-disk"
    DIRECTORY_ERROR = "directory-error"
    REPLACED_DISK = "replaced-disk"
    DAMAGE = "damage"
    NO_DESCRIPTORS = "no-descriptors"
    # Clients.
    CLIENT_PAUSE = "client-pause"


# Seconds that a fault lasts, from and to. For those that end a process: until it is started again.
DURATIONS: dict[FaultKind, tuple[float, float]] = {
    FaultKind.KILL: (0.05, 8.0),
    FaultKind.CRASH_IN_CALL: (0.05, 8.0),
    FaultKind.POWER_LOSS: (0.5, 8.0),
    FaultKind.RESTART: (0.05, 4.0),
    FaultKind.PAUSE: (0.2, 12.0),
    FaultKind.PARTITION: (0.5, 12.0),
    FaultKind.ONE_WAY_PARTITION: (0.5, 12.0),
    FaultKind.PACKET_LOSS: (1.0, 8.0),
    FaultKind.SLOW_LINK: (1.0, 8.0),
    FaultKind.RESET: (0.0, 0.0),
    FaultKind.FLAKY_LINK: (1.0, 8.0),
    FaultKind.DUPLICATION: (1.0, 8.0),
    FaultKind.CLOCK_JUMP: (0.0, 0.0),
    FaultKind.DISK_ERROR: (0.2, 5.0),
    FaultKind.DISK_FULL: (0.2, 5.0),
    FaultKind.SLOW_DISK: (1.0, 8.0),
    FaultKind.DIRECTORY_ERROR: (1.0, 12.0),
    FaultKind.REPLACED_DISK: (0.05, 4.0),
    FaultKind.DAMAGE: (2.0, 8.0),
    FaultKind.NO_DESCRIPTORS: (0.2, 6.0),
    FaultKind.CLIENT_PAUSE: (0.5, 15.0),
}
# Mean seconds between two faults, from a world where hardly anything happens to one where always something does.
MEAN_PAUSE_SECONDS = (1.0, 8.0)
# The chance that a kind of fault is left out of a run. Runs with few kinds go deeper into each of them.
LEFT_OUT = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFault:
    at: float
    kind: FaultKind
    # The host that it happens to, and for links those at the other end.
    target: str
    others: tuple[str, ...]
    seconds: float
    # Chance for whatever else the fault has to choose, from 0 to 1.
    choice: float

    def __str__(self) -> str:
        others = f" and {','.join(self.others)}" if self.others else ""
        return f"{self.kind} of {self.target}{others} for {self.seconds:.2f} s"


_LINK_FAULTS = frozenset(
    {
        FaultKind.PARTITION,
        FaultKind.ONE_WAY_PARTITION,
        FaultKind.PACKET_LOSS,
        FaultKind.SLOW_LINK,
        FaultKind.FLAKY_LINK,
        FaultKind.DUPLICATION,
    }
)


def choose_kinds(chance: random.Random, allowed: Collection[FaultKind]) -> tuple[FaultKind, ...]:
    """Some of the allowed kinds; all of them if only one was allowed."""
    ordered = [kind for kind in FaultKind if kind in allowed]
    if len(ordered) <= 1:
        return tuple(ordered)
    chosen = [kind for kind in ordered if chance.random() >= LEFT_OUT]
    return tuple(chosen or [chance.choice(ordered)])


def draw_plan(
    chance: random.Random,
    kinds: Sequence[FaultKind],
    *,
    nodes: Sequence[str],
    clients: Sequence[str],
    seconds: float,
    begin: float = 0.0,
) -> list[PlannedFault]:
    """Faults from `begin` on for `seconds`, in the order of their times."""
    plan: list[PlannedFault] = []
    if not kinds:
        return plan
    pause = chance.uniform(*MEAN_PAUSE_SECONDS)
    at = begin + chance.expovariate(1 / pause)
    while at < begin + seconds:
        kind = chance.choice(kinds)
        target = chance.choice(clients) if kind is FaultKind.CLIENT_PAUSE else chance.choice(nodes)
        others = _choose_others(chance, target, nodes, clients) if kind in _LINK_FAULTS else ()
        plan.append(
            PlannedFault(
                at=at,
                kind=kind,
                target=target,
                others=others,
                seconds=chance.uniform(*DURATIONS[kind]),
                choice=chance.random(),
            )
        )
        at += chance.expovariate(1 / pause)
    return plan


def _choose_others(chance: random.Random, target: str, nodes: Sequence[str], clients: Sequence[str]) -> tuple[str, ...]:
    """Who is at the other end: everybody, the other nodes but no clients (which then go on using it), or one host."""
    other_nodes = tuple(host for host in nodes if host != target)
    choices = [(*other_nodes, *clients), *((host,) for host in (*other_nodes, *clients))]
    if other_nodes:
        # Most of what can go wrong between brokers goes wrong here.
        choices += [other_nodes] * len(choices)
    return chance.choice(choices)
