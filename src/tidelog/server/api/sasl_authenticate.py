"""SaslAuthenticate: one token of a mechanism. On listeners with SASL, `listening/sasl_gate.py` answers it; here is what
everybody else receives. Version 1 brought the lifetime of the session (KIP-368).
"""

from __future__ import annotations

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from tidelog.protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from tidelog.server.declaration import BOTH, Api
from tidelog.server.routing.context import RequestContext

API = Api(
    key=ApiKey.SASL_AUTHENTICATE,
    versions=(0, 2),
    permissions=(),
    listeners=BOTH,
    differences=(
        "Before a client is authenticated, requests of other APIs are not answered with ILLEGAL_SASL_STATE: the "
        "connection is closed.",
    ),
)


def handle(request: SaslAuthenticateRequest, context: RequestContext) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        error_message="SaslAuthenticate request received after successful authentication",
    )
