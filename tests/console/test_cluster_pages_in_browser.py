"""The overview and the pages of topics and brokers, in Chromium."""

from __future__ import annotations

import re

import pytest
from support.browser import OpenPage, Page, PageFaults, expect
from support.console_clusters import Cluster, ClusterKind
from support.console_content import COMPACTED, HOSTILE, ORDERS, ORDERS_IN_PARTITION, PAYMENTS, fill
from support.console_process import ConsoleOfTest

from tidelog.sync import Admin, Producer

PLACES = ("/", "/topics", f"/topics/{PAYMENTS}", f"/topics/{ORDERS}?partition=1", "/brokers", "/brokers/1")


def nodes_of(cluster: Cluster) -> int:
    return 1 if cluster.processes is None else 3


def test_the_overview_shows_brokers_quorum_and_partitions(
    any_cluster: Cluster, console: ConsoleOfTest, page: Page
) -> None:
    fill(any_cluster)
    page.goto(console(any_cluster))
    expect(page).to_have_title("Overview · tidelog")
    brokers = page.get_by_role("region", name="Brokers", exact=True)
    expect(brokers.get_by_role("row")).to_have_count(1 + nodes_of(any_cluster))
    expect(brokers.get_by_text("answers", exact=True)).to_have_count(nodes_of(any_cluster))
    quorum = page.get_by_role("region", name="Metadata quorum")
    expect(quorum.get_by_role("row")).to_have_count(1 + nodes_of(any_cluster))
    expect(quorum.get_by_role("cell", name="leader")).to_have_count(1)
    # Of fill(): it stays open, so readers wait for it.
    attention = page.get_by_role("region", name="Attention")
    expect(attention.get_by_text(re.compile("been open for more than 10 s"))).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("^Records written: now"))).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("^Logs of leaders grow by: now"))).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("^Slowest broker answers in: now"))).to_be_visible()


def test_rates_are_shown_while_records_are_written(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(any_cluster)
    page.goto(f"{console(any_cluster)}/topics")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name=COMPACTED, exact=True))
    written = row.locator("td[data-label=Written]")
    expect(written).to_have_text("0/s")
    with Producer(any_cluster.bootstrap_servers) as producer:
        for number in range(500):
            producer.send(COMPACTED, value=b"%d" % number, key=b"k").result()
            if written.inner_text() != "0/s":
                break
        expect(written).not_to_have_text("0/s")


def test_topics_are_listed_filtered_and_sorted(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(any_cluster)
    page.goto(f"{console(any_cluster)}/topics")
    names = page.locator("td[data-label=Topic] a")
    expect(page.get_by_role("link", name=ORDERS, exact=True)).to_be_visible()
    expect(page.get_by_text("__transaction_state")).to_have_count(0)
    page.get_by_label("Show").select_option("all")
    expect(page.get_by_text("__transaction_state")).to_be_visible()
    # The choice is in the address, so that it can be bookmarked.
    expect(page).to_have_url(re.compile(r"/topics\?show=all$"))
    expect(names.first).to_have_text("__consumer_offsets")
    page.get_by_role("button", name="Topic", exact=True).click()
    expect(names.first).not_to_have_text("__consumer_offsets")
    page.get_by_role("link", name=HOSTILE, exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Topic {HOSTILE}")


def test_a_topic_has_a_gauge_for_each_replica(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(any_cluster)
    page.goto(f"{console(any_cluster)}/topics/{ORDERS}?partition=2")
    gauges = page.get_by_role("img", name=re.compile(r"^Broker \d+: from 0, last stable offset"))
    expect(gauges).to_have_count(nodes_of(any_cluster))
    expect(gauges.first).to_have_attribute("aria-label", re.compile(rf"log end {ORDERS_IN_PARTITION}$"))
    expect(page.get_by_role("img", name=re.compile(r"^Leader epochs: epoch \d+ from 0 to "))).to_be_visible()
    segments = page.get_by_role("region", name="Segments")
    if any_cluster.kind is ClusterKind.TIDELOG:
        expect(segments.get_by_role("img")).to_have_count(nodes_of(any_cluster))
        expect(segments.locator(".block.active").first).to_be_visible()
        segments.get_by_text(re.compile("Segments of broker .* as a table")).first.click()
        expect(segments.get_by_text("00000000000000000000.log").first).to_be_visible()
    else:
        expect(segments.get_by_text("The brokers of this cluster do not tell their segments")).to_be_visible()


def test_leader_epochs_lie_on_the_axis_of_the_gauges(three_nodes: Cluster, console: ConsoleOfTest, page: Page) -> None:
    """The leader of this partition has changed after half of its records."""
    fill(three_nodes)
    page.goto(f"{console(three_nodes)}/topics/{ORDERS}?partition=0")
    bands = page.get_by_role("img", name=re.compile(r"^Leader epochs: epoch \d+ from 0 to \d+, epoch \d+ from "))
    expect(bands).to_be_visible()
    gauge = page.get_by_role("img", name=re.compile(r"^Broker \d+: from 0, last stable offset")).first
    # On a busy machine there may have been more leaders than this test has asked for.
    starts = [int(start) for start in re.findall(r"epoch \d+ from (\d+) to", bands.get_attribute("aria-label") or "")]
    expect(bands.locator(".band")).to_have_count(len(starts))
    expect(bands.locator(".band").last).to_contain_text(f"from {starts[-1]}")
    axis, band = gauge.bounding_box(), bands.locator(".band").last.bounding_box()
    assert axis is not None
    assert band is not None
    # Other tests write some records behind these.
    end = int((gauge.get_attribute("aria-label") or "").rpartition(" ")[2].replace(",", ""))
    assert band["x"] - axis["x"] == pytest.approx(axis["width"] * starts[-1] / end, abs=axis["width"] * 0.02)


def test_compacted_segments_look_different(one_node: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(one_node)
    page.goto(f"{console(one_node)}/topics/{COMPACTED}")
    segments = page.get_by_role("region", name="Segments")
    expect(segments.locator(".blocks .block.clean").first).to_contain_text("compacted")
    expect(segments.locator(".blocks .block.active")).to_contain_text("active")
    expect(segments.get_by_label("What the colours mean")).to_contain_text("compacted")


def test_what_an_open_transaction_holds_back_is_drawn(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    content = fill(any_cluster)
    page.goto(f"{console(any_cluster)}/topics/{PAYMENTS}")
    gauge = page.get_by_role("img", name=re.compile(rf"last stable offset {content.open_offset},"))
    expect(gauge.first).to_be_visible()
    expect(gauge.first.locator(".gauge-held")).to_have_count(1)


def test_a_follower_that_stops_is_seen(three_nodes: Cluster, console: ConsoleOfTest, page: Page) -> None:
    """It falls behind, leaves the in-sync set, and comes back."""
    fill(three_nodes)
    assert three_nodes.processes is not None
    page.goto(f"{console(three_nodes)}/topics/{ORDERS}?partition=0")
    rows = page.locator(".gauges > ul > li")
    expect(rows.get_by_text("in sync", exact=True)).to_have_count(2)
    follower = rows.filter(has=page.get_by_text("in sync", exact=True)).last
    name = follower.locator(".gauge-name span").first.inner_text()
    number = int(name.removeprefix("Broker "))
    row = rows.filter(has_text=name)
    three_nodes.processes.pause(number)
    try:
        with Producer(three_nodes.bootstrap_servers) as producer:
            # Not committed before the follower has left the in-sync set.
            sent = producer.send(ORDERS, value=b"{}", partition=0)
            expect(row.get_by_text(re.compile("^in sync, (leaves in|about to leave)"))).to_be_visible()
            sent.result()
        # Its session ends at the controller as well, so it may be shown as offline instead.
        expect(row.get_by_text(re.compile("^(not in sync|offline)$"))).to_be_visible()
        expect(row.get_by_text(f"broker {number} has not answered")).to_be_visible()
    finally:
        three_nodes.processes.resume(number)
    expect(row.get_by_text("in sync", exact=True)).to_be_visible()
    expect(row.get_by_role("img")).to_be_visible()


def test_brokers_have_directories_and_versions(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(any_cluster)
    page.goto(f"{console(any_cluster)}/brokers")
    page.get_by_role("link", name="1", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Broker 1")
    directories = page.get_by_role("region", name="Log directories")
    expect(directories.locator("td[data-label='Size of logs']")).to_have_text(re.compile("B$"))
    page.get_by_text(re.compile("The [0-9]+ APIs that it serves")).click()
    expect(page.get_by_role("cell", name="DescribeTopicPartitions")).to_be_visible()


def test_a_topic_is_created_grown_and_deleted(
    any_cluster: Cluster, console: ConsoleOfTest, page: Page, page_faults: PageFaults
) -> None:
    page_faults.expect("/api/topics/create: 409")
    name = f"made-here-{any_cluster.name.replace(' ', '-')}"
    page.goto(f"{console(any_cluster)}/topics")
    page.get_by_role("button", name="Create …").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name", exact=True).fill(name)
    dialog.get_by_label("Partitions").fill("2")
    dialog.get_by_label("Configuration").fill("retention.ms=nonsense")
    dialog.get_by_role("button", name="Create").click()
    expect(dialog.get_by_role("alert")).to_contain_text("retention.ms")
    dialog.get_by_label("Configuration").fill("cleanup.policy=compact")
    dialog.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Topic {name}")
    expect(page.get_by_text("compact", exact=True)).to_be_visible()
    page.get_by_role("button", name="Add partitions …").click()
    dialog.get_by_label("Partitions").fill("5")
    dialog.get_by_role("button", name="Add").click()
    expect(page.get_by_role("region", name="Partitions", exact=True).get_by_role("row")).to_have_count(6)
    with Admin(any_cluster.bootstrap_servers) as admin:
        assert len(admin.raise_any(admin.describe_topics([name]))[name].partitions) == 5
        page.get_by_role("button", name="Delete …").click()
        expect(dialog.get_by_role("button", name="Delete")).to_be_disabled()
        dialog.get_by_label("Type the name").fill(name)
        dialog.get_by_role("button", name="Delete").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Topics")
        assert name not in {each.name for each in admin.list_topics()}


def test_a_console_that_only_reads_offers_no_changes(
    one_node: Cluster, console: ConsoleOfTest, page: Page, page_faults: PageFaults
) -> None:
    fill(one_node)
    page_faults.expect("POST")
    address = console(one_node, "--read-only")
    page.goto(f"{address}/topics")
    expect(page.get_by_role("link", name=ORDERS, exact=True)).to_be_visible()
    expect(page.get_by_text("read-only", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Create …")).to_have_count(0)
    page.goto(f"{address}/topics/{ORDERS}")
    expect(page.get_by_role("region", name="Segments")).to_be_visible()
    expect(page.get_by_role("button", name="Delete …")).to_have_count(0)
    refused = page.evaluate("fetch('/api/topic/delete', {method: 'POST', body: '{}'}).then((reply) => reply.status)")
    assert refused == 403


@pytest.mark.parametrize("missing", ["/topics/no-such-topic", "/brokers/77", "/nothing-of-the-kind"])
def test_what_does_not_exist_is_a_sentence(
    one_node: Cluster, console: ConsoleOfTest, page: Page, page_faults: PageFaults, missing: str
) -> None:
    fill(one_node)
    page_faults.allow("failed request: GET")
    page.goto(console(one_node) + missing)
    expect(
        page.get_by_text(re.compile("UNKNOWN_TOPIC_OR_PARTITION|There is no|no such|nothing at")).first
    ).to_be_visible()


def test_pages_work_with_the_keyboard(one_node: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(one_node)
    page.goto(f"{console(one_node)}/topics")
    link = page.get_by_role("link", name=ORDERS, exact=True)
    expect(link).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    link.focus()
    # New readings come and must not take the focus away.
    with page.expect_response(re.compile("/api/")):
        page.evaluate("fetch('/api/session')")
    expect(link).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Topic {ORDERS}")


@pytest.mark.parametrize("place", PLACES)
def test_pages_fit_narrow_screens(one_node: Cluster, console: ConsoleOfTest, open_page: OpenPage, place: str) -> None:
    fill(one_node)
    page = open_page(width=400, color_scheme="dark")
    page.goto(console(one_node) + place)
    expect(page.get_by_role("region").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_the_chosen_colours_stay(one_node: Cluster, console: ConsoleOfTest, page: Page) -> None:
    page.goto(console(one_node))
    page.get_by_role("button", name="Dark colours").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.get_by_role("button", name="Light colours")).to_be_visible()
