"""Who gets memory for a request, who waits, and who is dropped so that others can go on."""

from __future__ import annotations

import asyncio
from random import Random

import pytest
from support.processes import HANG_SECONDS

from tidelog.network import request_memory
from tidelog.network.request_memory import ORDINARY_BYTES, SMALL_BYTES, Claim, RequestMemory

LIMIT = 16 << 20
STEP = 1 << 20
LARGE = 12 << 20


class Sender:
    """A connection that receives a frame in steps, as far as it may."""

    def __init__(self, memory: RequestMemory, size: int = LARGE) -> None:
        self.memory = memory
        self.size = size
        self.dropped = ""
        self.claim: Claim = memory.claim(self._granted, self._drop)
        self.room = min(size, SMALL_BYTES)
        self.stops_at = size
        self.claim.begin(size, self.room)

    def go_on(self) -> None:
        """Receive until there is no room or nothing more comes."""
        while not self.dropped and not self.claim.is_waiting and self.room < self.stops_at:
            step = min(STEP, self.size - self.room)
            self.claim.arrived(step)
            if not self.claim.grow(step):
                return
            self.room += step
        if self.room == self.size and not self.dropped:
            self.claim.complete(self.size)

    def answer(self) -> None:
        self.claim.give_back(self.size)

    def _granted(self) -> None:
        self.room += min(STEP, self.size - self.room)
        self.go_on()

    def _drop(self, reason: str) -> None:
        self.dropped = reason
        self.claim.release()

    @property
    def is_complete(self) -> bool:
        return self.claim.whole == self.size


pytestmark = pytest.mark.plain_python


@pytest.fixture(autouse=True)
def quick_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_memory, "CHECK_SECONDS", 0.001)


async def until(condition: object) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        while not condition():  # type: ignore[operator]
            await asyncio.sleep(0.001)


async def test_what_does_not_fit_waits_until_something_is_answered() -> None:
    memory = RequestMemory(LIMIT)
    first, second = Sender(memory), Sender(memory)
    first.go_on()
    assert first.is_complete
    second.go_on()
    assert second.claim.is_waiting
    assert memory.used <= LIMIT + 2 * SMALL_BYTES
    first.answer()
    assert second.is_complete
    second.answer()
    assert memory.used == 0


async def test_ordinary_frames_do_not_queue_behind_large_ones() -> None:
    memory = RequestMemory(LIMIT)
    large = [Sender(memory) for _ in range(5)]
    for sender in large:
        sender.stops_at = 10 << 20
        sender.go_on()
    assert any(sender.claim.is_waiting for sender in large)
    ordinary = Sender(memory, ORDINARY_BYTES)
    ordinary.go_on()
    assert ordinary.is_complete


async def test_senders_that_fall_silent_are_dropped_only_when_somebody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = RequestMemory(LIMIT)
    silent = Sender(memory)
    silent.stops_at = 11 << 20
    silent.go_on()
    for _ in range(10):
        await asyncio.sleep(0.002)
    assert not silent.dropped
    other = Sender(memory)
    other.go_on()
    assert other.claim.is_waiting
    await until(lambda: other.is_complete)
    assert "then nothing" in silent.dropped


async def test_frames_that_wait_for_each_other_give_way_to_the_eldest() -> None:
    memory = RequestMemory(LIMIT)
    senders = [Sender(memory) for _ in range(6)]
    # Each step in turn, so that none of them gets ahead.
    for stop in range(1, 13):
        for sender in senders:
            sender.stops_at = min(LARGE, stop * STEP)
            sender.go_on()
    assert all(sender.claim.is_waiting for sender in senders)
    assert memory.used <= LIMIT + 6 * SMALL_BYTES
    await until(lambda: senders[0].is_complete)
    assert senders[-1].dropped
    assert not senders[0].dropped


@pytest.mark.parametrize("seed", range(20))
async def test_every_frame_is_completed_or_dropped_and_the_bound_holds(seed: int) -> None:
    random = Random(seed)
    memory = RequestMemory(LIMIT)
    senders: list[Sender] = []
    for _ in range(60):
        sender = Sender(memory, random.choice((1000, SMALL_BYTES + 1, 1 << 20, ORDINARY_BYTES, 5 << 20, LARGE, LIMIT)))
        if random.random() < 0.3:
            sender.stops_at = random.randrange(sender.size)
        senders.append(sender)
        sender.go_on()
        for each in senders:
            if each.is_complete and random.random() < 0.5:
                each.answer()
        assert memory.used <= LIMIT + len(senders) * SMALL_BYTES
        held = sum(each.claim.half + each.claim.whole for each in senders)
        assert memory.used == held

    def settled() -> bool:
        for each in senders:
            if each.is_complete:
                each.answer()
        return not memory.waiting

    await until(settled)
    for sender in senders:
        if sender.stops_at == sender.size and sender.size < STEP:
            assert not sender.dropped
        sender.claim.release()
    assert memory.used == 0
