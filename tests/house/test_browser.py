"""The browser of the console's tests finds what goes wrong on a page, says what is missing, and is in nobody's way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

CONFTEST = """
import http.server, threading
import pytest
from support.browser import chromium, mark_browser_tests, open_page, page, page_faults

def pytest_collection_modifyitems(items):
    mark_browser_tests(items)

POLICY = "default-src 'none'; script-src 'nonce-known'; connect-src 'self' http://10.0.0.1"

class Pages(http.server.BaseHTTPRequestHandler):
    bodies = {
        "/fine": "<p>fine</p>",
        "/logs": "<script nonce=known>console.error('this is wrong')</script>",
        "/throws": "<script nonce=known>setTimeout(() => { throw new Error('thrown') })</script>",
        "/rejects": "<script nonce=known>Promise.reject(new Error('rejected'))</script>",
        "/inline": "<script>window.never = 1</script>",
        "/executes": "<script nonce=known>window.hacked = 1</script>",
        "/asks": "<script nonce=known>alert('really')</script>",
        "/abroad": "<script nonce=known>fetch('http://10.0.0.1/').catch(() => 0)</script>",
        "/lacks": "<script nonce=known>fetch('/missing')</script>",
        "/broken": "<script nonce=known>fetch('/no-reply').catch(() => 0)</script>",
    }

    def do_GET(self):
        if self.path == "/no-reply":
            self.close_connection = True
            return
        self.send_response(200 if self.path in self.bodies else 404)
        self.send_header("content-type", "text/html")
        self.send_header("content-security-policy", POLICY)
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>page</title>" + self.bodies.get(self.path, "").encode())

    def log_message(self, *_):
        pass

@pytest.fixture(scope="session")
def site():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
"""

TEST = """
import asyncio
import pytest

FAULTS = {
    "logs": "console error: this is wrong",
    "throws": "uncaught exception: thrown",
    "rejects": "uncaught exception: rejected",
    "inline": "content security policy: ",
    "executes": "content of a record was executed",
    "asks": "dialog: alert 'really'",
    "abroad": "other host: GET http://10.0.0.1/",
    "lacks": "/missing: 404",
    "broken": "/no-reply: net::ERR_EMPTY_RESPONSE",
}

# What may come after the page is loaded, where the fault is not a part of loading it.
LATER = {"throws": "pageerror", "rejects": "pageerror", "abroad": "requestfailed", "broken": "requestfailed"}

def visit(page, site, path):
    is_it = (lambda response: response.status == 404) if path == "lacks" else None
    with page.expect_event(LATER.get(path, "response" if path == "lacks" else "load"), is_it):
        page.goto(f"{site}/{path}")

@pytest.mark.parametrize("path", FAULTS)
def test_fault(page, site, path):
    visit(page, site, path)

@pytest.mark.parametrize("path", ["throws", "lacks"])
def test_expected(page, page_faults, site, path):
    page_faults.expect(FAULTS[path])
    visit(page, site, path)

@pytest.mark.parametrize("path", ["logs", "fine"])
def test_allowed(page, page_faults, site, path):
    page_faults.allow("this is wrong")
    visit(page, site, path)

def test_fine(page, site):
    page.goto(f"{site}/fine")
    zone = page.evaluate("new Intl.DateTimeFormat().resolvedOptions().timeZone")
    assert (page.evaluate("navigator.language"), zone) == ("en-US", "UTC")
    assert page.viewport_size == {"width": 1280, "height": 800}

def test_event_loops_run_beside_the_browser():
    asyncio.run(asyncio.sleep(0))

def test_narrow_and_dark(open_page, site):
    narrow = open_page(width=400, color_scheme="dark")
    narrow.goto(f"{site}/fine")
    assert narrow.evaluate("innerWidth") == 400
    assert narrow.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")

def test_second_page(open_page, page, site):
    open_page().goto(f"{site}/logs")
    page.goto(f"{site}/fine")

def test_expected_in_vain(page, page_faults, site):
    page_faults.expect("console error")
    page.goto(f"{site}/fine")
"""


def run(folder: Path, *arguments: str, **environment: str) -> list[str]:
    """The lines of the summary, and those with what was missing."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_some.py").write_text(TEST)
    paths = os.pathsep.join((str(TESTS), str(TESTS.parent / "tools")))
    plain = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", *arguments, str(folder)],
        env={**plain, "COLUMNS": "300", "PYTHONPATH": paths, **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.splitlines()


def named(lines: list[str], outcome: str) -> set[str]:
    return {line.split("::")[1].split(" ")[0] for line in lines if line.startswith(f"{outcome} ") and "::" in line}


@pytest.mark.browser
def test_a_page_on_which_something_goes_wrong_fails_its_test(tmp_path: Path) -> None:
    lines = run(tmp_path, CI=os.environ.get("CI", ""))
    text = "\n".join(lines)
    if "SKIPPED" in text:
        pytest.skip(next(line for line in lines if line.startswith("SKIPPED")))
    faults = ("logs", "throws", "rejects", "inline", "executes", "asks", "abroad", "lacks", "broken")
    wrong = {f"test_fault[{fault}]" for fault in faults} | {"test_second_page", "test_expected_in_vain"}
    assert named(lines, "ERROR") == wrong, text
    assert not named(lines, "FAILED"), text
    assert "these faults were expected, and did not come: ['console error']" in text


def test_without_a_browser_tests_are_skipped_and_say_why(tmp_path: Path) -> None:
    lines = run(tmp_path, "-m", "browser", PATH="")
    assert not named(lines, "PASSED")
    assert not named(lines, "ERROR")
    skipped = [line for line in lines if line.startswith("SKIPPED")]
    assert skipped
    assert all("`make browser`" in line and "chromium" in line for line in skipped)


def test_without_a_browser_ci_fails(tmp_path: Path) -> None:
    lines = run(tmp_path, "-m", "browser", PATH="", CI="true")
    assert not [line for line in lines if line.startswith("SKIPPED")]
    assert named(lines, "ERROR") >= {"test_fine", "test_narrow_and_dark"}
    assert not named(lines, "PASSED")


def test_tests_that_use_the_browser_are_marked(tmp_path: Path) -> None:
    lines = run(tmp_path, "-m", "not browser", PATH="")
    assert named(lines, "PASSED") == {"test_event_loops_run_beside_the_browser"}
