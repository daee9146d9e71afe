"""`tidelog log-dirs` prints what kafka-log-dirs prints."""

from __future__ import annotations

import json
from collections.abc import Callable

from support.tidelog_command import Command
from support.tidelog_process import TidelogBroker


def test_directories_are_described_in_kafkas_lines(at_broker: Command, broker: TidelogBroker, topic: str) -> None:
    at_broker("topics", "--create", "--topic", topic, "--partitions", "2")
    at_broker("produce", "--topic", topic, stdin="one\ntwo\n")
    first, second, third = at_broker("log-dirs", "--describe", "--topic-list", topic).stdout.splitlines()
    assert first == "Querying brokers for log directories information"
    assert second == "Received log directory information from brokers 1"
    told = json.loads(third)
    assert told["version"] == 1
    ((only,),) = (described["logDirs"] for described in told["brokers"])
    assert only["logDir"] == str(broker.log_directory)
    assert only["error"] is None
    assert {partition["partition"] for partition in only["partitions"]} == {f"{topic}-0", f"{topic}-1"}
    assert sum(partition["size"] for partition in only["partitions"]) > 0
    assert all(partition["offsetLag"] == 0 and not partition["isFuture"] for partition in only["partitions"])


def test_json_shows_the_space_of_disks(at_broker: Command) -> None:
    told = json.loads(at_broker("log-dirs", "--json", "--broker-list", "1").stdout)
    directory = told["brokers"][0]["logDirs"][0]
    assert 0 < directory["usableBytes"] <= directory["totalBytes"]


def test_unknown_brokers_are_refused(at_broker: Command, usage_error: Callable[..., str]) -> None:
    done = at_broker("log-dirs", "--broker-list", "1,7", code=1)
    assert "--broker-list names 7, but the cluster has only the brokers 1" in done.stderr
    assert "'x' is not the number of a broker" in usage_error("log-dirs", "--broker-list", "x")
