"""The console of `tidelog up --console`: a process of its own, which ends when this one does.

Its port is opened before anything is started, so that a port that is taken is found at once, and who opens the page
while nodes start is answered when they serve. The process itself is started when they do: it keeps no start waiting.
What it writes about failures goes where this process writes. If it dies, the nodes go on without it.
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from urllib.parse import quote

from tidelog.cli.failures import CONSOLE_IS_MISSING, CommandFailure
from tidelog.cli.local_cluster.processes import ended_by
from tidelog.cli.local_cluster.start_security import StartSecurity
from tidelog.server.failures import reason

# Only this machine: whoever wants more starts `tidelog console` with --host and a token.
_HOST = "127.0.0.1"
TOKEN_VARIABLE = "TIDELOG_CONSOLE_TOKEN"
_BACKLOG = 128
_STOP_SECONDS = 10.0
_EXTRA = ("fastapi", "uvicorn")


class AttachedConsole:
    """Opened at once, started when the nodes serve, and closed in the end, however far it has come."""

    def __init__(self, port: int) -> None:
        """Raises CommandFailure if there can be no console."""
        if any(find_spec(module) is None for module in _EXTRA):
            raise CommandFailure(CONSOLE_IS_MISSING)
        self._listening: socket.socket | None = _listen(port)
        self._port = self._listening.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        self._watching: threading.Thread | None = None
        self._closing = False

    def start(self, servers: str, security: StartSecurity) -> list[str]:
        """Once, when `security` has written its files. Returns the address, and perhaps what to know about it."""
        assert self._listening is not None, "it is started once, and not after its end"
        token = os.environ.get(TOKEN_VARIABLE) or None
        if token is None and security.client_file is not None:
            # It does what the administrator may do, for everybody on this machine who knows the address.
            token = secrets.token_urlsafe(24)
        command = [sys.executable, "-m", "tidelog.cli.main", "console", "--bootstrap-server", servers]
        if security.client_file is not None:
            command += ["--command-config", str(security.client_file)]
        descriptor = self._listening.fileno()
        command += ["--listening-socket", str(descriptor), "--stop-with-input"]
        environment = {name: value for name, value in os.environ.items() if name != TOKEN_VARIABLE}
        if token is not None:
            # Everybody on this machine can read the arguments of a process.
            environment[TOKEN_VARIABLE] = token
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env=environment,
            pass_fds=(descriptor,),
            # Ctrl-C reaches this process only, which then ends the others in order.
            start_new_session=True,
        )
        self._listening.close()
        self._listening = None
        self._watching = threading.Thread(target=self._watch, args=(self._process,), name="console", daemon=True)
        self._watching.start()
        return self._described(token, as_administrator=security.client_file is not None)

    def close(self) -> None:
        """The console has ended when this returns."""
        self._closing = True
        if self._listening is not None:
            self._listening.close()
            self._listening = None
        if self._process is None or self._watching is None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.terminate()
        self._watching.join(_STOP_SECONDS)
        if self._watching.is_alive():
            self._process.kill()
            self._watching.join()

    def _described(self, token: str | None, *, as_administrator: bool) -> list[str]:
        address = f"http://{_HOST}:{self._port}/"
        if token is None:
            return [address]
        secret = "may do there what the administrator may do" if as_administrator else "may use it"
        return [f"{address}?token={quote(token, safe='')}", f"whoever has this token {secret}"]

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        code = process.wait()
        if not self._closing:
            sys.stderr.write(f"tidelog: the console {ended_by(code)}; everything else goes on without it\n")
            sys.stderr.flush()


def announced(console: AttachedConsole | None, servers: str, security: StartSecurity) -> list[str]:
    """Start it, if there is to be one; what `up` says about it."""
    if console is None:
        return []
    address, *notes = console.start(servers, security)
    return [f"console: {address}", *(f"  {note}" for note in notes)]


@contextmanager
def attached_console(port: int) -> Iterator[AttachedConsole]:
    """Raises CommandFailure before anything is started."""
    console = AttachedConsole(port)
    try:
        yield console
    finally:
        console.close()


def _listen(port: int) -> socket.socket:
    listening = socket.socket()
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((_HOST, port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise CommandFailure(
            f"the console cannot listen on {_HOST}:{port}: {reason(error)}; choose another port with --console-port, "
            "0 takes a free one"
        ) from error
    return listening
