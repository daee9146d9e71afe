"""What a process does not need it does not import: each module costs every start, and memory as long as it runs.

Nothing is timed here: `benchmarks/comparison/starting.py` does that. A module that a plain start needs from now on is
taken off the list, with its reason in the commit. See docs/decisions/0044-what-a-start-imports.md.
"""

from __future__ import annotations

import ast
import asyncio
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from support.sources import modules

import tidelog

FOR_NOBODY = (
    # It looks through everything that is installed, with a parser for e-mail.
    "importlib.metadata",
    "email",
    "http",
    "urllib.request",
    "zipfile",
    "multiprocessing",
    "cryptography",
    "joserfc",
    "fastapi",
    "pydantic",
    "starlette",
    "uvicorn",
    "prometheus_client",
    "pyarrow",
    "pyspark",
    "rich",
    "tidelog.console",
    "tidelog.simulation",
    "tidelog.spark",
    "tidelog.sync",
    "tidelog.testing",
    # For rules about the names in certificates.
    "tidelog.security.java_patterns",
    "tidelog.security.jwt_tokens",
)
# Metrics, TLS and SASL are imported if they are configured.
FOR_NO_PLAIN_BROKER = (
    *FOR_NOBODY,
    "tidelog.cli.local_cluster.attached_console",
    "tomllib",
    "tidelog.client",
    "tidelog.server.listening.listener_security",
    "tidelog.server.observability.metrics_endpoint",
    "tidelog.security.sasl_session",
)
FOR_NO_COMMAND = (
    *FOR_NOBODY,
    "tidelog.client.consumer",
    "tidelog.client.transactions",
    "tidelog.consensus",
    "tidelog.controller",
    "tidelog.coordinators",
    "tidelog.server",
    "tidelog.storage",
)

# With the reason. An entry that is no longer needed fails.
STANDARD_DATACLASSES = {
    "tidelog/storage/log/log.py": "InitVar",
}


# `python -X importtime` would leave out what `importlib.import_module` imports.
PROGRAM = """
import atexit, sys
atexit.register(lambda: sys.stderr.write("imported: " + " ".join(sys.modules)))
from tidelog.cli.main import main
main()
"""


def imported(stderr: str) -> set[str]:
    return set(stderr.partition("imported: ")[2].split())


def among(forbidden: Iterable[str], names: set[str]) -> list[str]:
    return sorted(
        name for name in names if any(name == prefix or name.startswith(f"{prefix}.") for prefix in forbidden)
    )


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", PROGRAM, *arguments]


def test_a_plain_broker_imports_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    log = tmp_path / "imports"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command("up", "--port", "0", "--data-dir", str(tmp_path / "data")),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.readline().startswith("tidelog listens on ")
        process.terminate()
    names = imported(log.read_text())
    assert "tidelog.server.startup" in names
    assert among(FOR_NO_PLAIN_BROKER, names) == []


async def test_a_command_imports_nothing_that_it_does_not_need() -> None:
    async with tidelog.Broker() as broker:
        listing = await asyncio.create_subprocess_exec(
            *command("topics", "--list", "-b", broker.bootstrap_servers),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        _, stderr = await listing.communicate()
    assert listing.returncode == 0, stderr.decode()
    names = imported(stderr.decode())
    assert "tidelog.client.admin" in names
    assert among(FOR_NO_COMMAND, names) == []


def test_dataclasses_are_the_lazy_ones() -> None:
    """Spark's workers have others, too: their classes derive from pyspark's, and some are ordered."""
    standard = {
        path
        for path, tree in modules().items()
        if path.startswith("tidelog/") and not path.startswith("tidelog/spark/")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "dataclasses"
        if "dataclass" in {alias.name for alias in node.names}
    }
    assert standard - {"tidelog/model/lazy_dataclasses.py"} == set(STANDARD_DATACLASSES)
