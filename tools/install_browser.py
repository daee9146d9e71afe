"""Installs Debian's Chromium, which the tests of the console need; tests look for a browser with `find_browser`.

It does nothing where a browser is on PATH already, and where packages cannot be installed it says what is missing and
succeeds: without a browser these tests are skipped, and everything else works.

    python tools/install_browser.py
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator

# Debian's name first: on Ubuntu, `chromium-browser` may be a script that only asks for snap.
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# A page that is drawn without any font has no text on it.
PACKAGES = ("chromium", "fonts-dejavu-core")
WITHOUT = "the browser tests of the console will be skipped"


def main() -> int:
    found = find_browser()
    if found is None:
        problem = install()
        if problem is not None:
            print(f"browser: none, and {problem}; {WITHOUT}")
            return 0
        found = find_browser()
    print(f"browser: {found}")
    return 0


def find_browser() -> str | None:
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def install() -> str | None:
    """What went wrong, or None once a browser is on PATH."""
    if shutil.which("apt-get") is None:
        return f"there is no apt-get to install one: install {' or '.join(BROWSERS)} and put it on PATH"
    as_root = become_root()
    if as_root is None:
        return f"installing one needs root or sudo without a password: run `apt-get install {' '.join(PACKAGES)}`"
    for command in commands():
        done = subprocess.run(
            [*as_root, *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode != 0:
            said = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
            reason = said[-1] if said else f"exit code {done.returncode}"
            return f"`{' '.join(command)}` failed: {reason}"
    return None if find_browser() is not None else f"{PACKAGES[0]} is installed but not on PATH"


def become_root() -> list[str] | None:
    """What to put before a command that only root may run; None if there is no way without a password."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is None:
        return None
    asked = subprocess.run(["sudo", "-n", "true"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return ["sudo", "-n"] if asked.returncode == 0 else None


def commands() -> Iterator[list[str]]:
    # Packages that ask questions would wait for an answer that nobody gives.
    quietly = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet"]
    yield [*quietly, "update"]
    yield [*quietly, "install", "--yes", "--no-install-recommends", *PACKAGES]


if __name__ == "__main__":
    sys.exit(main())
