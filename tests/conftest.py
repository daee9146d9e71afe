"""For all tests: none depends on an idle machine, and those that share something expensive stay together when several
workers run them."""

from __future__ import annotations

import signal

import pytest
from hypothesis import HealthCheck, settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts its background jobs so, and all processes of the tests would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["support.both_ways", "support.planted_secrets", "support.second_try", "support.transcripts"]

# By default an example of a property fails if it takes more than 0.2 s, and so do examples that are made slowly.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let `xdist_group` work with pytest 9.2, where each worker would otherwise start every cluster.

    xdist 3.8 appends the group's name to `_nodeid`, and distributes tests by what `nodeid` says. Since pytest 9.2 the
    latter is made from another attribute.
    """
    for item in items:
        grouped = getattr(item, "_nodeid", None)
        identity = getattr(item, "_id", None)
        if grouped is not None and identity is not None and grouped != item.nodeid:
            item._id = type(identity).parse(grouped)  # type: ignore[attr-defined]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests have recorded with `record_property("shown", ...)`: how much a comparison compared."""
    for report in terminalreporter.stats.get("passed", ()):
        for name, value in report.user_properties:
            if name == "shown":
                terminalreporter.write_line(f"{report.nodeid}: {value}")
