"""Topics that are created when a client asks for them: those of users, and those of the coordinators.

A request for metadata does not wait for the topic that it causes: as on Apache Kafka it is answered with
UNKNOWN_TOPIC_OR_PARTITION, the topic is created in the background, and the client asks again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tidelog.controller.automatic import automatic_topic
from tidelog.metadata.image import ClusterImage
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.messages.create_topics_request import CreateTopicsRequest
from tidelog.protocol.messages.create_topics_response import CreateTopicsResponse
from tidelog.server.configuration.live import LiveConfig
from tidelog.server.quorum.channel import ControllerChannel

logger = logging.getLogger(__name__)

# Names that may be in creation in the background. What is asked for beyond that has to be asked for again.
MAX_BEING_CREATED = 1000


@dataclass(slots=True, kw_only=True, eq=False)
class TopicsOnDemand:
    """Creates topics in the background, after replies that report them missing; each name once at a time."""

    live: LiveConfig
    image: Callable[[], ClusterImage]
    controller: ControllerChannel
    _being_created: set[str] = field(default_factory=set, init=False)
    # In the order in which they began, so that a simulation ends them in the same order every time.
    _tasks: dict[asyncio.Task[None], None] = field(default_factory=dict, init=False)

    def create(self, names: Iterable[str]) -> None:
        """Begin to create those that are not being created already."""
        wanted = [name for name in dict.fromkeys(names) if name not in self._being_created]
        wanted = wanted[: MAX_BEING_CREATED - len(self._being_created)]
        if not wanted:
            return
        self._being_created.update(wanted)
        task = asyncio.get_running_loop().create_task(self._create(wanted))
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)

    def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()

    async def _create(self, names: list[str]) -> None:
        try:
            await self.create_missing(names)
        except ApiError as error:
            logger.warning("cannot create %s: %s", ", ".join(names), error)
        finally:
            self._being_created.difference_update(names)

    async def create_missing(self, names: list[str]) -> dict[str, ErrorCode]:
        """Create these topics as the configuration says; the errors of those that cannot be. Raises ApiError."""
        wanted = [automatic_topic(name, self.live.config) for name in names if name not in self.image().topics]
        if not wanted:
            return {}
        response = await self.controller.ask(CreateTopicsRequest(topics=wanted), CreateTopicsResponse)
        failed = {}
        for result in response.topics:
            if result.error_code == ErrorCode.TOPIC_ALREADY_EXISTS:
                # Somebody else was faster, which is just as good.
                continue
            if result.error_code:
                logger.warning("cannot create %s: %s", result.name, result.error_message)
                failed[result.name] = ErrorCode(result.error_code)
            else:
                logger.info("created %s because a client asked for it", result.name)
        return failed
