"""Carries out what `tidelog.controller` decides: one decision at a time, durable before anybody sees its effect."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from tidelog.metadata.delta import ImageDelta
from tidelog.metadata.image import ClusterImage
from tidelog.metadata.replay import apply
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.schema import Message
from tidelog.server.metadata_log import MetadataLog
from tidelog.storage.filesystem import StorageFailure

logger = logging.getLogger(__name__)

Reply = TypeVar("Reply", covariant=True)

Publish = Callable[[ClusterImage, ImageDelta], None]


class Decided(Protocol[Reply]):
    """What pure code returns: the records that make it so, and what the caller is told."""

    @property
    def records(self) -> Sequence[Message]: ...

    @property
    def reply(self) -> Reply: ...


class ControllerRuntime:
    """Owns the image. Decisions queue up behind a lock, because each is made over the outcome of the one before."""

    def __init__(self, log: MetadataLog, image: ClusterImage, publish: Publish) -> None:
        self._log = log
        self._publish = publish
        self._lock = asyncio.Lock()
        self.image = image

    @property
    def next_offset(self) -> int:
        """Where the next record of the metadata log will be."""
        return self._log.end_offset

    async def decide(self, decision: Callable[[ClusterImage], Decided[Reply]]) -> Reply:
        """Decide, append, replay, publish; then the reply may be sent. Raises ApiError if the disk has failed."""
        async with self._lock:
            decided = decision(self.image)
            if decided.records:
                try:
                    last_offset = await self._log.append(decided.records)
                except StorageFailure as failure:
                    logger.error("the metadata log failed: %s", failure)
                    raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, str(failure)) from failure
                image, delta = apply(self.image, decided.records, offset=last_offset)
                self.image = image
                self._publish(image, delta)
            return decided.reply
