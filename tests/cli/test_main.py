"""The command itself: help, versions, failures and exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.processes import free_port, tail
from support.tidelog_command import Command
from support.tidelog_process import tidelog_command
from typer.testing import CliRunner

import tidelog as package
from tidelog.cli.main import COMMANDS, app


def test_help_lists_all_commands(tidelog: Command) -> None:
    shown = tidelog("--help").stdout
    for name, entry in COMMANDS.items():
        assert name in shown
        assert entry.summary in shown


def test_help_imports_no_command() -> None:
    """What makes it quick: measured as modules, because time depends on the machine."""
    code = "import sys, tidelog.cli.main; print(*sorted(m for m in sys.modules if m.startswith('tidelog.')))"
    loaded = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True, timeout=60)
    heavy = ("client", "network", "protocol", "records", "server", "storage")
    assert not [name for name in loaded.stdout.split() if name.split(".")[1] in heavy]
    assert "tidelog.cli.commands.topics" not in loaded.stdout.split()


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_help_teaches_with_examples(command: str) -> None:
    result = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200", "TERM": "dumb"})
    assert result.exit_code == 0
    assert f"{command} [OPTIONS]" in result.output
    if command != "dump-log":
        assert f"tidelog {command}" in result.output.partition("Examples:")[2]


def test_the_version_is_the_packages(tidelog: Command) -> None:
    assert tidelog("--version").stdout == f"tidelog {package.__version__}\n"


def test_a_mistyped_command_is_recognised(tidelog: Command) -> None:
    assert "Did you mean 'topics'?" in tidelog("topcis", code=2).stderr


def test_nobody_there_is_told_in_one_line_with_a_remedy(tidelog: Command) -> None:
    address = f"127.0.0.1:{free_port()}"
    failed = tidelog("topics", "-b", address, "--list", code=1)
    assert failed.stderr.startswith(f"tidelog: no broker answers at {address} (")
    assert "Connection refused" in failed.stderr
    assert failed.stderr.endswith("`tidelog up` starts one\n")
    assert failed.stderr.count("\n") == 1


def test_the_servers_can_come_from_the_environment(tidelog: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"127.0.0.1:{free_port()}"
    monkeypatch.setenv("TIDELOG_BOOTSTRAP_SERVERS", address)
    assert address in tidelog("topics", "--list", code=1).stderr


def test_an_address_that_is_none_is_named(tidelog: Command) -> None:
    assert "'nowhere:port' is not an address" in tidelog("topics", "-b", "nowhere:port", "--list", code=1).stderr


def test_a_missing_file_is_named(tidelog: Command) -> None:
    failed = tidelog("topics", "--list", "--command-config", "/nowhere/client.properties", code=1)
    assert failed.stderr == "tidelog: cannot read /nowhere/client.properties: No such file or directory\n"


def test_the_doctor_knows_the_machine(tidelog: Command) -> None:
    findings = {entry["what"]: entry for entry in json.loads(tidelog("doctor", "--json").stdout)}
    assert findings["tidelog"]["detail"] == package.__version__
    assert findings["event loop"]["good"]
    assert findings["event loop"]["detail"].startswith("uvloop ")
    assert {"Python", "checksum", "compression", "record codec", "open files", "Java", "Spark"} <= set(findings)
    assert "uvloop" in tidelog("doctor").stdout


def test_up_says_where_it_listens_and_ends_cleanly(tmp_path: Path) -> None:
    port, output = free_port(), tmp_path / "output"
    command = (tidelog_command(), "up", "--port", str(port), "--data-dir", str(tmp_path / "data"))
    with output.open("wb") as sink, subprocess.Popen(command, stdout=sink, stderr=subprocess.STDOUT) as process:
        deadline = time.monotonic() + 20
        while "Press Ctrl-C to stop." not in tail(output) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0
    said = output.read_text().splitlines()
    assert said[0] == f"tidelog listens on 127.0.0.1:{port}, data in {tmp_path / 'data'}"
    assert f"  tidelog produce -b 127.0.0.1:{port} --topic first" in said
    assert (tmp_path / "data" / "meta.properties").exists()


def test_two_brokers_cannot_share_a_port_or_a_directory(tidelog: Command, tmp_path: Path) -> None:
    port, output = free_port(), tmp_path / "output"
    command = (tidelog_command(), "up", "--port", str(port), "--data-dir", str(tmp_path / "data"))
    with output.open("wb") as sink, subprocess.Popen(command, stdout=sink, stderr=subprocess.STDOUT) as process:
        deadline = time.monotonic() + 20
        while "Press Ctrl-C to stop." not in tail(output) and time.monotonic() < deadline:
            time.sleep(0.05)
        try:
            same_port = tidelog("up", "--port", str(port), "--data-dir", str(tmp_path / "other"), code=1)
            assert str(port) in same_port.stderr
            same_directory = tidelog("up", "--port", "0", "--data-dir", str(tmp_path / "data"), code=1)
            assert str(tmp_path / "data") in same_directory.stderr
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=20)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("log.retention.mss=5", "log.retention.ms"),
        ("num.partitions=many", "num.partitions must be a whole number, but is many"),
    ],
)
def test_a_server_file_with_a_mistake_starts_nothing(tidelog: Command, tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "server.properties"
    path.write_text(f"node.id=1\nprocess.roles=broker,controller\nlog.dirs={tmp_path / 'data'}\n{line}\n")
    failed = tidelog("server", "--config", str(path), code=1)
    assert said in failed.stderr
    assert failed.stderr.count("\n") == 1
    assert not (tmp_path / "data").exists()


def test_the_tour_reads_what_it_sent(tidelog: Command) -> None:
    told = tidelog("tour", "--records", "2000").stdout
    assert "7. Read equals sent: each record once, in order." in told
    assert "2000 records are stored and acknowledged" in told
    assert "baseOffset: 0" in told


def test_a_closed_output_is_no_failure() -> None:
    line = f"{tidelog_command()} doctor --json | head -n 1"
    environment = {**os.environ, "COLUMNS": "200"}
    done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60, check=True, env=environment)
    assert done.stdout == "[\n"
    assert "Traceback" not in done.stderr


def test_a_file_for_java_serves_every_command(tidelog: Command, tmp_path: Path) -> None:
    """Its cluster counts unless another one is given, and what concerns other clients is left out."""
    address, other = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    file = tmp_path / "client.properties"
    file.write_text(
        f"bootstrap.servers={address}\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n"
        "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\\n"
        '    username="alice" password="planted;secret";\n'
        "acks=all\ngroup.id=mine\nkey.serializer=org.apache.kafka.common.serialization.StringSerializer\n"
    )
    option = ("--command-config", str(file))
    consume = ("consume", "--topic", "t")
    for command in (("topics", "--list"), ("groups", "--list"), consume, ("transactions", *option, "list")):
        failed = tidelog(*command, *(() if option[0] in command else option), code=1).stderr
        assert f"no broker answers at {address}" in failed
        assert "planted" not in failed
    assert other in tidelog("topics", "--list", "-b", other, "--command-config", str(file), code=1).stderr
    file.write_text("securty.protocol=SSL\n")
    failed = tidelog("topics", "--list", "--command-config", str(file), code=1).stderr
    assert "securty.protocol is not a property of clients; did you mean security.protocol?" in failed
