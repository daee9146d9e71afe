"""One cluster of three processes for all tests of this folder; each test finds it whole."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator

import pytest
from support.cluster_processes import ClusterProcesses, running_cluster

_numbers = itertools.count()


@pytest.fixture(scope="session")
def shared_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcesses]:
    with running_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture
def cluster(shared_cluster: ClusterProcesses) -> ClusterProcesses:
    """Three nodes that are all well, whatever the test before has done to them."""
    shared_cluster.heal()
    return shared_cluster


@pytest.fixture
def topic() -> str:
    """A name that no other test uses."""
    return f"cluster-{os.getpid()}-{next(_numbers)}"
