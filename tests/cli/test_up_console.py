"""`tidelog up --console` as its users have it: one command, one address, and nothing that is left behind."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from http.client import HTTPResponse
from pathlib import Path

import psutil
import pytest
from support.processes import HANG_SECONDS, free_port, start_process, stop_process, tail, wait_until
from support.tidelog_command import run_tidelog
from support.tidelog_process import tidelog_command

from tidelog.sync import Admin

READY = "Ctrl-C"
_ADDRESS = re.compile(r"console: (http://127\.0\.0\.1:\d+/)(?:\?token=(\S+))?")


class UpWithConsole:
    """The command, and the process of its console."""

    def __init__(self, directory: Path, *options: str, environment: Mapping[str, str] | None = None) -> None:
        self.data_dir, self._output, self._errors = directory / "data", directory / "up.log", directory / "errors.log"
        command = (tidelog_command(), "up", "--port", "0", "--data-dir", str(self.data_dir), "--console")
        if "--console-port" not in options:
            options = ("--console-port", "0", *options)
        self.up = start_process((*command, *options), output=self._output, errors=self._errors, environment=environment)
        self._children: list[psutil.Process] = []
        try:
            wait_until(lambda: READY in self.said or self.up.poll() is not None, what="the announcement")
            assert self.up.poll() is None, f"{self.said}\n{tail(self._errors)}"
            self._children = psutil.Process(self.up.pid).children(recursive=True)
        except BaseException:
            self.close()
            raise
        found = _ADDRESS.search(self.said)
        assert found is not None, self.said
        self.address, self.token = found[1], found[2]

    @property
    def said(self) -> str:
        return self._output.read_text()

    @property
    def complaints(self) -> str:
        return self._errors.read_text()

    @property
    def servers(self) -> str:
        found = re.search(r"listens on (\S+?),? ", self.said.replace("\n", " "))
        assert found is not None
        return found[1]

    @property
    def console(self) -> psutil.Process:
        (found,) = [
            each for each in self._children if "--stop-with-input" in each.cmdline() and "console" in each.cmdline()
        ]
        return found

    def ask(self, path: str, token: str | None = None) -> HTTPResponse:
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        request = urllib.request.Request(self.address + path, headers=headers)
        reply = urllib.request.urlopen(request, timeout=HANG_SECONDS)
        assert isinstance(reply, HTTPResponse)
        return reply

    def first_reading(self, token: str | None = None) -> tuple[HTTPResponse, dict[str, object]]:
        """Of the overview, and the stream that goes on."""
        stream = self.ask("api/overview/live", token)
        assert stream.readline() == b"event: reading\n"
        return stream, json.loads(stream.readline().removeprefix(b"data: "))

    def end(self, by: signal.Signals = signal.SIGINT) -> None:
        """As its user ends it."""
        self.up.send_signal(by)
        assert self.up.wait(HANG_SECONDS) == 0, f"{self.said}\n{self.complaints}"
        self.expect_nothing_left()

    def expect_nothing_left(self) -> None:
        _, left = psutil.wait_procs(self._children, timeout=HANG_SECONDS)
        assert left == []

    def close(self) -> None:
        stop_process(self.up, hard=True)
        for each in self._children:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()


Start = Callable[..., UpWithConsole]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[UpWithConsole] = []

    def begin(*options: str, environment: Mapping[str, str] | None = None) -> UpWithConsole:
        started.append(UpWithConsole(tmp_path, *options, environment=environment))
        return started[-1]

    yield begin
    for each in started:
        each.close()


@contextlib.contextmanager
def taken_port() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", free_port()))
        listener.listen()
        yield listener.getsockname()[1]


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_one_command_ends_both_while_somebody_watches(start: Start, by: signal.Signals) -> None:
    running = start()
    stream, reading = running.first_reading()
    assert reading["cluster_id"]
    running.end(by)
    assert stream.read().endswith(b"\n"), "the reply has ended, and was not cut"
    assert running.complaints == ""


def test_it_listens_on_the_port_that_is_asked_for(start: Start) -> None:
    port = free_port()
    running = start("--console-port", str(port))
    assert running.address == f"http://127.0.0.1:{port}/"
    session = json.load(running.ask("api/session"))
    assert (session["servers"], session["read_only"]) == (running.servers, False)


def test_no_process_is_left_if_the_command_is_killed(start: Start) -> None:
    running = start()
    stream, _ = running.first_reading()
    running.up.kill()
    running.up.wait(HANG_SECONDS)
    running.expect_nothing_left()
    stream.close()


def test_the_broker_goes_on_without_a_console_that_dies(start: Start) -> None:
    running = start()
    running.first_reading()[0].close()
    running.console.kill()
    line = "tidelog: the console was ended by SIGKILL; everything else goes on without it\n"
    wait_until(lambda: running.complaints, what="the complaint")
    with Admin(running.servers) as admin:
        admin.create_topic("still-here")
    running.end()
    assert running.complaints == line


def test_the_console_of_a_secured_broker_needs_a_token_and_may_do_everything(start: Start) -> None:
    running = start("--secure")
    with pytest.raises(urllib.error.HTTPError) as refused:
        running.ask("api/overview/live")
    assert refused.value.code == 401
    assert "whoever has this token may do there what the administrator may do" in running.said
    assert running.token not in " ".join(running.console.cmdline())
    stream, reading = running.first_reading(running.token)
    assert reading["quorum"] is not None, "which only those see who may describe the cluster"
    stream.close()
    running.end()
    assert running.complaints == ""


def test_a_token_of_the_environment_is_used(start: Start) -> None:
    running = start(environment={"TIDELOG_CONSOLE_TOKEN": "of-the-environment"})
    assert running.token == "of-the-environment"
    assert running.ask("api/session", "of-the-environment").status == 200
    with pytest.raises(urllib.error.HTTPError, match="401"):
        running.ask("api/session")


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "count"), [("--nodes", 3), ("--cores", 2)])
def test_clusters_on_this_machine_have_one_as_well(start: Start, kind: str, count: int) -> None:
    running = start(kind, str(count))
    stream, reading = running.first_reading()
    brokers = reading["brokers"]
    assert isinstance(brokers, list)
    assert len(brokers) == count
    running.end()
    assert stream.read().endswith(b"\n")
    assert running.complaints == ""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["--nodes", "--cores"])
def test_nothing_of_a_cluster_is_left_if_the_command_is_killed(start: Start, kind: str) -> None:
    running = start(kind, "2", "--secure")
    running.first_reading(running.token)[0].close()
    running.up.kill()
    running.up.wait(HANG_SECONDS)
    running.expect_nothing_left()


@pytest.mark.parametrize("options", [(), ("--nodes", "2"), ("--cores", "2")])
def test_a_port_that_is_taken_is_found_before_anything_starts(tmp_path: Path, options: tuple[str, ...]) -> None:
    data = tmp_path / "data"
    with taken_port() as port:
        wanted = ("--console", "--console-port", str(port), "--port", "0", "--data-dir", str(data))
        said = run_tidelog("up", *wanted, *options, code=1).stderr
    assert said == (
        f"tidelog: the console cannot listen on 127.0.0.1:{port}: Address already in use; choose another port with "
        "--console-port, 0 takes a free one\n"
    )
    assert not data.exists()


@pytest.mark.parametrize("missing", ["fastapi", "uvicorn"])
@pytest.mark.parametrize("command", [("up", "--console", "--port", "0"), ("console",)])
def test_without_the_extra_it_is_said_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], missing: str
) -> None:
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules[{missing!r}] = None\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    data = tmp_path / "data"
    where = ("--data-dir", str(data)) if command[0] == "up" else ()
    said = run_tidelog(*command, *where, code=1).stderr
    assert said == 'tidelog: the console needs FastAPI and uvicorn: pip install "tidelog[console]"\n'
    assert not data.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--console-port", "8081"), "--console-port has no effect without --console"),
        (("--console", "--port", "8080"), "port 8080 is needed twice"),
        (("--console", "--port", "9000", "--nodes", "3", "--console-port", "9002"), "port 9002 is needed twice"),
    ],
)
def test_wrong_uses_exit_with_two(usage_error: Callable[..., str], arguments: tuple[str, ...], said: str) -> None:
    assert said in usage_error("up", *arguments)
