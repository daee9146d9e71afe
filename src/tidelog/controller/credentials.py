"""Decides on AlterUserScramCredentials (KIP-554): what the cluster keeps of passwords.

The request brings salted passwords, so nothing here is expensive.
"""

from __future__ import annotations

from tidelog.controller.decision import Decision, Refusal, error_fields, require_few
from tidelog.metadata.image import ClusterImage
from tidelog.metadata.records import METADATA_VERSION_FEATURE, metadata_version
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from tidelog.protocol.messages.alter_user_scram_credentials_response import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from tidelog.protocol.messages.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from tidelog.protocol.schema import Message
from tidelog.security.scram import (
    ScramMechanism,
    credential_of_salted_password,
    credential_record,
    iterations_problem,
)

_Change = ScramCredentialDeletion | ScramCredentialUpsertion

# The level of metadata.version from which on credentials can be written down.
SCRAM_FROM = 11


def alter_user_scram_credentials(
    image: ClusterImage, request: AlterUserScramCredentialsRequest
) -> Decision[AlterUserScramCredentialsResponse]:
    """One change for each user, as in Kafka, also where the mechanisms differ. What is refused is refused alone."""
    changes: list[_Change] = [*request.deletions, *request.upsertions]
    outcomes: dict[str, Message | Refusal] = {}
    for change in changes:
        known = outcomes.get(change.name)
        if known is None:
            outcomes[change.name] = _outcome(image, change)
        elif not isinstance(known, Refusal):
            outcomes[change.name] = Refusal(
                code=ErrorCode.DUPLICATE_RESOURCE,
                message=f"the user {change.name!r} is in the request more than once; send one request for each change",
            )
    records = tuple(each for each in outcomes.values() if not isinstance(each, Refusal))
    require_few(records)
    results = [
        AlterUserScramCredentialsResult(user=user, **error_fields(each if isinstance(each, Refusal) else None))
        for user, each in outcomes.items()
    ]
    return Decision(records=records, reply=AlterUserScramCredentialsResponse(results=results))


def _outcome(image: ClusterImage, change: _Change) -> Message | Refusal:
    level = metadata_version(image.features)
    if level < SCRAM_FROM:
        return Refusal(
            code=ErrorCode.UNSUPPORTED_VERSION,
            message=f"{METADATA_VERSION_FEATURE} is {level}; raise it to {SCRAM_FROM} or higher to store credentials",
        )
    if not change.name:
        return _unacceptable("the name of the user is empty")
    try:
        mechanism = ScramMechanism(change.mechanism)
    except ValueError:
        known = ", ".join(f"{each.value} ({each.sasl_name})" for each in ScramMechanism)
        return Refusal(
            code=ErrorCode.UNSUPPORTED_SASL_MECHANISM,
            message=f"{change.mechanism} is not a SCRAM mechanism; it must be one of {known}",
        )
    if isinstance(change, ScramCredentialUpsertion):
        return _credential(mechanism, change)
    if (mechanism, change.name) not in image.scram_credentials:
        return Refusal(
            code=ErrorCode.RESOURCE_NOT_FOUND,
            message=f"the user {change.name!r} has no credential for {mechanism.sasl_name}",
        )
    return RemoveUserScramCredentialRecord(name=change.name, mechanism=mechanism.value)


def _credential(mechanism: ScramMechanism, change: ScramCredentialUpsertion) -> Message | Refusal:
    problem = iterations_problem(change.iterations)
    if problem is not None:
        return _unacceptable(problem)
    if not change.salted_password:
        return _unacceptable("the salted password is empty")
    credential = credential_of_salted_password(
        mechanism,
        salt=bytes(change.salt),
        salted_password=bytes(change.salted_password),
        iterations=change.iterations,
    )
    return credential_record(change.name, mechanism, credential)


def _unacceptable(message: str) -> Refusal:
    return Refusal(code=ErrorCode.UNACCEPTABLE_CREDENTIAL, message=message)
