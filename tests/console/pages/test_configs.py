"""Configurations as the page gets them, and changes that are put to the broker before they are made."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from support.console_api import ConsoleApi, console_of
from support.eventually import eventually

import tidelog
from tidelog.client.admin import Admin, ConfigResource, ResourceType
from tidelog.config.catalogue.authorization import STANDARD_AUTHORIZER
from tidelog.config.definitions import ConfigSource

PASSWORD = "planted-secret"
# A broker property with a secret that can be changed while the broker runs.
SECRET = "ssl.keystore.password"


@pytest.fixture
async def broker() -> AsyncIterator[tidelog.Broker]:
    async with tidelog.Broker(port=0) as running:
        yield running


@pytest.fixture
async def admin(broker: tidelog.Broker) -> AsyncIterator[Admin]:
    async with Admin(broker.bootstrap_servers) as connected:
        await connected.create_topic("orders", partitions=1, configs={"retention.ms": "7000"})
        yield connected


@pytest.fixture
async def api(broker: tidelog.Broker) -> AsyncIterator[ConsoleApi]:
    async with console_of({"bootstrap.servers": broker.bootstrap_servers}) as console:
        yield console


def by_name(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in answer["properties"]}


def wish(kind: str, name: str, property: str, value: object, **more: object) -> dict[str, object]:
    return {"kind": kind, "name": name, "property": property, "value": value, **more}


async def test_a_topic_has_all_its_properties_with_source_and_documentation(admin: Admin, api: ConsoleApi) -> None:
    found = by_name(await api.get("configs/properties", kind="topic", name="orders"))
    retention = found["retention.ms"]
    assert (retention["value"], retention["source"], retention["type"]) == ("7000", "set for this topic", "long")
    assert (retention["differs"], retention["own"], retention["read_only"]) == (True, True, False)
    policy = found["cleanup.policy"]
    assert (policy["value"], policy["source"], policy["differs"]) == ("delete", "default", False)
    assert policy["default"] == {"name": "cleanup.policy", "value": "delete"}
    assert "compact keeps the last value" in policy["documentation"]
    assert list(found) == sorted(found)


async def test_a_broker_says_what_is_read_only_and_what_has_no_effect(api: ConsoleApi) -> None:
    found = by_name(await api.get("configs/properties", kind="broker", name="1"))
    assert found["log.dirs"]["read_only"]
    assert not found["log.retention.ms"]["read_only"]
    assert found["background.threads"]["without_effect"]
    assert found["background.threads"]["documentation"].startswith("Accepted without effect: ")
    assert (found[SECRET]["sensitive"], found[SECRET]["value"]) == (True, None)
    assert found["listeners"]["source"] == "from the broker's file"


async def test_a_group_has_properties_before_it_exists(admin: Admin, api: ConsoleApi) -> None:
    name = "consumer.session.timeout.ms"
    assert by_name(await api.get("configs/properties", kind="group", name="g"))[name]["source"] == "default"
    after = by_name(await api.post("configs/change", wish("group", "g", name, "50000")))
    assert (after[name]["value"], after[name]["source"], after[name]["own"]) == ("50000", "set for this group", True)
    assert (await api.get("configs/set"))["group"] == {"g": [{"name": name, "value": "50000"}]}


@pytest.mark.parametrize(
    ("kind", "name", "status", "part"),
    [
        ("topic", "nothing", 404, "there is no topic 'nothing'"),
        ("topic", "", 400, "the topic has no name"),
        ("broker", "77", 404, "broker 77 is not there now"),
        ("broker", "one", 400, "a broker has a number from 0 to 2147483647, 'one' is none"),
        ("client-metrics", "x", 400, "kind"),
    ],
)
async def test_what_has_no_properties_has_a_sentence(
    admin: Admin, api: ConsoleApi, kind: str, name: str, status: int, part: str
) -> None:
    assert part in (await api.get("configs/properties", status, kind=kind, name=name))["message"]


async def test_all_that_is_set_is_seen_at_once(admin: Admin, api: ConsoleApi) -> None:
    await api.post("configs/change", wish("cluster", "", "log.retention.ms", "9000"))
    await api.post("configs/change", wish("broker", "1", "log.retention.ms", "8000"))
    resources = await api.get("configs/resources")
    assert resources["topics"] == [{"name": "orders", "internal": False}]
    assert [each["name"] for each in resources["brokers"]] == ["1"]
    assert resources["groups"] == []
    found = await api.get("configs/set")
    assert found["told"]
    assert {"name": "log.retention.ms", "value": "9000"} in found["cluster"][""]
    assert found["topic"] == {"orders": [{"name": "retention.ms", "value": "7000"}]}
    assert found["broker"] == {"1": [{"name": "log.retention.ms", "value": "8000"}]}


async def test_a_change_is_seen_here_and_by_others(admin: Admin, api: ConsoleApi) -> None:
    topic = ConfigResource(ResourceType.TOPIC, "orders")
    after = by_name(await api.post("configs/change", wish("topic", "orders", "retention.ms", "60000")))
    assert after["retention.ms"]["value"] == "60000"

    async def is_seen(value: str, source: ConfigSource) -> None:
        (entry,) = admin.raise_any(await admin.describe_configs([topic], names=["retention.ms"]))[topic]
        assert (entry.value, entry.source) == (value, source)

    await eventually(lambda: is_seen("60000", ConfigSource.DYNAMIC_TOPIC_CONFIG))
    reset = by_name(await api.post("configs/change", wish("topic", "orders", "retention.ms", None)))
    assert (reset["retention.ms"]["source"], reset["retention.ms"]["own"]) == ("default", False)
    await eventually(lambda: is_seen("604800000", ConfigSource.DEFAULT_CONFIG))


async def test_the_broker_is_asked_before_anything_changes(admin: Admin, api: ConsoleApi) -> None:
    good = await api.post("configs/change", wish("topic", "orders", "retention.ms", "60000", validate_only=True))
    assert good == {"accepted": True, "message": None}
    bad = await api.post("configs/change", wish("topic", "orders", "retention.ms", "soon", validate_only=True))
    assert not bad["accepted"]
    assert bad["message"].startswith("retention.ms cannot be set to 'soon': retention.ms must be a whole number")
    found = by_name(await api.get("configs/properties", kind="topic", name="orders"))
    assert found["retention.ms"]["value"] == "7000"
    refused = await api.post("configs/change", wish("topic", "orders", "retention.ms", "soon"), 409)
    assert refused["message"] == bad["message"]


@pytest.mark.parametrize(
    ("body", "status", "part"),
    [
        (wish("topic", "orders", "retention.mss", "1", validate_only=False), 409, "retention.ms"),
        (wish("broker", "1", "log.dirs", "/tmp/x"), 409, "log.dirs"),
        (wish("topic", "nothing", "retention.ms", "1"), 404, "nothing"),
        (wish("topic", "orders", "retention.ms", 17), 400, "the value of retention.ms must be a text"),
        (wish("topic", "orders", "retention.ms", "x" * 100_001), 400, "longer than 100,000 characters"),
    ],
)
async def test_what_cannot_be_changed_has_a_sentence(
    admin: Admin, api: ConsoleApi, body: dict[str, Any], status: int, part: str
) -> None:
    assert part in (await api.post("configs/change", body, status))["message"]


async def test_defaults_of_all_brokers_are_set_and_reset(api: ConsoleApi) -> None:
    before = await api.get("configs/properties", kind="cluster")
    assert before["asked"] == "1"
    threads = by_name(before)["log.cleaner.threads"]
    assert (threads["is_set"], threads["value"], threads["effective"]) == (False, None, "1")
    assert "log.dirs" not in by_name(before)
    after = by_name(await api.post("configs/change", wish("cluster", "", "log.cleaner.threads", "2")))
    threads = after["log.cleaner.threads"]
    assert (threads["is_set"], threads["value"], threads["own"]) == (True, "2", True)
    reset = by_name(await api.post("configs/change", wish("cluster", "", "log.cleaner.threads", None)))
    assert not reset["log.cleaner.threads"]["is_set"]


async def test_what_a_newer_node_may_know_can_be_removed_again(api: ConsoleApi) -> None:
    """Brokers take properties of all brokers that they do not know, and show their names only."""
    name = "nothing.at.all"
    after = by_name(await api.post("configs/change", wish("cluster", "", name, PASSWORD)))
    assert (after[name]["own"], after[name]["value"], after[name]["sensitive"]) == (True, None, True)
    assert name not in by_name(await api.post("configs/change", wish("cluster", "", name, None)))
    assert PASSWORD.encode() not in api.said


@pytest.mark.parametrize("value", [PASSWORD, [PASSWORD], {"a": PASSWORD}, 4711])
async def test_secrets_are_never_answered(api: ConsoleApi, value: object) -> None:
    """Whether the broker takes them or not, and whatever they look like."""
    for property in (SECRET, "ssl.keystore.passwordd"):
        for kind, name in (("broker", "1"), ("cluster", "")):
            for validate_only in (True, False):
                body = wish(kind, name, property, value, validate_only=validate_only)
                headers_and_status = (200, 400, 409)
                await _posted(api, body, headers_and_status)
            await api.get("configs/properties", kind=kind, name=name)
    await api.get("configs/set")
    await api.live("metadata/live")
    rows = (await api.get("metadata/search", type="ConfigRecord"))["rows"]
    for row in rows:
        await api.get("metadata/record", offset=row["offset"], whole=True)
    assert PASSWORD.encode() not in api.said
    assert b"4711" not in api.said


async def _posted(api: ConsoleApi, body: dict[str, object], allowed: tuple[int, ...]) -> None:
    for status in allowed:
        try:
            await api.post("configs/change", body, status)
        except AssertionError:
            continue
        return
    raise AssertionError(f"the status is none of {allowed}")


async def test_a_console_that_changes_nothing_changes_nothing(broker: tidelog.Broker, admin: Admin) -> None:
    async with console_of({"bootstrap.servers": broker.bootstrap_servers}, read_only=True) as api:
        refused = await api.post("configs/change", wish("topic", "orders", "retention.ms", "1"), 403)
        assert "--read-only" in refused["message"]


async def test_who_may_not_see_properties_gets_a_sentence() -> None:
    properties = {"authorizer.class.name": STANDARD_AUTHORIZER}
    async with (
        tidelog.Broker(port=0, properties=properties) as broker,
        console_of({"bootstrap.servers": broker.bootstrap_servers}) as api,
    ):
        refused = await api.get("configs/properties", 403, kind="broker", name="1")
        assert refused["message"].startswith("this client may not see the properties of broker '1': it needs Describe")
        found = await api.get("configs/set")
        assert not found["told"]
        assert "needs ClusterAction" in found["problem"]
