"""The smallest coordinator: leases that one holder has at a time, until they run out. What the runtime asks of one."""

from __future__ import annotations

from typing import ClassVar

from tidelog.coordinators.decision import CoordinatorRecord, Moment, ShardDecision, ShardDraft, ShardRequest
from tidelog.coordinators.record_format import RecordFormat
from tidelog.coordinators.timers import Timers
from tidelog.model.errors import ErrorCode
from tidelog.network.later import Later
from tidelog.protocol.schema import NEVER, Field, Message, Schema, Structs
from tidelog.server.coordination.runtime import CoordinatorRuntime

LEASE_MS = 50.0


class Lease(Message):
    """Request, reply, key and value in one: a name, and who has it or wants it."""

    __slots__ = ("error_code", "holder", "name")
    SCHEMA: ClassVar[Schema] = Schema(
        (Field("name", "string", (0, 0)), Field("holder", "string", (0, 0)), Field("error_code", "int16", (0, 0))),
        valid=(0, 0),
        flexible=NEVER,
        api_key=0,
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(self, *, name: str = "", holder: str = "", error_code: int = 0) -> None:
        self.name, self.holder, self.error_code = name, holder, error_code


class LeaseShard:
    def __init__(self) -> None:
        self.holders: dict[str, str] = {}
        self.timers: Timers[str] = Timers()

    def decide(self, request: ShardRequest, now: Moment) -> ShardDecision:
        self.timers.set_savepoint()
        wanted, draft = request.message, ShardDraft(now)
        assert isinstance(wanted, Lease)
        holder = self.holders.get(wanted.name, wanted.holder)
        if holder == wanted.holder:
            self.timers.schedule(wanted.name, now.monotonic_ms + LEASE_MS)
            draft.append(CoordinatorRecord(Lease(name=wanted.name), Lease(holder=holder)))
        if wanted.holder == "nobody":
            raise ValueError("nobody cannot hold anything")
        draft.answer(request.token, Lease(name=wanted.name, holder=holder))
        return draft.finish()

    def on_loaded(self, now: Moment) -> ShardDecision:
        for name in self.holders:
            self.timers.schedule(name, now.monotonic_ms + LEASE_MS)
        return ShardDecision()

    def on_time(self, now: Moment) -> ShardDecision:
        name = self.timers.take_due(now.monotonic_ms)
        return ShardDecision() if name is None else ShardDecision(records=(CoordinatorRecord(Lease(name=name), None),))

    def next_deadline(self) -> float | None:
        return self.timers.next_deadline()

    def roll_back(self, now: Moment) -> None:
        self.timers.roll_back()

    def replay(self, record: CoordinatorRecord, *, offset: int, producer_id: int | None = None) -> None:
        assert isinstance(record.key, Lease)
        if isinstance(record.value, Lease):
            self.holders[record.key.name] = record.value.holder
        else:
            self.holders.pop(record.key.name, None)

    def replay_marker(self, producer_id: int, *, commit: bool) -> None: ...

    def size(self) -> str:
        return f"{len(self.holders)} leases"

    def check_invariants(self) -> None:
        self.timers.check_invariants()


class LeaseCoordinator(CoordinatorRuntime[LeaseShard]):
    format = RecordFormat("__leases", {0: (Lease, Lease)}, lambda value: 0)

    def new_shard(self, leader_epoch: int) -> LeaseShard:
        return LeaseShard()

    def refuse(self, request: ShardRequest, code: ErrorCode) -> Message:
        return Lease(error_code=code)

    def take(self, name: str, holder: str) -> Message | Later[Message]:
        request = ShardRequest(token=self.new_token(), message=Lease(name=name, holder=holder), version=0)
        return self.submit(request, self.runtime_of(name))
