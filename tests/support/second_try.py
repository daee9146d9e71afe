"""A second try for tests that a known fault of somebody else's program can fail, and an account of those that need it.

`@pytest.mark.foreign_cause("librdkafka 2.16: what it does wrong")` says whose fault it is: the program, its version,
and what it does. Such a test may fail once; what fails twice is broken. `only="java"` limits the mark to parameters
with that word in their name. All other tests have one try: whatever fails there now and then is a bug of ours.
"""

from __future__ import annotations

import re

import pytest

# The name of a program, perhaps its version, a colon, and what is wrong with it.
CAUSE = re.compile(r"[\w'-]+( [\w.'-]+)*: \S.+")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    second_tries = config.pluginmanager.hasplugin("rerunfailures")
    for item in items:
        causes = [cause_of(item, mark) for mark in item.iter_markers("foreign_cause") if concerns(item, mark)]
        if causes:
            item.user_properties.append(("foreign cause", "; ".join(causes)))
            if second_tries:
                item.add_marker(pytest.mark.flaky(reruns=1))
        elif item.get_closest_marker("flaky") is not None:
            raise pytest.UsageError(f"{item.nodeid} is marked as flaky, which names no cause: see second_try.py")


def concerns(item: pytest.Item, mark: pytest.Mark) -> bool:
    _, bracket, parameters = item.name.partition("[")
    only: str = mark.kwargs.get("only", "")
    return not only or (bool(bracket) and only in parameters)


def cause_of(item: pytest.Item, mark: pytest.Mark) -> str:
    if len(mark.args) != 1 or not CAUSE.fullmatch(str(mark.args[0])):
        raise pytest.UsageError(f"{item.nodeid}: foreign_cause must say 'program version: its fault', not {mark.args}")
    return str(mark.args[0])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    marked: dict[str, str] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport) and (report.when == "call" or report.failed):
                marked.update(
                    (report.nodeid, str(value)) for name, value in report.user_properties if name == "foreign cause"
                )
    if not marked:
        return
    first_failures = [report for report in terminalreporter.stats.get("rerun", ()) if report.nodeid in marked]
    needed = sorted({report.nodeid for report in first_failures})
    terminalreporter.section(f"second tries: {len(needed)} of {len(marked)} tests with a foreign cause", yellow=True)
    for nodeid in needed:
        terminalreporter.write_line(f"{nodeid}: {marked[nodeid]}")
    for report in first_failures:
        terminalreporter.section(f"failed at first: {report.nodeid}", sep="_", yellow=True)
        report.toterminal(terminalreporter._tw)
