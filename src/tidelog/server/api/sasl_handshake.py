"""SaslHandshake: which mechanism a client wants. On listeners with SASL, `listening/sasl_gate.py` answers it; here is
what everybody else receives. With version 1 the tokens are in SaslAuthenticate requests.
"""

from __future__ import annotations

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from tidelog.protocol.messages.sasl_handshake_response import SaslHandshakeResponse
from tidelog.server.declaration import BOTH, Api
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.SASL_HANDSHAKE, versions=(0, 1), permissions=(), listeners=BOTH)


def handle(request: SaslHandshakeRequest, context: RequestContext) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
