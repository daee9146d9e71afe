"""What all pages are made of, in Chromium: tables, plots, addresses, live data of tabs that nobody looks at."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
from support.browser import Page, expect
from support.console_clusters import Cluster
from support.console_process import ConsoleOfTest

# A tab that is opened in the background; `look()` brings it to the front.
_IN_THE_BACKGROUND = """
let hidden = true;
Object.defineProperty(document, "hidden", { get: () => hidden });
window.look = () => { hidden = false; document.dispatchEvent(new Event("visibilitychange")); };
"""
# Whatever the page does next, it has done.
_NEXT_TURN = "new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))"

_SHOW = """async ([component, properties]) => {
  const { html, render } = await import('/static/js/lib/html.js');
  const components = await import('/static/js/lib/components.js');
  const make = () => document.body.appendChild(Object.assign(document.createElement('div'), { id: 'tried' }));
  const place = document.getElementById('tried') ?? make();
  const columns = [
    { key: 'name', label: 'Name', value: (row) => row.name },
    { key: 'mixed', label: 'Mixed', value: (row) => row.mixed },
  ];
  const given = { columns, rowKey: (row) => row.name, show: String, ...properties };
  render(html`<${components[component]} ...${given} />`, place);
}"""


def _table(page: Page, rows: list[dict[str, Any]]) -> None:
    page.evaluate(_SHOW, ["Table", {"label": "Tried", "rows": rows}])


def test_a_tab_that_nobody_has_looked_at_asks_for_no_live_data(
    one_node: Cluster, console: ConsoleOfTest, page: Page
) -> None:
    """A browser has six connections to one host: tabs that were opened in the background would use them up."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(urlsplit(request.url).path))
    page.add_init_script(_IN_THE_BACKGROUND)
    page.goto(f"{console(one_node)}/topics")
    expect(page.get_by_text("Asking the cluster")).to_be_visible()
    page.evaluate(_NEXT_TURN)
    assert "/api/session" in asked
    assert not [path for path in asked if path.endswith("/live")]
    page.evaluate("look()")
    expect(page.get_by_role("heading", name="All topics")).to_be_visible()
    assert asked.count("/api/topics/live") == 1


def test_who_goes_back_before_a_page_has_come_sees_the_page_that_was_chosen_last(
    one_node: Cluster, console: ConsoleOfTest, page: Page
) -> None:
    held: list[Any] = []
    page.route("**/js/pages/groups.js", lambda route: held.append(route))
    page.goto(f"{console(one_node)}/topics")
    navigation = page.get_by_role("navigation", name="Pages")
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text("Topics")
    navigation.get_by_role("link", name="Groups").click()
    expect(page.get_by_role("main")).to_have_attribute("aria-busy", "true")
    navigation.get_by_role("link", name="Topics").click()
    expect(heading).to_have_text("Topics")
    with page.expect_response("**/js/pages/groups.js"):
        held[0].continue_()
    page.evaluate("import('/static/js/pages/groups.js').then(() => undefined)")
    page.evaluate(_NEXT_TURN)
    expect(heading).to_have_text("Topics")


def test_the_keyboard_goes_on_in_the_page_that_was_opened(
    one_node: Cluster, console: ConsoleOfTest, page: Page
) -> None:
    page.goto(f"{console(one_node)}/topics")
    link = page.get_by_role("navigation", name="Pages").get_by_role("link", name="Brokers")
    link.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Brokers")
    expect(page.get_by_role("main")).to_be_focused()


def test_tables_sort_what_is_missing_first_then_numbers_then_words(
    one_node: Cluster, console: ConsoleOfTest, page: Page
) -> None:
    page.goto(console(one_node))
    mixed = ["zeta", None, 12, "alpha", None, 3, "mid", ""]
    _table(page, [{"name": f"row {number}", "mixed": value} for number, value in enumerate(mixed)])
    tried = page.locator("#tried")

    def shown() -> list[str]:
        return [text or "–" for text in tried.locator("td[data-label=Mixed]").all_inner_texts()]

    tried.get_by_role("button", name="Mixed").click()
    expect(tried.get_by_role("columnheader", name="Mixed")).to_have_attribute("aria-sort", "ascending")
    assert shown() == ["–", "–", "–", "3", "12", "alpha", "mid", "zeta"]
    tried.get_by_role("button", name="Mixed").click()
    expect(tried.get_by_role("columnheader", name="Mixed")).to_have_attribute("aria-sort", "descending")
    assert shown() == ["zeta", "mid", "alpha", "12", "3", "–", "–", "–"]


def test_a_filter_can_be_cleared_when_only_a_few_rows_are_left(
    one_node: Cluster, console: ConsoleOfTest, page: Page
) -> None:
    page.goto(console(one_node))
    rows = [{"name": f"row {number}", "mixed": number} for number in range(12)]
    _table(page, rows)
    box = page.locator("#tried").get_by_label("Filter")
    box.fill("row 11")
    expect(page.locator("#tried tbody tr")).to_have_count(1)
    _table(page, rows[:3])
    expect(page.locator("#tried")).to_contain_text("Nothing contains “row 11”.")
    expect(box).to_be_focused()
    box.fill("")
    expect(page.locator("#tried tbody tr")).to_have_count(3)


def test_a_plot_has_holes_where_nothing_was_read(one_node: Cluster, console: ConsoleOfTest, page: Page) -> None:
    page.goto(console(one_node))
    values = [1, 2, None, 3, 4, None]
    points = [{"at": at, "value": value} for at, value in enumerate(values)]
    page.evaluate(_SHOW, ["Plot", {"label": "Tried", "points": points}])
    tried = page.locator("#tried")
    expect(tried.get_by_role("img")).to_have_attribute("aria-label", "Tried: now –, at most 4")
    line = tried.locator(".plot-line").get_attribute("d")
    assert line is not None
    assert (line.count("M"), line.count("L")) == (2, 2)


@pytest.mark.parametrize("name", ["a/b", "..", ".", "a%2Fb", "?x=1#y", "späte Gruppe", "../..", "%2e%2e"])
def test_every_name_has_an_address(one_node: Cluster, console: ConsoleOfTest, page: Page, name: str) -> None:
    page.goto(console(one_node))
    written = page.evaluate(
        "(name) => import('/static/js/lib/router.js').then(({ path }) => path('groups', name))", name
    )
    page.goto(f"{console(one_node)}{written}")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Group {name}")


@pytest.mark.parametrize(
    ("lag", "text"),
    [
        (None, "–"),
        ({"records": 5, "exact": True}, "5"),
        ({"records": 5, "exact": False}, "≤ 5"),
        ({"records": 0, "exact": True, "known": 2, "unknown": 0}, "0"),
        ({"records": 5, "exact": True, "known": 1, "unknown": 1}, "≥ 5"),
        ({"records": 5, "exact": False, "known": 1, "unknown": 1}, "about 5"),
        ({"records": 0, "exact": True, "known": 0, "unknown": 3}, "–"),
    ],
)
def test_a_lag_that_is_not_known_is_not_zero(
    one_node: Cluster, console: ConsoleOfTest, page: Page, lag: Any, text: str
) -> None:
    page.goto(console(one_node))
    said = page.evaluate("(lag) => import('/static/js/pages/group_words.js').then(({ lagText }) => lagText(lag))", lag)
    assert said == text


def test_a_query_that_nobody_knows_shows_the_usual(one_node: Cluster, console: ConsoleOfTest, page: Page) -> None:
    for place in ("topics", "groups", "transactions"):
        page.goto(f"{console(one_node)}/{place}?show=constructor")
        expect(page.get_by_role("combobox", name="Show")).to_be_visible()
