"""ACLs and users by the AdminClient of confluent-kafka (librdkafka), against tidelog."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from support.processes import HANG_SECONDS
from support.tidelog_process import running_tidelog

GUARDED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
# Its stubs do not know that a filter may leave out names.
NOT_ASKED: Any = None
EVERY_ACL = AclBindingFilter(
    ResourceType.ANY,
    NOT_ASKED,
    ResourcePatternType.ANY,
    NOT_ASKED,
    NOT_ASKED,
    AclOperation.ANY,
    AclPermissionType.ANY,
)


@pytest.fixture(scope="module")
def admin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with running_tidelog(tmp_path_factory.mktemp("tidelog"), GUARDED) as broker:
        yield AdminClient({"bootstrap.servers": broker.bootstrap_servers})


def test_librdkafka_creates_describes_and_deletes_acls(admin: Any) -> None:
    acls = [
        AclBinding(ResourceType.TOPIC, "orders", pattern, "User:ann", "*", AclOperation.READ, AclPermissionType.ALLOW)
        for pattern in (ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED)
    ]
    for future in admin.create_acls(acls).values():
        future.result(HANG_SECONDS)
    assert sorted(admin.describe_acls(EVERY_ACL).result(HANG_SECONDS)) == sorted(acls)
    (deleted,) = admin.delete_acls([EVERY_ACL]).values()
    assert sorted(deleted.result(HANG_SECONDS)) == sorted(acls)
    assert admin.describe_acls(EVERY_ACL).result(HANG_SECONDS) == []


def test_librdkafka_sets_and_deletes_passwords(admin: Any) -> None:
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 8192)
    upsertion = UserScramCredentialUpsertion("ann", info, b"planted-secret")
    for future in admin.alter_user_scram_credentials([upsertion]).values():
        future.result(HANG_SECONDS)
    described = admin.describe_user_scram_credentials(["ann"])["ann"].result(HANG_SECONDS)
    ((mechanism, iterations),) = [(each.mechanism, each.iterations) for each in described.scram_credential_infos]
    assert (mechanism, iterations) == (ScramMechanism.SCRAM_SHA_256, 8192)
    deletion = UserScramCredentialDeletion("ann", ScramMechanism.SCRAM_SHA_256)
    admin.alter_user_scram_credentials([deletion])["ann"].result(HANG_SECONDS)
    with pytest.raises(Exception, match="has no SCRAM credential"):
        admin.describe_user_scram_credentials(["ann"])["ann"].result(HANG_SECONDS)
