"""`tidelog up --nodes N`: a cluster of real processes on this machine, started and ended by one command.

The data directory holds a folder and a properties file for each node, so that a node which has died can be started
again alone: `tidelog server --config DATA_DIR/node-2.properties`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import typer

from tidelog.cli.session import CommandFailure, read_properties
from tidelog.controller.bootstrap import fresh_uuid
from tidelog.model.ids import format_uuid
from tidelog.server.signals import end_by
from tidelog.storage.directories.meta_properties import MetaProperties, read_meta_properties, write_meta_properties
from tidelog.storage.files.local_filesystem import LocalFileSystem
from tidelog.version import VERSION

START_SECONDS = 60.0
STOP_SECONDS = 40.0
POLL_SECONDS = 0.1


class LocalCluster:
    """The processes of a cluster."""

    def __init__(self, *, host: str, port: int, nodes: int, data_dir: Path, properties: Mapping[str, str]) -> None:
        self._host = host
        self._data_dir = data_dir
        self._properties = properties
        self._numbers = range(1, nodes + 1)
        self._ports = {number: port + number - 1 if port else _free_port(host) for number in self._numbers}
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._stopping = False

    # -- configuration -------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Write what is missing: properties of each node, and the cluster's id into each directory."""
        self._data_dir.mkdir(parents=True, exist_ok=True)
        voters = self._voters()
        cluster_id = self._cluster_id()
        for number in self._numbers:
            self._write_properties(number, voters)
            self._format(number, cluster_id)

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
        return ",".join(f"{number}@{self._host}:{_free_port(self._host)}" for number in self._numbers)

    def _write_properties(self, number: int, voters: str) -> None:
        controller_port = voters.split(",")[number - 1].rpartition(":")[2]
        count = len(self._numbers)
        replicas = str(min(3, count))
        properties = {
            "node.id": str(number),
            "process.roles": "broker,controller",
            "listeners": f"PLAINTEXT://{self._host}:{self._ports[number]},CONTROLLER://{self._host}:{controller_port}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": voters,
            "log.dirs": str(self._directory(number).resolve()),
            "default.replication.factor": replicas,
            "offsets.topic.replication.factor": replicas,
            "transaction.state.log.replication.factor": replicas,
            "transaction.state.log.min.isr": str(min(2, count)),
            **self._properties,
        }
        lines = [f"# Node {number} of {count}, started alone with: tidelog server --config {self.config_file(number)}"]
        lines += [f"{name}={value}" for name, value in properties.items()]
        self.config_file(number).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _cluster_id(self) -> str:
        for number in self._numbers:
            if self._directory(number).exists():
                meta = read_meta_properties(LocalFileSystem(), str(self._directory(number)))
                if meta is not None:
                    return meta.cluster_id
        return format_uuid(fresh_uuid(os.urandom(16)))

    def _format(self, number: int, cluster_id: str) -> None:
        directory = self._directory(number)
        directory.mkdir(exist_ok=True)
        filesystem = LocalFileSystem()
        if read_meta_properties(filesystem, str(directory)) is None:
            meta = MetaProperties(cluster_id=cluster_id, node_id=number, directory_id=fresh_uuid(os.urandom(16)))
            write_meta_properties(filesystem, str(directory), meta)

    # -- processes -----------------------------------------------------------------------------------------------

    def heed_signals(self) -> None:
        """From before the first node is started: whoever ends this process ends the nodes with it."""
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, self._signalled)

    def _signalled(self, number: int, _: object) -> None:
        if self._stopping and number == signal.SIGINT:
            # A second Ctrl-C: whoever presses it does not want to wait.
            for process in self._processes.values():
                process.kill()
            end_by(signal.SIGINT)
        self._stopping = True

    def start(self) -> None:
        """Until all nodes accept connections, or a signal has come."""
        for number in self._numbers:
            if self._stopping:
                return
            command = [sys.executable, "-m", "tidelog.cli.main", "server", "--config", str(self.config_file(number))]
            log = (self._data_dir / f"node-{number}.log").open("ab")
            with log:
                # A session of its own: Ctrl-C reaches this process only, which then ends the nodes in order.
                self._processes[number] = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
                )
        deadline = time.monotonic() + START_SECONDS
        for number in self._numbers:
            while not self._stopping and not _accepts(self._host, self._ports[number]):
                code = self._processes[number].poll()
                if code is not None or time.monotonic() > deadline:
                    state = "did not start in time" if code is None else f"exited with code {code}"
                    raise CommandFailure(f"node {number} {state}; see {self._data_dir / f'node-{number}.log'}")
                time.sleep(POLL_SECONDS)

    def announce(self) -> None:
        if self._stopping:
            return
        servers = ",".join(f"{self._host}:{self._ports[number]}" for number in self._numbers)
        typer.echo(f"tidelog {VERSION}: a cluster of {len(self._numbers)} nodes listens on {servers}")
        typer.echo(f"  data    {self._data_dir}, a folder and a log file for each node")
        typer.echo(f"  connect bootstrap.servers={servers}")
        typer.echo(f"  look    tidelog cluster --bootstrap-server {self._host}:{self._ports[1]}")
        typer.echo("  stop    Ctrl-C")

    def watch(self) -> None:
        """Until all nodes have ended, or a signal comes. A node that dies leaves the others running."""
        while not self._stopping and self._processes:
            time.sleep(POLL_SECONDS)
            for number, process in list(self._processes.items()):
                if process.poll() is not None:
                    del self._processes[number]
                    typer.echo(
                        f"node {number} exited with code {process.returncode}; start it again with: "
                        f"tidelog server --config {self.config_file(number)}"
                    )

    def stop(self) -> None:
        for process in self._processes.values():
            process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for process in self._processes.values():
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()


def run_cluster(*, host: str, port: int, nodes: int, data_dir: Path, properties: Mapping[str, str]) -> None:
    cluster = LocalCluster(host=host, port=port, nodes=nodes, data_dir=data_dir, properties=properties)
    cluster.prepare()
    cluster.heed_signals()
    try:
        cluster.start()
        cluster.announce()
        cluster.watch()
    finally:
        cluster.stop()


# Below the range from which the system takes the ports of outgoing connections, so that a node finds its port free
# again when it is restarted.
_PORTS = range(12_000, 32_000)


def _free_port(host: str) -> int:
    while True:
        port = _PORTS[int.from_bytes(os.urandom(4), "big") % len(_PORTS)]
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((host, port))
            return port


def _accepts(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=1):
            return True
    except OSError:
        return False
