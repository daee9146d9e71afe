"""The properties that the processes of `tidelog up --cores N` start with.

The first process is broker and controller, the only voter of the metadata quorum; the others are brokers. Everything
has one copy: the processes share the work, they do not stand in for each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tidelog.cli.failures import CommandFailure
from tidelog.cli.local_cluster.data_directory import core_directory
from tidelog.cli.local_cluster.ports import bracketed, reachable
from tidelog.cli.local_cluster.start_security import StartSecurity
from tidelog.config.broker import BrokerConfig
from tidelog.config.definitions import InvalidConfig
from tidelog.config.single_copy import SINGLE_COPY_PROPERTIES
from tidelog.model.lazy_dataclasses import dataclass

CONTROLLER = 1
LOOPBACK = "127.0.0.1"
METRICS_HOST, METRICS_PORT = "tidelog.metrics.host", "tidelog.metrics.port"
_ADVERTISED = "advertised.listeners"
# What each process needs a value of its own for, with what is used instead.
_PER_PROCESS = {
    "node.id": "processes are numbered from 1",
    "broker.id": "processes are numbered from 1",
    "process.roles": "the first process is the controller too",
    "listeners": "use --host and --port",
    "log.dirs": "use --data-dir",
    "log.dir": "use --data-dir",
    "metadata.log.dir": "use --data-dir",
    "controller.listener.names": "the first process is the controller too",
    "controller.quorum.voters": "the first process is the controller too",
    "controller.quorum.bootstrap.servers": "the first process is the controller too",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CorePorts:
    """Where the processes listen, by their number."""

    clients: Mapping[int, int]
    controller: int
    # On the loopback interface, for this command, which shows the metrics of all on one page.
    metrics: Mapping[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreSettings:
    """Raises CommandFailure for properties that cannot be one value for all."""

    host: str
    security: StartSecurity
    ports: CorePorts
    overrides: Mapping[str, str]

    def __post_init__(self) -> None:
        for name, instead in _PER_PROCESS.items():
            if name in self.overrides:
                raise CommandFailure(f"--override {name}: --cores gives each process its own; {instead}")

    @property
    def data_dir(self) -> Path:
        return self.security.data_dir

    @property
    def count(self) -> int:
        return len(self.ports.clients)

    @property
    def servers(self) -> str:
        """The one address that is given to clients; they learn the others from it."""
        return f"{bracketed(reachable(self.host))}:{self.ports.clients[1]}"

    @property
    def metrics_address(self) -> tuple[str, int] | None:
        """Where the one page with the metrics of all is served; None if nobody wants it. Raises InvalidConfig."""
        config = BrokerConfig.from_properties(self.properties_of(CONTROLLER, own_metrics=False))
        return None if config.tidelog_metrics_port < 0 else (config.tidelog_metrics_host, config.tidelog_metrics_port)

    def properties_of(self, number: int, *, own_metrics: bool = True) -> dict[str, str]:
        """`own_metrics`: with the page that this command collects from, instead of the one that the user asked for."""
        host = bracketed(self.host)
        listeners = f"{self.security.listener}://{host}:{self.ports.clients[number]}"
        roles = "broker"
        if number == CONTROLLER:
            listeners += f",CONTROLLER://{LOOPBACK}:{self.ports.controller}"
            roles = "broker,controller"
        properties = {
            **SINGLE_COPY_PROPERTIES,
            "node.id": str(number),
            "process.roles": roles,
            "listeners": listeners,
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": f"{CONTROLLER}@{LOOPBACK}:{self.ports.controller}",
            "log.dirs": str(core_directory(self.data_dir, number).resolve()),
            "default.replication.factor": "1",
            # A topic whose creator names no number has a partition in each process.
            "num.partitions": str(self.count),
            **self.security.properties,
            **self.overrides,
        }
        if _ADVERTISED in self.overrides:
            properties[_ADVERTISED] = self._advertised(number)
        if own_metrics:
            properties.update({METRICS_HOST: LOOPBACK, METRICS_PORT: str(self.ports.metrics[number])})
        return properties

    def _advertised(self, number: int) -> str:
        """What the user says of the first process, with the port moved as far as that of this process is."""
        given = self.overrides[_ADVERTISED]
        name, _, port = given.rpartition(":")
        if "," in given or not port.isdigit():
            raise CommandFailure(
                f"--override {_ADVERTISED}={given}: give the address of the first process, such as "
                f"{self.security.listener}://name:{self.ports.clients[1]}; the others follow with the same name and "
                "their own ports"
            )
        return f"{name}:{int(port) + self.ports.clients[number] - self.ports.clients[1]}"

    def check(self) -> None:
        """Raises CommandFailure if a process could not start with its properties."""
        try:
            for number in self.ports.clients:
                BrokerConfig.from_properties(self.properties_of(number))
            # The user's own port of the metrics is in none of these.
            BrokerConfig.from_properties(self.properties_of(CONTROLLER, own_metrics=False))
        except InvalidConfig as error:
            raise CommandFailure("; ".join(error.problems)) from error
