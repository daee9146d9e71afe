"""The installed `tidelog` command as a process, and a broker for it to talk to."""

from __future__ import annotations

import itertools
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.apache_kafka import kafka_jars, run_tool
from support.download_cache import Unavailable
from support.tidelog_command import Command, run_tidelog
from support.tidelog_process import TidelogBroker, running_tidelog
from typer.testing import CliRunner

from tidelog.cli.main import app

_numbers = itertools.count()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TidelogBroker]:
    with running_tidelog(tmp_path_factory.mktemp("tidelog")) as running:
        yield running


@pytest.fixture
def topic() -> str:
    """A name that no other test uses."""
    return f"cli-{os.getpid()}-{next(_numbers)}"


@pytest.fixture(scope="session")
def tidelog() -> Command:
    """Run `tidelog` with these arguments. The exit code is part of what is tested: `code` is the expected one."""
    return run_tidelog


@pytest.fixture(scope="session")
def usage_error() -> Callable[..., str]:
    """What is said about a wrong use; in this process, because nothing but the reading of options happens."""

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(app, arguments, env={"COLUMNS": "300", "NO_COLOR": "1", "TERM": "dumb"})
        assert result.exit_code == 2, result.output
        return str(result.output)

    return run


@pytest.fixture(scope="session")
def at_broker(tidelog: Command, broker: TidelogBroker) -> Command:
    """`tidelog COMMAND --bootstrap-server ...`."""

    def run(command: str, *arguments: str, stdin: str = "", code: int = 0) -> subprocess.CompletedProcess[str]:
        return tidelog(command, "--bootstrap-server", broker.bootstrap_servers, *arguments, stdin=stdin, code=code)

    return run


@pytest.fixture(scope="session")
def jars() -> Path:
    try:
        return kafka_jars()
    except Unavailable as error:
        pytest.skip(f"Apache Kafka's jars cannot be had from Maven Central: {error}")


@pytest.fixture(scope="session")
def kafka_tool(jars: Path, broker: TidelogBroker) -> Callable[..., str]:
    """What one of Kafka's own tools prints when it is pointed at our broker."""

    def run(main_class: str, *arguments: str) -> str:
        return run_tool(jars, main_class, "--bootstrap-server", broker.bootstrap_servers, *arguments).stdout.decode()

    return run
