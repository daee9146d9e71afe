"""Passes each image of the cluster to those who act on it, in order, one at a time.

Acting on an image can take long: a thousand new topics are a thousand directories that must be on the device. The
quorum does not wait for that, and neither do other clients. So a node knows two images: the latest one, over which the
controller decides, and the one that it has acted on, which is what clients see.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Protocol

from tidelog.metadata.delta import ImageDelta
from tidelog.metadata.image import ClusterImage
from tidelog.network.later import Later

logger = logging.getLogger(__name__)


class ImageActor(Protocol):
    """Acts on each image, before clients see it and after. Done when a method returns None, else when what it
    returns is done."""

    def prepare(self, image: ClusterImage, delta: ImageDelta) -> Later[None] | None: ...

    def follow(self, image: ClusterImage, delta: ImageDelta) -> Later[None] | None: ...


class ImagePublisher:
    """`image` is the one that clients see.

    `finished` is called whenever there is nothing left to do for another image, `failed` when acting has failed.
    """

    def __init__(
        self, image: ClusterImage, *, finished: Callable[[], None], failed: Callable[[BaseException], None]
    ) -> None:
        self.image = image
        self._finished = finished
        self._failed = failed
        self._actor: ImageActor | None = None
        self._pending: deque[tuple[ClusterImage, ImageDelta]] = deque()
        # The task that acts on an image, and what it waits for: that runs on its own.
        self._acting: asyncio.Task[None] | None = None
        self._awaited: Later[None] | None = None
        # Everything up to this offset has been acted on.
        self.finished_offset = image.offset

    def begin(self, actor: ImageActor) -> None:
        """From now on images are acted on. Before that they are only known, as on a node that is not a broker."""
        self._actor = actor

    def offer(self, image: ClusterImage, delta: ImageDelta) -> None:
        """Act on it, at once if that is quick and nothing else is running. Raises what acting raises."""
        self._pending.append((image, delta))
        if self._acting is None:
            self._act()

    async def stop(self) -> None:
        """End what is running and begin nothing more."""
        self._pending.clear()
        awaited = None if self._awaited is None else self._awaited.future
        ending = [each for each in (self._acting, awaited) if each is not None]
        for each in ending:
            each.cancel()
        await asyncio.gather(*ending, return_exceptions=True)

    def _act(self) -> None:
        """Whatever can be done without waiting; from the first thing that must be waited for on, a task continues."""
        while self._pending:
            image, delta = self._pending.popleft()
            self._awaited = None if self._actor is None else self._actor.prepare(image, delta)
            is_prepared = self._awaited is None
            if is_prepared:
                self._publish(image, delta)
            if self._awaited is not None:
                self._acting = asyncio.create_task(self._go_on(image, delta, is_prepared=is_prepared))
                return
            self._finish(image)

    def _publish(self, image: ClusterImage, delta: ImageDelta) -> None:
        self.image = image
        self._awaited = None if self._actor is None else self._actor.follow(image, delta)

    def _finish(self, image: ClusterImage) -> None:
        self.finished_offset = image.offset
        self._finished()

    async def _go_on(self, image: ClusterImage, delta: ImageDelta, *, is_prepared: bool) -> None:
        try:
            if not is_prepared and self._awaited is not None:
                await self._awaited
                self._publish(image, delta)
            if self._awaited is not None:
                await self._awaited
            self._finish(image)
            self._acting = None
            self._act()
        except Exception as failure:
            # What is left is not done: a node that has not acted on one image must not act on the next.
            logger.error("this node can no longer follow the metadata", exc_info=failure)
            self._failed(failure)
