"""Users, ACLs and quotas as the page gets them, on brokers with and without an authorizer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from support.console_api import ConsoleApi, console_of
from support.eventually import eventually

import tidelog
from tidelog.client.admin import Admin, ScramCredentialInfo, ScramMechanism, quota_entity
from tidelog.config.catalogue.authorization import STANDARD_AUTHORIZER
from tidelog.security.certificates import DevelopmentAuthority

PASSWORD = "planted-secret"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
GUARDED = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:ANONYMOUS"}
ACL = {
    "resource_type": "TOPIC",
    "name": "orders",
    "pattern_type": "LITERAL",
    "principal": "User:ann",
    "host": "*",
    "operation": "READ",
    "permission_type": "ALLOW",
}


@pytest.fixture
async def broker() -> AsyncIterator[tidelog.Broker]:
    async with tidelog.Broker(port=0) as running:
        yield running


@pytest.fixture
async def api(broker: tidelog.Broker) -> AsyncIterator[ConsoleApi]:
    async with console_of({"bootstrap.servers": broker.bootstrap_servers}) as console:
        yield console


@pytest.fixture
async def guarded() -> AsyncIterator[ConsoleApi]:
    async with (
        tidelog.Broker(port=0, properties=GUARDED) as running,
        console_of({"bootstrap.servers": running.bootstrap_servers}) as console,
    ):
        yield console


def login(user: str = "ann", password: object = PASSWORD, mechanism: str = "SCRAM-SHA-512", **more: object) -> Any:
    return {"user": user, "password": password, "mechanism": mechanism, **more}


# -- users -------------------------------------------------------------------------------------------------------------


async def test_a_user_is_added_changed_and_deleted(broker: tidelog.Broker, api: ConsoleApi) -> None:
    assert (await api.get("security/users"))["users"] == []
    await api.post("security/users/password", login())
    await api.post("security/users/password", login(mechanism="SCRAM-SHA-256", iterations=8192))
    (user,) = (await api.get("security/users"))["users"]
    assert user["name"] == "ann"
    assert {(each["mechanism"], each["iterations"]) for each in user["credentials"]} == {
        ("SCRAM-SHA-512", 4096),
        ("SCRAM-SHA-256", 8192),
    }
    await api.post("security/users/password", login(password=f"{PASSWORD}-2"))
    await api.post("security/users/delete", {"user": "ann", "mechanism": "SCRAM-SHA-512"})
    async with Admin(broker.bootstrap_servers) as admin:
        found = await admin.describe_user_scram_credentials()
    assert found == {"ann": (ScramCredentialInfo(mechanism=ScramMechanism.SHA_256, iterations=8192),)}
    await api.post("security/users/delete", {"user": "ann", "mechanism": "SCRAM-SHA-256"})
    assert (await api.get("security/users"))["users"] == []
    assert PASSWORD.encode() not in api.said


@pytest.mark.parametrize(
    ("body", "part"),
    [
        (login(password=""), "the password must be a text of 1 to 1,000 characters"),
        (login(password=PASSWORD * 1000), "the password must be a text of 1 to 1,000 characters"),
        (login(password=[PASSWORD]), "the password must be a text"),
        (login(password={PASSWORD: PASSWORD}), "the password must be a text"),
        (login(password=48151623), "the password must be a text"),
        (login(user=""), "user"),
        (login(mechanism="PLAIN"), "the mechanism must be SCRAM-SHA-256 or SCRAM-SHA-512, but is 'PLAIN'"),
        (login(iterations=100), "iterations"),
        ({"password": PASSWORD}, "user"),
        ({"user": "ann", "mechanism": "SCRAM-SHA-512"}, "password"),
        ([PASSWORD], "the request"),
    ],
)
async def test_a_wrong_request_is_refused_without_the_password(api: ConsoleApi, body: Any, part: str) -> None:
    assert part in (await api.post("security/users/password", body, 400))["message"]
    assert PASSWORD.encode() not in api.said
    assert b"48151623" not in api.said


async def test_a_password_that_is_not_there_cannot_be_deleted(api: ConsoleApi) -> None:
    body = {"user": "nobody", "mechanism": "SCRAM-SHA-512"}
    message = (await api.post("security/users/delete", body, 409))["message"]
    assert message.startswith("the password of 'nobody' for SCRAM-SHA-512 was not deleted: ")


# -- ACLs --------------------------------------------------------------------------------------------------------------


async def test_without_an_authorizer_there_is_a_sentence_and_the_rest(api: ConsoleApi) -> None:
    acls = await api.get("security/acls")
    assert (acls["acls"], acls["enabled"]) == (None, False)
    assert "tidelog up --secure" in acls["problem"]
    assert "authorizer.class.name" in (await api.post("security/acls/add", ACL, 409))["message"]
    assert (await api.get("security/users"))["users"] == []
    assert (await api.get("security/quotas"))["quotas"] == []


async def test_acls_are_added_filtered_and_deleted(guarded: ConsoleApi) -> None:
    prefixed = {**ACL, "name": "ord", "pattern_type": "PREFIXED", "principal": "User:bob", "operation": "ALL"}
    group = {**ACL, "resource_type": "GROUP", "name": "audit", "permission_type": "DENY", "host": "10.0.0.7"}
    for acl in (ACL, prefixed, group):
        await guarded.post("security/acls/add", acl)

    async def found(**selected: Any) -> list[Any]:
        answer = await guarded.get("security/acls", **selected)
        assert answer["enabled"]
        return list(answer["acls"])

    assert await found() == [group, ACL, prefixed]
    assert await found(principal="User:bob") == [prefixed]
    assert await found(resource_type="TOPIC", name="orders", pattern_type="MATCH") == [ACL, prefixed]
    assert await found(name="orders") == [ACL]
    assert await found(operation="READ") == [group, ACL]
    assert await found(permission_type="DENY", host="10.0.0.7") == [group]
    assert await found(principal="User:nobody") == []
    deleted = await guarded.post("security/acls/delete", {"acls": [ACL, group]})
    assert sorted(deleted["deleted"], key=str) == sorted([ACL, group], key=str)
    assert await found() == [prefixed]


async def test_only_what_was_seen_is_deleted(guarded: ConsoleApi) -> None:
    """Another ACL for the same topic stays, and one that is gone already is no failure."""
    other = {**ACL, "operation": "WRITE"}
    await guarded.post("security/acls/add", other)
    assert (await guarded.post("security/acls/delete", {"acls": [ACL]}))["deleted"] == []
    assert (await guarded.get("security/acls"))["acls"] == [other]


@pytest.mark.parametrize(
    "change",
    [
        {"resource_type": "ANY"},
        {"pattern_type": "MATCH"},
        {"pattern_type": "ANY"},
        {"operation": "ANY"},
        {"permission_type": "ANY"},
        {"name": ""},
        {"host": ""},
    ],
)
async def test_nothing_is_deleted_that_nobody_has_named(guarded: ConsoleApi, change: dict[str, str]) -> None:
    await guarded.post("security/acls/add", ACL)
    refused = await guarded.post("security/acls/delete", {"acls": [ACL, {**ACL, **change}]}, 400)
    assert refused["problem"] == "refused"
    assert (await guarded.get("security/acls"))["acls"] == [ACL]


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"principal": "ann"}, "'User:ann'"),
        ({"operation": "FLY"}, "the operation must be one of"),
        ({"name": ""}, "the name of the resource is empty"),
        ({"host": ""}, "the host is empty"),
    ],
)
async def test_an_acl_that_cannot_be_is_refused(guarded: ConsoleApi, change: dict[str, str], part: str) -> None:
    assert part in (await guarded.post("security/acls/add", {**ACL, **change}, 400))["message"]


async def test_a_wrong_filter_is_refused(guarded: ConsoleApi) -> None:
    assert "the operation must be one of" in (await guarded.get("security/acls", 400, operation="FLY"))["message"]
    assert "acls" in (await guarded.post("security/acls/delete", {"acls": []}, 400))["message"]


async def test_what_an_acl_is_made_of_is_told(api: ConsoleApi) -> None:
    choices = await api.get("security/acls/choices")
    assert choices["operations"]["TRANSACTIONAL_ID"] == ["ALL", "WRITE", "DESCRIBE", "TWO_PHASE_COMMIT"]
    assert "ANY" not in choices["all_operations"]


# -- quotas ------------------------------------------------------------------------------------------------------------


async def test_quotas_are_set_changed_and_removed(broker: tidelog.Broker, api: ConsoleApi) -> None:
    ann, pair, address = {"user": "ann"}, {"user": None, "client-id": "<x>"}, {"ip": "10.0.0.7"}
    values = {"producer_byte_rate": 1_000_000, "request_percentage": 12.5}
    await api.post("security/quotas/change", {"entity": ann, "values": values})
    await api.post("security/quotas/change", {"entity": pair, "values": {"consumer_byte_rate": 5}})
    await api.post("security/quotas/change", {"entity": address, "values": {"connection_creation_rate": 3}})
    found = (await api.get("security/quotas"))["quotas"]
    assert [{part["type"]: part["name"] for part in each["entity"]} for each in found] == [pair, address, ann]
    assert found[2]["values"] == values
    change = {"producer_byte_rate": None, "request_percentage": 20}
    await api.post("security/quotas/change", {"entity": ann, "values": change})
    async with Admin(broker.bootstrap_servers) as admin:

        async def is_changed() -> None:
            of_ann = (await admin.describe_client_quotas())[quota_entity(ann.items())]
            assert of_ann == {"request_percentage": 20}

        await eventually(is_changed)


@pytest.mark.parametrize(
    ("entity", "values", "part"),
    [
        ({"user": "ann"}, {"producer_byte_rate": 0}, "producer_byte_rate is 0.0, but must be greater than 0"),
        ({"user": "ann"}, {"producer_byte_rate": 1.5}, "must be a whole number"),
        ({"user": "ann"}, {"speed": 1}, "'speed' is not a quota of this entity"),
        ({"user": ""}, {"producer_byte_rate": 1}, "the name of the user is empty"),
        ({"group": "g"}, {"producer_byte_rate": 1}, "'group' is not a type of quota entities"),
        ({"user": "ann", "ip": "10.0.0.7"}, {"connection_creation_rate": 1}, "cannot be combined"),
        ({}, {"producer_byte_rate": 1}, "entity"),
        ({"user": "ann"}, {}, "values"),
    ],
)
async def test_a_wrong_quota_is_refused(api: ConsoleApi, entity: Any, values: Any, part: str) -> None:
    assert part in (await api.post("security/quotas/change", {"entity": entity, "values": values}, 400))["message"]


# -- brokers that ask who somebody is ----------------------------------------------------------------------------------


@pytest.fixture
async def secured(tmp_path: Any) -> AsyncIterator[dict[str, str]]:
    """What the administrator's client needs. The other user, bob, may do nothing."""
    authority = DevelopmentAuthority.new()
    truststore, keystore = tmp_path / "authority.pem", tmp_path / "keystore.pem"
    truststore.write_bytes(authority.pair.certificate)
    keystore.write_bytes(authority.issue("broker", hosts=("127.0.0.1",)).keystore)
    properties = {
        "listeners": "SASL_SSL://127.0.0.1:0",
        "listener.security.protocol.map": "SASL_SSL:SASL_SSL",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{_PLAIN} required user_alice="{PASSWORD}" '
        f'user_bob="{PASSWORD}";',
        "ssl.keystore.location": str(keystore),
        "ssl.keystore.type": "PEM",
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": "User:alice",
    }
    async with tidelog.Broker(properties=properties) as running:
        yield {
            "bootstrap.servers": running.bootstrap_servers,
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(truststore),
            "sasl.mechanism": "PLAIN",
            "sasl.username": "alice",
            "sasl.password": PASSWORD,
        }


async def test_who_may_everything_sees_everything_and_no_secret(secured: dict[str, str]) -> None:
    async with console_of(secured) as api:
        await api.post("security/users/password", login("carol"))
        users = await api.get("security/users")
        assert (users["own"], [user["name"] for user in users["users"]]) == ("alice", ["carol"])
        await api.post("security/acls/add", ACL)
        assert (await api.get("security/acls"))["acls"] == [ACL]
        properties = (await api.get("configs/properties", kind="broker", name="1"))["properties"]
        jaas = next(each for each in properties if each["name"].endswith("plain.sasl.jaas.config"))
        assert (jaas["sensitive"], jaas["value"], jaas["differs"]) == (True, None, True)
        reading = await api.live("metadata/live")
        assert reading["log"]["source"] == "broker 1"
        for row in reading["log"]["rows"]:
            await api.get("metadata/record", offset=row["offset"], whole=True)
        await api.get("configs/set")
        assert PASSWORD.encode() not in api.said


async def test_who_may_nothing_gets_sentences(secured: dict[str, str]) -> None:
    async with console_of({**secured, "sasl.username": "bob"}) as api:
        users = await api.get("security/users")
        assert users["users"] is None
        assert users["problem"] == "This client may not see users: it needs Describe on the cluster."
        acls = await api.get("security/acls")
        assert (acls["acls"], acls["enabled"]) == (None, True)
        assert acls["problem"] == "This client may not see ACLs: it needs Describe on the cluster."
        quotas = await api.get("security/quotas")
        assert quotas["problem"] == "This client may not see quotas: it needs DescribeConfigs on the cluster."
        refused = await api.post("security/users/password", login(), 409)
        assert refused["message"] == "the password of 'ann' was not set: this client needs Alter on the cluster"
        refused = await api.post("security/acls/add", ACL, 409)
        assert refused["message"] == "the ACL was not added: this client needs Alter on the cluster"
        change = {"entity": {"user": "ann"}, "values": {"producer_byte_rate": 5}}
        refused = await api.post("security/quotas/change", change, 409)
        assert refused["message"].endswith("this client needs AlterConfigs on the cluster")
        assert PASSWORD.encode() not in api.said
