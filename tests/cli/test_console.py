"""`tidelog produce` and `tidelog consume`."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.processes import wait_until
from support.tidelog_command import Command
from support.tidelog_process import TidelogBroker, tidelog_command


def consume(at_broker: Command, topic: str, *arguments: str, count: int) -> list[str]:
    done = at_broker("consume", "--topic", topic, "--from-beginning", "--max-messages", str(count), *arguments)
    assert done.stderr == f"Processed a total of {count} messages\n"
    return done.stdout.splitlines()


def test_lines_come_back_as_they_were_sent(at_broker: Command, topic: str) -> None:
    at_broker("produce", "--topic", topic, stdin="first\n\nthird: ünï\nno end of line")
    assert consume(at_broker, topic, count=4) == ["first", "", "third: ünï", "no end of line"]


def test_keys_and_headers(at_broker: Command, topic: str) -> None:
    at_broker("produce", "--topic", topic, "--key-separator", ":", stdin="k1:v1\nk2:v:2\n")
    options = ("--property", "parse.key=true", "--property", "key.separator=,", "--property", "null.marker=NULL")
    at_broker("produce", "--topic", topic, *options, stdin="k3,NULL\n")
    at_broker("produce", "--topic", topic, "--headers", "--header", "all:same", stdin="h1:a,h2:b\tvalue\n")
    lines = consume(at_broker, topic, "--property", "print.key=true", "--property", "print.headers=true", count=4)
    assert lines == [
        "NO_HEADERS\tk1\tv1",
        "NO_HEADERS\tk2\tv:2",
        "NO_HEADERS\tk3\tnull",
        "h1:a,h2:b,all:same\tnull\tvalue",
    ]
    assert consume(at_broker, topic, "--key-separator", " => ", count=2) == ["k1 => v1", "k2 => v:2"]


def test_everything_about_a_record_can_be_printed(at_broker: Command, topic: str) -> None:
    at_broker("topics", "--create", "--topic", topic, "--partitions", "2")
    at_broker("produce", "--topic", topic, "--partition", "1", stdin="x\n")
    shown = ("timestamp", "partition", "offset", "epoch")
    options = [part for name in shown for part in ("--property", f"print.{name}=true")]
    (line,) = consume(at_broker, topic, *options, "--property", "key.separator=|", count=1)
    timestamp, *rest = line.split("|")
    assert timestamp.startswith("CreateTime:1")
    assert rest == ["Partition:1", "Offset:0", "Epoch:0", "x"]


def test_json_keeps_bytes_that_are_no_text(at_broker: Command, broker: TidelogBroker, topic: str) -> None:
    subprocess.run(
        (tidelog_command(), "produce", "-b", broker.bootstrap_servers, "--topic", topic, "--header", "n:v"),
        input=b"\xff\xfe\nplain\n",
        check=True,
        timeout=60,
    )
    binary, plain = (json.loads(line) for line in consume(at_broker, topic, "--json", count=2))
    assert binary["value"] == {"base64": "//4="}
    assert (plain["topic"], plain["partition"], plain["offset"], plain["key"]) == (topic, 0, 1, None)
    assert plain["headers"] == [{"name": "n", "value": "v"}]


def test_one_partition_from_an_offset(at_broker: Command, topic: str) -> None:
    at_broker("topics", "--create", "--topic", topic, "--partitions", "2")
    at_broker("produce", "--topic", topic, "--partition", "1", stdin="".join(f"{n}\n" for n in range(10)))
    part = ("consume", "--topic", topic, "--partition", "1")
    assert at_broker(*part, "--offset", "7", "--max-messages", "2").stdout.split() == ["7", "8"]
    assert at_broker(*part, "--offset", "earliest", "--max-messages", "1").stdout.split() == ["0"]
    assert at_broker(*part, "--timeout-ms", "300").stdout == ""
    missing = at_broker("consume", "--topic", topic, "--partition", "9", code=1)
    assert f"topic '{topic}' has the partitions 0 to 1, not 9" in missing.stderr


def test_a_group_goes_on_where_it_stopped(at_broker: Command, topic: str) -> None:
    at_broker("produce", "--topic", topic, stdin="".join(f"{n}\n" for n in range(10)))
    group = ("--group", f"{topic}-group")
    assert consume(at_broker, topic, *group, count=4) == ["0", "1", "2", "3"]
    assert consume(at_broker, topic, *group, count=6) == ["4", "5", "6", "7", "8", "9"]
    assert at_broker("consume", "--topic", topic, *group, "--timeout-ms", "300").stdout == ""


def test_several_topics_by_expression(at_broker: Command, topic: str) -> None:
    for letter in "ab":
        at_broker("produce", "--topic", f"{topic}-{letter}", stdin=f"{letter}\n")
    done = at_broker("consume", "--include", f"{topic}-.*", "--from-beginning", "--max-messages", "2")
    assert sorted(done.stdout.split()) == ["a", "b"]
    assert "no topic matches" in at_broker("consume", "--include", "nothing-.*", code=1).stderr


def test_configuration_files_and_properties(at_broker: Command, topic: str, tmp_path: Path) -> None:
    config = tmp_path / "producer.config"
    config.write_text("enable.idempotence=true\nmax.in.flight.requests.per.connection=5\nretries=5\n")
    at_broker(
        "produce",
        "--topic",
        topic,
        "--producer.config",
        str(config),
        "--compression-codec",
        "zstd",
        "--sync",
        stdin="x\n",
    )
    reading = tmp_path / "consumer.config"
    reading.write_text("exclude.internal.topics=false\nfetch.max.wait.ms=50\n")
    assert consume(at_broker, topic, "--consumer.config", str(reading), count=1) == ["x"]


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("enable.idempotence=true\nacks=1\n", "enable.idempotence=true needs acks=all, but acks=1"),
        ("linger.msec=4\n", "linger.msec is not a property of producers; did you mean linger.ms?"),
        ("acks=two\n", "acks must be one of all, -1, 0, 1, but is two"),
    ],
)
def test_a_producer_that_cannot_work_is_refused(
    at_broker: Command, topic: str, tmp_path: Path, config: str, said: str
) -> None:
    path = tmp_path / "producer.config"
    path.write_text(config)
    refused = at_broker("produce", "--topic", topic, "--producer.config", str(path), stdin="x\n", code=1)
    assert said in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_an_unreadable_line_ends_the_work_with_its_number(at_broker: Command, topic: str) -> None:
    refused = at_broker("produce", "--topic", topic, "--key-separator", ":", stdin="a:1\nno key\nb:2\n", code=1)
    assert "line 2 has no ':' after its key: 'no key'. The lines before it were sent" in refused.stderr
    assert consume(at_broker, topic, count=1) == ["1"]
    at_broker(
        "produce", "--topic", topic, "--key-separator", ":", "--property", "ignore.error=true", stdin="no key\nb:2\n"
    )
    assert consume(at_broker, topic, count=3) == ["1", "no key", "2"]


def test_records_that_the_broker_refuses_are_counted(at_broker: Command, topic: str) -> None:
    at_broker("topics", "--create", "--topic", topic, "--config", "cleanup.policy=compact")
    refused = at_broker("produce", "--topic", topic, stdin="no key\n", code=1)
    assert "INVALID_RECORD" in refused.stderr
    assert refused.stderr.endswith("tidelog: 1 of 1 records were not delivered\n")


@pytest.mark.parametrize(
    ("command", "arguments", "said"),
    [
        ("produce", (), "--topic"),
        ("produce", ("--topic", "t", "--property", "parse.keys=true"), "did you mean parse.key?"),
        ("produce", ("--topic", "t", "--property", "headers.separator=:"), "they must differ"),
        ("consume", (), "either --topic or --include"),
        ("consume", ("--topic", "t", "--offset", "3"), "--offset needs --partition"),
        ("consume", ("--topic", "t", "--partition", "0", "--offset", "first"), "is not a number, earliest"),
        ("consume", ("--topic", "t", "--partition", "0", "--group", "g"), "--partition needs --topic"),
        ("consume", ("--topic", "t", "--property", "print.keys=true"), "did you mean print.key?"),
        ("consume", ("--topic", "t", "--formatter", "jsn"), "did you mean json?"),
    ],
)
def test_wrong_uses_exit_with_two(
    usage_error: Callable[..., str], command: str, arguments: tuple[str, ...], said: str
) -> None:
    assert said in usage_error(command, *arguments)


def test_an_interrupt_ends_a_reader_in_peace(at_broker: Command, broker: TidelogBroker, topic: str) -> None:
    at_broker("produce", "--topic", topic, stdin="a\nb\n")
    command = (
        *(tidelog_command(), "consume", "-b", broker.bootstrap_servers, "--topic", topic, "--from-beginning"),
        *("--group", topic),
    )
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert [process.stdout.readline() for _ in range(2)] == ["a\n", "b\n"]
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0
        assert process.stderr.read() == "Processed a total of 2 messages\n"
    (described,) = json.loads(at_broker("groups", "--describe", "--group", topic, "--json").stdout)
    assert described["members"] == [], "it has left the group"
    assert described["partitions"][0]["currentOffset"] == 2


def test_a_reader_whose_output_is_closed_ends_in_peace(at_broker: Command, broker: TidelogBroker, topic: str) -> None:
    at_broker("produce", "--topic", topic, stdin="".join(f"{n}\n" for n in range(20_000)))
    line = f"{tidelog_command()} consume -b {broker.bootstrap_servers} --topic {topic} --from-beginning | head -n 1"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "0\n"
    assert "Traceback" not in done.stderr


def test_slow_input_is_sent_line_by_line(at_broker: Command, broker: TidelogBroker, topic: str) -> None:
    command = (tidelog_command(), "produce", "-b", broker.bootstrap_servers, "--topic", topic)
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        process.stdin.write("typed\n")
        process.stdin.flush()
        offset = f"{topic}:0:1\n"
        wait_until(
            lambda: (
                "0:1"
                in subprocess.run(
                    (tidelog_command(), "get-offsets", "-b", broker.bootstrap_servers, "--topic", topic),
                    capture_output=True,
                    text=True,
                    timeout=60,
                    check=False,
                ).stdout
            ),
            what=f"{offset!r}",
        )
        process.stdin.close()
        assert process.wait(timeout=20) == 0


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_compression(at_broker: Command, topic: str, codec: str) -> None:
    lines = [f"line {number} " + "x" * 50 for number in range(300)]
    at_broker("produce", "--topic", topic, "--compression-codec", codec, stdin="\n".join(lines) + "\n")
    assert consume(at_broker, topic, count=300) == lines
