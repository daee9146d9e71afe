"""AlterUserScramCredentials as a decision over an image."""

from __future__ import annotations

import dataclasses

import pytest

from tidelog.controller.credentials import SCRAM_FROM, alter_user_scram_credentials
from tidelog.controller.decision import MAX_RECORDS_PER_REQUEST
from tidelog.metadata.image import ClusterImage
from tidelog.metadata.records import METADATA_VERSION_FEATURE
from tidelog.metadata.replay import apply
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from tidelog.security.scram import ScramMechanism, credential_of_salted_password, derive_salted_password

EMPTY = ClusterImage(cluster_id="cluster")
SHA_256, SHA_512 = ScramMechanism.SHA_256, ScramMechanism.SHA_512

Changes = list[ScramCredentialDeletion | ScramCredentialUpsertion]


def put(
    name: str = "ann", mechanism: int = 1, iterations: int = 4096, salted: bytes = b"p"
) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=name, mechanism=mechanism, iterations=iterations, salt=b"s", salted_password=salted
    )


def drop(name: str = "ann", mechanism: int = 1) -> ScramCredentialDeletion:
    return ScramCredentialDeletion(name=name, mechanism=mechanism)


def alter(image: ClusterImage, changes: Changes) -> tuple[ClusterImage, dict[str, int]]:
    request = AlterUserScramCredentialsRequest(
        deletions=[each for each in changes if isinstance(each, ScramCredentialDeletion)],
        upsertions=[each for each in changes if isinstance(each, ScramCredentialUpsertion)],
    )
    decided = alter_user_scram_credentials(image, request)
    return apply(image, decided.records)[0], {each.user: each.error_code for each in decided.reply.results}


def test_the_keys_are_stored_and_never_the_salted_password() -> None:
    salted = derive_salted_password(SHA_512, "secret", b"s", 4096)
    image, results = alter(EMPTY, [put(mechanism=2, salted=salted)])
    assert results == {"ann": 0}
    stored = image.scram_credentials[SHA_512, "ann"]
    assert stored == credential_of_salted_password(SHA_512, salt=b"s", salted_password=salted, iterations=4096)
    assert salted not in (stored.stored_key, stored.server_key)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (put(name=""), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (put(mechanism=0), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        (put(mechanism=3), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        (put(iterations=4095), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (put(iterations=16385), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (put(iterations=16384), ErrorCode.NONE),
        (put(salted=b""), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (drop(), ErrorCode.RESOURCE_NOT_FOUND),
        (drop(name=""), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (drop(mechanism=9), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
    ],
)
def test_a_change_is_checked(change: ScramCredentialDeletion | ScramCredentialUpsertion, code: ErrorCode) -> None:
    image, results = alter(EMPTY, [change, put("bob")])
    assert results == {change.name: code, "bob": ErrorCode.NONE}
    assert ((SHA_256, "bob") in image.scram_credentials, len(image.scram_credentials)) == (True, 1 + (not code))


def test_of_two_changes_for_one_user_none_is_made() -> None:
    image, _ = alter(EMPTY, [put(), put("bob")])
    doubled: list[Changes] = [[put(), put(mechanism=2)], [drop(), put()], [drop(), drop()], [drop(), drop(), put()]]
    for changes in doubled:
        assert alter(image, changes) == (image, {"ann": ErrorCode.DUPLICATE_RESOURCE})
    # A change that was refused before is refused for its own reason.
    assert alter(image, [drop(mechanism=2), put()])[1] == {"ann": ErrorCode.RESOURCE_NOT_FOUND}


def test_only_the_credential_of_one_mechanism_is_removed() -> None:
    image, _ = alter(EMPTY, [put()])
    image, _ = alter(image, [put(mechanism=2)])
    image, results = alter(image, [drop()])
    assert results == {"ann": 0}
    assert list(image.scram_credentials) == [(SHA_512, "ann")]


def test_a_cluster_of_an_old_level_stores_none() -> None:
    old = dataclasses.replace(EMPTY, features={METADATA_VERSION_FEATURE: SCRAM_FROM - 1})
    assert alter(old, [put()]) == (old, {"ann": ErrorCode.UNSUPPORTED_VERSION})
    level = dataclasses.replace(EMPTY, features={METADATA_VERSION_FEATURE: SCRAM_FROM})
    assert alter(level, [put()])[1] == {"ann": ErrorCode.NONE}


def test_no_request_fills_the_metadata_log() -> None:
    many: Changes = [put(f"user {number}") for number in range(MAX_RECORDS_PER_REQUEST + 1)]
    with pytest.raises(ApiError, match="at most 10000") as refused:
        alter(EMPTY, many)
    assert refused.value.code is ErrorCode.POLICY_VIOLATION
