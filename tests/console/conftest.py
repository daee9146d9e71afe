"""Consoles of real clusters, in a real browser.

Fixtures of tests of pages:

    page, open_page, page_faults   of support.browser
    one_node, three_nodes, apache_kafka   clusters, each started when the first test asks for it
    any_cluster   each of them in turn
    console       `console(cluster)` is the address of its console

`support.console_content.fill(cluster)` puts something of everything into a cluster. Tests of one cluster run on one
worker, and those that use the browser have the mark `browser`; nobody has to write that down.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest
from support.browser import chromium, mark_browser_tests, open_page, page, page_faults
from support.console_clusters import Cluster, one_apache_node, one_tidelog_node, three_tidelog_nodes
from support.console_content import release
from support.console_process import ConsoleOfTest, Consoles
from support.download_cache import Unavailable

__all__ = ["chromium", "open_page", "page", "page_faults"]

CLUSTERS = {"one_node": "one node", "three_nodes": "three nodes", "apache_kafka": "Apache Kafka"}
_HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ours = [item for item in items if item.path.is_relative_to(_HERE)]
    mark_browser_tests(ours)
    for item in ours:
        for name in _clusters_of(item):
            item.add_marker(pytest.mark.xdist_group(f"console-{name}"))
            if name == "apache_kafka":
                item.add_marker("maven")


def _clusters_of(item: pytest.Item) -> list[str]:
    """The names of the fixtures with the clusters that a test uses."""
    parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    names = {*getattr(item, "fixturenames", ()), parameters.get("any_cluster")}
    return [name for name in CLUSTERS if name in names]


@pytest.fixture(scope="session")
def consoles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Consoles]:
    running = Consoles(tmp_path_factory.mktemp("consoles"))
    yield running
    running.kill()


@pytest.fixture
def console(consoles: Consoles) -> Iterator[ConsoleOfTest]:
    of_test = ConsoleOfTest(consoles)
    yield of_test
    of_test.check()


@contextmanager
def _running(starting: AbstractContextManager[Cluster], consoles: Consoles) -> Iterator[Cluster]:
    """What uses the cluster ends before it does."""
    with ExitStack() as stack:
        cluster = stack.enter_context(starting)
        stack.callback(release, cluster)
        stack.callback(consoles.end, cluster)
        yield cluster


@pytest.fixture(scope="session")
def one_node(consoles: Consoles, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with _running(one_tidelog_node(tmp_path_factory.mktemp("one-node")), consoles) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def three_nodes(consoles: Consoles, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with _running(three_tidelog_nodes(tmp_path_factory.mktemp("three-nodes")), consoles) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def apache_kafka(consoles: Consoles, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with ExitStack() as stack:
        try:
            starting = one_apache_node(tmp_path_factory.mktemp("apache-kafka"))
            cluster = stack.enter_context(_running(starting, consoles))
        except Unavailable as error:
            pytest.skip(f"Apache Kafka's jars cannot be had from Maven Central: {error}")
        yield cluster


@pytest.fixture(scope="session", params=[pytest.param(name, id=words) for name, words in CLUSTERS.items()])
def any_cluster(request: pytest.FixtureRequest) -> Cluster:
    cluster = request.getfixturevalue(request.param)
    assert isinstance(cluster, Cluster)
    return cluster
