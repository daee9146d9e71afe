"""Every page for people who see little, or who use no mouse: in both colours, wide and narrow."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from support.accessibility import NARROW, check_looks, prepare, tab_order
from support.browser import HEIGHT, WIDTH, Page, PageFaults, expect
from support.console_clusters import Cluster
from support.console_content import (
    AUDIT,
    BILLING,
    COMMITTED_ID,
    COMPACTED,
    HOSTILE,
    HOSTILE_GROUP,
    HOSTILE_ID,
    NIGHTLY,
    OPEN_ID,
    ORDERS,
    PAYMENTS,
    fill,
)
from support.console_process import ConsoleOfTest

# What people bookmark.
PLACES = (
    "/",
    "/topics",
    f"/topics/{ORDERS}?partition=1",
    f"/topics/{PAYMENTS}",
    f"/topics/{COMPACTED}",
    f"/topics/{PAYMENTS}?view=messages",
    f"/topics/{HOSTILE}?view=messages",
    f"/topics/{HOSTILE}?view=messages&start=live",
    f"/topics/{PAYMENTS}?view=producers",
    "/groups",
    f"/groups/{BILLING}",
    f"/groups/{AUDIT}",
    f"/groups/{BILLING}?view=members",
    f"/groups/{NIGHTLY}?view=change",
    f"/groups/{quote(HOSTILE_GROUP, safe='')}",
    "/transactions",
    "/transactions?named=payments",
    f"/transactions/{COMMITTED_ID}",
    f"/transactions/{OPEN_ID}",
    f"/transactions/{quote(HOSTILE_ID, safe='')}",
    "/brokers",
    "/brokers/1",
    "/metadata",
    "/configs",
    f"/configs/topic/{ORDERS}",
    "/configs/broker/1",
    "/configs/cluster",
    "/security",
    "/security/acls",
    "/security/quotas",
    "/pipelines",
    "/no-such-page",
)
# That of a broker has five times as many of the same controls as that of a topic.
KEYBOARD_PLACES = tuple(place for place in PLACES if place not in ("/configs/broker/1", "/configs/cluster"))


def show(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("main:not([aria-busy=true])")).to_be_visible()
    expect(page.locator(".waiting")).to_have_count(0)
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def unfold(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    folded = page.locator("main [aria-expanded=false]")
    if folded.count():
        folded.first.click()
        expect(page.locator("main [aria-expanded=true]")).to_have_count(1)


@pytest.mark.parametrize("place", PLACES)
def test_a_page_has_no_barriers(
    one_node: Cluster, console: ConsoleOfTest, page: Page, page_faults: PageFaults, place: str
) -> None:
    fill(one_node)
    prepare(page)
    if place == "/no-such-page":
        page_faults.expect("404")
    show(page, console(one_node) + place)
    unfold(page)
    check_looks(page)


def test_the_form_for_the_token_has_no_barriers(
    one_node: Cluster, console: ConsoleOfTest, page: Page, page_faults: PageFaults
) -> None:
    prepare(page)
    page_faults.expect("401")
    show(page, console(one_node, "--token", "something"))
    check_looks(page)
    page.get_by_label("Token").fill("something else")
    page.get_by_role("button", name="Open").click()
    expect(page.get_by_role("alert")).to_have_text("That is not the token of this console.")
    check_looks(page)


@pytest.mark.parametrize("place", KEYBOARD_PLACES)
def test_the_keyboard_reaches_all_of_a_page(
    one_node: Cluster, console: ConsoleOfTest, page: Page, page_faults: PageFaults, place: str
) -> None:
    fill(one_node)
    if place == "/no-such-page":
        page_faults.expect("404")
    show(page, console(one_node) + place)
    for width in (WIDTH, NARROW):
        page.set_viewport_size({"width": width, "height": HEIGHT})
        order = tab_order(page)
        missed = [each for number, each in enumerate(order.controls) if number not in order.reached]
        assert not missed, f"at {width} px Tab does not reach\n" + "\n".join(missed)
        assert order.reached == sorted(order.reached), f"at {width} px Tab goes through {order.controls} by turns"
        assert not order.unseen, f"at {width} px one cannot see that these have the focus:\n" + "\n".join(order.unseen)


DIALOGS = [
    ("/topics", "Create …"),
    (f"/topics/{ORDERS}", "Add partitions …"),
    (f"/topics/{ORDERS}?view=messages", "Produce …"),
    (f"/topics/{ORDERS}?view=messages", "Download …"),
    (f"/transactions/{OPEN_ID}", "Abort the transaction"),
    (f"/groups/{NIGHTLY}?view=change", "Delete group …"),
    (f"/configs/topic/{ORDERS}", "Change"),
    ("/security", "Add a user"),
    ("/security/quotas", "Set quotas"),
]


@pytest.mark.parametrize(("place", "opener"), DIALOGS)
def test_a_dialog_keeps_the_focus_and_gives_it_back(
    one_node: Cluster, console: ConsoleOfTest, page: Page, place: str, opener: str
) -> None:
    fill(one_node)
    prepare(page)
    show(page, console(one_node) + place)
    button = page.get_by_role("main").get_by_role("button", name=opener).first
    button.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    expect(dialog.locator(":focus")).to_have_count(1)
    check_looks(page)
    order = tab_order(page, "dialog")
    assert sorted(order.reached) == list(range(len(order.controls))), order
    assert not order.unseen, order.unseen
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(button).to_be_focused()
