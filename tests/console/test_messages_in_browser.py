"""The messages of a topic, in Chromium."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.browser import OpenPage, Page, PageFaults, expect
from support.console_clusters import Cluster
from support.console_content import COMPACTED, HOSTILE, HOSTILE_RECORDS, OPEN_ID, ORDERS, PAYMENTS, HostileRecord, fill
from support.console_process import ConsoleOfTest

from tidelog.client.admin import NewTopic
from tidelog.sync import Admin, Producer

if TYPE_CHECKING:
    from playwright.sync_api import Route

PARTITION_0 = "partition=0&rows=25"
# Elements that this page is made of; there is no other one, whatever records hold.
ELEMENTS = frozenset(
    re.findall(
        "[a-z0-9]+",
        """a button caption code dd details div dl dt fieldset form h1 h2 h3 input label legend li main nav option p pre
        section select span strong summary table tbody td textarea th thead time tr ul""",
    )
)


def address(console: ConsoleOfTest, cluster: Cluster, topic: str, query: str = "") -> str:
    return f"{console(cluster)}/topics/{topic}?view=messages{query and f'&{query}'}"


@pytest.fixture
def own_topic(any_cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """A topic of this test, with two partitions; what others rely on stays as it is."""
    name = "messages-" + re.sub(r"\W+", "-", request.node.name)
    with Admin(any_cluster.bootstrap_servers) as admin:
        admin.raise_any(admin.create_topics([NewTopic(name=name, partitions=2)]))
        # Brokers learn of it a moment later; a producer waits until they have.
        with Producer(any_cluster.bootstrap_servers) as producer:
            for partition in range(2):
                producer.send(name, value=b"first", partition=partition).result()
        yield name
        admin.raise_any(admin.delete_topics([name]))


def rows(page: Page) -> list[str]:
    """Partition and offset of each row."""
    expect(page.locator(".msg-rows")).to_be_visible()
    found: list[str] = page.locator(".msg-rows").evaluate(
        "(table) => [...table.querySelectorAll('tr:has(td[data-label=Offset])')].map((row) => "
        "[...row.children].slice(0, 2).map((cell) => cell.textContent).join(':'))"
    )
    return found


def open_record(page: Page, offset: int) -> None:
    page.locator(".msg-rows").get_by_role("link", name=str(offset), exact=True).click()


# -- what is shown ---------------------------------------------------------------------------------------------------


def test_transactions_are_marked_on_the_record(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    content = fill(any_cluster)
    page.goto(address(console, any_cluster, PAYMENTS, "start=beginning&partition=0"))
    table = page.locator(".msg-rows")
    expect(table.locator(".msg-record")).to_have_count(21)
    for outcome, count in (("committed", 5), ("aborted", 4), ("open", 4)):
        expect(table.locator(".msg-record").get_by_text(outcome, exact=True)).to_have_count(count)
    expect(table.locator(".msg-control")).to_have_count(2)
    expect(table.locator(".msg-control").first).to_contain_text("COMMIT ends a transaction: it is committed (producer ")
    first_open = table.locator(".msg-record").filter(has=page.get_by_text("open", exact=True)).first
    expect(first_open.locator("td[data-label=Offset]")).to_have_text(str(content.open_offset))
    page.get_by_text("Filter", exact=True).click()
    page.get_by_label("Transactions").select_option("aborted")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.get_by_text("4 of 21 records match.")).to_be_visible()
    expect(table.locator(".msg-record")).to_have_count(4)


def test_what_compaction_has_removed_is_a_row(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(any_cluster)
    page.goto(address(console, any_cluster, COMPACTED, "start=beginning"))
    gap = page.locator(".msg-gap").first
    expect(gap).to_contain_text(re.compile(r"Offsets? \d+ (to \d+ were|was) removed by compaction, or never used"))
    expect(page.locator(".msg-record").first).to_contain_text("key-")


def test_records_of_coordinators_are_readable(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(any_cluster)
    page.goto(address(console, any_cluster, "__transaction_state", "rows=500"))
    row = page.locator(".msg-record").filter(has_text=f"{OPEN_ID} is Ongoing: producer ").first
    expect(row).to_contain_text("payments-0")
    expect(page.get_by_role("button", name="Produce …")).to_be_disabled()
    row.get_by_role("link").click()
    details = page.locator(".msg-details")
    expect(details.locator("pre").nth(1)).to_contain_text('"transaction_status": "Ongoing"')
    expect(details.get_by_role("link", name="Show the transactional id")).to_have_attribute(
        "href", f"/transactions/{OPEN_ID}"
    )
    page.goto(address(console, any_cluster, "__consumer_offsets", "rows=500&key=nightly"))
    expect(page.locator(".msg-record").get_by_text("group nightly commits offset 300 of orders-1")).to_be_visible()


def test_pages_of_older_and_newer_records(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(any_cluster)
    page.goto(address(console, any_cluster, ORDERS, "partition=1&rows=25&start=offset&offset=100"))
    expect(page.get_by_text("25 rows: partition 1, offsets 100 to 124")).to_be_visible()
    assert rows(page) == [f"1:{offset}" for offset in range(100, 125)]
    page.get_by_role("button", name="Older").first.click()
    expect(page.get_by_text("25 rows: partition 1, offsets 75 to 99")).to_be_visible()
    page.get_by_role("button", name="Newer").first.click()
    expect(page.get_by_text("25 rows: partition 1, offsets 100 to 124")).to_be_visible()
    page.get_by_role("button", name="Newer").first.click()
    expect(page.get_by_text("25 rows: partition 1, offsets 125 to 149")).to_be_visible()
    # Each of them is a place that the browser goes back to.
    page.go_back()
    expect(page.get_by_text("25 rows: partition 1, offsets 100 to 124")).to_be_visible()
    page.get_by_label("From").select_option("the oldest")
    expect(page.get_by_text("25 rows: partition 1, offsets 0 to 24, from the beginning on")).to_be_visible()
    expect(page.get_by_role("button", name="Older").first).to_be_disabled()


def test_the_keyboard_stays_on_the_button_from_page_to_page(
    one_node: Cluster, console: ConsoleOfTest, page: Page
) -> None:
    fill(one_node)
    page.goto(address(console, one_node, ORDERS, "partition=1&rows=25&start=offset&offset=100"))
    older = page.get_by_role("button", name="Older").first
    older.focus()
    for first in (75, 50, 25):
        page.keyboard.press("Enter")
        expect(page.get_by_text(f"25 rows: partition 1, offsets {first} to {first + 24}").first).to_be_visible()
        expect(older).to_be_focused()


def test_another_partition_is_read_from_where_the_page_begins(
    one_node: Cluster, console: ConsoleOfTest, page: Page
) -> None:
    fill(one_node)
    page.goto(address(console, one_node, ORDERS, "start=beginning&rows=25"))
    page.get_by_label("Partitions").select_option("1")
    expect(page.get_by_text("25 rows: partition 1, offsets 0 to 24")).to_be_visible()
    page.goto(address(console, one_node, ORDERS, "start=live"))
    expect(page.get_by_text("Live.")).to_be_visible()
    page.get_by_label("Partitions").select_option("1")
    expect(page.get_by_text("Live.")).to_be_visible()
    expect(page).to_have_url(re.compile("start=live"))


def test_the_words_of_the_form_can_be_searched_for(one_node: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(one_node)
    page.goto(address(console, one_node, ORDERS, "partition=1"))
    page.get_by_text("Filter", exact=True).click()
    page.get_by_label("Text of the key").fill("contains")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page).to_have_url(re.compile("key=contains"))
    expect(page.get_by_text("0 of 600 records match.")).to_be_visible()


def test_a_path_needs_a_text(one_node: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(one_node)
    page.goto(address(console, one_node, ORDERS, "partition=1"))
    page.get_by_text("Filter", exact=True).click()
    page.get_by_label("JSON path in the value").fill("id")
    page.get_by_role("button", name="Search", exact=True).click()
    assert page.get_by_label("Text of the value").evaluate("(field) => field.validity.valueMissing")
    assert "value_path" not in page.url


def test_a_live_record_that_is_open_stays_when_others_come(
    one_node: Cluster, console: ConsoleOfTest, page: Page
) -> None:
    """Also one that is not among the rows that are kept: its address is shown."""
    fill(one_node)
    page.goto(address(console, one_node, ORDERS, "start=live&open=1:5"))
    expect(page.get_by_role("region", name="Offset 5 of partition 1")).to_be_visible()


def test_all_partitions_are_merged_by_time(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(any_cluster)
    page.goto(address(console, any_cluster, ORDERS, "start=beginning&rows=25"))
    expect(page.locator(".msg-record")).to_have_count(25)
    assert rows(page) == [f"{number % 3}:{number // 3}" for number in range(25)]
    page.get_by_label("Order").select_option("newest first")
    expect(page.locator(".msg-record").first).to_contain_text("customer-24")
    assert rows(page)[0] == "0:8"


def test_a_time_is_a_place_to_begin(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(any_cluster)
    page.goto(address(console, any_cluster, ORDERS, "partition=2&rows=25"))
    page.get_by_label("From").select_option("a time")
    page.get_by_label("Time (of this browser)").fill("2025-03-02T00:00:00.000")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.get_by_text("25 rows: partition 2, offsets 150 to 174")).to_be_visible()
    expect(page).to_have_url(re.compile("time=1740873600000"))


def test_a_record_has_an_address(any_cluster: Cluster, console: ConsoleOfTest, page: Page, open_page: OpenPage) -> None:
    fill(any_cluster)
    page.goto(address(console, any_cluster, ORDERS, PARTITION_0 + "&start=offset&offset=10"))
    open_record(page, 13)
    details = page.get_by_role("region", name="Offset 13 of partition 0")
    expect(details.locator("pre").nth(1)).to_contain_text('"order": 39')
    expect(details.get_by_role("heading", name="Headers 2")).to_be_visible()
    expect(details.get_by_role("cell", name="00000027")).to_be_visible()
    expect(page).to_have_url(re.compile("open=0%3A13"))
    link = details.get_by_role("link", name="Link to this record").get_attribute("href")
    assert link is not None
    other = open_page()
    other.goto(console(any_cluster) + link)
    expect(other.get_by_role("region", name="Offset 13 of partition 0").locator("pre").nth(1)).to_contain_text(
        '"order": 39'
    )
    assert rows(other)[0] == "0:13"
    details.get_by_label("Show as").select_option("hex")
    expect(details.locator("pre").nth(1)).to_contain_text("00000000  7b 22 6f 72 64 65 72 22")
    details.get_by_role("button", name="Close").click()
    expect(page.locator(".msg-details")).to_have_count(0)


# -- searches --------------------------------------------------------------------------------------------------------


def test_a_search_says_what_it_has_read_and_goes_on(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(any_cluster)
    page.goto(address(console, any_cluster, ORDERS, PARTITION_0 + "&start=beginning"))
    page.get_by_text("Filter", exact=True).click()
    page.get_by_label("How the key is compared").select_option("matches (regular expression)")
    page.get_by_label("Text of the key").fill("^customer-[0-3]$")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(
        page.get_by_text(re.compile(r"^25 of [0-9,]+ records match\. Read: partition 0, offsets 0 to "))
    ).to_be_visible()
    page.get_by_role("button", name="Search on in newer records").click()
    expect(page.locator(".msg-record")).to_have_count(50)
    page.get_by_label("How the key is compared").select_option("is")
    page.get_by_label("Text of the key").fill("")
    page.get_by_label("JSON path in the value").fill("items[0].article")
    page.get_by_label("How the value is compared").select_option("is")
    page.get_by_label("Text of the value").fill("A-0013")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.get_by_text(re.compile("That is everything up to the end"))).to_be_visible()
    expect(page.locator(".msg-record").first).to_contain_text('"order": 12,')
    page.get_by_role("button", name="Clear").click()
    expect(page.get_by_text("25 rows: partition 0, offsets 0 to 24")).to_be_visible()
    page.get_by_label("Name of the header").fill("trace")
    page.get_by_label("How the header is compared").select_option("is")
    page.get_by_label("Text of the header").fill("0000000f")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator(".msg-record")).to_have_count(1)
    expect(page.locator(".msg-record").first).to_contain_text('"order": 15,')


def test_what_is_no_regular_expression_is_a_sentence(
    one_node: Cluster, console: ConsoleOfTest, page: Page, page_faults: PageFaults
) -> None:
    fill(one_node)
    page_faults.expect("/api/messages")
    page.goto(address(console, one_node, ORDERS, "value=(&value_how=pattern"))
    expect(page.get_by_role("alert")).to_have_text(re.compile("this is not a regular expression: missing \\)"))


# -- live, produce, download -----------------------------------------------------------------------------------------


def test_live_records_come_and_pause(any_cluster: Cluster, console: ConsoleOfTest, page: Page, own_topic: str) -> None:
    page.goto(address(console, any_cluster, own_topic))
    page.get_by_label("From").select_option("live")
    expect(page.get_by_text("0 records have come so far")).to_be_visible()
    with Producer(any_cluster.bootstrap_servers) as producer:
        producer.send(own_topic, value=b"one of them", partition=1).result()
        expect(page.locator(".msg-record").first).to_contain_text("one of them")
        expect(page.get_by_text("1 record has come so far")).to_be_visible()
        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_text("Nothing has come since then.")).to_be_visible()
        producer.send(own_topic, value=b"another one", partition=0).result()
        expect(page.get_by_text("1 record has come since then.")).to_be_visible()
        expect(page.get_by_text("another one")).to_have_count(0)
        page.get_by_role("button", name="Resume").click()
        expect(page.locator(".msg-record").first).to_contain_text("another one")


def test_live_records_that_are_refused_say_why(
    one_node: Cluster, console: ConsoleOfTest, page: Page, page_faults: PageFaults
) -> None:
    fill(one_node)
    page_faults.expect("/api/messages/live")
    page.goto(address(console, one_node, ORDERS, "start=live&value=1&value_path=a["))
    expect(page.get_by_role("main").get_by_role("alert")).to_contain_text("a[")


def test_live_records_that_were_refused_come_when_there_is_room(
    one_node: Cluster, console: ConsoleOfTest, page: Page, page_faults: PageFaults
) -> None:
    fill(one_node)
    page_faults.expect("/api/messages/live")
    asked: list[str] = []

    def refuse(route: Route) -> None:
        asked.append(route.request.url)
        route.fulfill(status=503, json={"problem": "refused", "code": None, "message": "close some pages"})

    page.clock.install()
    page.route("**/api/messages/live*", refuse)
    page.goto(address(console, one_node, ORDERS, "start=live"))
    alert = page.get_by_role("main").get_by_role("alert")
    expect(alert).to_have_text("close some pages")
    # The stream, and the question why there is none: from then on it is patient.
    page.clock.fast_forward(5_000)
    expect(alert).to_have_text("close some pages")
    assert len(asked) == 2
    page.unroute_all()
    page.clock.fast_forward(10_000)
    expect(page.get_by_text("0 records have come so far")).to_be_visible()
    expect(alert).to_have_count(0)


def test_a_record_is_produced(
    any_cluster: Cluster, console: ConsoleOfTest, page: Page, page_faults: PageFaults, own_topic: str
) -> None:
    page_faults.expect("/api/messages/produce: 400")
    page.goto(address(console, any_cluster, own_topic, "partition=1"))
    page.get_by_role("button", name="Produce …").click()
    dialog = page.get_by_role("dialog")
    key, value = dialog.get_by_role("group", name="Key"), dialog.get_by_role("group", name="Value")
    key.get_by_label("Written as").select_option("text")
    key.get_by_role("textbox").fill("customer-1")
    value.get_by_role("textbox").fill('{"id": 9007199254740993,}')
    dialog.get_by_role("button", name="Add a header").click()
    headers = dialog.get_by_role("group", name="Headers")
    headers.get_by_label("Name").fill("trace")
    headers.get_by_label("Written as").select_option("hex")
    headers.get_by_label("Value").fill("00ff")
    dialog.get_by_role("button", name="Produce", exact=True).click()
    expect(dialog.get_by_role("alert")).to_have_text(re.compile("the value is not JSON: line 1, column 25"))
    value.get_by_role("textbox").fill('{"id": 9007199254740993}')
    dialog.get_by_role("button", name="Produce", exact=True).click()
    expect(page.get_by_text("The record is in partition 1 at offset 1.")).to_be_visible()
    page.get_by_role("link", name="Show it").click()
    details = page.get_by_role("region", name="Offset 1 of partition 1")
    expect(details.locator("pre").nth(1)).to_have_text('{\n  "id": 9007199254740993\n}')
    expect(details.get_by_role("cell", name="00000000 00 ff")).to_be_visible()


def test_a_console_that_only_reads_produces_nothing(one_node: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(one_node)
    page.goto(f"{console(one_node, '--read-only')}/topics/{ORDERS}?view=messages")
    expect(page.get_by_role("button", name="Produce …")).to_be_disabled()
    expect(page.get_by_role("button", name="Download …")).to_be_enabled()


def test_records_are_downloaded(any_cluster: Cluster, console: ConsoleOfTest, page: Page, tmp_path: Path) -> None:
    fill(any_cluster)
    page.goto(
        address(console, any_cluster, ORDERS, PARTITION_0 + "&start=offset&offset=100&key=customer-1&key_how=equals")
    )
    expect(page.locator(".msg-record").first).to_be_visible()
    page.get_by_role("button", name="Download …").click()
    dialog = page.get_by_role("dialog")
    for label, name in (("JSON Lines", "jsonl"), ("CSV", "csv"), ("Arrow", "arrow")):
        dialog.get_by_label("Format").select_option(label)
        dialog.get_by_label("At most records").fill("3")
        with page.expect_download() as started:
            dialog.get_by_role("button", name="Download", exact=True).click()
        assert started.value.suggested_filename == f"{ORDERS}-0-from-100.{name}"
        started.value.save_as(tmp_path / name)
        expect(dialog.get_by_text("3 records in the file. A limit was reached.")).to_be_visible()
    lines = [json.loads(line) for line in (tmp_path / "jsonl").read_text().splitlines()]
    assert [line["key"] for line in lines] == ["customer-1"] * 3
    assert all(line["offset"] >= 100 for line in lines)
    assert len((tmp_path / "csv").read_bytes().split(b"\r\n")) == 5
    assert (tmp_path / "arrow").read_bytes().startswith(b"ARROW1")


# -- hostile records -------------------------------------------------------------------------------------------------


def check_nothing_but_text(page: Page) -> None:
    """Nothing of a record has become an element, and nothing of it was executed; the fixtures look for more."""
    found: list[str] = page.locator("main").evaluate(
        "(main) => [...new Set([main, ...main.querySelectorAll('*')].map((each) => each.localName))]"
    )
    assert set(found) <= ELEMENTS
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert page.evaluate("({}).hacked === undefined")
    expect(page).to_have_title(f"Topic {HOSTILE} · tidelog")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Topic {HOSTILE}")


@pytest.mark.parametrize("form", ["auto", "json", "text", "hex"])
def test_hostile_records_are_nothing_but_text(
    any_cluster: Cluster, console: ConsoleOfTest, page: Page, form: str
) -> None:
    fill(any_cluster)
    page.goto(address(console, any_cluster, HOSTILE, f"start=beginning&form={form}"))
    expect(page.locator(".msg-record")).to_have_count(len(HOSTILE_RECORDS))
    check_nothing_but_text(page)
    for offset in range(len(HOSTILE_RECORDS)):
        open_record(page, offset)
        details = page.get_by_role("region", name=f"Offset {offset} of partition 0")
        expect(details.get_by_text("Size of headers")).to_be_visible()
        check_nothing_but_text(page)
    expect(page.locator(".msg-details")).to_have_count(1)


def number_of(what: str) -> tuple[int, HostileRecord]:
    return next((number, record) for number, record in enumerate(HOSTILE_RECORDS) if record.what == what)


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("script", "<script>window.hacked=1</script>"),
        ("image", "<img src=x onerror=window.hacked=1>"),
        ("invalid UTF-8", "before \\xc3( \\xed\\xa0\\x80 \\xf8 after"),
        ("right to left", "pay U+202E001U+202C now U+2066U+202B"),
        ("numbers", '"id": 9007199254740993,\n  "price": 0.10000000000000000555,\n  "small": 1e-400,'),
        ("half a surrogate pair", '"text": "\\ud800"'),
        ("twice the same name", '"a": 1,\n  "a": 2'),
        ("not a number", "[NaN, Infinity, -Infinity]"),
    ],
)
def test_hostile_records_are_shown_as_they_are(
    any_cluster: Cluster, console: ConsoleOfTest, page: Page, what: str, text: str
) -> None:
    fill(any_cluster)
    offset, _ = number_of(what)
    page.goto(address(console, any_cluster, HOSTILE, f"partition=0&start=offset&offset={offset}&open=0:{offset}"))
    value = page.locator(".msg-details pre").nth(1)
    expect(value).to_be_visible()
    assert text in value.evaluate("(element) => element.textContent")


def test_characters_that_nobody_would_see_are_marked(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(any_cluster)
    offset, _ = number_of("control characters")
    page.goto(address(console, any_cluster, HOSTILE, f"partition=0&start=offset&offset={offset}&form=text"))
    marks = page.locator(".msg-record").first.locator("td[data-label=Key] .msg-mark")
    expect(marks).to_have_text("\\x00\\x1b")
    expect(page.locator(".msg-record").nth(1).locator("td[data-label=Key] .msg-mark")).to_have_text("U+202E")


def test_a_large_value_is_cut_and_can_be_downloaded(
    any_cluster: Cluster, console: ConsoleOfTest, page: Page, tmp_path: Path
) -> None:
    fill(any_cluster)
    offset, record = number_of("1 MB")
    page.goto(address(console, any_cluster, HOSTILE, f"start=beginning&open=0:{offset}"))
    details = page.get_by_role("region", name=f"Offset {offset} of partition 0")
    expect(details.get_by_text("It is cut: the first 64 KiB of 1 MiB are shown.")).to_be_visible()
    assert len(details.locator("pre").nth(1).evaluate("(element) => element.textContent")) == 64 * 1024
    with page.expect_download() as started:
        details.get_by_role("link", name="Download value").click()
    assert started.value.suggested_filename == f"{HOSTILE}-0-{offset}-value.bin"
    started.value.save_as(tmp_path / "value")
    assert (tmp_path / "value").read_bytes() == record.value
    # The page goes on.
    details.get_by_role("button", name="Close").click()
    expect(page.locator(".msg-details")).to_have_count(0)


# -- other eyes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("topic", [ORDERS, PAYMENTS, HOSTILE, "__consumer_offsets"])
def test_narrow_windows_do_not_scroll_sideways(
    one_node: Cluster, console: ConsoleOfTest, open_page: OpenPage, topic: str
) -> None:
    fill(one_node)
    page = open_page(width=400, color_scheme="dark")
    page.goto(address(console, one_node, topic))
    page.locator(".msg-record").first.locator("td[data-label=Offset] a").click()
    expect(page.locator(".msg-details").get_by_text("Size of headers")).to_be_visible()
    page.get_by_text("Filter", exact=True).click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_a_record_is_opened_with_the_keyboard(one_node: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(one_node)
    page.goto(address(console, one_node, ORDERS, PARTITION_0))
    link = page.locator(".msg-record td[data-label=Offset] a").nth(1)
    link.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".msg-details")).to_be_visible()
    expect(link).to_be_focused()
    expect(link).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Enter")
    expect(page.locator(".msg-details")).to_have_count(0)
