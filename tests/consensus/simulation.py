"""Whole quorums in virtual time, with a network and disks that misbehave by seed, and the checkers watching.

The nodes are `QuorumReplica`s driven as the server drives them: effects are carried out in their order, and a crash can
come between any two of them. Everything random comes from one seed, so a failure is repeated by its seed.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import partial
from typing import Protocol, TypeVar

from consensus.checkers import History, Violation
from consensus.simulated_log import ENTRY_BYTES, Entry, SimulatedLog, decode_entries, encode_entries
from support.default_settings import quorum_settings

from tidelog.consensus.effects import Effects, FetchedAppend, LeaderChangeAppend, SnapshotChunk
from tidelog.consensus.messages import (
    Answer,
    Answered,
    Appended,
    Event,
    Failed,
    FetchAnswer,
    FetchSnapshotAnswer,
    Flushed,
    Request,
    Requested,
    Resign,
    SnapshotInstalled,
    Tick,
    Vote,
    VoteAnswer,
)
from tidelog.consensus.quorum_state import decode_quorum_state, encode_quorum_state
from tidelog.consensus.replica import QuorumReplica
from tidelog.consensus.settings import QuorumSettings
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid

# Chances per message, action or moment, as long as faults are on.
LOSS = 0.05
DUPLICATION = 0.05
LONG_DELAY = 0.05
SMALL_DELAY_MS = (1, 15)
LARGE_DELAY_MS = (15, 900)
REFUSED_CONNECTION = 0.5
SLOW_FLUSH = 0.1
FLUSH_MS = (0, 10)
SLOW_FLUSH_MS = (10, 400)
RESTART_MS = (5, 1_500)
MAX_ENTRIES_PER_FETCH = 3


M = TypeVar("M", bound=Request | Answer)


class Translate(Protocol):
    """What the network does to a message on its way, besides losing and delaying it."""

    def __call__(self, message: M, destination_id: int) -> M: ...


class Flaw(Enum):
    """Mistakes of the driver, planted to see that the checkers notice."""

    FORGETS_QUORUM_STATE = auto()
    REPORTS_FLUSH_TOO_EARLY = auto()
    VOTES_WITHOUT_A_PAST = auto()


class SeededRandomness:
    """The randomness port of the replicas."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def random_bytes(self, count: int) -> bytes:
        return self._chance.randbytes(count)

    def uniform(self, low: float, high: float) -> float:
        return self._chance.uniform(low, high)

    def below(self, bound: int) -> int:
        return self._chance.randrange(bound)


class Crashed(Exception):
    """Ends the carrying out of effects in the middle."""


@dataclass(slots=True)
class Node:
    """`log` and `quorum_state` are on disk; the rest is lost in a crash."""

    settings: QuorumSettings
    log: SimulatedLog = field(default_factory=SimulatedLog)
    quorum_state: str | None = None
    # Whether the disk says that the voter does not know what it may have forgotten.
    forgetful: bool = False
    quorum_state_at_start: str | None = None
    replica: QuorumReplica | None = None
    incarnation: int = 0
    leading_epoch: int | None = None
    high_watermark: int = 0
    deadline_ms: float = float("inf")
    paused_until_ms: float = 0.0
    flushing: bool = False
    download: bytearray = field(default_factory=bytearray)
    # Which incarnation of which node waits for the answer to which of its requests.
    tokens: dict[int, tuple[int, int, int, Request]] = field(default_factory=dict)

    @property
    def node_id(self) -> int:
        return self.settings.node_id


class Simulation:
    def __init__(
        self,
        seed: int,
        *,
        voters: int = 3,
        observers: int = 0,
        timeout_ms: int = 1_000,
        flaws: frozenset[Flaw] = frozenset(),
        translate: Translate | None = None,
    ) -> None:
        self.chance = random.Random(seed)
        self.now_ms = 0.0
        self.history = History()
        self.faults = True
        self.blocked: set[tuple[int, int]] = set()
        self.max_entries_per_fetch = MAX_ENTRIES_PER_FETCH
        self.trace: list[str] | None = None
        self._flaws = flaws
        self._translate = translate
        self._queue: list[tuple[float, int, Callable[[], object]]] = []
        self._counter = 0
        self._crash_countdown: int | None = None
        voter_ids = frozenset(range(1, voters + 1))
        self.nodes = {
            node_id: Node(
                quorum_settings(
                    node_id=node_id,
                    voters=voter_ids,
                    election_timeout_ms=timeout_ms,
                    election_backoff_max_ms=timeout_ms,
                    fetch_timeout_ms=2 * timeout_ms,
                    request_timeout_ms=2 * timeout_ms,
                )
            )
            for node_id in range(1, voters + observers + 1)
        }
        for node in self.nodes.values():
            self.at(0, partial(self.start, node))

    # --- Time

    def at(self, delay_ms: float, action: Callable[[], object]) -> None:
        self._counter += 1
        heapq.heappush(self._queue, (self.now_ms + delay_ms, self._counter, action))

    def run(self, duration_ms: float) -> None:
        end_ms = self.now_ms + duration_ms
        while self._queue and self._queue[0][0] <= end_ms:
            self.now_ms, _, action = heapq.heappop(self._queue)
            action()
        self.now_ms = end_ms

    def run_until(self, condition: Callable[[], bool], limit_ms: float) -> bool:
        end_ms = self.now_ms + limit_ms
        while not condition():
            if self.now_ms >= end_ms:
                return False
            self.run(50)
        return True

    # --- Nodes

    def start(self, node: Node) -> None:
        if node.replica is not None:
            return
        node.incarnation += 1
        node.quorum_state_at_start = node.quorum_state
        node.leading_epoch = None
        node.high_watermark = 0
        node.flushing = False
        node.download.clear()
        node.tokens.clear()
        state = None if node.quorum_state is None else decode_quorum_state(node.quorum_state)
        if state is None and not node.log.end_offset and len(node.settings.voters) > 1:
            node.forgetful = node.settings.is_voter
        if self._flaws & {Flaw.FORGETS_QUORUM_STATE, Flaw.VOTES_WITHOUT_A_PAST}:
            node.forgetful = False
        node.replica = QuorumReplica(
            settings=node.settings,
            log=node.log,
            randomness=SeededRandomness(self.chance),
            quorum_state=state,
            forgetful=node.forgetful,
        )
        self._note(f"{node.node_id} starts with {state}, end {node.log.end_offset}")
        self._carry_out(node, node.replica.start(self.now_ms))

    def crash(self, node: Node) -> None:
        if node.replica is None:
            return
        self._note(f"{node.node_id} crashes")
        node.replica = None
        node.leading_epoch = None
        node.log.crash(self.chance)
        if Flaw.FORGETS_QUORUM_STATE in self._flaws:
            node.quorum_state = node.quorum_state_at_start

    def replace_disk(self, node: Node) -> None:
        """Nothing is left of what it had."""
        self.crash(node)
        self._note(f"{node.node_id} gets an empty disk")
        node.log = SimulatedLog()
        node.quorum_state = node.quorum_state_at_start = None
        node.forgetful = node.settings.is_voter
        node.settings = replace(node.settings, directory_id=Uuid(self.chance.randbytes(16)))
        self.history.forget(node.node_id)

    def crash_and_restart(self, node: Node) -> None:
        self.crash(node)
        self.at(self.chance.uniform(*RESTART_MS), lambda: self.start(node))

    def step(self, node: Node, event: Event) -> None:
        if node.replica is None:
            return
        effects = node.replica.step(event, self.now_ms)
        if effects.deadline_ms <= self.now_ms:
            raise Violation("no busy loops", f"node {node.node_id} is to be woken at once after {event}")
        self._carry_out(node, effects)

    def _deliver(self, node: Node, incarnation: int, event: Event) -> None:
        """Hand an event to a node, which may be gone by now or standing still."""
        if node.replica is None or node.incarnation != incarnation:
            return
        if node.paused_until_ms > self.now_ms:
            self.at(node.paused_until_ms - self.now_ms, lambda: self._deliver(node, incarnation, event))
            return
        self.step(node, event)

    def propose(self, node: Node) -> int | None:
        """Append one record as the leader, as the controller does. Its offset, or None if the node does not lead."""
        if node.replica is None or node.leading_epoch is None or node.paused_until_ms > self.now_ms:
            return None
        self._counter += 1
        offset = node.log.end_offset
        node.log.append([Entry(node.leading_epoch, self._counter)])
        if self.chance.random() < 0.7:
            self.step(node, Appended())
        self._start_flush(node)
        return offset

    # --- Effects

    def _carry_out(self, node: Node, effects: Effects) -> None:
        try:
            self._write(node, effects)
            self._report(node, effects)
            self._talk(node, effects)
        except Crashed:
            return
        node.deadline_ms = effects.deadline_ms
        if effects.deadline_ms != float("inf"):
            self._schedule_tick(node, effects.deadline_ms)

    def _schedule_tick(self, node: Node, deadline_ms: float) -> None:
        incarnation = node.incarnation

        def tick() -> None:
            if node.deadline_ms == deadline_ms:
                self._deliver(node, incarnation, Tick())

        self.at(max(0.0, deadline_ms - self.now_ms), tick)

    def _write(self, node: Node, effects: Effects) -> None:
        if effects.quorum_state is not None:
            self._maybe_crash(node)
            self._note(f"{node.node_id} persists {effects.quorum_state}")
            node.quorum_state = encode_quorum_state(effects.quorum_state, node.settings.voters)
            if Flaw.FORGETS_QUORUM_STATE not in self._flaws:
                self.history.check_epoch(node.node_id, effects.quorum_state.epoch)
            self._maybe_crash(node)
        if effects.remembers:
            self._note(f"{node.node_id} remembers")
            node.forgetful = False
        if effects.truncate_to is not None:
            self._note(f"{node.node_id} truncates from {node.log.end_offset} to {effects.truncate_to}")
            node.log.truncate_to(effects.truncate_to)
        match effects.append:
            case LeaderChangeAppend(epoch=epoch):
                self._counter += 1
                node.log.append([Entry(epoch, self._counter)])
            case FetchedAppend(base_offset=base_offset, records=records):
                assert base_offset == node.log.end_offset
                node.log.append(decode_entries(records))
        self._maybe_crash(node)
        if effects.snapshot_chunk is not None:
            self._write_chunk(node, effects.snapshot_chunk)
        if effects.truncate_to is not None or effects.append is not None:
            self._start_flush(node)

    def _write_chunk(self, node: Node, chunk: SnapshotChunk) -> None:
        del node.download[chunk.position :]
        node.download += chunk.data
        if chunk.is_last:
            node.log.install_snapshot(chunk.snapshot_id, decode_entries(node.download))
            self._note(f"{node.node_id} installs {chunk.snapshot_id}")
            incarnation = node.incarnation
            self.at(0, lambda: self._deliver(node, incarnation, SnapshotInstalled(snapshot_id=chunk.snapshot_id)))

    def _start_flush(self, node: Node) -> None:
        """One flush at a time; what comes in the meantime is flushed by the next one."""
        if node.flushing or node.replica is None:
            return
        node.flushing = True
        incarnation = node.incarnation
        pending, end_offset = node.log.begin_flush(), node.log.end_offset
        if Flaw.REPORTS_FLUSH_TOO_EARLY in self._flaws:
            self.at(0, lambda: self._deliver(node, incarnation, Flushed(end_offset=end_offset)))

        def finish() -> None:
            if node.replica is None or node.incarnation != incarnation:
                return
            node.flushing = False
            node.log.end_flush(pending)
            if Flaw.REPORTS_FLUSH_TOO_EARLY not in self._flaws:
                self._deliver(node, incarnation, Flushed(end_offset=end_offset))
            if node.replica is not None and node.log.begin_flush():
                self._start_flush(node)

        slow = self.faults and self.chance.random() < SLOW_FLUSH
        self.at(self.chance.uniform(*(SLOW_FLUSH_MS if slow else FLUSH_MS)), finish)

    def _report(self, node: Node, effects: Effects) -> None:
        leadership = effects.leadership
        if leadership is not None:
            self._note(f"{node.node_id} says {leadership}")
            node.leading_epoch = None
            if leadership.leading_from is not None:
                node.leading_epoch = leadership.epoch
                self.history.check_leader(node.node_id, node.incarnation, leadership.epoch, node.log.entries)
                self.history.check_logs((other.node_id, other.log.entries) for other in self.nodes.values())
        if effects.high_watermark is not None:
            assert node.replica is not None
            self.history.check_commit(
                node.node_id, node.replica.epoch, node.high_watermark, effects.high_watermark, node.log.entries
            )
            if effects.high_watermark < node.high_watermark:
                raise Violation("high watermarks never go back", f"node {node.node_id}")
            node.high_watermark = effects.high_watermark

    def _talk(self, node: Node, effects: Effects) -> None:
        for reply in effects.replies:
            self._maybe_crash(node)
            source_id, incarnation, request_id, request = node.tokens.pop(reply.token)
            granted = isinstance(reply.answer, VoteAnswer) and reply.answer.granted
            if granted and isinstance(request, Vote) and not request.pre_vote:
                self.history.check_vote(node.node_id, request.epoch, request.candidate_id)
            answer = self._pass(self._read(node, reply.answer), source_id)
            source = self.nodes[source_id]
            event = Answered(request_id=request_id, answer=answer)
            self._transmit(node, source, partial(self._deliver, source, incarnation, event))
        for send in effects.requests:
            self._maybe_crash(node)
            destination = self.nodes[send.destination]
            request = self._pass(send.request, send.destination)
            self._transmit(node, destination, self._arrival(node, destination, send.request_id, request))

    def _pass(self, message: M, destination_id: int) -> M:
        return message if self._translate is None else self._translate(message, destination_id)

    def _arrival(self, node: Node, destination: Node, request_id: int, request: Request) -> Callable[[], None]:
        incarnation = node.incarnation

        def arrive() -> None:
            if destination.replica is None:
                if self.chance.random() < REFUSED_CONNECTION:
                    failed = Failed(request_id=request_id, refused=True)
                    self._transmit(destination, node, lambda: self._deliver(node, incarnation, failed))
                return
            self._counter += 1
            token = self._counter
            destination.tokens[token] = (node.node_id, incarnation, request_id, request)
            self._deliver(destination, destination.incarnation, Requested(token=token, request=request))

        return arrive

    def _read(self, node: Node, answer: Answer) -> Answer:
        """What the driver adds to an answer: the bytes."""
        if isinstance(answer, FetchAnswer) and answer.read_from is not None:
            count = self.chance.randint(1, self.max_entries_per_fetch)
            entries = node.log.entries[answer.read_from : answer.read_from + count]
            return replace(answer, records=encode_entries(entries))
        if isinstance(answer, FetchSnapshotAnswer) and answer.to_be_read:
            if answer.snapshot_id != node.log.snapshot:
                return replace(answer, error=ErrorCode.SNAPSHOT_NOT_FOUND)
            content = encode_entries(node.log.entries[: node.log.snapshot.end_offset])
            piece = content[answer.position :][: self.chance.randint(1, 10) * ENTRY_BYTES + 5]
            return replace(answer, size=len(content), data=piece)
        return answer

    # --- Faults

    def _transmit(self, source: Node, destination: Node, arrive: Callable[[], None]) -> None:
        link = (source.node_id, destination.node_id)
        copies = 2 if self.faults and self.chance.random() < DUPLICATION else 1
        for _ in range(copies):
            if link in self.blocked or (self.faults and self.chance.random() < LOSS):
                continue
            slow = self.faults and self.chance.random() < LONG_DELAY
            delay_ms = self.chance.uniform(*(LARGE_DELAY_MS if slow else SMALL_DELAY_MS))
            self.at(delay_ms, lambda: arrive() if link not in self.blocked else None)

    def _maybe_crash(self, node: Node) -> None:
        """Between any two effects, if a crash was ordered for whoever comes there next."""
        if self._crash_countdown is None:
            return
        self._crash_countdown -= 1
        if self._crash_countdown <= 0:
            self._crash_countdown = None
            self.crash_and_restart(node)
            raise Crashed

    def order_crash(self) -> None:
        self._crash_countdown = self.chance.randint(1, 8)

    def heal(self) -> None:
        """No fault from now on; everybody runs."""
        self.faults = False
        self.blocked.clear()
        self._crash_countdown = None
        for node in self.nodes.values():
            node.paused_until_ms = 0.0
            self.start(node)
            self.step(node, Tick())

    def resign(self, node: Node) -> None:
        if node.leading_epoch is not None and node.paused_until_ms <= self.now_ms:
            self.step(node, Resign(epoch=node.leading_epoch))

    def _note(self, text: str) -> None:
        if self.trace is not None:
            self.trace.append(f"{self.now_ms:9.1f} {text}")
