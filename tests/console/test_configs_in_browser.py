"""Configurations in Chromium: sources, documentation, and changes that the brokers have checked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from support.browser import Locator, OpenPage, Page, PageFaults, expect
from support.console_clusters import Cluster, ClusterKind
from support.console_process import ConsoleOfTest

from tidelog.client.admin import ConfigEntry, ConfigResource, NewTopic, ResourceType
from tidelog.config.definitions import ConfigSource
from tidelog.sync import Admin

MARKUP = "<img src=x onerror=window.hacked=1>"


@contextmanager
def topic_of(cluster: Cluster, name: str) -> Iterator[Admin]:
    with Admin(cluster.bootstrap_servers) as admin:
        created = admin.create_topics([NewTopic(name=name, partitions=1, configs={"retention.ms": "7000"})])
        admin.raise_any(created)
        try:
            yield admin
        finally:
            admin.delete_topics([name])


def described(admin: Admin, resource: ConfigResource, name: str) -> ConfigEntry:
    (entry,) = admin.raise_any(admin.describe_configs([resource], names=[name]))[resource]
    return entry


def property_row(page: Page, name: str) -> Locator:
    return page.get_by_role("listitem").filter(has=page.get_by_role("button", name=name, exact=True))


def test_a_property_of_a_topic_is_changed_and_reset(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    name, resource = "configured", ConfigResource(ResourceType.TOPIC, "configured")
    with topic_of(any_cluster, name) as admin:
        page.goto(f"{console(any_cluster)}/configs/topic/{name}")
        row = property_row(page, "retention.ms")
        expect(row).to_contain_text("7000")
        expect(row).to_contain_text("set for this topic")
        row.get_by_role("button", name="Change retention.ms").click()
        dialog = page.get_by_role("dialog", name=f"Change retention.ms of topic {name}")
        expect(dialog).to_contain_text("7000")
        confirm = dialog.get_by_role("button", name="Set")
        expect(confirm).to_be_disabled()
        dialog.get_by_label("New value").fill("soon")
        expect(dialog.get_by_role("alert")).to_contain_text("retention.ms cannot be set to 'soon': ")
        expect(confirm).to_be_disabled()
        # It was only asked, not done.
        assert described(admin, resource, "retention.ms").value == "7000"
        dialog.get_by_label("New value").fill("86400000")
        expect(dialog.get_by_text("The brokers would accept this.")).to_be_visible()
        confirm.click()
        expect(page.get_by_text(f"retention.ms of topic {name} was changed.")).to_be_visible()
        expect(row).to_contain_text("86400000 24 h 0 min")
        entry = described(admin, resource, "retention.ms")
        assert (entry.value, entry.source) == ("86400000", ConfigSource.DYNAMIC_TOPIC_CONFIG)
        row.get_by_role("button", name="Reset retention.ms").click()
        dialog = page.get_by_role("dialog", name=f"Reset retention.ms of topic {name}")
        dialog.get_by_role("button", name="Reset").click()
        expect(page.get_by_text(f"retention.ms of topic {name} was reset.")).to_be_visible()
        expect(row).to_contain_text("604800000")
        expect(row.get_by_role("button", name="Reset retention.ms")).to_have_count(0)
        assert described(admin, resource, "retention.ms").is_default


def test_words_are_chosen_and_lists_are_written(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    name, resource = "configured-lists", ConfigResource(ResourceType.TOPIC, "configured-lists")
    with topic_of(any_cluster, name) as admin:
        page.goto(f"{console(any_cluster)}/configs/topic/{name}")
        page.get_by_role("button", name="Change unclean.leader.election.enable").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("New value").select_option("true")
        dialog.get_by_role("button", name="Set").click()
        expect(property_row(page, "unclean.leader.election.enable")).to_contain_text("true")
        page.get_by_role("button", name="Change cleanup.policy").click()
        dialog.get_by_label("New value, separated by commas").fill("compact,delete")
        dialog.get_by_role("button", name="Set").click()
        expect(property_row(page, "cleanup.policy")).to_contain_text("compact,delete")
        assert described(admin, resource, "cleanup.policy").value == "compact,delete"


def test_what_differs_from_the_default_is_found(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    with topic_of(any_cluster, "different"):
        page.goto(f"{console(any_cluster)}/configs/topic/different")
        page.get_by_label("Only those that differ from the default").check()
        expect(property_row(page, "retention.ms")).to_be_visible()
        expect(property_row(page, "segment.bytes")).to_have_count(0)
        page.get_by_label("Name contains").fill("nothing")
        expect(page.get_by_text("No property that is different has “nothing” in its name.")).to_be_visible()
        expect(page).to_have_url(re.compile("show=different&filter=nothing"))
        page.goto(f"{console(any_cluster)}/configs?show=set")
        topics = page.get_by_role("region", name="Topics")
        expect(topics.get_by_role("row").filter(has_text="different")).to_contain_text("retention.ms 7000")
        topics.get_by_role("link", name="different", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Configuration of topic different")
        # Nothing is asked any more when the topic is deleted.
        expect(property_row(page, "retention.ms")).to_be_visible()


def test_documentation_is_text(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    """That of Apache Kafka is HTML."""
    page.goto(f"{console(any_cluster)}/configs/broker/1?filter=min.insync.replicas")
    row = property_row(page, "min.insync.replicas")
    row.get_by_role("button", name="min.insync.replicas", exact=True).click()
    words = (
        "topic's min.insync.replicas" if any_cluster.kind is ClusterKind.TIDELOG else "The NotEnough|in-sync replicas"
    )
    expect(row.get_by_text(re.compile(words)).first).to_be_visible()
    expect(row).not_to_contain_text(re.compile("</?(code|p|i|br|a)[ >]"))
    expect(row.get_by_role("table", name="Where the value can come from, the strongest first")).to_be_visible()


def test_a_broker_tells_what_is_read_only_and_no_secrets(
    any_cluster: Cluster, console: ConsoleOfTest, page: Page
) -> None:
    page.goto(f"{console(any_cluster)}/configs/broker/1")
    fixed = property_row(page, "log.dirs")
    expect(fixed).to_contain_text("read-only")
    expect(fixed.get_by_role("button", name="Change log.dirs")).to_have_count(0)
    secret = property_row(page, "ssl.keystore.password")
    expect(secret).to_contain_text("not shown")
    secret.get_by_role("button", name="Change ssl.keystore.password").click()
    expect(page.get_by_label("New value")).to_have_attribute("type", "password")
    expect(page.get_by_label("New value")).to_have_attribute("autocomplete", "new-password")
    page.get_by_role("button", name="Cancel").click()
    if any_cluster.kind is ClusterKind.TIDELOG:
        expect(property_row(page, "background.threads")).to_contain_text("without effect")


def test_a_default_of_all_brokers_is_set_and_reset(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    page.goto(f"{console(any_cluster)}/configs/cluster?filter=log.cleaner.threads")
    row = property_row(page, "log.cleaner.threads")
    expect(row).to_contain_text("not set; in use 1")
    row.get_by_role("button", name="Change log.cleaner.threads").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("New value").fill("2")
    dialog.get_by_role("button", name="Set").click()
    expect(row).to_contain_text("set for all brokers")
    with Admin(any_cluster.bootstrap_servers) as admin:
        cluster = ConfigResource(ResourceType.BROKER, "")
        assert described(admin, cluster, "log.cleaner.threads").value == "2"
    row.get_by_role("button", name="Reset log.cleaner.threads").click()
    dialog.get_by_role("button", name="Reset").click()
    expect(row).to_contain_text("not set")


def test_a_group_has_properties_whatever_its_name(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    page.goto(f"{console(any_cluster)}/configs/group/{MARKUP.replace('<', '%3C').replace('>', '%3E')}")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Configuration of group {MARKUP}")
    expect(property_row(page, "consumer.session.timeout.ms")).to_contain_text("45000")


def test_names_may_be_those_of_what_every_object_has(one_node: Cluster, console: ConsoleOfTest, page: Page) -> None:
    names = ("constructor", "__proto__", "toString")
    with Admin(one_node.bootstrap_servers) as admin:
        admin.raise_any(admin.create_topics([NewTopic(name=name, partitions=1) for name in names]))
        try:
            page.goto(f"{console(one_node)}/configs")
            topics = page.get_by_role("region", name="Topics")
            for name in names:
                expect(topics.get_by_role("row").filter(has_text=name)).to_contain_text("nothing")
            page.get_by_label("Only those for which something is set").check()
            expect(topics.get_by_role("row").filter(has_text="constructor")).to_have_count(0)
        finally:
            admin.delete_topics(names)


def test_a_console_that_only_reads_changes_nothing(one_node: Cluster, console: ConsoleOfTest, page: Page) -> None:
    page.goto(f"{console(one_node, '--read-only')}/configs/broker/1")
    expect(property_row(page, "log.retention.ms")).to_be_visible()
    expect(page.get_by_text("This console was started with --read-only: properties cannot be changed")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^Change "))).to_have_count(0)


def test_what_has_no_properties_is_a_sentence(
    one_node: Cluster, console: ConsoleOfTest, open_page: OpenPage, page_faults: PageFaults
) -> None:
    page_faults.allow("failed request: GET")
    page = open_page()
    page.goto(f"{console(one_node)}/configs/topic/not-there")
    expect(page.get_by_role("alert")).to_have_text("there is no topic 'not-there'")
    page.goto(f"{console(one_node)}/configs/broker/77")
    expect(page.get_by_role("alert")).to_contain_text("broker 77 is not there now")
    page.goto(f"{console(one_node)}/configs/nonsense/x")
    expect(page.get_by_role("heading", name="There is no such page")).to_be_visible()


@pytest.mark.parametrize("place", ["", "/broker/1", "/cluster"])
def test_the_pages_fit_narrow_screens(
    one_node: Cluster, console: ConsoleOfTest, open_page: OpenPage, place: str
) -> None:
    page = open_page(width=400, color_scheme="dark")
    page.goto(f"{console(one_node)}/configs{place}")
    expect(page.get_by_role("region").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
