"""Whether people who cannot see well, or who use no mouse, can work with a page.

`violations` asks axe-core, which the package axe-playwright-python brings, about levels A and AA of WCAG 2.2. It runs
beside the console's own scripts, under the console's own policy: the browser's interface for developers has no need of
a permission. `wider_than_window` and `tab_order` find what axe-core does not look for; `check_looks` is all but the
latter, in both colours, wide and narrow.
"""

from __future__ import annotations

from typing import NamedTuple

from support.browser import HEIGHT, WIDTH, Page

NARROW = 400

_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

# Of long lists, whose rows are made alike, the first ones are looked at: each text takes a millisecond.
_MOST_ROWS = 20
_LEFT_OUT = [f"main {row}:nth-child(n + {_MOST_ROWS + 1})" for row in ("li", "tr")]

_RUN = """async ([tags, leftOut]) => {
  const options = { runOnly: { type: 'tag', values: tags }, resultTypes: ['violations'] };
  const found = await axe.run({ include: [['html']], exclude: leftOut }, options);
  return found.violations.flatMap(({ id, nodes }) => nodes.map((node) => {
    const reasons = [...node.any, ...node.all, ...node.none].map(({ message }) => message).join('; ');
    return `${id}: ${node.target.join(' ')}: ${node.html.slice(0, 200)}: ${reasons}`;
  }));
}"""

# Text that is not broken into lines is wider than its element.
_WIDER = """() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  const wide = [...document.body.querySelectorAll('*')].filter(
    (each) => each.getBoundingClientRect().right > width || each.scrollWidth > each.clientWidth + 1);
  return ['the page', ...wide.map((each) => each.outerHTML.slice(0, 200))];
}"""

# Of radio buttons with one name Tab reaches one; arrows choose among them.
_NOTE_CONTROLS = """(scope) => {
  const candidates = [...document.querySelector(scope).querySelectorAll(
    'a[href], button, input, select, textarea, summary, [tabindex]')];
  const groups = new Set();
  window.noted = candidates.filter((each) => {
    if (each.disabled || each.tabIndex < 0 || !each.checkVisibility({ visibilityProperty: true })) return false;
    if (each.type !== 'radio') return true;
    const known = groups.has(each.name);
    if (each.checked || !candidates.some((other) => other.name === each.name && other.checked)) groups.add(each.name);
    return groups.has(each.name) && !known;
  });
  return window.noted.map((each) => each.outerHTML.slice(0, 200));
}"""

# What has the focus when a key comes up again. Its number is -1 if it is no control, such as the page itself, or a part
# that can be scrolled.
_NOTE_FOCUS = """() => {
  window.focused = [];
  if (window.isNoting) return;
  window.isNoting = true;
  window.addEventListener('keyup', () => {
    const focused = document.activeElement;
    if (focused === document.body) return;
    const box = focused.getBoundingClientRect();
    const within = (begin, size, end) => Math.min(Math.max(begin + Math.min(size, 24) / 2, 0), end - 1);
    const top = document.elementFromPoint(
      within(box.left, box.width, window.innerWidth), within(box.top, box.height, window.innerHeight));
    const outline = getComputedStyle(focused);
    const hasOutline = outline.outlineStyle !== 'none' && parseFloat(outline.outlineWidth) >= 1;
    const isSeen = top !== null && (focused.contains(top) || top.contains(focused));
    window.focused.push([window.noted.indexOf(focused), hasOutline && isSeen ? '' : focused.outerHTML.slice(0, 200)]);
  }, true);
}"""


def prepare(page: Page) -> None:
    """Before the page is loaded."""
    from axe_playwright_python.base import AXE_SCRIPT

    page.add_init_script(AXE_SCRIPT)


def violations(page: Page) -> list[str]:
    """Each with its rule, the element and the reason."""
    found: list[str] = page.evaluate(_RUN, [_TAGS, _LEFT_OUT])
    return found


def wider_than_window(page: Page) -> list[str]:
    """What makes people scroll to the side."""
    found: list[str] = page.evaluate(_WIDER)
    return found


def check_looks(page: Page) -> None:
    """In both colours, wide and narrow."""
    found = []
    for width in (WIDTH, NARROW):
        page.set_viewport_size({"width": width, "height": HEIGHT})
        found += [f"at {width} px: {each}" for each in wider_than_window(page)]
        for colours in ("light", "dark"):
            page.emulate_media(color_scheme=colours)
            found += [f"at {width} px, {colours}: {each}" for each in violations(page)]
    assert not found, "\n".join(found)


class TabOrder(NamedTuple):
    """`controls` in the order of the document, `reached` what Tab has reached of them, each by its number, and
    `unseen` what had the focus without being seen to have it."""

    controls: list[str]
    reached: list[int]
    unseen: list[str]


def tab_order(page: Page, scope: str = "body") -> TabOrder:
    """Press Tab until the focus is where it was first."""
    controls: list[str] = page.evaluate(_NOTE_CONTROLS, scope)
    page.evaluate(_NOTE_FOCUS)
    reached: list[int] = []
    unseen: list[str] = []
    # More often than there are controls: a date has a stop for its day, its month, ...
    for _ in range(4):
        for _ in range(len(controls) + 1):
            page.keyboard.press("Tab")
        for place, not_seen in page.evaluate("window.focused.splice(0)"):
            if reached and place == reached[0] != reached[-1]:
                return TabOrder(controls, _from_the_top(reached), unseen)
            if place in reached[-1:]:
                # Another part of the same control, which the browser draws.
                continue
            if place != -1:
                reached.append(place)
            if not_seen:
                unseen.append(not_seen)
    return TabOrder(controls, _from_the_top(reached), unseen)


def _from_the_top(reached: list[int]) -> list[int]:
    """Tab goes round and round, and begins where the focus was: on a page that was gone through, in its middle."""
    first = reached.index(min(reached)) if reached else 0
    return reached[first:] + reached[:first]
