"""The page of the metadata log, in Chromium: it grows while somebody looks, and shows what each record changes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from support.browser import Locator, OpenPage, Page, PageFaults, expect
from support.console_clusters import Cluster, ClusterKind
from support.console_process import ConsoleOfTest

from tidelog.client.admin import ConfigAlteration, ConfigResource, NewTopic, ResourceType
from tidelog.sync import Admin


def voters_of(cluster: Cluster) -> int:
    return 1 if cluster.processes is None else 3


@contextmanager
def topic_of(cluster: Cluster, name: str, partitions: int = 1) -> Iterator[Admin]:
    """Made by a client that has nothing to do with the console, and gone in the end."""
    with Admin(cluster.bootstrap_servers) as admin:
        created = admin.create_topics([NewTopic(name=name, partitions=partitions, configs={"retention.ms": "7000"})])
        admin.raise_any(created)
        try:
            yield admin
        finally:
            admin.delete_topics([name])


def set_retention(admin: Admin, topic: str, value: str) -> None:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    admin.raise_any(admin.alter_configs({resource: [ConfigAlteration(name="retention.ms", value=value)]}))


def record(page: Page, text: str) -> Locator:
    """The newest row with this text."""
    return page.locator("li.record").filter(has_text=re.compile(text)).first


def line(row: Locator) -> Locator:
    return row.get_by_role("button").first


def row_of(details: Locator, field: str) -> Locator:
    return details.get_by_role("row").filter(has=details.page.get_by_role("rowheader", name=field, exact=True))


def test_the_quorum_is_shown(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    page.goto(f"{console(any_cluster)}/metadata")
    quorum = page.get_by_role("region", name="Metadata quorum")
    roles = quorum.locator("td[data-label=Role]")
    expect(roles.filter(has_text="leader")).to_have_count(1)
    expect(roles.filter(has_text=re.compile("leader|follower"))).to_have_count(voters_of(any_cluster))
    expect(quorum.get_by_text("The log begins at")).to_be_visible()
    source = "broker" if any_cluster.kind is ClusterKind.TIDELOG else "controller"
    expect(quorum.get_by_text(re.compile(rf"^{source} \d+$"))).to_be_visible()


def test_records_appear_while_one_looks_with_the_image_before_and_after(
    any_cluster: Cluster, console: ConsoleOfTest, page: Page
) -> None:
    name = "seen-in-the-metadata"
    page.goto(f"{console(any_cluster)}/metadata")
    expect(page.locator("li.record").first).to_be_visible()
    with topic_of(any_cluster, name, partitions=2) as admin:
        topic = record(page, rf"TopicRecord.*topic {name}")
        expect(topic).to_be_visible()
        line(topic).click()
        expect(topic.get_by_role("heading", name=f"It adds topic {name}")).to_be_visible()
        expect(topic.get_by_text("Before: none, it did not exist.")).to_be_visible()
        expect(row_of(topic, "name").get_by_role("cell").last).to_have_text(name)
        expect(row_of(topic, "name").get_by_text("added")).to_be_attached()
        partition = record(page, rf"PartitionRecord.*partition {name}-1")
        line(partition).click()
        expect(row_of(partition, "leader").get_by_role("cell").last).to_have_text(re.compile(r"^\d$"))
        set_retention(admin, name, "8000")
        changed = record(page, "retention.ms 7000 → 8000")
        expect(changed).to_be_visible()
        line(changed).click()
        retention = row_of(changed, "retention.ms")
        expect(retention.get_by_role("cell")).to_have_text([re.compile("changed"), "7000", "8000"])
    removed = record(page, rf"RemoveTopicRecord.*topic {name}")
    expect(removed).to_be_visible()
    line(removed).click()
    expect(removed.get_by_text("After: none, it no longer exists.")).to_be_visible()
    # What was opened before is still open.
    expect(row_of(changed, "retention.ms")).to_be_visible()


def test_who_reads_can_hold_the_log(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    name = "while-the-log-is-held"
    page.goto(f"{console(any_cluster)}/metadata")
    expect(page.locator("li.record").first).to_be_visible()
    page.get_by_role("button", name="Pause", exact=True).click()
    with topic_of(any_cluster, name):
        expect(page.get_by_role("status")).to_have_text(re.compile("new records? waits?"))
        expect(record(page, f"topic {name}")).to_have_count(0)
        page.get_by_role("button", name="Follow", exact=True).click()
        expect(record(page, rf"TopicRecord.*topic {name}")).to_be_visible()


def test_a_moment_has_an_address_and_neighbours(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    name = "a-moment"
    # More than one page.
    with topic_of(any_cluster, name, partitions=60):
        page.goto(f"{console(any_cluster)}/metadata?type=TopicRecord")
        topic = record(page, rf"TopicRecord.*topic {name}")
        link = topic.get_by_role("link").first
        offset = link.inner_text().replace(",", "")
        link.click()
        expect(page).to_have_url(re.compile(rf"/metadata\?offset={offset}$"))
        # It is open, the newest one on the page, and still so when somebody else opens the address.
        for _ in range(2):
            expect(page.locator("li.record").first.get_by_role("link").first).to_have_text(f"{int(offset):,}")
            expect(page.get_by_role("heading", name=f"It adds topic {name}")).to_be_visible()
            page.reload()
        page.get_by_role("button", name="Newer", exact=True).click()
        expect(record(page, rf"PartitionRecord.*partition {name}-0")).to_be_visible()
        page.get_by_role("button", name="Older", exact=True).click()
        expect(page).to_have_url(re.compile(rf"/metadata\?offset={offset}$"))
        page.get_by_role("spinbutton", name="Offset").fill("0")
        page.get_by_role("button", name="Go", exact=True).click()
        expect(page.get_by_role("heading", name="Records up to offset 0")).to_be_visible()
        expect(record(page, "LEADER_CHANGE")).to_be_visible()
        expect(page.get_by_role("button", name="Older", exact=True)).to_have_count(0)
        page.get_by_role("link", name="Follow the log").click()
        expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()


def test_everything_about_a_topic(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    name = "asked-for"
    with topic_of(any_cluster, name, partitions=2) as admin:
        page.goto(f"{console(any_cluster)}/metadata")
        page.get_by_label("About").select_option("topic")
        page.get_by_label("Named").fill(name)
        page.get_by_role("button", name="Filter", exact=True).click()
        expect(page).to_have_url(re.compile(rf"about=topic&name={name}"))
        expect(page.get_by_role("status")).to_have_text(
            re.compile("4 found in the records from offset 0 to .*whole log")
        )
        expect(page.locator("li.record")).to_have_count(4)
        # What comes later is about it as well.
        set_retention(admin, name, "8000")
        expect(record(page, "retention.ms 7000 → 8000")).to_be_visible()
        page.get_by_label("Type").select_option("ConfigRecord")
        page.get_by_role("button", name="Filter", exact=True).click()
        expect(page.locator("li.record")).to_have_count(2)
        page.get_by_role("button", name="Show all", exact=True).click()
        expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()


def test_an_offset_that_is_not_there_is_a_sentence(one_node: Cluster, console: ConsoleOfTest, page: Page) -> None:
    page.goto(f"{console(one_node)}/metadata?offset=123456789")
    expect(page.get_by_text("There is no record 123,456,789 yet")).to_be_visible()
    expect(page.locator("li.record").first).to_be_visible()
    page.goto(f"{console(one_node)}/metadata?offset=nonsense")
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()


def test_everything_of_a_record_is_there_as_json(
    one_node: Cluster, console: ConsoleOfTest, page: Page, page_faults: PageFaults
) -> None:
    page.goto(f"{console(one_node)}/metadata?offset=1")
    address = page.get_by_role("link", name="Everything as JSON").get_attribute("href")
    assert address is not None
    answer = page.request.get(console(one_node) + address)
    assert answer.ok
    assert answer.json()["offset"] == 1
    assert page_faults.seen == ()


def test_the_page_can_be_used_with_the_keyboard(one_node: Cluster, console: ConsoleOfTest, page: Page) -> None:
    page.goto(f"{console(one_node)}/metadata")
    first = line(page.locator("li.record").last)
    first.focus()
    with topic_of(one_node, "while-somebody-types"):
        expect(record(page, "TopicRecord.*while-somebody-types")).to_be_visible()
        expect(first).to_be_focused()
        page.keyboard.press("Enter")
        expect(first).to_have_attribute("aria-expanded", "true")
        page.keyboard.press("Enter")
        expect(first).to_have_attribute("aria-expanded", "false")


@pytest.mark.parametrize("place", ["", "?offset=3", "?about=topic&name=nothing"])
def test_the_page_fits_narrow_screens(
    one_node: Cluster, console: ConsoleOfTest, open_page: OpenPage, place: str
) -> None:
    page = open_page(width=400, color_scheme="dark")
    page.goto(f"{console(one_node)}/metadata{place}")
    expect(page.get_by_role("region", name=re.compile("^Records"))).to_be_visible()
    expect(page.get_by_text("Asking")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
