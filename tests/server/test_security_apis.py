"""ACLs, SCRAM credentials and quotas over a real socket, and that they survive a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.raw_client import RawClient, raw_client

import tidelog
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from tidelog.protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from tidelog.protocol.messages.create_acls_request import AclCreation, CreateAclsRequest
from tidelog.protocol.messages.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from tidelog.protocol.messages.describe_acls_request import DescribeAclsRequest
from tidelog.protocol.messages.describe_client_quotas_request import ComponentData, DescribeClientQuotasRequest
from tidelog.protocol.messages.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest,
    UserName,
)

# Everybody is a super user: what is checked here is what is stored, not who may.
GUARDED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
EVERYTHING: dict[str, Any] = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}


def acl(name: str, principal: str = "User:ann", operation: int = 3) -> AclCreation:
    return AclCreation(
        resource_type=2,
        resource_name=name,
        resource_pattern_type=3,
        principal=principal,
        host="*",
        operation=operation,
        permission_type=3,
    )


async def described_acls(client: RawClient, **selected: Any) -> dict[str, list[str]]:
    reply = await client.ask(DescribeAclsRequest(**{**EVERYTHING, **selected}))
    assert reply.error_code == 0
    return {each.resource_name: [acl.principal for acl in each.acls] for each in reply.resources}


@pytest.mark.parametrize("version", [1, 2, 3])
async def test_acls_are_created_described_and_deleted(tmp_path: Path, version: int) -> None:
    async with (
        tidelog.Broker(data_dir=str(tmp_path), properties=GUARDED) as broker,
        raw_client(broker.bootstrap_servers) as client,
    ):
        creations = [acl("t"), acl("t", "User:bob"), acl("u"), acl("")]
        created = await client.ask(CreateAclsRequest(creations=creations), version)
        assert [each.error_code for each in created.results] == [0, 0, 0, ErrorCode.INVALID_REQUEST]
        assert await described_acls(client) == {"t": ["User:ann", "User:bob"], "u": ["User:ann"]}
        assert await described_acls(client, principal_filter="User:bob") == {"t": ["User:bob"]}
        assert await described_acls(client, operation=99) == {}
        refused = await client.ask(DescribeAclsRequest(**{**EVERYTHING, "operation": 0}), version)
        assert refused.error_code == ErrorCode.INVALID_REQUEST
        deleted = await client.ask(
            DeleteAclsRequest(filters=[DeleteAclsFilter(**{**EVERYTHING, "resource_name_filter": "t"})]), version
        )
        assert [len(each.matching_acls) for each in deleted.filter_results] == [2]
        assert await described_acls(client) == {"u": ["User:ann"]}


async def test_what_was_set_survives_a_restart(tmp_path: Path) -> None:
    entry = EntryData(
        entity=[EntityData(entity_type="user", entity_name="ann")], ops=[OpData(key="producer_byte_rate", value=5.0)]
    )
    upsertion = ScramCredentialUpsertion(name="ann", mechanism=1, iterations=4096, salt=b"s", salted_password=b"p")
    async with (
        tidelog.Broker(data_dir=str(tmp_path), properties=GUARDED) as broker,
        raw_client(broker.bootstrap_servers) as client,
    ):
        await client.ask(CreateAclsRequest(creations=[acl("t")]))
        await client.ask(AlterUserScramCredentialsRequest(upsertions=[upsertion]))
        await client.ask(AlterClientQuotasRequest(entries=[entry]))
    async with (
        tidelog.Broker(data_dir=str(tmp_path), properties=GUARDED) as broker,
        raw_client(broker.bootstrap_servers) as client,
    ):
        assert await described_acls(client) == {"t": ["User:ann"]}
        users = (await client.ask(DescribeUserScramCredentialsRequest(users=None))).results
        assert [(each.user, each.credential_infos[0].iterations) for each in users] == [("ann", 4096)]
        quotas = (await client.ask(DescribeClientQuotasRequest())).entries
        assert [(each.entity[0].entity_name, each.values[0].value) for each in quotas] == [("ann", 5.0)]


async def test_credentials_are_set_described_and_removed(client: RawClient) -> None:
    upsertion = ScramCredentialUpsertion(name="ann", mechanism=2, iterations=8192, salt=b"s", salted_password=b"p")
    deletion = ScramCredentialDeletion(name="bob", mechanism=1)
    altered = await client.ask(AlterUserScramCredentialsRequest(deletions=[deletion], upsertions=[upsertion]))
    assert {each.user: each.error_code for each in altered.results} == {"ann": 0, "bob": ErrorCode.RESOURCE_NOT_FOUND}
    asked = [UserName(name=name) for name in ("ann", "bob", "cid", "cid")]
    described = await client.ask(DescribeUserScramCredentialsRequest(users=asked))
    assert {
        each.user: each.error_code or [(info.mechanism, info.iterations) for info in each.credential_infos]
        for each in described.results
    } == {"ann": [(2, 8192)], "bob": ErrorCode.RESOURCE_NOT_FOUND, "cid": ErrorCode.DUPLICATE_RESOURCE}
    await client.ask(AlterUserScramCredentialsRequest(deletions=[ScramCredentialDeletion(name="ann", mechanism=2)]))
    assert (await client.ask(DescribeUserScramCredentialsRequest(users=None))).results == []


@pytest.mark.parametrize("version", [0, 1])
async def test_quotas_are_set_described_and_removed(client: RawClient, version: int) -> None:
    async def alter(name: str | None, value: float | None, *, validate_only: bool = False) -> int:
        op = OpData(key="connection_creation_rate", value=value or 0.0, remove=value is None)
        entry = EntryData(entity=[EntityData(entity_type="ip", entity_name=name)], ops=[op])
        reply = await client.ask(AlterClientQuotasRequest(entries=[entry], validate_only=validate_only), version)
        (answer,) = reply.entries
        assert [(each.entity_type, each.entity_name) for each in answer.entity] == [("ip", name)]
        return int(answer.error_code)

    async def described(**component: Any) -> list[tuple[str | None, float]] | int:
        filter_of = [ComponentData(**component)] if component else []
        reply = await client.ask(DescribeClientQuotasRequest(components=filter_of), version)
        if reply.error_code:
            assert reply.entries is None
            return int(reply.error_code)
        return [(each.entity[0].entity_name, each.values[0].value) for each in reply.entries]

    assert await alter("127.0.0.1", 5.0) == await alter(None, 7.0) == await alter("localhost", 9.0) == 0
    assert await alter("no-such-host.invalid", 5.0) == ErrorCode.INVALID_REQUEST
    assert await alter("1.2.3.4", 5.0, validate_only=True) == 0
    assert await described() == [("127.0.0.1", 5.0), (None, 7.0), ("localhost", 9.0)]
    assert await described(entity_type="ip", match_type=1, match=None) == [(None, 7.0)]
    assert await described(entity_type="ip", match_type=3, match=None) == ErrorCode.INVALID_REQUEST
    assert await described(entity_type="group", match_type=2, match=None) == ErrorCode.UNSUPPORTED_VERSION
    assert await alter(None, None) == 0
    assert await described(entity_type="ip", match_type=1, match=None) == []
