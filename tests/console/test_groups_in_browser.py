"""Groups, their lags and members, resets and deletions, in Chromium. What a change has done another client looks up."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import confluent_kafka
import pytest
from support.apache_kafka import java_command, kafka_jars
from support.browser import Locator, OpenPage, Page, PageFaults, expect
from support.console_clusters import Cluster
from support.console_content import (
    AUDIT,
    BILLING,
    HOSTILE_GROUP,
    IMAGE,
    LAG,
    NIGHTLY,
    OPEN_ID,
    ORDERS,
    ORDERS_IN_PARTITION,
    PAYMENTS,
    SETTLED,
    fill,
)
from support.console_process import ConsoleOfTest
from support.processes import HANG_SECONDS, stop_process, wait_until

from tidelog import OffsetAndMetadata, TopicPartition
from tidelog.sync import Admin, Consumer, Producer

if TYPE_CHECKING:
    from playwright.sync_api import Route

_numbers = count(1)
FIRST, SECOND, THIRD = (TopicPartition(ORDERS, number) for number in range(3))


@contextmanager
def own_group(cluster: Cluster, offsets: Mapping[TopicPartition, int]) -> Iterator[str]:
    """A group without members that no other test sees."""
    name = f"own-group-{next(_numbers)}"
    with Admin(cluster.bootstrap_servers) as admin:
        commit(admin, name, offsets)
        yield name
        if any(listed.group_id == name for listed in admin.list_groups()):
            Admin.raise_any(admin.delete_groups([name]))


def commit(admin: Admin, group: str, offsets: Mapping[TopicPartition, int], metadata: str = "") -> None:
    places = {partition: OffsetAndMetadata(offset=at, metadata=metadata) for partition, at in offsets.items()}
    admin.alter_group_offsets(group, places)


def committed(cluster: Cluster, group: str, *partitions: TopicPartition) -> list[int | None]:
    """As librdkafka reads it. None where nothing is committed."""
    consumer = confluent_kafka.Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": group})
    try:
        asked = [confluent_kafka.TopicPartition(each.topic, each.partition) for each in partitions]
        found = {(each.topic, each.partition): each.offset for each in consumer.committed(asked, HANG_SECONDS)}
    finally:
        consumer.close()
    return [at if (at := found[each.topic, each.partition]) >= 0 else None for each in partitions]


@contextmanager
def joined(cluster: Cluster, group: str, **options: object) -> Iterator[Consumer]:
    settings: dict[str, Any] = {
        "bootstrap_servers": cluster.bootstrap_servers,
        "group_id": group,
        "client_id": f"{group}-worker",
        "enable_auto_commit": False,
        **options,
    }
    with Consumer(**settings) as consumer:
        consumer.subscribe([ORDERS])
        while not consumer.assignment():
            consumer.poll(timeout_ms=50)
        consumer.pause(*consumer.assignment())
        yield consumer


def row_of(page: Page, link: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=link, exact=True))


def cell(row: Locator, label: str) -> Locator:
    return row.locator(f"td[data-label='{label}']")


def fact(page: Page, name: str) -> Locator:
    return page.locator("dl.facts > div").filter(has=page.get_by_text(name, exact=True)).locator("dd")


def address(console: str, group: str, view: str = "") -> str:
    return f"{console}/groups/{quote(group, safe='')}{f'?view={view}' if view else ''}"


# -- the list -------------------------------------------------------------------------------------------------------


def test_groups_are_listed_with_state_protocol_members_and_lag(
    any_cluster: Cluster, console: ConsoleOfTest, page: Page
) -> None:
    fill(any_cluster)
    page.goto(f"{console(any_cluster)}/groups")
    expect(page).to_have_title("Groups · tidelog")
    expected = {
        BILLING: ("Stable", "classic", "1", "3", f"{3 * LAG}"),
        AUDIT: ("Stable", "consumer (KIP-848)", "1", "5", "7"),
        NIGHTLY: ("Empty", "classic", "0", "3", f"{ORDERS_IN_PARTITION + ORDERS_IN_PARTITION // 2}"),
        # It has committed everything but the end of a transaction.
        SETTLED: ("Empty", "classic", "0", "1", "0"),
    }
    for name, (state, protocol, members, partitions, lag) in expected.items():
        row = row_of(page, name)
        expect(cell(row, "State")).to_have_text(state)
        expect(cell(row, "Protocol")).to_have_text(protocol)
        expect(cell(row, "Members")).to_have_text(members)
        expect(cell(row, "Partitions")).to_have_text(partitions)
        expect(cell(row, "Lag")).to_have_text(lag)
        expect(cell(row, "Coordinator")).to_have_text(re.compile(r"^\d$"))
    expect(row_of(page, AUDIT).get_by_text("waits for a transaction")).to_be_visible()


def test_groups_are_filtered_and_sorted(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(any_cluster)
    page.goto(f"{console(any_cluster)}/groups")
    names = page.locator("td[data-label=Group] a")
    expect(row_of(page, SETTLED)).to_be_visible()
    page.get_by_role("button", name="Lag", exact=True).click()
    page.get_by_role("button", name="Lag", exact=True).click()
    expect(names.first).to_have_text(NIGHTLY)
    page.get_by_label("Show").select_option("lag")
    expect(row_of(page, SETTLED)).to_have_count(0)
    expect(page).to_have_url(re.compile(r"/groups\?show=lag$"))
    page.get_by_label("Show").select_option("waiting")
    expect(names).to_have_text([AUDIT])
    page.get_by_label("Show").select_option("members")
    expect(row_of(page, NIGHTLY)).to_have_count(0)
    row_of(page, BILLING).get_by_role("link", name=BILLING).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Group {BILLING}")


def test_the_list_of_topics_names_the_group_that_is_furthest_behind(
    any_cluster: Cluster, console: ConsoleOfTest, page: Page
) -> None:
    fill(any_cluster)
    page.goto(f"{console(any_cluster)}/topics")
    lag = cell(row_of(page, ORDERS), "Lag")
    expect(lag).to_have_text(re.compile(rf"^{ORDERS_IN_PARTITION + ORDERS_IN_PARTITION // 2}\s*{NIGHTLY}$"))
    lag.get_by_role("link", name=NIGHTLY).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Group {NIGHTLY}")


def test_names_and_metadata_of_a_group_are_only_text(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(any_cluster)
    page.goto(f"{console(any_cluster)}/groups")
    row_of(page, HOSTILE_GROUP).get_by_role("link", name=HOSTILE_GROUP).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Group {HOSTILE_GROUP}")
    expect(page.get_by_role("cell", name=IMAGE)).to_be_visible()


# -- one group ------------------------------------------------------------------------------------------------------


def test_a_marker_is_no_lag(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    content = fill(any_cluster)
    page.goto(address(console(any_cluster), SETTLED))
    row = row_of(page, f"{PAYMENTS}-1")
    expect(cell(row, "Committed")).to_have_text(f"{content.marker_offset}")
    expect(cell(row, "Log end")).to_have_text(f"{content.marker_offset + 1}")
    expect(cell(row, "Lag")).to_have_text(re.compile(r"^0\s*1 control record not counted$"))
    expect(cell(row, "Catches up")).to_have_text("caught up")
    expect(fact(page, "Lag")).to_have_text("0")


def test_records_behind_an_open_transaction_are_told_with_its_id(
    any_cluster: Cluster, console: ConsoleOfTest, page: Page
) -> None:
    content = fill(any_cluster)
    page.goto(address(console(any_cluster), AUDIT))
    # Four of the transaction, and three of others behind them.
    expect(page.locator(".waits")).to_contain_text(
        re.compile(
            rf"7 records of {PAYMENTS}-0 are behind an open transaction since \d+ \w+.*, of transactional id {OPEN_ID}"
        )
    )
    row = row_of(page, f"{PAYMENTS}-0")
    expect(cell(row, "Committed")).to_have_text(f"{content.open_offset}")
    expect(cell(row, "Last stable")).to_have_text(f"{content.open_offset}")
    expect(cell(row, "Lag")).to_have_text(re.compile(r"^7\s*7 behind an open transaction$"))
    expect(cell(row, "Catches up")).to_have_text("waits for an open transaction")
    expect(cell(row, "Owner")).to_have_text(f"{AUDIT}-worker")
    expect(row.get_by_role("img", name=re.compile(rf"^Of 0 to \d+ it is at {content.open_offset}$"))).to_be_visible()
    page.get_by_role("link", name=OPEN_ID).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(OPEN_ID)
    expect(page).to_have_url(re.compile(f"/transactions/{OPEN_ID}$"))


def test_members_of_both_protocols(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(any_cluster)
    page.goto(address(console(any_cluster), AUDIT, "members"))
    members = page.get_by_role("table", name="Members")
    expect(members.get_by_role("row")).to_have_count(2)
    row = members.get_by_role("row").filter(has_text=f"{AUDIT}-worker")
    expect(cell(row, "Host")).to_have_text("/127.0.0.1")
    expect(cell(row, "Has")).to_have_text("5 partitions")
    expect(cell(row, "Assignment")).to_contain_text(f"{ORDERS} 0–2")
    expect(cell(row, "Assignment")).to_contain_text(f"{PAYMENTS} 0, 1")
    expect(cell(row, "Target assignment")).to_have_text("the same")
    expect(fact(page, "Assignor")).to_have_text("uniform")
    expect(cell(row, "Epoch")).to_have_text(fact(page, "Group epoch").inner_text())

    page.goto(address(console(any_cluster), BILLING, "members"))
    row = members.get_by_role("row").filter(has_text=f"{BILLING}-worker")
    expect(cell(row, "Assignment")).to_contain_text(f"{ORDERS} 0–2")
    expect(page.get_by_text("Coordinators do not tell the generation")).to_be_visible()
    expect(members.get_by_role("columnheader", name="Target assignment")).to_have_count(0)
    expect(fact(page, "Coordinator")).to_contain_text(re.compile(r"^\d 127\.0\.0\.1:\d+$"))


def test_a_lag_is_live(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(any_cluster)
    with own_group(any_cluster, {FIRST: 500}) as group, Admin(any_cluster.bootstrap_servers) as admin:
        page.goto(address(console(any_cluster), group))
        expect(fact(page, "Lag")).to_have_text(f"{ORDERS_IN_PARTITION - 500}")
        link = page.get_by_role("link", name=f"{ORDERS}-0")
        link.focus()
        commit(admin, group, {FIRST: 550})
        expect(fact(page, "Lag")).to_have_text(f"{ORDERS_IN_PARTITION - 550}")
        expect(page.get_by_role("img", name=re.compile(r"^Lag: now 50, at most 100$"))).to_be_visible()
        # Live data has not taken the focus away.
        expect(link).to_be_focused()
        expect(cell(row_of(page, f"{ORDERS}-0"), "Read")).not_to_have_text("0/s")


def test_a_group_that_is_not_there(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    page.goto(address(console(any_cluster), "nobody-knows"))
    expect(page.get_by_text("There is no group nobody-knows: nobody has joined it")).to_be_visible()


@pytest.mark.parametrize("view", ["", "members", "change"])
def test_a_group_is_readable_on_a_narrow_dark_screen(
    one_node: Cluster, console: ConsoleOfTest, open_page: OpenPage, view: str
) -> None:
    fill(one_node)
    page = open_page(width=400, color_scheme="dark")
    page.goto(address(console(one_node), AUDIT, view))
    expect(page.get_by_text(f"{AUDIT}-worker").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


@contextmanager
def sharing(cluster: Cluster, group: str) -> Iterator[None]:
    """A member of a share group, which leaves in the end."""
    tool = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
    servers = ("--bootstrap-server", cluster.bootstrap_servers)
    command = java_command(kafka_jars(), tool, *servers, "--topic", ORDERS, "--group", group)
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
    with Admin(cluster.bootstrap_servers) as admin:

        def is_in(state: str) -> bool:
            return any((each.group_id, each.state) == (group, state) for each in admin.list_groups())

        try:
            wait_until(lambda: is_in("Stable"), what="joining of a share group")
            yield
        finally:
            stop_process(process)
        wait_until(lambda: is_in("Empty"), what="leaving of a share group")


def test_share_groups_of_apache_kafka_are_listed(apache_kafka: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(apache_kafka)
    with sharing(apache_kafka, "sharers"):
        page.goto(f"{console(apache_kafka)}/groups")
        expect(cell(row_of(page, "sharers"), "State")).to_have_text("Stable")
    row = row_of(page, "sharers")
    expect(cell(row, "Protocol")).to_have_text("share (KIP-932)")
    expect(cell(row, "Members")).to_have_text("–")
    expect(cell(row, "Lag")).to_have_text("–")
    row.get_by_role("link", name="sharers").click()
    expect(page.get_by_text("A share group has no committed offsets")).to_be_visible()
    page.get_by_role("link", name="Reset and delete").click()
    expect(page.get_by_text("A share group has no committed offsets that could be reset")).to_be_visible()
    page.get_by_role("button", name="Delete group …").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete group").click()
    expect(page.get_by_text("There is no group sharers any more")).to_be_visible()


# -- changes --------------------------------------------------------------------------------------------------------


def field(page: Page, label: str) -> Locator:
    labels = page.get_by_role("region", name="Reset offsets").locator("label")
    return labels.filter(has_text=re.compile(f"^{label}")).locator("input, select")


def preview(page: Page, **fields: str) -> Locator:
    """Fill in the form, and ask what would change."""
    for label, value in fields.items():
        control = field(page, label.replace("_", " "))
        if control.evaluate("each => each.tagName") == "SELECT":
            control.select_option(value)
        else:
            control.fill(value)
    page.get_by_role("button", name="Preview").click()
    table = page.get_by_role("table", name="What would change")
    expect(table).to_be_visible()
    return table


def planned(table: Locator, partition: TopicPartition) -> list[str]:
    row = table.get_by_role("row").filter(has_text=str(partition))
    return [cell(row, label).inner_text() for label in ("Now", "Then", "Difference", "Note")]


def test_a_reset_is_previewed_confirmed_and_done(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(any_cluster)
    with own_group(any_cluster, {FIRST: 10, SECOND: 300, THIRD: 600}) as group:
        page.goto(address(console(any_cluster), group, "change"))
        table = preview(page, Reset_to="shift", Offsets="-100")
        assert planned(table, FIRST) == ["10", "→ 0", "-10", "-90 is before the log: the earliest offset"]
        assert planned(table, SECOND) == ["300", "→ 200", "-100", ""]
        assert planned(table, THIRD) == ["600", "→ 500", "-100", ""]
        # Nothing has happened yet.
        assert committed(any_cluster, group, FIRST, SECOND, THIRD) == [10, 300, 600]
        page.get_by_role("button", name="Reset 3 offsets …").click()
        dialog = page.get_by_role("dialog", name=f"Reset 3 offsets of group {group}?")
        expect(dialog.get_by_role("listitem")).to_have_text(
            [f"{ORDERS}-0: 10 → 0", f"{ORDERS}-1: 300 → 200", f"{ORDERS}-2: 600 → 500"]
        )
        dialog.get_by_role("button", name="Reset", exact=True).click()
        done = page.get_by_role("status", name="What was done")
        expect(done).to_contain_text("3 offsets were reset")
        expect(done.get_by_role("listitem").first).to_have_text(f"{ORDERS}-0: 10 → 0")
        assert committed(any_cluster, group, FIRST, SECOND, THIRD) == [0, 200, 500]
        page.get_by_role("link", name="Lag", exact=True).click()
        expect(cell(row_of(page, f"{ORDERS}-1"), "Committed")).to_have_text("200")
        done.get_by_role("button", name="Dismiss").click()
        expect(done).to_have_count(0)


def test_resets_to_places_times_and_another_group(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(any_cluster)
    with own_group(any_cluster, {FIRST: 10, SECOND: 300}) as group:
        page.goto(address(console(any_cluster), group, "change"))
        table = preview(page, Reset_to="earliest")
        assert planned(table, FIRST) == ["10", "→ 0", "-10", ""]
        table = preview(page, Reset_to="latest")
        assert planned(table, SECOND)[:3] == ["300", "→ 600", "+300"]
        table = preview(page, Reset_to="offset", Offset="1000")
        assert planned(table, FIRST)[1:] == ["→ 600", "+590", "1,000 is past the end: the end of the log"]
        # The second of the four days begins with record 150. Browsers of these tests are in UTC.
        table = preview(page, Reset_to="time", Time="2025-03-02T00:00:00")
        assert planned(table, FIRST) == ["10", "→ 150", "+140", ""]
        table = preview(page, Reset_to="ago", How_long="1", Unit="hours")
        assert planned(table, FIRST)[1:] == ["→ 600", "+590", "no record is that late: the end of the log"]
        table = preview(page, Reset_to="group", Group=NIGHTLY)
        assert planned(table, FIRST)[:2] == ["10", "→ 0"]
        assert planned(table, SECOND) == ["300", "300", "0", "stays"]
        table = preview(page, Topic=ORDERS, Partitions="2", Reset_to="latest")
        expect(table.get_by_role("row")).to_have_count(2)
        assert planned(table, THIRD)[:3] == ["nothing", "→ 600", "–"]
        assert committed(any_cluster, group, FIRST, SECOND, THIRD) == [10, 300, None]


def test_the_preview_of_another_question_is_not_shown(
    one_node: Cluster, console: ConsoleOfTest, page: Page, page_faults: PageFaults
) -> None:
    """Whoever changes the question while its answer is on the way must not reset to what was asked before."""
    fill(one_node)
    held: list[Route] = []
    page.route("**/api/group/reset?*", lambda route: held.append(route))
    with own_group(one_node, {FIRST: 10}) as group:
        page.goto(address(console(one_node), group, "change"))
        page.get_by_label("Reset to").select_option("earliest")
        page.get_by_role("button", name="Preview").click()
        with page.expect_event("requestfailed"):
            page.get_by_label("Reset to").select_option("latest")
        assert "to=earliest" in held[0].request.url
        page.unroute("**/api/group/reset?*")
        expect(page.get_by_role("table", name="What would change")).to_have_count(0)
        expect(page.get_by_role("button", name=re.compile("^Reset .*…$"))).to_have_count(0)
        assert planned(preview(page, Reset_to="latest"), FIRST)[:2] == ["10", "→ 600"]


def test_a_reset_is_refused_if_offsets_have_moved_since_its_preview(
    any_cluster: Cluster, console: ConsoleOfTest, page: Page, page_faults: PageFaults
) -> None:
    fill(any_cluster)
    with own_group(any_cluster, {FIRST: 10}) as group, Admin(any_cluster.bootstrap_servers) as admin:
        page.goto(address(console(any_cluster), group, "change"))
        preview(page, Reset_to="latest")
        commit(admin, group, {FIRST: 20})
        page.get_by_role("button", name="Reset 1 offset …").click()
        page_faults.expect("/api/group/reset: 409")
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name="Reset", exact=True).click()
        expect(dialog.get_by_role("alert")).to_contain_text(f"{ORDERS}-0 was at 10 and is at 20. Nothing was changed.")
        assert committed(any_cluster, group, FIRST) == [20]
        dialog.get_by_role("button", name="Cancel").click()
        assert planned(preview(page), FIRST)[:2] == ["20", "→ 600"]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_with_a_member_is_not_reset(
    any_cluster: Cluster, console: ConsoleOfTest, page: Page, page_faults: PageFaults, protocol: str
) -> None:
    fill(any_cluster)
    with own_group(any_cluster, {FIRST: 10}) as group:
        page.goto(address(console(any_cluster), group, "change"))
        preview(page, Reset_to="latest")
        reset = page.get_by_role("button", name="Reset 1 offset …")
        reset.click()
        # A member joins while somebody looks at the question.
        with joined(any_cluster, group, group_protocol=protocol):
            page_faults.expect("/api/group/reset: 409")
            dialog = page.get_by_role("dialog")
            dialog.get_by_role("button", name="Reset", exact=True).click()
            refusal = dialog.get_by_role("alert")
            expect(refusal).to_contain_text(f"The group has 1 member: {group}-worker at /127.0.0.1.")
            expect(refusal).to_contain_text("stop it first")
            dialog.get_by_role("button", name="Cancel").click()
            # The page says so before anybody tries.
            expect(page.get_by_text(f"The group has 1 member: {group}-worker at /127.0.0.1.")).to_be_visible()
            expect(page.get_by_role("button", name="Delete group …")).to_be_disabled()
            expect(reset).to_be_disabled()
            preview(page)
            expect(reset).to_be_disabled()
            assert committed(any_cluster, group, FIRST) == [10]
        expect(page.get_by_text("The group has 1 member")).to_have_count(0)
        reset.click()
        page.get_by_role("dialog").get_by_role("button", name="Reset", exact=True).click()
        expect(page.get_by_role("status", name="What was done")).to_contain_text("1 offset was reset")
        assert committed(any_cluster, group, FIRST) == [ORDERS_IN_PARTITION]


def test_offsets_of_a_topic_are_deleted(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(any_cluster)
    paid = TopicPartition(PAYMENTS, 0)
    with own_group(any_cluster, {FIRST: 10, SECOND: 20, paid: 3}) as group:
        page.goto(address(console(any_cluster), group, "change"))
        card = page.get_by_role("region", name="Delete offsets of a topic")
        card.get_by_label("Topic").select_option(ORDERS)
        card.get_by_role("button", name="Delete offsets …").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text(f"2 committed offsets of group {group}: {ORDERS}-0 10, {ORDERS}-1 20.")
        dialog.get_by_role("button", name="Delete offsets").click()
        done = page.get_by_role("status", name="What was done")
        expect(done.get_by_role("listitem")).to_have_text([f"{ORDERS}-0: 10 → nothing", f"{ORDERS}-1: 20 → nothing"])
        assert committed(any_cluster, group, FIRST, SECOND, paid) == [None, None, 3]
        expect(card.get_by_label("Topic")).to_have_value(PAYMENTS)


def test_a_group_is_deleted(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(any_cluster)
    with own_group(any_cluster, {FIRST: 10}) as group:
        page.goto(address(console(any_cluster), group, "change"))
        page.get_by_role("button", name="Delete group …").click()
        dialog = page.get_by_role("dialog", name=f"Delete group {group}?")
        expect(dialog).to_contain_text("The group and its 1 committed offset are deleted")
        dialog.get_by_role("button", name="Delete group").click()
        expect(page.get_by_role("status", name="What was done")).to_contain_text(f"Group {group} was deleted")
        expect(page.get_by_text(f"There is no group {group} any more")).to_be_visible()
        assert committed(any_cluster, group, FIRST) == [None]


def test_a_console_that_is_read_only_offers_no_changes(one_node: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(one_node)
    page.goto(address(console(one_node, "--read-only"), NIGHTLY, "change"))
    preview(page, Reset_to="earliest")
    for name in (re.compile("^Reset 2 offsets"), re.compile("^Delete offsets"), re.compile("^Delete group")):
        expect(page.get_by_role("button", name=name)).to_be_disabled()
    expect(page.get_by_text("This console was started with --read-only").first).to_be_visible()


def test_records_that_are_written_are_a_lag_at_once(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(any_cluster)
    topic = f"own-topic-{next(_numbers)}"
    with Admin(any_cluster.bootstrap_servers) as admin:
        admin.create_topic(topic, partitions=1)
    place = TopicPartition(topic, 0)
    with own_group(any_cluster, {place: 0}) as group, Producer(any_cluster.bootstrap_servers) as producer:
        page.goto(address(console(any_cluster), group))
        expect(fact(page, "Lag")).to_have_text("0")
        for number in range(5):
            producer.send(topic, b"%d" % number, partition=0).result()
        expect(fact(page, "Lag")).to_have_text("5")
        expect(cell(row_of(page, str(place)), "Written")).not_to_have_text("0/s")
    with Admin(any_cluster.bootstrap_servers) as admin:
        Admin.raise_any(admin.delete_topics([topic]))
