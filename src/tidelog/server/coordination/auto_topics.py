"""Topics that are created when a client asks for them: those of users, and those of the coordinators.

Those of users are created in the client's name, so that the controller sees who wants them. Those of coordinators are
the broker's own wish.

A request for metadata does not wait for the topic that it causes: as on Apache Kafka it is answered with
UNKNOWN_TOPIC_OR_PARTITION, the topic is created in the background, and the client asks again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Protocol

from tidelog.controller.automatic import automatic_topic
from tidelog.metadata.image import ClusterImage
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.principal import Principal
from tidelog.protocol.codec import ProtocolError
from tidelog.protocol.frames import LENGTH_SIZE, request_frame
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.create_topics_request import CreateTopicsRequest
from tidelog.protocol.messages.create_topics_response import CreateTopicsResponse
from tidelog.protocol.messages.envelope_response import EnvelopeResponse
from tidelog.server.configuration.live import LiveConfig
from tidelog.server.quorum.channel import ControllerChannel
from tidelog.server.quorum.envelope import seal, unseal_reply

logger = logging.getLogger(__name__)

# Names that may be in creation in the background. What is asked for beyond that has to be asked for again.
MAX_BEING_CREATED = 1000


class ForwardedClient(Protocol):
    """In whose name a topic is created: the context of the request that asked for it."""

    @property
    def principal(self) -> Principal: ...

    @property
    def peer_host(self) -> str: ...

    @property
    def client_id(self) -> str | None: ...

    @property
    def correlation_id(self) -> int: ...


@dataclass(slots=True, kw_only=True, eq=False)
class TopicsOnDemand:
    """Creates topics in the background, after replies that report them missing; each name once at a time."""

    live: LiveConfig
    image: Callable[[], ClusterImage]
    controller: ControllerChannel
    _being_created: set[str] = field(default_factory=set, init=False)
    # In the order in which they began, so that a simulation ends them in the same order every time.
    _tasks: dict[asyncio.Task[None], None] = field(default_factory=dict, init=False)

    def create(self, names: Iterable[str], client: ForwardedClient) -> None:
        """Begin to create those that are not being created already, in the client's name."""
        wanted = [name for name in dict.fromkeys(names) if name not in self._being_created]
        wanted = wanted[: MAX_BEING_CREATED - len(self._being_created)]
        if not wanted:
            return
        self._being_created.update(wanted)
        task = asyncio.get_running_loop().create_task(self._create(wanted, client))
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)

    def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()

    async def _create(self, names: list[str], client: ForwardedClient) -> None:
        try:
            wanted = self._wanted(names)
            if wanted is not None:
                _failures(await self._in_the_name_of(client, wanted))
        except (ApiError, ProtocolError) as error:
            logger.warning("cannot create %s: %s", ", ".join(names), error)
        finally:
            self._being_created.difference_update(names)

    async def create_missing(self, names: list[str]) -> dict[str, ErrorCode]:
        """Create these topics as the configuration says; the errors of those that cannot be. Raises ApiError."""
        wanted = self._wanted(names)
        if wanted is None:
            return {}
        return _failures(await self.controller.ask(wanted, CreateTopicsResponse))

    def _wanted(self, names: list[str]) -> CreateTopicsRequest | None:
        """None if all of them exist meanwhile."""
        topics = [automatic_topic(name, self.live.config) for name in names if name not in self.image().topics]
        return CreateTopicsRequest(topics=topics) if topics else None

    async def _in_the_name_of(self, client: ForwardedClient, wanted: CreateTopicsRequest) -> CreateTopicsResponse:
        """Raises ApiError."""
        version = CreateTopicsRequest.SCHEMA.valid[1]
        pieces = request_frame(ApiKey.CREATE_TOPICS, version, client.correlation_id, client.client_id, wanted)
        envelope = seal(b"".join(pieces)[LENGTH_SIZE:], client.principal, client.peer_host)
        reply = unseal_reply(await self.controller.ask(envelope, EnvelopeResponse), ApiKey.CREATE_TOPICS, version)
        assert isinstance(reply, CreateTopicsResponse)
        return reply


def _failures(response: CreateTopicsResponse) -> dict[str, ErrorCode]:
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
