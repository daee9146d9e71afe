"""Ports of this machine: whether one is free, and which one to take."""

from __future__ import annotations

import os
import socket
from collections.abc import Collection

from tidelog.cli.failures import CommandFailure
from tidelog.server.failures import reason

# Below the range from which the system takes the ports of outgoing connections, so that a node finds its port free
# again when it is restarted.
_PORTS = range(12_000, 32_000)
_HIGHEST = 65_535
# Drawn at random: if so many are taken, the address is wrong.
_TRIES = 1000
# What nobody can connect to is listened on at every address, so also at this one.
_EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


def free_port(host: str) -> int:
    """Any that nobody listens on now. Raises CommandFailure if none is found."""
    problem = None
    for _ in range(_TRIES):
        port = _PORTS[int.from_bytes(os.urandom(4), "big") % len(_PORTS)]
        problem = problem_with(host, port)
        if problem is None:
            return port
    raise CommandFailure(f"cannot listen on {host}: {problem}; choose another address with --host")


def free_ports(host: str, count: int, *, apart_from: Collection[int] = ()) -> list[int]:
    """So many different ones."""
    drawn: set[int] = set()
    while len(drawn) < count:
        drawn |= {free_port(host)} - set(apart_from)
    return sorted(drawn)


def following_free_ports(host: str, first: int, count: int) -> list[int]:
    """The given port (0: any), and the next ones that nobody listens on. Raises CommandFailure if the first is taken.

    A port can be lost to another program before it is used: then the process that needs it does not start, and says so.
    """
    if first == 0:
        first = free_port(host)
    problem = problem_with(host, first)
    if problem is not None:
        raise CommandFailure(
            f"cannot listen on {host}:{first}: {problem}; is another broker running there? Choose another port with "
            "--port"
        )
    ports = [first]
    for port in range(first + 1, _HIGHEST + 1):
        if len(ports) == count:
            break
        if problem_with(host, port) is None:
            ports.append(port)
    if len(ports) < count:
        raise CommandFailure(
            f"only {len(ports)} of the ports from {first} to {_HIGHEST} are free, but {count} are needed; choose a "
            "lower one with --port"
        )
    return ports


def problem_with(host: str, port: int) -> str | None:
    """Why a server cannot listen there; None if it can."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            # As servers do: connections of an earlier run that are still being forgotten do not count.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except socket.gaierror as error:
        return str(error.strerror)
    except OSError as error:
        return reason(error)
    return None


def accepts(host: str, port: int) -> bool:
    """Whether somebody listens there."""
    try:
        with socket.create_connection((host, port), timeout=1):
            return True
    except OSError:
        return False


def bracketed(host: str) -> str:
    """As it is written before a colon and a port."""
    return f"[{host}]" if ":" in host else host


def reachable(host: str) -> str:
    """Where this machine reaches a server that listens on `host`."""
    return _EVERY_ADDRESS.get(host, host)
