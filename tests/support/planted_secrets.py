"""No test prints a secret: what tests capture of output and logs is searched for all that they use.

Passwords in tests begin with `planted-`; those that are made at random are made known with `watch`. A test in whose
output, or in whose processes' output, one of them appears fails, whatever it tests.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from pathlib import Path

import pytest

PLANTED = "planted-"
_LARGEST_BYTES = 4 * 1024 * 1024
_random: set[str] = set()


def watch(secret: str) -> str:
    """The secret, from now on not to be printed by any test of this process."""
    _random.add(secret)
    return secret


def leaked(text: str) -> bool:
    return PLANTED in text.lower() or any(secret in text for secret in _random)


def leaking_files(folder: Path) -> list[Path]:
    """Of those to which processes have written what they say."""
    return [
        path
        for path in sorted(folder.rglob("*.log"))
        # Those of segments are binary, and have no secrets in clear: what is in them was sent by tests.
        if not path.stem.isdigit()
        and path.is_file()
        and path.stat().st_size <= _LARGEST_BYTES
        and leaked(path.read_text(errors="replace"))
    ]


def leaking_sections(sections: Iterable[tuple[str, str]]) -> list[str]:
    return [name for name, text in sections if leaked(text)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.outcome != "passed":
        # What pytest shows of a test that fails is for whoever mends it.
        return report
    where = leaking_sections(report.sections)
    folder = getattr(item, "funcargs", {}).get("tmp_path")
    if report.when == "teardown" and isinstance(folder, Path):
        where += map(str, leaking_files(folder))
    if where:
        report.outcome = "failed"
        report.longrepr = f"a secret was printed: see {', '.join(where)}"
    return report
