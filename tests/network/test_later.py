"""A result to come has an owner from the start, and no coroutine is handed to another one."""

from __future__ import annotations

import ast
import asyncio
import gc
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.processes import HANG_SECONDS

import tidelog
from tidelog.network.later import Later

SOURCES = Path(tidelog.__file__).parent


async def test_what_is_made_of_the_result_is_made_when_it_is_taken() -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    seen: list[int] = []

    def note(number: int) -> str:
        seen.append(number)
        return str(number)

    later = Later[int](future).then(lambda number: number + 1).then(note)
    future.set_result(1)
    await asyncio.sleep(0)
    assert seen == []
    assert later.take() == "2"
    assert await later == "2"
    assert seen == [2, 2]


async def test_failures_come_out_where_the_result_is_taken() -> None:
    async def fail() -> int:
        raise ValueError("from the work")

    later = Later.run(fail())
    with pytest.raises(ValueError, match="from the work"):
        await later

    async def one() -> int:
        return 1

    divided = Later.run(one()).then(lambda number: number // 0)
    with pytest.raises(ZeroDivisionError):
        await divided
    with pytest.raises(ZeroDivisionError):
        divided.take()


async def test_one_that_nobody_gets_to_wait_for_runs_nevertheless() -> None:
    """Its reader is cancelled before the first step: with a bare coroutine nothing would run, and Python would warn."""
    done: list[str] = []

    async def work() -> None:
        done.append("work")

    async def wait_for(later: Later[None]) -> None:
        await later

    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", message="coroutine .*work.* was never awaited")
        waiting = asyncio.create_task(wait_for(Later.run(work())))
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        gc.collect()
    assert (done, [str(each.message) for each in caught if "work" in str(each.message)]) == (["work"], [])


async def test_who_waits_for_it_and_is_cancelled_cancels_it() -> None:
    later = Later.run(asyncio.sleep(1_000))
    waiting = asyncio.ensure_future(asyncio.wait_for(later, HANG_SECONDS))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert later.future.cancelled()


def coroutine_parameters() -> Iterator[str]:
    """Parameters of coroutine functions that take something to be awaited: it may never be."""
    for path in sorted(SOURCES.rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text())):
            if not isinstance(function, ast.AsyncFunctionDef):
                continue
            arguments = function.args
            for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
                if argument.annotation is not None and _is_awaited(argument.annotation):
                    yield f"{path.relative_to(SOURCES)}:{function.lineno} {function.name}({argument.arg})"


def _is_awaited(annotation: ast.expr) -> bool:
    match annotation:
        case ast.Name(id="Awaitable" | "Coroutine"):
            return True
        case ast.Subscript(value=ast.Name(id="Callable")):
            # Makes one when it is called, which is late enough.
            return False
        case ast.Subscript(value=value, slice=inner):
            return _is_awaited(value) or _is_awaited(inner)
        case ast.BinOp(left=left, right=right):
            return _is_awaited(left) or _is_awaited(right)
        case ast.Tuple(elts=elements):
            return any(map(_is_awaited, elements))
    return False


def test_no_coroutine_is_handed_to_another_coroutine() -> None:
    """Pass a `Later`, a future, or a function that makes the coroutine."""
    assert list(coroutine_parameters()) == []
