"""What the processes of `tidelog up --cores` start with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.cli.failures import CommandFailure
from tidelog.cli.local_cluster.core_settings import CorePorts, CoreSettings
from tidelog.cli.local_cluster.start_security import StartSecurity
from tidelog.config.broker import BrokerConfig

PORTS = CorePorts(clients={1: 9092, 2: 9093, 3: 9095}, controller=20_000, metrics={1: 20_001, 2: 20_002, 3: 20_003})


def settings(host: str = "127.0.0.1", **overrides: str) -> CoreSettings:
    given = {name.replace("_", "."): value for name, value in overrides.items()}
    return CoreSettings(host=host, security=StartSecurity(data_dir=Path("/data")), ports=PORTS, overrides=given)


def config(number: int, **overrides: str) -> BrokerConfig:
    return BrokerConfig.from_properties(settings(**overrides).properties_of(number))


def test_the_first_process_is_the_controller_and_all_are_brokers() -> None:
    assert [sorted(config(number).process_roles) for number in (1, 2)] == [["broker", "controller"], ["broker"]]
    assert {voter.id for number in (1, 2, 3) for voter in config(number).controller_quorum_voters} == {1}


def test_everything_has_one_copy_and_a_topic_a_partition_in_each_process() -> None:
    found = config(2)
    assert found.default_replication_factor == found.offsets_topic_replication_factor == 1
    assert found.transaction_state_log_replication_factor == 1
    assert found.num_partitions == 3


def test_overrides_apply_to_all() -> None:
    assert [config(number, num_partitions="12").num_partitions for number in (1, 2, 3)] == [12, 12, 12]


def test_processes_have_metrics_for_the_command_whatever_the_user_wants() -> None:
    assert settings().metrics_address is None
    wanted = settings(tidelog_metrics_port="9404", tidelog_metrics_host="10.0.0.1")
    assert wanted.metrics_address == ("10.0.0.1", 9404)
    assert wanted.properties_of(2)["tidelog.metrics.port"] == "20002"
    assert wanted.properties_of(2)["tidelog.metrics.host"] == "127.0.0.1"


@pytest.mark.parametrize("name", ["node.id", "listeners", "log.dirs", "controller.quorum.voters"])
def test_what_cannot_be_one_value_for_all_is_refused(name: str) -> None:
    with pytest.raises(CommandFailure, match=f"--override {name}: --cores gives each process its own"):
        CoreSettings(
            host="127.0.0.1", security=StartSecurity(data_dir=Path("/data")), ports=PORTS, overrides={name: "1"}
        )


def test_the_advertised_address_keeps_the_distance_of_the_ports() -> None:
    found = settings(host="0.0.0.0", advertised_listeners="PLAINTEXT://example.org:19092")
    found.check()
    advertised = [found.properties_of(number)["advertised.listeners"] for number in (1, 2, 3)]
    assert advertised == [f"PLAINTEXT://example.org:{port}" for port in (19092, 19093, 19095)]
    assert found.servers == "127.0.0.1:9092"


@pytest.mark.parametrize("given", ["PLAINTEXT://a:1,PLAINTEXT://b:2", "PLAINTEXT://a"])
def test_an_advertised_address_that_cannot_be_continued_is_refused(given: str) -> None:
    with pytest.raises(CommandFailure, match="give the address of the first process"):
        settings(advertised_listeners=given).check()


@pytest.mark.parametrize(
    ("host", "overrides", "said"),
    [
        ("0.0.0.0", {}, "set advertised.listeners"),
        ("127.0.0.1", {"num_partitions": "many"}, "num.partitions must be a whole number"),
        ("127.0.0.1", {"num_partition": "3"}, "num.partition"),
        ("127.0.0.1", {"tidelog_metrics_port": "70000"}, "tidelog.metrics.port"),
    ],
)
def test_mistakes_are_found_before_anything_starts(host: str, overrides: dict[str, str], said: str) -> None:
    with pytest.raises(CommandFailure) as refused:
        settings(host, **overrides).check()
    assert said in str(refused.value)


def test_an_ipv6_address_is_written_with_brackets() -> None:
    found = settings(host="::1")
    found.check()
    assert found.servers == "[::1]:9092"
    assert found.properties_of(2)["listeners"] == "PLAINTEXT://[::1]:9093"
