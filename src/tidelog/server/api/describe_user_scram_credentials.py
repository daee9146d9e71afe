"""DescribeUserScramCredentials: for which mechanisms users have credentials, and with how many iterations (KIP-554).

Never the credentials themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import ApiKey
from tidelog.protocol.messages.describe_user_scram_credentials_request import DescribeUserScramCredentialsRequest
from tidelog.protocol.messages.describe_user_scram_credentials_response import (
    CredentialInfo,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from tidelog.server.api.ports import Metadata
from tidelog.server.declaration import DESCRIBE_CLUSTER, Api
from tidelog.server.routing.context import RequestContext

API = Api(key=ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, versions=(0, 0), permissions=(DESCRIBE_CLUSTER,))


def handle(
    metadata: Metadata, request: DescribeUserScramCredentialsRequest, context: RequestContext
) -> DescribeUserScramCredentialsResponse:
    """Of all users if none is named."""
    known: dict[str, list[CredentialInfo]] = {}
    for (mechanism, user), credential in metadata.image.scram_credentials.items():
        info = CredentialInfo(mechanism=mechanism.value, iterations=credential.iterations)
        known.setdefault(user, []).append(info)
    asked = Counter(user.name for user in request.users or ())
    results = [_result(known, user, times) for user, times in (asked or Counter(known.keys())).items()]
    return DescribeUserScramCredentialsResponse(results=results)


def _result(known: Mapping[str, list[CredentialInfo]], user: str, times: int) -> DescribeUserScramCredentialsResult:
    if times > 1:
        return DescribeUserScramCredentialsResult(
            user=user,
            error_code=ErrorCode.DUPLICATE_RESOURCE,
            error_message=f"the user {user!r} is in the request more than once",
        )
    if user not in known:
        return DescribeUserScramCredentialsResult(
            user=user,
            error_code=ErrorCode.RESOURCE_NOT_FOUND,
            error_message=f"the user {user!r} has no SCRAM credential",
        )
    return DescribeUserScramCredentialsResult(user=user, credential_infos=known[user])
