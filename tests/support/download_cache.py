"""A folder outside of the repository for what tests download once: Apache Kafka's jars, packages for Node.js.

`TIDELOG_TEST_CACHE` moves it. Entries appear whole or not at all, and only one process fills one at a time.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

# Longer than a slow line needs, shorter than pytest's limit for one test.
FILL_TIMEOUT_SECONDS = 240


class Unavailable(Exception):
    """Something cannot be had on this machine; the message says what and why. Tests that need it are skipped."""


def cache_folder() -> Path:
    chosen = os.environ.get("TIDELOG_TEST_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tidelog"


def cached(name: str, fill: Callable[[Path], None], *, within: Path | None = None) -> Path:
    """The cache's folder `name`. If it is not there, `fill` makes its content in a temporary folder beside it."""
    folder = (within or cache_folder()) / name
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Unavailable(f"the cache folder {folder.parent} cannot be made: {error}") from error
    with _locked(folder.with_name(f"{name}.lock")):
        if folder.is_dir():
            return folder
        temporary = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=folder.parent))
        try:
            fill(temporary)
            temporary.rename(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return folder


def run_downloader(command: Sequence[str], *, directory: Path) -> None:
    """Run a package tool within the time bound; Unavailable if it fails."""
    program = command[0]
    if shutil.which(program) is None:
        raise Unavailable(f"`{program}` is not installed")
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=FILL_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"`{program}` did not finish within {FILL_TIMEOUT_SECONDS} s") from error
    if done.returncode != 0:
        reason = done.stdout.decode(errors="replace").strip().splitlines()[-3:]
        raise Unavailable(f"`{program}` failed ({done.returncode}): {' '.join(reason)[:500]}")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    deadline = time.monotonic() + FILL_TIMEOUT_SECONDS
    with path.open("w") as handle:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > deadline:
                    raise Unavailable(f"another process holds {path} for too long") from error
                time.sleep(0.2)
        yield
