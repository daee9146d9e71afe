"""A quorum without a will of its own: a script says when time passes, what is delivered and what is lost.

Each command gives the lines that tell what the replicas did, so that whole flows can be read and compared as text.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, fields, replace

from consensus.simulated_log import Entry, SimulatedLog, decode_entries, encode_entries
from support.default_settings import quorum_settings
from support.transcripts import Scripted

from tidelog.consensus.effects import Effects, FetchedAppend, LeaderChangeAppend
from tidelog.consensus.messages import (
    UNTOLD_HIGH_WATERMARK,
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
    ShutDown,
    SnapshotInstalled,
    Tick,
)
from tidelog.consensus.quorum_state import QuorumState
from tidelog.consensus.replica import QuorumReplica
from tidelog.consensus.settings import QuorumSettings
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID


class FixedRandomness:
    """Always the same tenth of the range: node 1 waits shorter than node 2."""

    def __init__(self, tenths: int) -> None:
        self._tenths = tenths

    def random_bytes(self, count: int) -> bytes:
        return bytes(count)

    def uniform(self, low: float, high: float) -> float:
        return low + (high - low) * self._tenths / 10

    def below(self, bound: int) -> int:
        return bound * self._tenths // 10


@dataclass(slots=True)
class Parcel:
    """A request or an answer on its way."""

    request_id: int
    content: Request | Answer
    is_request: bool


@dataclass(slots=True)
class ScriptedNode:
    settings: QuorumSettings
    log: SimulatedLog = field(default_factory=SimulatedLog)
    quorum_state: QuorumState | None = None
    replica: QuorumReplica | None = None
    role: str = ""
    deadline_ms: float = float("inf")
    download: bytearray = field(default_factory=bytearray)
    tokens: dict[int, tuple[int, int]] = field(default_factory=dict)


class ScriptedQuorum(Scripted):
    def __init__(self) -> None:
        super().__init__()
        self.nodes: dict[int, ScriptedNode] = {}
        self.now_ms = 0.0
        self._links: dict[tuple[int, int], deque[Parcel]] = {}
        self._token = 0
        self._value = 0

    # --- Commands

    def do_voters(self, *ids: str) -> None:
        voters = frozenset(map(int, ids))
        self.nodes |= {voter: ScriptedNode(quorum_settings(node_id=voter, voters=voters)) for voter in sorted(voters)}

    def do_observers(self, *ids: str) -> None:
        voters = frozenset(self.nodes)
        self.nodes |= {int(node): ScriptedNode(quorum_settings(node_id=int(node), voters=voters)) for node in ids}

    def do_log(self, node_id: str, *epochs: str) -> None:
        """Give a stopped node a log with records of these epochs: equal epochs at equal offsets are equal records."""
        log = self.nodes[int(node_id)].log
        log.append([Entry(int(epoch), 1_000 * int(epoch) + offset) for offset, epoch in enumerate(epochs)])
        log.end_flush(log.begin_flush())

    def do_snapshot(self, node_id: str, end_offset: str) -> None:
        self.nodes[int(node_id)].log.take_snapshot(int(end_offset))

    def do_remember(self, node_id: str, epoch: str, leader_id: str = "-", voted_id: str = "-") -> None:
        """What a stopped node has in its quorum-state file."""
        self.nodes[int(node_id)].quorum_state = QuorumState(
            epoch=int(epoch),
            leader_id=None if leader_id == "-" else int(leader_id),
            voted_id=None if voted_id == "-" else int(voted_id),
        )

    def do_start(self, *ids: str) -> None:
        for node_id in map(int, ids):
            node = self.nodes[node_id]
            node.tokens.clear()
            node.role = ""
            node.replica = QuorumReplica(
                settings=node.settings,
                log=node.log,
                randomness=FixedRandomness(node_id),
                quorum_state=node.quorum_state,
            )
            self._carry_out(node_id, node.replica.start(self.now_ms))

    def do_stop(self, *ids: str) -> None:
        for node_id in map(int, ids):
            self.nodes[node_id].replica = None
            for (source, destination), parcels in self._links.items():
                if node_id in (source, destination):
                    parcels.clear()

    def do_time(self, now_ms: str) -> None:
        """Move the clock, and wake everybody whose deadline has come, in the order of the deadlines."""
        end_ms = float(now_ms)
        while True:
            due = [(node.deadline_ms, node_id) for node_id, node in self.nodes.items() if node.replica is not None]
            deadline_ms, node_id = min(due)
            if deadline_ms > end_ms:
                break
            self.now_ms = max(self.now_ms, deadline_ms)
            self._step(node_id, Tick())
        self.now_ms = end_ms

    def do_deliver(self, source: str, destination: str) -> None:
        self._deliver(int(source), int(destination))

    def do_lose(self, source: str, destination: str) -> None:
        self._links[int(source), int(destination)].popleft()

    def do_fail(self, source: str, destination: str) -> None:
        parcel = self._links[int(source), int(destination)].popleft()
        assert parcel.is_request
        self._step(int(source), Failed(request_id=parcel.request_id))

    def do_append(self, node_id: str) -> None:
        node = self.nodes[int(node_id)]
        assert node.replica is not None
        assert node.replica.role.value == "Leader"
        self._value += 1
        node.log.append([Entry(node.replica.epoch, self._value)])
        self._step(int(node_id), Appended())

    def do_flush(self, *ids: str) -> None:
        for node_id in map(int, ids):
            log = self.nodes[node_id].log
            log.end_flush(log.begin_flush())
            self._step(node_id, Flushed(end_offset=log.end_offset))

    def do_settle(self) -> None:
        """Deliver and flush until nothing is left to do without time passing. Nothing is shown but the result."""
        while True:
            busy = [link for link, parcels in self._links.items() if parcels]
            unflushed = [node_id for node_id, node in self.nodes.items() if node.log.begin_flush() and node.replica]
            if not busy and not unflushed:
                break
            for link in busy:
                self._deliver(*link)
            self.do_flush(*map(str, unflushed))
        self.lines = []
        self.do_show()

    def do_show(self) -> None:
        for node_id, node in self.nodes.items():
            if node.replica is not None:
                replica = node.replica
                self.lines.append(
                    f"{node_id} {replica.role.value} epoch={replica.epoch} leader={replica.leader_id} "
                    f"log={[entry.epoch for entry in node.log.entries]} high_watermark={replica.high_watermark}"
                )

    def do_resign(self, node_id: str) -> None:
        replica = self.nodes[int(node_id)].replica
        assert replica is not None
        self._step(int(node_id), Resign(epoch=replica.epoch))

    def do_shutdown(self, node_id: str) -> None:
        self._step(int(node_id), ShutDown())

    # --- Driving

    def _deliver(self, source: int, destination: int) -> None:
        parcel = self._links[source, destination].popleft()
        if parcel.is_request:
            self._token += 1
            self.nodes[destination].tokens[self._token] = (source, parcel.request_id)
            self._step(destination, Requested(token=self._token, request=parcel.content))  # type: ignore[arg-type]
        else:
            self._step(destination, Answered(request_id=parcel.request_id, answer=parcel.content))  # type: ignore[arg-type]

    def _step(self, node_id: int, event: Event) -> None:
        replica = self.nodes[node_id].replica
        if replica is not None:
            self._carry_out(node_id, replica.step(event, self.now_ms))

    def _carry_out(self, node_id: int, effects: Effects) -> None:
        node = self.nodes[node_id]
        assert node.replica is not None
        if node.replica.role.value != node.role:
            node.role = node.replica.role.value
            self.lines.append(f"{node_id} becomes {node.role}")
        if effects.quorum_state is not None:
            node.quorum_state = effects.quorum_state
            self.lines.append(f"{node_id} persists {_show(effects.quorum_state)}")
        if effects.truncate_to is not None:
            node.log.truncate_to(effects.truncate_to)
            self.lines.append(f"{node_id} truncates to {effects.truncate_to}")
        match effects.append:
            case LeaderChangeAppend(epoch=epoch, message=message):
                self._value += 1
                node.log.append([Entry(epoch, self._value)])
                voters = [voter.voter_id for voter in message.granting_voters]
                self.lines.append(f"{node_id} appends LeaderChange of epoch {epoch}, elected by {voters}")
            case FetchedAppend(base_offset=base_offset, records=records):
                entries = decode_entries(records)
                node.log.append(entries)
                self.lines.append(f"{node_id} appends at {base_offset} records of epochs {[e.epoch for e in entries]}")
        chunk = effects.snapshot_chunk
        if chunk is not None:
            del node.download[chunk.position :]
            node.download += chunk.data
            self.lines.append(f"{node_id} writes {len(chunk.data)} bytes of {chunk.snapshot_id} at {chunk.position}")
        if effects.leadership is not None:
            self.lines.append(f"{node_id} reports {_show(effects.leadership)}")
        if effects.high_watermark is not None:
            self.lines.append(f"{node_id} commits up to {effects.high_watermark}")
        self._talk(node_id, effects)
        node.deadline_ms = effects.deadline_ms
        if chunk is not None and chunk.is_last:
            node.log.install_snapshot(chunk.snapshot_id, decode_entries(node.download))
            self._step(node_id, SnapshotInstalled(snapshot_id=chunk.snapshot_id))

    def _talk(self, node_id: int, effects: Effects) -> None:
        for reply in effects.replies:
            source, request_id = self.nodes[node_id].tokens.pop(reply.token)
            self._post(node_id, source, Parcel(request_id, self._read(node_id, reply.answer), is_request=False))
        for send in effects.requests:
            self._post(node_id, send.destination, Parcel(send.request_id, send.request, is_request=True))

    def _post(self, source: int, destination: int, parcel: Parcel) -> None:
        self._links.setdefault((source, destination), deque()).append(parcel)
        self.lines.append(f"{source} -> {destination} {_show(parcel.content)}")

    def _read(self, node_id: int, answer: Answer) -> Answer:
        log = self.nodes[node_id].log
        if isinstance(answer, FetchAnswer) and answer.read_from is not None:
            entries = log.entries[answer.read_from : answer.read_from + 1]
            return replace(answer, records=encode_entries(entries), read_from=None)
        if isinstance(answer, FetchSnapshotAnswer) and answer.to_be_read:
            content = encode_entries(log.entries[: answer.snapshot_id.end_offset])
            if answer.snapshot_id != log.snapshot:
                return replace(answer, error=ErrorCode.SNAPSHOT_NOT_FOUND)
            return replace(answer, size=len(content), data=content[answer.position :][:30])
        return answer


# The same in every message, or of no interest to a reader.
_UNSHOWN = frozenset({"max_bytes", "max_wait_ms", "read_from", "log_start_offset", "to_be_read"})
_UNREMARKABLE = (None, ZERO_UUID, b"", ErrorCode.NONE, UNTOLD_HIGH_WATERMARK, False, ())


def _show(value: object) -> str:
    """A dataclass on one line, without the fields that say nothing."""
    parts = []
    for entry in fields(value):  # type: ignore[arg-type]
        content = getattr(value, entry.name)
        if entry.name in _UNSHOWN or any(content is usual or content == usual != 0 for usual in _UNREMARKABLE):
            continue
        if isinstance(content, bytes):
            content = [one.epoch for one in decode_entries(content)] if entry.name == "records" else len(content)
        elif isinstance(content, ErrorCode):
            content = content.name
        parts.append(f"{entry.name}={content}")
    return f"{type(value).__name__}({', '.join(parts)})"
