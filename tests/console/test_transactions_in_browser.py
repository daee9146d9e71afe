"""Transactions, one transactional id, hanging transactions, and the producers of a partition, in Chromium."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from support.browser import OpenPage, Page, PageFaults, expect
from support.console_clusters import Cluster, ClusterKind
from support.console_content import ABORTED_ID, AUDIT, COMMITTED_ID, HOSTILE_ID, OPEN_ID, PAYMENTS, fill
from support.console_process import ConsoleOfTest, Consoles
from support.processes import wait_until
from support.raw_client import raw_client
from support.raw_transactions import RawProducer
from support.tidelog_process import running_tidelog

from tidelog.client.errors import FencedError
from tidelog.coordinators.transactions.states import TRANSACTION
from tidelog.model.ids import TopicPartition
from tidelog.model.offset_times import LATEST
from tidelog.sync import Admin, Producer

_numbers = count(1)


@contextmanager
def own_transaction(cluster: Cluster) -> Iterator[tuple[str, Producer]]:
    """Its topic, which is also its transactional id: a transaction with two records that nobody else waits for."""
    name = f"own-transaction-{next(_numbers)}"
    with Admin(cluster.bootstrap_servers) as admin:
        admin.create_topic(name, partitions=1)
    with Producer(cluster.bootstrap_servers, transactional_id=name) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        for value in ("one", "two"):
            producer.send(name, value, partition=0).result()
        yield name, producer


def stable_offset(cluster: Cluster, topic: str) -> int:
    partition = TopicPartition(topic, 0)
    with Admin(cluster.bootstrap_servers) as admin:
        return Admin.raise_any(admin.list_offsets({partition: LATEST}, read_committed=True))[partition].offset


def test_the_open_transaction_is_shown_as_holding_back(
    any_cluster: Cluster, console: ConsoleOfTest, page: Page
) -> None:
    fill(any_cluster)
    page.goto(f"{console(any_cluster)}/transactions")
    expect(page).to_have_title("Transactions · tidelog")
    held = page.get_by_role("region", name="Held back").get_by_role("listitem").filter(has_text=OPEN_ID)
    expect(held).to_contain_text(
        re.compile(rf"Transaction {OPEN_ID} holds back the last stable offset of {PAYMENTS}-0 since \d+ \w+")
    )
    expect(held).to_contain_text("Readers of committed records stop there, 7 offsets before the high watermark.")
    expect(held).to_contain_text(f"Group {AUDIT} waits.")
    expect(held.get_by_role("link", name=AUDIT)).to_have_attribute("href", f"/groups/{AUDIT}")
    expect(held.get_by_role("link", name=f"{PAYMENTS}-0")).to_have_attribute(
        "href", re.compile(rf"^/topics/{PAYMENTS}\?view=messages&partition=0&offset=\d+$")
    )


def test_ids_are_listed_and_those_with_an_open_transaction_chosen(
    any_cluster: Cluster, console: ConsoleOfTest, page: Page
) -> None:
    fill(any_cluster)
    page.goto(f"{console(any_cluster)}/transactions")
    ids = page.get_by_role("region", name="Transactional ids")
    for name, state in ((COMMITTED_ID, "CompleteCommit"), (ABORTED_ID, "CompleteAbort"), (OPEN_ID, "Ongoing")):
        row = ids.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))
        expect(row).to_contain_text(state)
    page.get_by_label("Show").select_option("open")
    expect(page).to_have_url(re.compile(r"\?show=open$"))
    expect(ids.get_by_role("link", name=OPEN_ID)).to_be_visible()
    expect(ids.get_by_role("link", name=COMMITTED_ID)).to_have_count(0)
    ids.get_by_role("link", name=OPEN_ID).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Transactional id {OPEN_ID}")
    page.goto(f"{console(any_cluster)}/transactions?named={COMMITTED_ID.upper()}")
    expect(ids.get_by_role("row")).to_have_count(2)
    expect(ids.get_by_role("link", name=COMMITTED_ID)).to_be_visible()
    ids.get_by_label("Id contains").fill(ABORTED_ID)
    ids.get_by_role("button", name="Search").click()
    expect(ids.get_by_role("link", name=ABORTED_ID)).to_be_visible()
    expect(page).to_have_url(re.compile(rf"\?named={ABORTED_ID}$"))
    # What holds readers back is told all the same.
    expect(page.get_by_role("region", name="Held back")).to_contain_text(OPEN_ID)


def test_the_state_machine_is_drawn_with_the_current_state_lit(
    any_cluster: Cluster, console: ConsoleOfTest, page: Page
) -> None:
    fill(any_cluster)
    page.goto(f"{console(any_cluster)}/transactions/{OPEN_ID}")
    expect(page.locator(".machine-state")).to_have_count(len(TRANSACTION.states))
    lit = page.locator(".machine-state.current")
    expect(lit).to_have_count(1)
    expect(lit).to_have_attribute("aria-current", "true")
    expect(lit.locator("text")).to_have_text("Ongoing")
    drawing = page.get_by_role("img", name=re.compile("^State machine with the states Empty, Ongoing, "))
    expect(drawing).to_have_attribute(
        "aria-label",
        re.compile(r"It is in Ongoing\. The last step led from Empty to Ongoing: partitions are added\.$"),
    )
    machine = page.get_by_role("region", name="State machine")
    expect(machine).to_contain_text("Ongoing: A transaction is open.")
    expect(machine).to_contain_text("PrepareCommit: the producer commits")
    expect(page.locator(".machine-step.last")).to_have_count(1)

    page.goto(f"{console(any_cluster)}/transactions/{COMMITTED_ID}")
    expect(page.locator(".machine-state.current text")).to_have_text("CompleteCommit")
    expect(machine).to_contain_text("Last step: from PrepareCommit to CompleteCommit, every partition has its marker.")


def test_the_timeline_tells_each_step(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(any_cluster)
    page.goto(f"{console(any_cluster)}/transactions/{ABORTED_ID}")
    timeline = page.get_by_role("region", name="Timeline")
    states = timeline.locator("td[data-label=State]")
    expect(states.first).to_have_text("CompleteAbort")
    assert states.all_inner_texts()[1] == "PrepareAbort"
    assert states.all_inner_texts()[-1] == "Empty"
    added = timeline.locator("td[data-label='Partitions added']").all_inner_texts()
    assert sorted(each for each in added if each != "–") == [f"{PAYMENTS}-0", f"{PAYMENTS}-1"]
    expect(timeline).to_contain_text("the transaction is aborted")
    expect(timeline.locator("td[data-label=Offset] a").first).to_have_attribute(
        "href", re.compile(r"^/topics/__transaction_state\?view=messages&partition=\d&offset=\d+$")
    )


def test_the_page_of_an_open_transaction_follows_it_to_its_end(
    any_cluster: Cluster, console: ConsoleOfTest, page: Page
) -> None:
    fill(any_cluster)
    with own_transaction(any_cluster) as (name, producer):
        page.goto(f"{console(any_cluster)}/transactions/{name}")
        expect(page.locator(".machine-state.current text")).to_have_text("Ongoing")
        row = page.get_by_role("region", name="Partitions").get_by_role("row").nth(1)
        expect(row.locator("td[data-label='First offset']")).to_have_text("0")
        expect(row.locator("td[data-label='Last stable offset']")).to_have_text("0")
        expect(row.locator("td[data-label='High watermark']")).to_have_text("2")
        producer.commit_transaction()
        expect(page.locator(".machine-state.current text")).to_have_text("CompleteCommit")
        expect(row.locator("td[data-label='Last stable offset']")).to_have_text("3")
        expect(row).to_contain_text("ended")
        states = page.get_by_role("region", name="Timeline").locator("td[data-label=State]")
        expect(states).to_have_text(["CompleteCommit", "PrepareCommit", "Ongoing", "Empty"])
        expect(page.get_by_role("button", name="Abort the transaction")).to_have_count(0)


def test_an_abort_fences_the_producer_and_readers_go_on(
    any_cluster: Cluster, console: ConsoleOfTest, page: Page
) -> None:
    fill(any_cluster)
    with own_transaction(any_cluster) as (name, producer):
        page.goto(f"{console(any_cluster)}/transactions/{name}")
        page.get_by_role("button", name="Abort the transaction").click()
        dialog = page.get_by_role("dialog", name=f"Abort the transaction of {name}?")
        expect(dialog).to_contain_text(re.compile(r"The producer with id \d+ and epoch 0 is fenced"))
        expect(dialog).to_contain_text(f"{name}-0 gets an abort marker")
        dialog.get_by_role("button", name="Cancel").click()
        expect(dialog).to_have_count(0)
        assert stable_offset(any_cluster, name) == 0, "nothing was changed"

        page.get_by_role("button", name="Abort the transaction").click()
        dialog.get_by_role("button", name="Abort the transaction").click()
        expect(dialog).to_have_count(0)
        # The state of an id whose next producer has come.
        expect(page.locator(".machine-state.current text")).to_have_text("Empty")
        expect(page.get_by_role("region", name="Timeline")).to_contain_text("CompleteAbort")
        expect(page.get_by_role("button", name="Abort the transaction")).to_have_count(0)
        wait_until(lambda: stable_offset(any_cluster, name) == 3, what="the marker behind both records")
        with pytest.raises(FencedError):
            producer.commit_transaction()


def test_a_transaction_that_has_ended_in_the_meantime_is_not_aborted(
    one_node: Cluster, console: ConsoleOfTest, page: Page, page_faults: PageFaults
) -> None:
    page_faults.expect("/api/transaction/abort: 409")
    with own_transaction(one_node) as (name, producer):
        page.goto(f"{console(one_node)}/transactions/{name}")
        page.get_by_role("button", name="Abort the transaction").click()
        producer.commit_transaction()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name="Abort the transaction").click()
        expect(dialog.get_by_role("alert")).to_contain_text("the transaction has ended in the meantime")
        dialog.get_by_role("button", name="Cancel").click()
        wait_until(lambda: stable_offset(one_node, name) == 3, what="the marker of the commit")


def test_a_read_only_console_aborts_nothing(one_node: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(one_node)
    page.goto(f"{console(one_node, '--read-only')}/transactions/{OPEN_ID}")
    expect(page.locator(".machine-state.current text")).to_have_text("Ongoing")
    expect(page.get_by_text("This console was started with --read-only: it aborts nothing.")).to_be_visible()
    expect(page.get_by_role("button", name="Abort the transaction")).to_have_count(0)


def test_no_transaction_hangs(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(any_cluster)
    page.goto(f"{console(any_cluster)}/transactions")
    page.get_by_label("Silent for more than, in minutes").fill("0")
    page.get_by_role("button", name="Look for hanging transactions").click()
    hanging = page.get_by_role("region", name="Hanging transactions")
    expect(hanging.get_by_role("status")).to_contain_text(re.compile(r"All \d+ partitions asked: no transaction hangs"))
    expect(page.get_by_role("button", name="Look for hanging transactions")).to_be_enabled()


@pytest.fixture
def forgetful(consoles: Consoles, tmp_path: Path) -> Iterator[Cluster]:
    """A broker on which transactions can hang, because it does not ask the coordinator whether a transaction was begun,
    and one that does. It is written before there is a page, in whose thread no other loop may run."""

    async def write_without_telling_the_coordinator(servers: str) -> None:
        async with raw_client(servers) as client:
            producer = RawProducer(client, "forgetful")
            assert await producer.init() == 0
            assert await producer.produce("orders", "hangs") == 0

    properties = {"transaction.partition.verification.enable": "false"}
    with running_tidelog(tmp_path / "broker", properties) as broker:
        with Admin(broker.bootstrap_servers) as admin:
            admin.create_topic("orders", partitions=1)
        asyncio.run(write_without_telling_the_coordinator(broker.bootstrap_servers))
        cluster = Cluster(name="forgetful", kind=ClusterKind.TIDELOG, bootstrap_servers=broker.bootstrap_servers)
        yield cluster
        consoles.end(cluster)


def test_a_hanging_transaction_is_found_explained_and_aborted(
    forgetful: Cluster, console: ConsoleOfTest, page: Page
) -> None:
    page.goto(f"{console(forgetful, '--read-only')}/transactions")
    hanging = page.get_by_role("region", name="Hanging transactions")
    look = page.get_by_role("button", name="Look for hanging transactions")
    minutes = page.get_by_label("Silent for more than, in minutes")
    minutes.fill("0")
    look.click()
    expect(hanging.get_by_role("status")).to_contain_text("1 transaction hangs")
    expect(hanging).to_contain_text("This console was started with --read-only: it aborts nothing.")
    expect(hanging.get_by_role("button", name="Abort")).to_have_count(0)

    page.goto(f"{console(forgetful)}/transactions")
    minutes.fill("0")
    look.click()
    expect(hanging.get_by_role("status")).to_contain_text("1 transaction hangs")
    expect(hanging).to_contain_text("orders-0 is not among the partitions of its transaction.")
    assert stable_offset(forgetful, "orders") == 0
    hanging.get_by_role("button", name="Abort in orders-0").click()
    dialog = page.get_by_role("dialog", name="Abort the hanging transaction in orders-0?")
    expect(dialog).to_contain_text("stays invisible to readers of committed records")
    dialog.get_by_role("button", name="Abort it").click()
    expect(dialog).to_have_count(0)
    expect(hanging.get_by_role("status")).to_contain_text("no transaction hangs")
    assert stable_offset(forgetful, "orders") == 2


def answer_with(page: Page, path: str, reading: dict[str, Any]) -> None:
    body = f"event: reading\ndata: {json.dumps(reading)}\n\n"
    page.route(f"**/api/{path}*", lambda route: route.fulfill(content_type="text/event-stream", body=body))


def test_what_is_not_known_without_a_coordinator_is_told(one_node: Cluster, console: ConsoleOfTest, page: Page) -> None:
    holding = {
        "producer_id": 5,
        "id": None,
        "start_ms": None,
        "partitions": [
            {"topic": "orders", "partition": 0, "offset": 3, "high_watermark": 4, "queue": 0, "waiting": []}
        ],
        "hangs": False,
        "hidden": False,
        "silent": [],
        "leaderless": 1,
        "partitions_left_out": 0,
        "waiting": [],
        "waiting_left_out": 0,
    }
    answer_with(
        page,
        "transactions/live",
        {
            "now_ms": 1_000,
            "transactions": [],
            "left_out": 0,
            "holding": [holding],
            "holding_left_out": 0,
            "partitions_left_out": 0,
            "partitions_unknown": [],
            "groups_told": True,
            "silent": [],
            "leaderless": 2,
        },
    )
    away = "partition 3 of __transaction_state has no leader. Bring back broker 7"
    found = {"done": True, "partitions": 9, "asked": 9, "minutes": 15, "now_ms": 1_000, "unknown": 0}
    more = {"unknown_names": [], "found": [], "undecided": 1, "away": away, "is_cut": False}
    answer_with(page, "transactions/hanging/live", {**found, **more})
    page.goto(f"{console(one_node)}/transactions")
    expect(page.get_by_role("region", name="Transactional ids")).to_contain_text(
        "2 partitions of __transaction_state have no leader: the transactional ids that their leaders would coordinate "
        "are left out."
    )
    expect(page.get_by_role("region", name="Held back")).to_contain_text(
        "Its transactional id may be one that nobody coordinates now, because 1 partition of __transaction_state has "
        "no leader."
    )
    expect(page.get_by_role("region", name="Held back")).to_contain_text(
        "No group is known to wait: none has committed the offset at which readers stop."
    )
    page.get_by_role("button", name="Look for hanging transactions").click()
    hanging = page.get_by_role("region", name="Hanging transactions")
    expect(hanging.get_by_role("status")).to_contain_text("0 transactions hang, 1 more may hang")
    expect(hanging).to_contain_text(
        "Of 1 open transaction nobody can tell whether it hangs, because the coordinator that knows the transactional "
        f"id may be away, and may still commit. {away[0].upper()}{away[1:]} and look again."
    )


def test_producers_of_a_partition(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    content = fill(any_cluster)
    page.goto(f"{console(any_cluster)}/topics/{PAYMENTS}?view=producers&partition=0")
    producers = page.get_by_role("region", name="Producers of partition 0")
    holder = producers.get_by_role("row").filter(has=page.get_by_role("link", name=OPEN_ID))
    expect(holder).to_contain_text(f"since offset {content.open_offset}")
    expect(holder).to_contain_text("holds readers back")
    expect(holder.get_by_role("link", name=OPEN_ID)).to_have_attribute("href", f"/transactions/{OPEN_ID}")
    expect(holder.locator("td[data-label='Last sequence']")).to_have_text("3")
    only_tidelog = producers.get_by_text("only tidelog tells")
    if any_cluster.kind is ClusterKind.TIDELOG:
        expect(holder.locator("td[data-label='Last batches']")).to_contain_text(re.compile(r"offset \d+"))
        expect(only_tidelog).to_have_count(0)
    else:
        expect(only_tidelog).to_be_visible()


def test_names_that_are_markup_are_text(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(any_cluster)
    page.goto(f"{console(any_cluster)}/transactions")
    page.get_by_role("link", name=HOSTILE_ID, exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Transactional id {HOSTILE_ID}")
    expect(page.locator(".machine-state.current text")).to_have_text("CompleteCommit")
    expect(page.get_by_role("region", name="Timeline").locator("td[data-label=State]").first).to_have_text(
        "CompleteCommit"
    )
    expect(page.locator("main img[src=x]")).to_have_count(0)


def test_an_id_that_nobody_has_used(one_node: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(one_node)
    page.goto(f"{console(one_node)}/transactions/no%2Fbody%20knows%3Fit")
    expect(page.get_by_role("heading", level=1)).to_have_text("Transactional id no/body knows?it")
    expect(page.get_by_text("No coordinator knows this transactional id")).to_be_visible()
    expect(page.get_by_role("region", name="Timeline")).to_contain_text("The log has no record of this id.")
    expect(page.locator(".machine-state.current")).to_have_count(0)


@pytest.mark.parametrize("place", ["/transactions", f"/transactions/{OPEN_ID}", f"/topics/{PAYMENTS}?view=producers"])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_narrow_screens_need_no_sideways_scrolling(
    one_node: Cluster, console: ConsoleOfTest, open_page: OpenPage, place: str, colours: str
) -> None:
    fill(one_node)
    page = open_page(width=400, color_scheme="dark" if colours == "dark" else "light")
    page.goto(f"{console(one_node)}{place}")
    expect(page.get_by_role("link", name=OPEN_ID).or_(page.locator(".machine-state.current")).first).to_be_visible()
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 400


def test_everything_is_reached_with_the_keyboard(one_node: Cluster, console: ConsoleOfTest, page: Page) -> None:
    fill(one_node)
    page.goto(f"{console(one_node)}/transactions/{OPEN_ID}")
    button = page.get_by_role("button", name="Abort the transaction")
    expect(button).to_be_visible()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Abort the transaction":
            break
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    # Live data comes in between: the focus stays.
    expect(button).to_be_focused()
