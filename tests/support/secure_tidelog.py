"""What `tidelog up --secure` starts, in processes of its own."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.clients.credentials import ScramLogin
from support.planted_secrets import leaking_files
from support.processes import free_port, running_server, wait_until
from support.tidelog_process import tidelog_command

from tidelog.cli.local_cluster.ports import following_free_ports


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SecureTidelog:
    servers: str
    login: ScramLogin
    data_dir: Path


@contextmanager
def running_secure(directory: Path, *options: str, nodes: int = 1) -> Iterator[SecureTidelog]:
    port, data_dir = _free_ports(nodes), directory / "data"
    command = [tidelog_command(), "up", "--secure", "--port", str(port), "--data-dir", str(data_dir), *options]
    others = range(port + 1, port + nodes)
    with running_server(command, port=port, output=directory / "tidelog.log", more_ports=others):
        files = data_dir / "security" / "librdkafka.conf"
        wait_until(files.exists, what=f"that {files} is written")
        servers = ",".join(f"127.0.0.1:{port + number}" for number in range(nodes))
        yield SecureTidelog(servers=servers, login=ScramLogin.of_administrator(data_dir), data_dir=data_dir)
    assert leaking_files(directory) == []


def _free_ports(count: int) -> int:
    """The first of as many that are free in a row, as far as that can be known."""
    return free_port() if count == 1 else following_free_ports("127.0.0.1", free_port(), count)[0]
