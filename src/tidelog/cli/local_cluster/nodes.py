"""`tidelog up --nodes N`: a cluster with replication on this machine, to try out what happens when a node fails.

The data directory holds a folder and a properties file for each node, so that a node which has died can be started
again alone: `tidelog server --config DATA_DIR/node-2.properties`.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping
from pathlib import Path

import typer

from tidelog.cli.failures import CommandFailure
from tidelog.cli.local_cluster.attached_console import AttachedConsole, announced
from tidelog.cli.local_cluster.data_directory import StartKind, require_kind
from tidelog.cli.local_cluster.node_files import format_directories, write_properties
from tidelog.cli.local_cluster.ports import accepts, bracketed, free_port, free_ports, reachable
from tidelog.cli.local_cluster.processes import PATIENT_SECONDS, ChildProcesses
from tidelog.cli.local_cluster.start_security import StartSecurity, start_security
from tidelog.cli.properties import read_properties
from tidelog.server.signals import end_by
from tidelog.version import VERSION

START_SECONDS = 60.0
STOP_SECONDS = 40.0
POLL_SECONDS = 0.1


class LocalCluster:
    """The processes of a cluster."""

    def __init__(
        self,
        *,
        host: str,
        port: int,
        nodes: int,
        security: StartSecurity,
        properties: Mapping[str, str],
        console: AttachedConsole | None = None,
    ) -> None:
        self._host = host
        self._data_dir = security.data_dir
        self._security = security
        self._properties = properties
        self._console = console
        self._numbers = range(1, nodes + 1)
        ports = range(port, port + nodes) if port else free_ports(host, nodes)
        self._ports = dict(zip(self._numbers, ports, strict=True))
        self._processes = ChildProcesses(self.config_file)
        self._stopping = False

    # -- configuration -------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Write what is missing: properties of each node, and the cluster's id into each directory."""
        self._data_dir.mkdir(parents=True, exist_ok=True)
        voters = self._voters()
        for number in self._numbers:
            self._write_properties(number, voters)
        format_directories({number: self._directory(number) for number in self._numbers}, self._security.users)

    def config_file(self, number: int) -> Path:
        return self._data_dir / f"node-{number}.properties"

    def _directory(self, number: int) -> Path:
        return self._data_dir / f"node-{number}"

    def _voters(self) -> str:
        """Those of the last start: a quorum knows its members by their addresses."""
        for number in self._numbers:
            if self.config_file(number).exists():
                known = read_properties(self.config_file(number)).get("controller.quorum.voters", "")
                count = len(known.split(",")) if known else 0
                if count != len(self._numbers):
                    raise CommandFailure(
                        f"{self._data_dir} holds a cluster of {count} nodes, not of {len(self._numbers)}; "
                        f"start it with --nodes {count}, or use another --data-dir"
                    )
                return known
        host = bracketed(self._host)
        return ",".join(f"{number}@{host}:{free_port(self._host)}" for number in self._numbers)

    def _write_properties(self, number: int, voters: str) -> None:
        controller_port = voters.split(",")[number - 1].rpartition(":")[2]
        count = len(self._numbers)
        replicas = str(min(3, count))
        host = bracketed(self._host)
        properties = {
            "node.id": str(number),
            "process.roles": "broker,controller",
            "listeners": f"{self._security.listener}://{host}:{self._ports[number]},CONTROLLER://{host}:{controller_port}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": voters,
            "log.dirs": str(self._directory(number).resolve()),
            "default.replication.factor": replicas,
            "offsets.topic.replication.factor": replicas,
            "transaction.state.log.replication.factor": replicas,
            "transaction.state.log.min.isr": str(min(2, count)),
            **self._security.properties,
            **self._properties,
        }
        path = self.config_file(number)
        write_properties(
            path, f"Node {number} of {count}, started alone with: tidelog server --config {path}", properties
        )

    # -- processes -----------------------------------------------------------------------------------------------

    def heed_signals(self) -> None:
        """From before the first node is started: whoever ends this process ends the nodes with it."""
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, self._signalled)

    def _signalled(self, number: int, _: object) -> None:
        if self._stopping and number == signal.SIGINT:
            # A second Ctrl-C: whoever presses it does not want to wait.
            self._processes.kill()
            end_by(signal.SIGINT)
        self._stopping = True

    def start(self) -> None:
        """Until all nodes serve, or a signal has come. One that only listens may not be part of the cluster yet."""
        for number in self._numbers:
            if self._stopping:
                return
            self._processes.start(number)
        deadline = time.monotonic() + START_SECONDS
        for number in self._numbers:
            while not self._stopping and not accepts(reachable(self._host), self._ports[number]):
                for ended, code in self._processes.take_ended().items():
                    raise self._not_started(ended, f"exited with code {code}")
                if time.monotonic() > deadline:
                    raise self._not_started(number, "did not start in time")
                time.sleep(POLL_SECONDS)
        self._wait_until_they_serve()

    def _wait_until_they_serve(self) -> None:
        """However long it takes: a node that was not stopped cleanly recovers its partitions first."""
        explain_at = time.monotonic() + PATIENT_SECONDS
        while not self._stopping:
            for ended, code in self._processes.take_ended().items():
                raise self._not_started(ended, f"exited with code {code}")
            waiting = [number for number in self._numbers if not self._processes.has_announced(number)]
            if not waiting:
                return
            if time.monotonic() > explain_at:
                explain_at = float("inf")
                listed = ", ".join(f"node {number} ({self._processes.log_file(number)})" for number in waiting)
                typer.echo(f"waiting for {listed}, which may be recovering its partitions")
            time.sleep(POLL_SECONDS)

    def _not_started(self, number: int, state: str) -> CommandFailure:
        return CommandFailure(f"node {number} {state}; see {self._processes.log_file(number)}")

    def announce(self) -> None:
        if self._stopping:
            return
        servers = ",".join(f"{bracketed(self._host)}:{self._ports[number]}" for number in self._numbers)
        typer.echo(f"tidelog {VERSION}: a cluster of {len(self._numbers)} nodes listens on {servers}")
        typer.echo(f"  data    {self._data_dir}, a folder and a log file for each node")
        typer.echo(f"  connect bootstrap.servers={servers}")
        for line in self._security.listening(servers):
            typer.echo(f"          {line}")
        for line in announced(self._console, servers, self._security):
            typer.echo(f"  {line}")
        first = servers.split(",")[0]
        typer.echo(f"  look    tidelog cluster{self._security.options(first) or f' -b {first}'}")
        typer.echo("  stop    Ctrl-C")

    def watch(self) -> None:
        """Until all nodes have ended, or a signal comes. A node that dies leaves the others running."""
        while not self._stopping and self._processes.running:
            time.sleep(POLL_SECONDS)
            for number, code in self._processes.take_ended().items():
                typer.echo(
                    f"node {number} exited with code {code}; start it again with: "
                    f"tidelog server --config {self.config_file(number)}"
                )

    def stop(self) -> None:
        if self._console is not None:
            self._console.close()
        self._processes.terminate(self._numbers)
        deadline = time.monotonic() + STOP_SECONDS
        while self._processes.running and time.monotonic() < deadline:
            self._processes.take_ended()
            time.sleep(POLL_SECONDS)
        self._processes.kill()


def run_nodes(
    *,
    host: str,
    port: int,
    nodes: int,
    data_dir: Path,
    secure: bool,
    properties: Mapping[str, str],
    console: AttachedConsole | None,
) -> None:
    require_kind(data_dir, StartKind.NODES)
    security = start_security(data_dir, host, secure=secure)
    cluster = LocalCluster(host=host, port=port, nodes=nodes, security=security, properties=properties, console=console)
    cluster.prepare()
    cluster.heed_signals()
    try:
        cluster.start()
        cluster.announce()
        cluster.watch()
    finally:
        cluster.stop()
