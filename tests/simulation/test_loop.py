"""Virtual time, one order of events, and processes that are paused and killed."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable

import pytest

from tidelog.simulation.machines.loop import SimulatedLoop, SimulationStuck, new_loop
from tidelog.simulation.machines.process import Process, ProcessKilled


def run(main: Callable[[SimulatedLoop], Awaitable[object]]) -> SimulatedLoop:
    loop = new_loop()

    async def body() -> object:
        return await main(loop)

    try:
        loop.run_until_complete(body())
    finally:
        loop.close()
    return loop


def test_an_hour_passes_in_no_time() -> None:
    began = time.monotonic()
    loop = run(lambda _: asyncio.sleep(3600))
    assert 3600 <= loop.time() < 3600.001
    assert time.monotonic() - began < 5


def test_timers_come_in_their_order_and_callbacks_in_theirs() -> None:
    seen: list[str] = []

    async def main(loop: SimulatedLoop) -> None:
        loop.call_later(0.2, seen.append, "late")
        loop.call_later(0.1, seen.append, "early")
        loop.call_later(0.1, seen.append, "early too")
        loop.call_soon(seen.append, "now")
        await asyncio.sleep(1)

    run(main)
    assert seen == ["now", "early", "early too", "late"]


def test_a_cancelled_timer_does_not_come() -> None:
    seen: list[str] = []

    async def main(loop: SimulatedLoop) -> None:
        loop.call_later(0.1, seen.append, "never").cancel()
        await asyncio.sleep(1)

    run(main)
    assert seen == []


def test_timeouts_groups_and_queues_of_asyncio_work() -> None:
    async def main(loop: SimulatedLoop) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await asyncio.Event().wait()
        assert loop.time() == pytest.approx(5, abs=0.001)
        queue: asyncio.Queue[int] = asyncio.Queue(1)
        async with asyncio.TaskGroup() as group:
            group.create_task(queue.put(1))
            group.create_task(queue.put(2))
            taken = [await queue.get(), await queue.get()]
        assert taken == [1, 2]

    run(main)


def test_a_timer_for_now_takes_time() -> None:
    """Code that sets itself a timer for now, until something is due, must get there."""

    async def main(loop: SimulatedLoop) -> None:
        rounds = 0
        while loop.time() < 0.00001:
            rounds += 1
            reached: asyncio.Future[None] = loop.create_future()
            loop.call_later(0, reached.set_result, None)
            await reached
        assert rounds <= 11

    run(main)


def test_waiting_for_nothing_is_noticed() -> None:
    with pytest.raises(SimulationStuck, match="nothing is scheduled"):
        run(lambda _: asyncio.Event().wait())


def test_a_moment_that_never_ends_is_noticed() -> None:
    async def main(_: SimulatedLoop) -> None:
        while True:
            await asyncio.sleep(0)

    with pytest.raises(SimulationStuck):
        run(main)


def test_an_exception_that_nobody_handles_is_kept() -> None:
    def fail() -> None:
        raise ValueError("oops")

    async def main(loop: SimulatedLoop) -> None:
        loop.call_soon(fail)
        await asyncio.sleep(1)

    loop = run(main)
    assert [str(error) for _, _, _, error in loop.failures] == ["oops"]


async def count(seen: list[float], loop: SimulatedLoop) -> None:
    while True:
        await asyncio.sleep(1)
        seen.append(round(loop.time()))


def test_a_paused_process_does_nothing_until_it_is_resumed() -> None:
    seen: list[float] = []

    async def main(loop: SimulatedLoop) -> None:
        process = Process("p", "host")
        loop.create_task(count(seen, loop), context=process.context)
        await asyncio.sleep(2.5)
        loop.pause(process)
        await asyncio.sleep(10)
        assert seen == [1, 2]
        loop.resume(process)
        await asyncio.sleep(1.7)
        process.kill()
        process.bury()

    run(main)
    # What came due meanwhile comes at once, and then life goes on.
    assert seen == [1, 2, 12, 14]


def test_a_killed_process_runs_nothing_any_more_not_even_its_finally() -> None:
    seen: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(5)
        finally:
            seen.append("cleaned up")

    async def main(loop: SimulatedLoop) -> None:
        process = Process("p", "host")

        async def parent() -> None:
            # A task made by the process belongs to the process.
            await asyncio.create_task(work())

        loop.create_task(parent(), context=process.context)
        await asyncio.sleep(1)
        process.kill()
        await asyncio.sleep(10)
        assert seen == []
        with pytest.raises(ProcessKilled):
            process.check_alive()
        process.bury()

    loop = run(main)
    assert loop.failures == []


def test_jobs_for_the_executor_take_virtual_time_and_die_with_their_process() -> None:
    done: list[str] = []

    async def main(loop: SimulatedLoop) -> None:
        loop.executor_delay = lambda _: 0.5
        assert await loop.run_in_executor(None, lambda: 7) == 7
        assert loop.time() == pytest.approx(0.5, abs=0.001)
        with pytest.raises(OSError, match="broken"):
            await asyncio.to_thread(_break)
        process = Process("p", "host")

        async def work() -> None:
            await loop.run_in_executor(None, done.append, "written")

        loop.create_task(work(), context=process.context)
        await asyncio.sleep(0.1)
        process.kill()
        await asyncio.sleep(5)
        process.bury()

    run(main)
    assert done == []


def _break() -> None:
    raise OSError("broken")


def test_steps_of_tasks_may_come_late_and_callbacks_never_do() -> None:
    """By the seed: what comes late is the same in every run."""

    def order(seed: int | None) -> tuple[list[str], list[int]]:
        steps: list[str] = []
        calls: list[int] = []
        loop = new_loop()
        if seed is not None:
            loop.lateness = random.Random(seed)

        async def step(name: str) -> None:
            for number in range(3):
                steps.append(f"{name}{number}")
                loop.call_soon(calls.append, len(calls))
                await asyncio.sleep(0)

        async def main() -> None:
            async with asyncio.TaskGroup() as group:
                for name in "abcdefgh":
                    group.create_task(step(name))

        try:
            loop.run_until_complete(main())
        finally:
            loop.close()
        return steps, calls

    prompt, _ = order(None)
    assert prompt == [f"{name}{number}" for number in range(3) for name in "abcdefgh"]
    late, calls = order(7)
    assert late != prompt
    assert sorted(late) == sorted(prompt)
    assert order(7) == (late, calls)
    assert order(8)[0] != late
    for name in "abcdefgh":
        assert [step for step in late if step[0] == name] == [f"{name}{number}" for number in range(3)]


def test_what_a_late_step_missed_shows() -> None:
    """The shape of a lost wake-up: look, begin to wait in a task, and miss what happens before its first step."""

    def waits_in_vain(seed: int) -> bool:
        loop = new_loop()
        loop.lateness = random.Random(seed)
        waiting: list[asyncio.Future[None]] = []
        written: list[str] = []

        async def wait() -> None:
            future = loop.create_future()
            waiting.append(future)
            await asyncio.wait((future,), timeout=5)

        def write() -> None:
            written.append("record")
            for future in waiting:
                future.set_result(None)

        async def main() -> float:
            await asyncio.sleep(1)
            assert not written
            loop.call_later(0.0005, write)
            began = loop.time()
            await asyncio.create_task(wait())
            return loop.time() - began

        try:
            return loop.run_until_complete(main()) > 4
        finally:
            loop.close()

    assert any(waits_in_vain(seed) for seed in range(30))
