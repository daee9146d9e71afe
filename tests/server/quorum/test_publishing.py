"""Images are acted on in order, one at a time, and nobody waits who need not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from support.processes import HANG_SECONDS

from tidelog.metadata.delta import ImageDelta
from tidelog.metadata.image import ClusterImage
from tidelog.network.later import Later
from tidelog.server.quorum.publishing import ImagePublisher


def image(offset: int) -> ClusterImage:
    return ClusterImage(cluster_id="c", offset=offset)


class Acting:
    """Takes time for the images of the given offsets, until it is told to go on."""

    def __init__(self, *slow: int) -> None:
        self._slow = slow
        self.gate = asyncio.Event()
        self.done: list[tuple[str, int]] = []

    def prepare(self, image: ClusterImage, delta: ImageDelta) -> Later[None] | None:
        return self._act("prepare", image.offset)

    def follow(self, image: ClusterImage, delta: ImageDelta) -> Later[None] | None:
        return self._act("publish", image.offset)

    def _act(self, what: str, offset: int) -> Later[None] | None:
        if offset not in self._slow:
            self.done.append((what, offset))
            return None
        return Later.run(self._take_time(what, offset))

    async def _take_time(self, what: str, offset: int) -> None:
        await self.gate.wait()
        self.done.append((what, offset))


def unexpected(failure: BaseException) -> None:
    raise AssertionError("acting has failed") from failure


def publisher(acting: Acting, failed: Callable[[BaseException], None] = unexpected) -> ImagePublisher:
    made = ImagePublisher(image(-1), finished=lambda: None, failed=failed)
    made.begin(acting)
    return made


async def until_finished(published: ImagePublisher, offset: int) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        while published.finished_offset < offset:
            await asyncio.sleep(0)


async def test_what_needs_no_time_is_done_when_it_is_offered() -> None:
    acting = Acting()
    published = publisher(acting)
    published.offer(image(0), ImageDelta())
    assert (published.finished_offset, published.image.offset) == (0, 0)
    assert acting.done == [("prepare", 0), ("publish", 0)]


async def test_an_image_is_told_to_nobody_before_it_is_prepared_and_the_next_ones_wait_for_it() -> None:
    acting = Acting(1)
    published = publisher(acting)
    for offset in range(4):
        published.offer(image(offset), ImageDelta())
    await asyncio.sleep(0.01)
    assert published.image.offset == 0
    assert published.finished_offset == 0
    acting.gate.set()
    await until_finished(published, 3)
    assert acting.done == [(what, offset) for offset in range(4) for what in ("prepare", "publish")]
    assert published.image.offset == 3


async def test_after_a_failure_no_other_image_is_acted_on() -> None:
    async def fail() -> None:
        raise RuntimeError("cannot")

    class Failing(Acting):
        def prepare(self, image: ClusterImage, delta: ImageDelta) -> Later[None] | None:
            return Later.run(fail()) if image.offset == 1 else None

    failures: list[BaseException] = []
    published = publisher(Failing(), failures.append)
    for offset in range(3):
        published.offer(image(offset), ImageDelta())
    async with asyncio.timeout(HANG_SECONDS):
        while not failures:
            await asyncio.sleep(0)
    published.offer(image(3), ImageDelta())
    await asyncio.sleep(0.01)
    assert (published.finished_offset, published.image.offset) == (0, 0)
    assert [str(failure) for failure in failures] == ["cannot"]
    await published.stop()
