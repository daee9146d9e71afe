"""Reading a node's properties, and the rules between them."""

from __future__ import annotations

import csv
import dataclasses
import typing
from pathlib import Path

import pytest

from tidelog.config.broker import BROKER_DEFINITIONS, BrokerConfig, broker_problems
from tidelog.config.catalogue.refused import refusal
from tidelog.config.definitions import ConfigDefinition, ConfigType, InvalidConfig, format_value
from tidelog.config.fields import definitions_of
from tidelog.config.listeners import Listener, QuorumVoter, SecurityProtocol
from tidelog.config.topic import TOPIC_DEFINITIONS, TopicConfig

MINIMAL = {"node.id": "1"}

# The file that a node of Apache Kafka with both roles is usually started with.
COMBINED = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": "1@localhost:9093",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "controller.listener.names": "CONTROLLER",
}


def read(base: dict[str, str], **changes: str | None) -> BrokerConfig:
    properties = dict(base)
    for name, value in changes.items():
        if value is None:
            properties.pop(name.replace("_", "."))
        else:
            properties[name.replace("_", ".")] = value
    return BrokerConfig.from_properties(properties)


def facts_of_apache_kafka() -> dict[str, dict[str, tuple[str, str]]]:
    """Names, types and defaults as the 4.3.1 release defines them."""
    facts: dict[str, dict[str, tuple[str, str]]] = {"broker": {}, "topic": {}}
    with (Path(__file__).parent / "apache_kafka_4_3_properties.csv").open() as file:
        for row in csv.DictReader(file, delimiter=";"):
            facts[row["resource"]][row["name"]] = (row["type"], row["default"])
    return facts


# Where tidelog deliberately differs. A single node needs neither roles nor a quorum, and Java classes have no
# meaning here.
OTHER_DEFAULTS = {"process.roles", "controller.listener.names", "node.id", "metric.reporters"}


@pytest.mark.parametrize("definition", [*BROKER_DEFINITIONS.values()], ids=lambda each: str(each.name))
def test_broker_properties_have_apache_kafkas_type_and_default(definition: ConfigDefinition) -> None:
    fact = facts_of_apache_kafka()["broker"].get(definition.name)
    if fact is None:
        dynamic_only = definition.name.endswith(("throttled.rate", "io.max.bytes.per.second"))
        of_the_authorizer = definition.name in ("super.users", "allow.everyone.if.no.acl.found")
        assert dynamic_only or of_the_authorizer or definition.name.startswith("tidelog.")
        return
    assert definition.type.name == fact[0]
    if definition.name not in OTHER_DEFAULTS:
        assert str(format_value(definition.default) if definition.default is not None else "null") == fact[1]


@pytest.mark.parametrize("name", sorted(facts_of_apache_kafka()["broker"]))
def test_every_broker_property_of_apache_kafka_is_known_or_refused_with_a_reason(name: str) -> None:
    assert name in BROKER_DEFINITIONS or refusal(name) or name.startswith("internal.")


def test_topic_properties_are_apache_kafkas() -> None:
    facts = facts_of_apache_kafka()["topic"]
    ours = {
        name: (definition.type.name, "null" if definition.default is None else format_value(definition.default))
        for name, definition in TOPIC_DEFINITIONS.items()
    }
    assert ours == facts


_PYTHON_TYPES = {
    ConfigType.BOOLEAN: bool,
    ConfigType.INT: int,
    ConfigType.LONG: int,
    ConfigType.SHORT: int,
    ConfigType.DOUBLE: float,
    ConfigType.STRING: str,
    ConfigType.PASSWORD: str,
    ConfigType.CLASS: str,
    ConfigType.LIST: tuple[str, ...],
}


@pytest.mark.parametrize("config", [BrokerConfig, TopicConfig])
def test_fields_are_annotated_with_the_type_of_their_property(config: type) -> None:
    hints = typing.get_type_hints(config)
    for definition in definitions_of(config):
        expected: object = _PYTHON_TYPES[definition.type]
        if definition.default is None:
            expected = expected | None  # type: ignore[operator]
        assert hints[definition.name.replace(".", "_")] == expected, definition.name


def test_every_property_says_what_it_does_in_one_sentence() -> None:
    for definition in (*BROKER_DEFINITIONS.values(), *TOPIC_DEFINITIONS.values()):
        assert definition.description.endswith("."), definition.name
        assert len(definition.description) < 130, definition.name


def test_defaults_are_allowed_by_their_own_constraint() -> None:
    for definition in (*BROKER_DEFINITIONS.values(), *TOPIC_DEFINITIONS.values()):
        if definition.default is not None:
            assert definition.parse(format_value(definition.default) or "") == definition.default


def test_a_single_node_needs_only_its_number() -> None:
    config = BrokerConfig.from_properties(MINIMAL)
    assert config.process_roles == {"broker", "controller"}
    assert config.broker_listeners == (
        Listener(name="PLAINTEXT", host="", port=9092, protocol=SecurityProtocol.PLAINTEXT),
    )
    assert config.advertised_listeners == config.listeners
    assert config.controller_listeners == ()
    assert config.log_dirs == ("/tmp/kafka-logs",)
    assert config.metadata_log_dir == "/tmp/kafka-logs"
    assert config.inter_broker_listener_name == "PLAINTEXT"


def test_the_usual_combined_node() -> None:
    config = read(COMBINED, log_dirs="/data/a,/data/b,/data/a", broker_rack="r1", num_partitions="3")
    assert config.controller_quorum_voters == (QuorumVoter(id=1, host="localhost", port=9093),)
    assert [str(each) for each in config.broker_listeners] == ["PLAINTEXT://:9092"]
    assert [str(each) for each in config.controller_listeners] == ["CONTROLLER://:9093"]
    assert [str(each) for each in config.advertised_listeners] == ["PLAINTEXT://:9092"]
    assert config.log_dirs == ("/data/a", "/data/b")
    assert config.broker_rack == "r1"
    assert config.num_partitions == 3


def test_broker_and_controller_alone() -> None:
    broker = read(COMBINED, process_roles="broker", node_id="5", listeners="PLAINTEXT://:9092")
    assert broker.is_broker
    assert broker.process_roles == {"broker"}
    controller = read(COMBINED, process_roles="controller", listeners="CONTROLLER://:9093")
    assert not controller.is_broker
    assert controller.process_roles == {"controller"}
    assert controller.advertised_listeners == ()


def test_the_older_name_of_the_node_id_counts() -> None:
    assert BrokerConfig.from_properties({"broker.id": "7"}).node_id == 7


def test_listener_names_are_upper_case_and_hosts_may_be_ipv6() -> None:
    config = read(MINIMAL, listeners="plaintext://[::1]:9092")
    assert config.listeners[0] == Listener(name="PLAINTEXT", host="::1", port=9092, protocol=SecurityProtocol.PLAINTEXT)
    assert str(config.listeners[0]) == "PLAINTEXT://[::1]:9092"


def test_a_single_listener_of_any_name_is_used_between_brokers() -> None:
    config = read(MINIMAL, listeners="INTERNAL://:9092", listener_security_protocol_map="INTERNAL:PLAINTEXT")
    assert config.inter_broker_listener_name == "INTERNAL"


def test_advertised_addresses_may_differ() -> None:
    config = read(
        MINIMAL,
        listeners="IN://0.0.0.0:9092,OUT://0.0.0.0:9094",
        advertised_listeners="IN://broker1:9092,OUT://example.org:19094",
        listener_security_protocol_map="IN:PLAINTEXT,OUT:PLAINTEXT",
        inter_broker_listener_name="in",
    )
    assert [str(each) for each in config.advertised_listeners] == ["IN://broker1:9092", "OUT://example.org:19094"]
    assert config.inter_broker_listener_name == "IN"


def test_a_controller_that_is_alone_needs_no_list_of_voters() -> None:
    config = read(COMBINED, controller_quorum_voters=None, controller_quorum_bootstrap_servers="localhost:9093")
    assert config.controller_quorum_voters == ()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"node_id": None}, "node.id is missing"),
        ({"broker_id": "2"}, "node.id=1 and broker.id=2 differ"),
        ({"node_id": "-1"}, "node.id must be at least 0, but is -1"),
        ({"process_roles": "foo"}, "process.roles must be one of broker, controller, but is foo"),
        ({"process_roles": ""}, "process.roles must be one of broker, controller, but is empty"),
        ({"controller_quorum_voters": "2@localhost:9093"}, "has 2 but not this controller, node.id=1"),
        ({"controller_quorum_voters": "1@localhost"}, "'1@localhost' is not of the form id@host:port"),
        ({"controller_quorum_voters": "1@a:1,1@b:2"}, "the voter 1 is given more than once"),
        ({"controller_quorum_bootstrap_servers": "a"}, "'a' is not of the form host:port"),
        (
            {"controller_quorum_voters": None, "controller_quorum_bootstrap_servers": "a:9093,b:9093"},
            "controller.quorum.bootstrap.servers=a:9093,b:9093 is not this controller alone",
        ),
        (
            {
                "process_roles": "broker",
                "listeners": "PLAINTEXT://:9092",
                "controller_quorum_voters": None,
                "controller_quorum_bootstrap_servers": "a:9093",
            },
            "set controller.quorum.voters to all controllers",
        ),
        ({"controller_quorum_auto_join_enable": "true"}, "controller.quorum.auto.join.enable must be false"),
        ({"max_connections_per_ip_overrides": "localhost:5"}, "be pairs of an IP address and a number"),
        ({"max_connections_per_ip_overrides": "127.0.0.1:-5"}, "be pairs of an IP address and a number"),
        (
            {"controller_listener_names": None},
            "the listener name CONTROLLER of 'CONTROLLER://:9093' is not in listener.security.protocol.map",
        ),
        (
            {"controller_listener_names": None, "listeners": "PLAINTEXT://:9092"},
            "must have at least one of the names in listeners",
        ),
        ({"process_roles": "broker"}, "has node.id=1, which is not a controller"),
        (
            {"process_roles": "broker", "controller_quorum_voters": "2@localhost:9093"},
            "must not have any of these in listeners",
        ),
        (
            {"process_roles": "broker", "controller_quorum_voters": None, "listeners": "PLAINTEXT://:9092"},
            "process.roles=broker needs controller.quorum.voters",
        ),
        (
            {
                "process_roles": "broker",
                "controller_quorum_voters": "2@a:1",
                "listeners": "PLAINTEXT://:9092",
                "controller_listener_names": None,
            },
            "controller.listener.names is missing",
        ),
        ({"process_roles": "controller"}, "listeners has PLAINTEXT, which is not in controller.listener.names"),
        ({"listeners": "CONTROLLER://:9093"}, "listeners has no listener for clients"),
        ({"listeners": "PLAINTEXT://:9092,CONTROLLER://:9092"}, "have the same port"),
        (
            {"listeners": "PLAINTEXT://:9092,PLAINTEXT://:9094,CONTROLLER://:9093"},
            "the listener name PLAINTEXT is used more than once",
        ),
        ({"listeners": "FOO://:9092,CONTROLLER://:9093"}, "listener name FOO"),
        ({"listeners": "PLAINTEXT:9092"}, "'PLAINTEXT:9092' is not of the form NAME://host:port"),
        ({"listeners": "PLAINTEXT://:99999"}, "has the port 99999, which must be from 0 to 65535"),
        ({"listeners": "PLAINTEXT://:-1"}, "has the port -1"),
        ({"listeners": ""}, "listeners must not be empty or have an empty element, but is empty"),
        (
            {"listener_security_protocol_map": "PLAINTEXT:SASL_SSL,CONTROLLER:PLAINTEXT"},
            "sasl.enabled.mechanisms=GSSAPI: tidelog has no SASL mechanism GSSAPI",
        ),
        ({"listener_security_protocol_map": "PLAINTEXT:TLS"}, "'TLS' is not a security protocol"),
        ({"listener_security_protocol_map": "PLAINTEXT"}, "'PLAINTEXT' is not of the form NAME:PROTOCOL"),
        ({"advertised_listeners": "PLAINTEXT://0.0.0.0:9092"}, "no client can connect to 0.0.0.0"),
        ({"listeners": "PLAINTEXT://0.0.0.0:9092,CONTROLLER://:9093"}, "no client can connect to 0.0.0.0"),
        ({"advertised_listeners": "SASL://a:9092"}, "listener name SASL"),
        ({"inter_broker_listener_name": "CONTROLLER"}, "is not among the advertised listeners"),
        (
            {"inter_broker_listener_name": "PLAINTEXT", "security_inter_broker_protocol": "PLAINTEXT"},
            "set only one of them",
        ),
        ({"log_dirs": ""}, "log.dirs must not be empty"),
        ({"log_dirs": "a,,b"}, "log.dirs must not be empty or have an empty element, but is a,,b"),
        ({"log_retention_ms": "0"}, "log.retention.ms must be at least 1, or -1, but is 0"),
        ({"log_retention_hours": "0"}, "log.retention.hours must be at least 1, or -1 for no limit, but is 0"),
        ({"replica_fetch_wait_max_ms": "40000"}, "is greater than replica.socket.timeout.ms=30000"),
        ({"broker_session_timeout_ms": "1000"}, "brokers would be fenced between heartbeats"),
        ({"log_cleaner_dedupe_buffer_size": "100"}, "must be at least 1 MiB"),
        ({"group_consumer_heartbeat_interval_ms": "50000"}, "greater than group.consumer.max.heartbeat.interval.ms"),
        ({"group_min_session_timeout_ms": "5000000"}, "no session timeout would be allowed"),
        ({"offsets_topic_compression_codec": "9"}, "must be from 0 to 4"),
        ({"num_partition": "3"}, "num.partition is not a property of brokers; did you mean num.partitions?"),
        ({"ssl_client_auth": "maybe"}, "ssl.client.auth must be one of none, requested, required"),
        ({"ssl_engine_factory_class": "org.example.Engine"}, "because tidelog cannot load other Java classes"),
        ({"sasl_login_class": "org.example.Login"}, "brokers of tidelog do not fetch tokens to log in with"),
        ({"zookeeper_connect": "localhost:2181"}, "Apache Kafka 4.0 has removed ZooKeeper"),
        (
            {"authorizer_class_name": "x"},
            "authorizer.class.name must be org.apache.kafka.metadata.authorizer.StandardAuthorizer, or empty for none, "
            "since tidelog cannot load Java classes, but is x",
        ),
        (
            {"super_users": "User:admin,alice;bob"},
            "super.users must be principals with their types, separated by semicolons, such as "
            "User:admin;User:broker, but is User:admin,alice;bob",
        ),
        ({"listener_name_plaintext_num_partitions": "3"}, "is not a property that a single listener can have"),
        (
            {"listener_name_plaintxt_ssl_client_auth": "none"},
            "there is no listener PLAINTXT; there are CONTROLLER, PLAIN",
        ),
        ({"listener_name_plaintext_ssl_client_auth": "x"}, "listener.name.plaintext.ssl.client.auth must be one of"),
    ],
)
def test_wrong_properties_are_explained(changes: dict[str, str | None], problem: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        read(COMBINED, **changes)
    assert problem in str(caught.value)


def test_every_problem_is_reported_at_once() -> None:
    with pytest.raises(InvalidConfig) as caught:
        read(MINIMAL, num_partitions="0", log_segment_byte="1", num_io_threads="many")
    assert len(caught.value.problems) == 3


def test_an_empty_value_of_a_refused_property_asks_for_nothing() -> None:
    assert read(MINIMAL, authorizer_class_name="").node_id == 1


def test_properties_without_effect_are_accepted_and_named() -> None:
    config = read(MINIMAL, num_network_threads="3", share_coordinator_state_topic_replication_factor="1")
    assert config.properties_without_effect == (
        "num.network.threads",
        "share.coordinator.state.topic.replication.factor",
    )


def test_dynamic_values_win_and_can_be_taken_back() -> None:
    config = read(MINIMAL, max_connections="10")
    changed = config.with_dynamic(cluster={"max.connections": "20"}, broker={"max.connections": "30"})
    assert changed.max_connections == 30
    assert changed.with_dynamic(cluster={"max.connections": "20"}).max_connections == 20
    assert changed.with_dynamic() == config


def test_stored_dynamic_values_that_cannot_hold_here_are_left_out() -> None:
    config = read(MINIMAL)
    changed = config.with_dynamic(cluster={"max.connections": "many", "num.partitions": "5", "unheard.of": "1"})
    assert dataclasses.replace(changed, layers=config.layers) == config


@pytest.mark.parametrize(
    ("dynamic", "problem"),
    [
        ({"log.retention.ms": "100"}, None),
        ({"num.network.threads": "3"}, None),
        ({"log.retention.ms": "0"}, "must be at least 1"),
        ({"node.id": "3"}, "node.id cannot be changed while the broker runs"),
        ({"log.retention.hours": "3"}, "log.retention.hours cannot be changed while the broker runs"),
        # Kafka stores what it does not know.
        ({"log.retention": "3"}, None),
        ({"ssl.keystore.location": "/x"}, "can be changed only for a listener while the broker runs"),
        ({"listener.name.plaintext.ssl.keystore.location": "/x"}, None),
        ({"listener.name.plaintext.plain.sasl.jaas.config": "x"}, None),
        ({"listener.name.plaintext.ssl.client.auth": "none"}, "cannot be changed while the broker runs"),
        ({"log.cleaner.threads": "1000"}, "must be at least 1 MiB"),
        ({"log.cleaner.threads": "0"}, None),
    ],
)
def test_dynamic_values_are_checked_before_they_are_stored(dynamic: dict[str, str], problem: str | None) -> None:
    problems = broker_problems(MINIMAL, dynamic)
    assert (problem is None and problems == []) or (problem is not None and problem in problems[0])
