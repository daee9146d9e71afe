"""What all pages have in common, in Chromium: the token, addresses that lead nowhere, themes, and what goes away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.browser import OpenPage, Page, PageFaults, expect
from support.console_clusters import Cluster
from support.console_process import ConsoleOfTest, ConsoleProcess
from support.processes import free_port
from support.tidelog_process import RestartedTidelog, restarted_tidelog, tidelog_command

TOKEN = "planted-token é&?"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[RestartedTidelog]:
    with restarted_tidelog(tmp_path / "broker") as running:
        yield running


def test_a_console_with_a_token_asks_for_it_once(
    one_node: Cluster, console: ConsoleOfTest, page: Page, page_faults: PageFaults
) -> None:
    page_faults.expect("401")
    address = console(one_node, "--token", TOKEN)
    page.goto(f"{address}/topics")
    expect(page.get_by_role("heading", level=1)).to_have_text("tidelog console")
    field = page.get_by_label("Token")
    expect(field).to_be_focused()
    field.fill("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("That is not the token of this console.")
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Open").click()
    # What was asked for.
    expect(page.get_by_role("heading", level=1)).to_have_text("Topics")
    page.goto(f"{address}/groups")
    expect(page.get_by_role("heading", level=1)).to_have_text("Groups")
    assert page.evaluate("document.cookie") == "", "scripts cannot read it"


def test_the_announced_address_opens_the_console_and_keeps_no_token(
    one_node: Cluster, console: ConsoleOfTest, page: Page
) -> None:
    said = console.announced(one_node, "--token", TOKEN)
    address = next(word for word in said.split() if word.startswith("http://"))
    page.goto(address)
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    expect(page).to_have_url(address.partition("?")[0])


@pytest.mark.parametrize("path", ["/no-such-page", "/topic/orders", "/%E0%A4%A"])
def test_an_address_that_leads_nowhere_says_so_and_leads_on(
    one_node: Cluster, console: ConsoleOfTest, page: Page, page_faults: PageFaults, path: str
) -> None:
    page_faults.expect("404")
    page.goto(f"{console(one_node)}{path}")
    expect(page.get_by_role("heading", level=1)).to_have_text("There is no such page")
    page.get_by_role("main").get_by_role("link", name="Overview").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")


def test_an_address_with_a_lone_percent_sign_is_shown_as_it_is(
    one_node: Cluster, console: ConsoleOfTest, page: Page
) -> None:
    page.goto(f"{console(one_node)}/groups/%E0%A4%A")
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_contain_text("%E0%A4%A")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_theme_of_the_system_can_be_changed_and_stays(
    one_node: Cluster, console: ConsoleOfTest, open_page: OpenPage, theme: str
) -> None:
    other = "dark" if theme == "light" else "light"
    page = open_page(color_scheme="dark" if theme == "dark" else "light")
    page.goto(console(one_node))
    page.get_by_role("button", name=f"{other.capitalize()} colours").click()
    expect(page.locator("html")).to_have_attribute("data-theme", other)
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", other)
    page.get_by_role("button", name=f"{theme.capitalize()} colours").click()
    expect(page.locator("html")).to_have_attribute("data-theme", theme)


def test_the_keyboard_reaches_the_content_past_the_navigation(
    one_node: Cluster, console: ConsoleOfTest, page: Page
) -> None:
    page.goto(f"{console(one_node)}/topics")
    expect(page.get_by_role("heading", level=1)).to_have_text("Topics")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#content")).to_be_focused()


def test_a_page_says_that_the_cluster_is_away_and_goes_on_when_it_is_back(
    broker: RestartedTidelog, tmp_path: Path, page: Page
) -> None:
    command = (tidelog_command(), "console", "-b", broker.bootstrap_servers, "--port", "0")
    process = ConsoleProcess(command, tmp_path / "console")
    try:
        page.goto(process.address)
        alert = page.get_by_role("main").get_by_role("alert")
        expect(alert).to_contain_text(broker.bootstrap_servers)
        broker.start()
        expect(page.get_by_role("heading", name="Metadata quorum")).to_be_visible()
        expect(alert).to_have_count(0)
        broker.kill()
        # What was seen last stays, with a word.
        expect(alert).to_be_visible()
        expect(page.get_by_role("heading", name="Metadata quorum")).to_be_visible()
        broker.start()
        expect(alert).to_have_count(0)
    finally:
        # Before its console ends.
        page.goto("about:blank")
        process.kill()


def test_a_page_says_that_its_console_has_ended_and_goes_on_when_it_is_back(
    one_node: Cluster, tmp_path: Path, page: Page, page_faults: PageFaults
) -> None:
    page_faults.allow("net::ERR_CONNECTION_REFUSED")
    page_faults.allow("net::ERR_INCOMPLETE_CHUNKED_ENCODING")
    page_faults.allow("net::ERR_CONNECTION_RESET")
    page_faults.allow("net::ERR_EMPTY_RESPONSE")
    # A console that is ending answers so for as long as it still listens.
    page_faults.allow("/live: 503")
    port = str(free_port())
    command = (tidelog_command(), "console", "-b", one_node.bootstrap_servers, "--port", port)
    process = ConsoleProcess(command, tmp_path / "console")
    try:
        page.goto(process.address)
        expect(page.get_by_role("heading", name="Metadata quorum")).to_be_visible()
        process.end()
        alert = page.get_by_role("main").get_by_role("alert")
        expect(alert).to_have_text(
            "The console does not answer. It may have been stopped; this page goes on when it is back."
        )
        process = ConsoleProcess(command, tmp_path / "again")
        expect(alert).to_have_count(0)
    finally:
        process.kill()


def test_a_console_that_only_reads_says_so_on_every_page(one_node: Cluster, console: ConsoleOfTest, page: Page) -> None:
    page.goto(console(one_node, "--read-only"))
    expect(page.get_by_role("banner").get_by_text("read-only")).to_be_visible()
