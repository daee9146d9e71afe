"""How the active controller answers an administrative request: in the version of the request.

The same for requests that clients send to the controller's own listener and for those that brokers pass on.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.messages.delete_topics_request import DeleteTopicsRequest
from tidelog.protocol.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from tidelog.protocol.messages.envelope_request import EnvelopeRequest
from tidelog.protocol.messages.envelope_response import EnvelopeResponse
from tidelog.protocol.schema import Message, replaced
from tidelog.server.access.access import Access
from tidelog.server.access.audit import Caller
from tidelog.server.access.controller_requests import allowed_part
from tidelog.server.access.guards import whole_operation
from tidelog.server.declaration import Api
from tidelog.server.observability.metrics import error_codes
from tidelog.server.quorum.active_controller import ActiveController
from tidelog.server.quorum.envelope import seal_reply, unseal
from tidelog.server.quorum.mutations import MutationTurn
from tidelog.server.replies.error_replies import refused

logger = logging.getLogger(__name__)

# Clients of older versions do not know TOPIC_DELETION_DISABLED.
FIRST_VERSION_WITH_DELETION_DISABLED = 3


@dataclass(frozen=True, slots=True)
class ControllerAnswers:
    """What this node's controller answers, whether it is the active one or not."""

    controller: ActiveController
    apis: Mapping[int, Api]
    access: Access

    async def answer(self, request: Message, version: int, caller: Caller) -> Message:
        """Always a reply: whatever goes wrong becomes an error in the shape of the API.

        `caller` is the client, also if a broker has passed its request on.
        """
        api = self.apis[request.SCHEMA.api_key]
        turn = self.controller.mutations.turn(api.key, version, caller.principal.name, caller.client_id)
        try:
            response = await self._perform(api, request, caller, turn)
        except ApiError as error:
            response = refused(api, request, version, error)
        except Exception:
            # One request that cannot be carried out must not close the connection that others share with it.
            logger.exception("%s failed", type(request).__name__)
            failure = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "the controller failed; see its log")
            response = refused(api, request, version, failure)
        if turn is not None:
            response = turn.throttled(response)
        if isinstance(response, DeleteTopicsResponse) and version < FIRST_VERSION_WITH_DELETION_DISABLED:
            return replaced(response, responses=[_in_older_words(result) for result in response.responses])
        return response

    async def _perform(self, api: Api, request: Message, caller: Caller, turn: MutationTurn | None) -> Message:
        """What the client may ask for, and a refusal of the rest. Raises ApiError."""
        if not self.access.is_ready_for(caller):
            # Whoever is the active controller knows the ACLs.
            await self.controller.wait_until_active()
        operation = whole_operation(api)
        # The others are not for clients, and were checked with their connection.
        if operation is not None and api.is_forwarded:
            self.access.require_cluster(caller, operation)
        if isinstance(request, DeleteTopicsRequest) and not self.controller.config.delete_topic_enable:
            return await self.controller.perform(request, turn)
        allowed = allowed_part(self.access, caller, request, self.controller.metadata.latest)
        return allowed.complete(await self.controller.perform(allowed.request, turn))

    async def open(self, envelope: EnvelopeRequest) -> EnvelopeResponse:
        """The answer to what is in the envelope, which the sender was allowed to send."""
        try:
            forwarded = unseal(envelope, self.apis)
        except ApiError as error:
            logger.warning("refusing an envelope with %s: %s", error.code.name, error.message)
            return EnvelopeResponse(error_code=error.code)
        response = await self.answer(forwarded.request, forwarded.version, forwarded)
        if ErrorCode.NOT_CONTROLLER in error_codes(response):
            # Meant for the broker, which asks the next controller. The client does not know who that is.
            return EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER)
        return seal_reply(forwarded, response)


def _in_older_words(result: DeletableTopicResult) -> DeletableTopicResult:
    if result.error_code != ErrorCode.TOPIC_DELETION_DISABLED:
        return result
    return DeletableTopicResult(name=result.name, topic_id=result.topic_id, error_code=ErrorCode.INVALID_REQUEST)
