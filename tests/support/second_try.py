"""A second try for tests that wait for real processes in real time, and an account of each one that needed it.

Such a test meets what no line of ours decides: a machine that is busy elsewhere, a race inside a foreign client. It may
fail once; what fails twice is broken. Tests of pure code and of the simulation give the same answer every time and get
one try. A first failure is never lost: the summary shows it whole, for it is a bug of the test or of tidelog until
somebody has found out whose it is.
"""

from __future__ import annotations

from pathlib import PurePath

import pytest

# The folders whose tests talk to processes, sockets and foreign clients.
IN_REAL_TIME = frozenset({"cli", "client", "cluster", "faults", "interop", "server", "spark", "sync", "testing"})


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.pluginmanager.hasplugin("rerunfailures"):
        return  # `-p no:rerunfailures`: for those who look for tests that fail now and then
    for item in items:
        if in_real_time(item.path.relative_to(config.rootpath)):
            item.add_marker(pytest.mark.flaky(reruns=1))


def in_real_time(path: PurePath) -> bool:
    return len(path.parts) > 2 and path.parts[0] == "tests" and path.parts[1] in IN_REAL_TIME


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for report in terminalreporter.stats.get("rerun", ()):
        terminalreporter.section(f"failed at first: {report.nodeid}", sep="_", yellow=True)
        report.toterminal(terminalreporter._tw)
