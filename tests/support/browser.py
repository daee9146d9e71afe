"""A real Chromium for tests of the console, and what must not happen on its pages.

Fixtures, of which tests of the console use the last three:

    chromium      the browser, one for all tests of a worker; skips where there is none (CI=true: fails)
    page_faults   what went wrong on the pages of this test; faults that nobody expects fail it at its end
    open_page     opens a page in a context of its own: another width, the dark colours
    page          a page of 1280 x 800 in light colours

Tests are plain functions: Playwright's API without asyncio cannot be used while a loop runs in the same thread, and
while a page is open no loop can be run there, so that a test asks the cluster by `tidelog.sync`. What tests wait for is
a state of the page: `expect(locator).to_have_text(...)`. They import `expect`, `Page` and `Locator` from here.

The browser reaches nothing but this machine: every other name and address is unknown to it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, Protocol
from urllib.parse import urlsplit

import pytest
from install_browser import BROWSERS, find_browser
from support.download_cache import Unavailable
from support.processes import HANG_SECONDS

if TYPE_CHECKING:
    # Not imported where no browser is needed: it takes 0.15 s.
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Request, Response, WebSocket
    from playwright.sync_api import Locator as Locator
    from playwright.sync_api import Page as Page
    from playwright.sync_api import expect as expect


def __getattr__(name: str) -> Any:
    """What tests use of Playwright; None without Playwright, where they are skipped before they use it."""
    if name not in ("Locator", "Page", "expect"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("playwright.sync_api"), name) if find_spec("playwright") is not None else None


WIDTH, HEIGHT = 1280, 800
HANG_MS = HANG_SECONDS * 1000

HOST = "127.0.0.1"
_ARGUMENTS = (
    # Chromium's sandbox does not work for root, and containers run tests as root.
    "--no-sandbox",
    # Containers have a small /dev/shm.
    "--disable-dev-shm-usage",
    f"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE {HOST}",
)

# Content of records that is run as a script sets `window.hacked`, see support.console_content.
EXECUTED = "content of a record was executed"
_WATCH_FOR_EXECUTION = f"""
let hacked;
Object.defineProperty(window, "hacked", {{
  get() {{ return hacked; }},
  set(value) {{ hacked = value; console.error({EXECUTED!r}); }},
}});
"""

# What the browser itself logs about requests; they are told by the requests.
_ABOUT_REQUESTS = "Failed to load resource:"
_ABOUT_POLICY = "Content Security Policy"
# A page that is left does not wait for its requests, and a download is no page.
_GIVEN_UP = "net::ERR_ABORTED"


class PageFaults:
    """What went wrong on the pages of one test: each fault as text, which begins with its kind.

    console error: ...              console.error
    uncaught exception: ...         and promises that are rejected without a handler
    content security policy: ...    what the policy has refused
    failed request: GET URL: 404    no reply, or one with a status from 400 on
    other host: GET URL             anything that is not asked of 127.0.0.1
    dialog: ...                     alert, confirm and prompt, which nobody answers
    crash: ...                      of the page's process
    """

    def __init__(self) -> None:
        self._faults: list[str] = []
        self._expected: list[str] = []
        self._allowed: list[str] = []

    def expect(self, part: str) -> None:
        """A fault with this in its text belongs to the test, which fails without it."""
        self._expected.append(part)

    def allow(self, part: str) -> None:
        """A fault with this in its text may come, because it depends on timing whether it does."""
        self._allowed.append(part)

    @property
    def seen(self) -> tuple[str, ...]:
        return tuple(self._faults)

    def check(self) -> None:
        known = (*self._expected, *self._allowed)
        unexpected = [fault for fault in self._faults if not any(part in fault for part in known)]
        missing = [part for part in self._expected if not any(part in fault for fault in self._faults)]
        assert not unexpected, "on the page went wrong:\n" + "\n".join(unexpected)
        assert not missing, f"these faults were expected, and did not come: {missing}; there were {self._faults}"

    def watch(self, context: BrowserContext) -> None:
        context.on("console", self._on_console)
        context.on("weberror", lambda error: self._add("uncaught exception", str(error.error)))
        context.on("request", self._on_request)
        context.on("response", self._on_response)
        context.on("requestfailed", self._on_failed_request)
        context.on("dialog", self._on_dialog)
        context.on("page", self._on_page)

    def _add(self, kind: str, text: str) -> None:
        self._faults.append(f"{kind}: {text}")

    def _on_page(self, page: Page) -> None:
        page.on("crash", lambda page: self._add("crash", page.url))
        page.on("websocket", self._on_websocket)

    def _on_console(self, message: ConsoleMessage) -> None:
        text = message.text
        if message.type != "error" or text.startswith(_ABOUT_REQUESTS):
            return
        place = message.location
        where = f" ({place['url']}:{place['lineNumber'] + 1})" if place["url"] else ""
        self._add("content security policy" if _ABOUT_POLICY in text else "console error", text + where)

    def _on_request(self, request: Request) -> None:
        if not _is_here(request.url):
            self._add("other host", f"{request.method} {request.url}")

    def _on_websocket(self, socket: WebSocket) -> None:
        if not _is_here(socket.url):
            self._add("other host", socket.url)

    def _on_response(self, response: Response) -> None:
        if response.status >= 400:
            self._add("failed request", f"{response.request.method} {response.url}: {response.status}")

    def _on_failed_request(self, request: Request) -> None:
        if request.failure != _GIVEN_UP:
            self._add("failed request", f"{request.method} {request.url}: {request.failure}")

    def _on_dialog(self, dialog: Dialog) -> None:
        self._add("dialog", f"{dialog.type} {dialog.message!r}")
        dialog.dismiss()


class Chromium:
    """The running browser, used inside of `with chromium.used() as browser:`."""

    def __init__(self, browser: Browser, loop: asyncio.AbstractEventLoop) -> None:
        self._browser = browser
        self._loop = loop

    @contextmanager
    def used(self) -> Iterator[Browser]:
        """Outside of it other tests of this process can run event loops in this thread."""
        asyncio._set_running_loop(self._loop)
        try:
            yield self._browser
        finally:
            asyncio._set_running_loop(None)


@contextmanager
def running_chromium() -> Iterator[Chromium]:
    """Raises Unavailable with what is missing, and how to get it."""
    if find_spec("playwright") is None:
        raise Unavailable("the Python package `playwright` is not installed: run `make setup`, and `make browser`")
    path = find_browser()
    if path is None:
        names = ", ".join(BROWSERS)
        raise Unavailable(f"no browser is on PATH ({names}): run `make browser`, or install the package `chromium`")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=HANG_MS)
    playwright = sync_playwright().start()
    # Between the calls of its user, Playwright leaves its own loop marked as the one that runs in this thread.
    loop = asyncio.get_running_loop()
    try:
        browser = playwright.chromium.launch(executable_path=path, args=_ARGUMENTS, timeout=HANG_MS)
        asyncio._set_running_loop(None)
        yield Chromium(browser, loop)
    finally:
        asyncio._set_running_loop(loop)
        playwright.stop()
        asyncio._set_running_loop(None)


def open_context(
    browser: Browser,
    *,
    width: int = WIDTH,
    height: int = HEIGHT,
    color_scheme: Literal["light", "dark"] = "light",
) -> BrowserContext:
    """No cookies, nothing stored; what is shown depends neither on this machine's language nor on its time zone."""
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=color_scheme,
        locale="en-US",
        timezone_id="UTC",
        # Nothing moves that a test would have to wait for.
        reduced_motion="reduce",
    )
    context.set_default_timeout(HANG_MS)
    context.set_default_navigation_timeout(HANG_MS)
    return context


def mark_browser_tests(items: Collection[pytest.Item]) -> None:
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    with contextlib.ExitStack() as stack:
        try:
            browser = stack.enter_context(running_chromium())
        except Unavailable as error:
            if os.environ.get("CI") == "true":
                pytest.fail(f"CI runs the browser tests, but {error}")
            pytest.skip(str(error))
        yield browser


@pytest.fixture
def page_faults() -> Iterator[PageFaults]:
    faults = PageFaults()
    yield faults
    faults.check()


class OpenPage(Protocol):
    def __call__(
        self, *, width: int = WIDTH, height: int = HEIGHT, color_scheme: Literal["light", "dark"] = "light"
    ) -> Page: ...


@pytest.fixture
def open_page(chromium: Chromium, page_faults: PageFaults) -> Iterator[OpenPage]:
    """Each page has a context of its own, and the faults of all of them are the test's."""
    with chromium.used() as browser, contextlib.ExitStack() as stack:

        def open_one(
            *, width: int = WIDTH, height: int = HEIGHT, color_scheme: Literal["light", "dark"] = "light"
        ) -> Page:
            context = open_context(browser, width=width, height=height, color_scheme=color_scheme)
            stack.callback(_close, context)
            page_faults.watch(context)
            context.add_init_script(_WATCH_FOR_EXECUTION)
            return context.new_page()

        yield open_one


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    return open_page()


def _close(context: BrowserContext) -> None:
    from playwright.sync_api import Error

    for page in context.pages:
        # What the page has reported before it answers has come when the answer is here.
        with contextlib.suppress(Error):
            page.locator(":root").wait_for(state="attached")
    context.close()


def _is_here(address: str) -> bool:
    parts = urlsplit(address)
    return parts.scheme in ("about", "blob", "data") or parts.hostname == HOST
