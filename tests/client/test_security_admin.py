"""`Admin` for ACLs, users and quotas."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from support.eventually import eventually

import tidelog
from tidelog.client.admin import (
    AccessControlEntry,
    AclBinding,
    AclFilter,
    AclResourceType,
    Admin,
    DeleteScramCredential,
    Operation,
    PatternType,
    PermissionType,
    PutScramCredential,
    QuotaMatch,
    ResourcePattern,
    ScramCredentialInfo,
    ScramMechanism,
    quota_entity,
)
from tidelog.client.errors import WrongUse
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.sync import Admin as SyncAdmin

GUARDED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


def code_of(result: object) -> ErrorCode:
    assert isinstance(result, ApiError), result
    return result.code


def acl(name: str, principal: str = "User:ann", operation: Operation = Operation.READ) -> AclBinding:
    return AclBinding(
        pattern=ResourcePattern(resource_type=AclResourceType.TOPIC, name=name, pattern_type=PatternType.PREFIXED),
        entry=AccessControlEntry(principal=principal, operation=operation, permission_type=PermissionType.ALLOW),
    )


@pytest.fixture
async def guarded() -> AsyncIterator[Admin]:
    async with tidelog.Broker(properties=GUARDED) as broker, Admin(broker.bootstrap_servers) as admin:
        yield admin


async def test_acls_are_created_described_and_deleted(guarded: Admin) -> None:
    ours = [acl("a"), acl("a", "User:bob"), acl("b", operation=Operation.ALTER)]
    results = await guarded.create_acls([*ours, acl("")])
    assert [results[each] for each in ours] == [None, None, None]
    assert code_of(results[acl("")]) == ErrorCode.INVALID_REQUEST
    assert set(await guarded.describe_acls()) == set(ours)
    by_name = AclFilter(name="a-topic", pattern_type=PatternType.MATCH)
    assert set(await guarded.describe_acls(by_name)) == set(ours[:2])
    nothing, of_bob = AclFilter(name="nothing"), AclFilter(principal="User:bob")
    assert await guarded.delete_acls([nothing, of_bob]) == {nothing: (), of_bob: (ours[1],)}
    assert set(await guarded.describe_acls()) == {ours[0], ours[2]}


async def test_without_an_authorizer_there_are_no_acls(admin: Admin) -> None:
    assert code_of((await admin.create_acls([acl("t")]))[acl("t")]) == ErrorCode.SECURITY_DISABLED
    everything = AclFilter()
    assert code_of((await admin.delete_acls([everything]))[everything]) == ErrorCode.SECURITY_DISABLED
    with pytest.raises(ApiError) as refused:
        await admin.describe_acls()
    assert refused.value.code is ErrorCode.SECURITY_DISABLED


async def test_passwords_are_set_and_deleted(admin: Admin, unique: str) -> None:
    sha_256, sha_512 = ScramMechanism.SHA_256, ScramMechanism.SHA_512
    put = PutScramCredential(user=unique, password="planted-secret", iterations=8192)
    assert "planted-secret" not in repr(put)
    assert await admin.alter_user_scram_credentials([put]) == {unique: None}
    missing = DeleteScramCredential(user=unique, mechanism=sha_256)
    results = await admin.alter_user_scram_credentials([missing])
    assert code_of(results[unique]) == ErrorCode.RESOURCE_NOT_FOUND

    async def check() -> None:
        described = await admin.describe_user_scram_credentials([unique, f"{unique}-nobody"])
        assert described[unique] == (ScramCredentialInfo(mechanism=sha_512, iterations=8192),)
        assert code_of(described[f"{unique}-nobody"]) == ErrorCode.RESOURCE_NOT_FOUND
        assert unique in await admin.describe_user_scram_credentials()

    await eventually(check)
    deletion = DeleteScramCredential(user=unique, mechanism=sha_512)
    assert await admin.alter_user_scram_credentials([deletion]) == {unique: None}
    assert await admin.describe_user_scram_credentials([]) == {}
    with pytest.raises(WrongUse, match="more than one change"):
        await admin.alter_user_scram_credentials([put, deletion])


async def test_too_few_iterations_are_refused(admin: Admin, unique: str) -> None:
    for iterations in (0, 4095):
        put = PutScramCredential(user=unique, password="planted-secret", iterations=iterations)
        results = await admin.alter_user_scram_credentials([put])
        assert code_of(results[unique]) == ErrorCode.UNACCEPTABLE_CREDENTIAL


async def test_quotas_are_set_and_removed(admin: Admin, unique: str) -> None:
    ann, pair = quota_entity([("user", unique)]), quota_entity([("user", unique), ("client-id", None)])
    bad = quota_entity([("group", "g")])
    results = await admin.alter_client_quotas(
        {ann: {"producer_byte_rate": 5}, pair: {"request_percentage": 0.5}, bad: {"producer_byte_rate": 5}}
    )
    assert (results[ann], results[pair], code_of(results[bad])) == (None, None, ErrorCode.INVALID_REQUEST)
    assert await admin.alter_client_quotas({ann: {"producer_byte_rate": 6}}, validate_only=True) == {ann: None}

    async def check() -> None:
        assert await admin.describe_client_quotas({"user": unique}) == {
            ann: {"producer_byte_rate": 5.0},
            pair: {"request_percentage": 0.5},
        }
        assert list(await admin.describe_client_quotas({"user": unique}, strict=True)) == [ann]
        with_default = await admin.describe_client_quotas({"user": unique, "client-id": QuotaMatch.DEFAULT})
        assert list(with_default) == [pair]
        assert ann in await admin.describe_client_quotas({"user": QuotaMatch.ANY})

    await eventually(check)
    assert await admin.alter_client_quotas({ann: {"producer_byte_rate": None}}) == {ann: None}
    with pytest.raises(ApiError):
        await admin.describe_client_quotas({"group": "g"})


async def test_programs_without_asyncio_can_do_the_same() -> None:
    async with tidelog.Broker(properties=GUARDED) as broker:
        await asyncio.to_thread(use_sync, broker.bootstrap_servers)


def use_sync(servers: str) -> None:
    ann = quota_entity([("user", "ann")])
    with SyncAdmin(servers) as admin:
        assert admin.create_acls([acl("t")]) == {acl("t"): None}
        assert admin.describe_acls() == (acl("t"),)
        assert admin.delete_acls([AclFilter()]) == {AclFilter(): (acl("t"),)}
        put = PutScramCredential(user="ann", password="secret")
        assert admin.alter_user_scram_credentials([put]) == {"ann": None}
        assert list(admin.describe_user_scram_credentials()) == ["ann"]
        assert admin.alter_client_quotas({ann: {"producer_byte_rate": 5.0}}) == {ann: None}
        assert admin.describe_client_quotas() == {ann: {"producer_byte_rate": 5.0}}
