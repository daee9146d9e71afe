"""The command line of pipelines, as far as it goes without Spark: what is wrong is told before anything starts."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.tidelog_process import tidelog_command

from tidelog.cli.commands.pipeline import InputOptions, OutputOptions


def tidelog(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [tidelog_command(), "pipeline", *arguments], capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["sink-db", "--name", "p", "--url", "sqlite:x.db", "--table", "t"], "either topics or topic_pattern"),
        (["transform", "--name", "p", "--topic", "t", "--to", "u"], "either sql"),
        (["outbox", "--name", "a b", "--url", "sqlite:x.db"], "name = 'a b'"),
        (["mirror", "--name", "m", "--topic", "t", "--to-bootstrap-server", "127.0.0.1:9092"], "same cluster"),
        (["run", "no-such-file.toml"], "cannot read no-such-file.toml"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(arguments: list[str], told: str) -> None:
    pytest.importorskip("pyspark")
    done = tidelog(*arguments)
    assert done.returncode == 1
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_help_says_how_to_run_on_a_cluster() -> None:
    done = tidelog("--help")
    assert done.returncode == 0
    assert "spark-submit" in done.stdout


def test_the_entry_point_is_a_program() -> None:
    pytest.importorskip("pyspark")
    path = Path(tidelog("entry-point").stdout.strip())
    assert path.is_file()
    assert "spark-submit" in path.read_text()


def test_a_file_for_java_is_that_of_both_clusters_unless_they_are_two(tmp_path: Path) -> None:
    file, other = tmp_path / "client.properties", tmp_path / "producer.properties"
    serializer = "key.serializer=org.apache.kafka.common.serialization.StringSerializer"
    file.write_text(f"bootstrap.servers=here:9092\nsecurity.protocol=SSL\nacks=all\ngroup.id=g\n{serializer}\n")
    other.write_text("bootstrap.servers=there:9092\nsecurity.protocol=SASL_SSL\nacks=all\ngroup.id=g\n")
    source = InputOptions(topic=["t"], consumer_config=file, source_option=["kafka.client.id=mine"]).table()
    assert source["bootstrap_servers"] == "here:9092"
    assert source["options"] == {
        "kafka.security.protocol": "SSL",
        "kafka.client.id": "mine",
    }
    target = OutputOptions(producer_config=other, bootstrap_server="elsewhere:9092").table()
    assert target["bootstrap_servers"] == "elsewhere:9092"
    assert target["options"] == {"kafka.security.protocol": "SASL_SSL"}
