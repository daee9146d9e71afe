"""`tidelog users`, `tidelog acls` and `tidelog quotas` as processes, and Kafka's own tools beside them."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.apache_kafka import run_tool
from support.processes import HANG_SECONDS
from support.tidelog_command import Command
from support.tidelog_process import TidelogBroker, running_tidelog, tidelog_command

GUARDED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
SECRET = "planted-secret"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TidelogBroker]:
    with running_tidelog(tmp_path_factory.mktemp("tidelog"), GUARDED) as running:
        yield running


@pytest.fixture(scope="module")
def there(tidelog: Command, guarded: TidelogBroker) -> Command:
    """`tidelog COMMAND ... --bootstrap-server ...`."""

    def run(*arguments: str, stdin: str = "", code: int = 0) -> subprocess.CompletedProcess[str]:
        done = tidelog(*arguments, "--bootstrap-server", guarded.bootstrap_servers, stdin=stdin, code=code)
        assert SECRET not in done.stdout + done.stderr
        return done

    return run


@pytest.fixture
def listed(there: Command) -> Callable[..., Any]:
    def run(*arguments: str) -> Any:
        return json.loads(there(*arguments, "--json").stdout)

    return run


# -- acls ----------------------------------------------------------------------------------------------------------


def operations(acls: list[dict[str, str]]) -> list[tuple[str, str, str]]:
    return sorted((acl["resourceType"], acl["resourceName"], acl["operation"]) for acl in acls)


def test_a_producer_and_a_consumer_get_what_they_need(there: Command, listed: Callable[..., Any]) -> None:
    arguments = ("--topic", "orders", "--group", "billing", "--transactional-id", "tx")
    added = there("acls", "--add", "--allow-principal", "User:alice", "--producer", "--consumer", *arguments).stdout
    assert "Adding ACLs for resource `ResourcePattern(resourceType=TOPIC, name=orders, patternType=LITERAL)`" in added
    there("acls", "--add", "--allow-principal", "User:alice", "--producer", "--idempotent", "--topic", "orders")
    assert operations(listed("acls", "--list", "--principal", "User:alice")) == [
        ("CLUSTER", "kafka-cluster", "IDEMPOTENT_WRITE"),
        ("GROUP", "billing", "READ"),
        ("TOPIC", "orders", "CREATE"),
        ("TOPIC", "orders", "DESCRIBE"),
        ("TOPIC", "orders", "READ"),
        ("TOPIC", "orders", "WRITE"),
        ("TRANSACTIONAL_ID", "tx", "DESCRIBE"),
        ("TRANSACTIONAL_ID", "tx", "WRITE"),
    ]
    there("acls", "--remove", "--producer", "--allow-principal", "User:alice", "--topic", "orders", "--force")
    assert operations(listed("acls", "--list", "--topic", "orders")) == [("TOPIC", "orders", "READ")]


def test_acls_are_added_listed_and_removed(there: Command, listed: Callable[..., Any]) -> None:
    there("acls", "--add", "--deny-principal", "User:eve", "--deny-host", "10.0.0.7", "--topic", "secret")
    prefixed = ("--topic", "sec", "--resource-pattern-type", "prefixed")
    there("acls", "--add", "--allow-principal", "User:bob", "--operation", "Read", "--operation", "write", *prefixed)
    (denied,) = listed("acls", "--list", "--topic", "secret")
    assert (denied["permissionType"], denied["host"], denied["operation"]) == ("DENY", "10.0.0.7", "ALL")
    about = listed("acls", "--list", "--topic", "secret", "--resource-pattern-type", "match")
    assert sorted(acl["principal"] for acl in about) == ["User:bob", "User:bob", "User:eve"]
    refused = there("acls", "--remove", "--topic", "secret", stdin="n\n")
    assert "Are you sure you want to delete all ACLs" in refused.stderr
    assert "No ACL was removed." in refused.stdout
    assert "Removed ACLs for resource" in there("acls", "--remove", "--topic", "secret", stdin="y\n").stdout
    assert listed("acls", "--list", "--topic", "secret") == []
    there("acls", "--remove", *prefixed, "--force")
    assert listed("acls", "--list", *prefixed) == []


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("", "exactly one of --add, --remove and --list"),
        ("--add --list", "exactly one of --add, --remove and --list"),
        ("--add --allow-principal User:a", "name at least one resource"),
        ("--add --topic t", "--add needs --allow-principal or --deny-principal"),
        ("--add --allow-principal alice --topic t", "write it as User:alice"),
        ("--add --allow-principal User:a --topic t --operation Raed", "did you mean Read?"),
        ("--add --allow-principal User:a --topic t --operation ClusterAction", "has no meaning for a topic"),
        ("--add --allow-principal User:a --topic t --resource-pattern-type match", "ACLs are literal or prefixed"),
        ("--add --allow-principal User:a --topic t --resource-pattern-type some", "it must be one of any, match"),
        ("--add --allow-principal User:a --producer", "need a --topic"),
        ("--add --allow-principal User:a --consumer --topic t", "--consumer needs a --group"),
        ("--add --allow-principal User:a --producer --topic t --operation Read", "leave out --operation"),
        ("--add --allow-principal User:a --topic t --idempotent", "--idempotent goes with --producer"),
        ("--add --principal User:a --topic t", "--principal goes with --list"),
        ("--list --allow-principal User:a", "--list takes resources and --principal"),
    ],
)
def test_a_wrong_use_is_explained(usage_error: Callable[..., str], arguments: str, complaint: str) -> None:
    assert complaint in usage_error("acls", *arguments.split())


def test_without_an_authorizer_the_remedy_is_said(at_broker: Command) -> None:
    refused = at_broker("acls", "--list", code=1).stderr
    assert "SECURITY_DISABLED" in refused
    assert "authorizer.class.name" in refused


@pytest.mark.maven
@pytest.mark.parametrize(
    "arguments",
    [
        "--allow-principal {me} --producer --topic {t} --transactional-id {t}",
        "--allow-principal {me} --producer --idempotent --topic {t}",
        "--allow-principal {me} --consumer --topic {t} --group {t} --allow-host 1.2.3.4",
        "--deny-principal {me} --allow-principal {me}-2 --operation Read --operation Describe --topic {t} --group {t}",
        "--allow-principal {me} --cluster --operation Alter",
        "--allow-principal {me} --topic {t} --resource-pattern-type prefixed",
        "--allow-principal {me} --user-principal {t} --operation CreateTokens",
    ],
)
def test_the_acls_are_those_of_kafka_acls(
    there: Command, jars: Path, guarded: TidelogBroker, topic: str, arguments: str
) -> None:
    me = f"User:{topic}"

    def by_kafka(*words: str) -> list[str]:
        servers = ("--bootstrap-server", guarded.bootstrap_servers)
        return lines_of(run_tool(jars, "org.apache.kafka.tools.AclCommand", *servers, *words).stdout.decode())

    def state() -> list[str]:
        return lines_of(there("acls", "--list", "--principal", me, "--principal", f"{me}-2").stdout)

    words = arguments.replace("{t}", topic).replace("{me}", me).split()
    empty = state()
    said = lines_of(there("acls", "--add", *words).stdout)
    added = state()
    assert added == by_kafka("--list", "--principal", me, "--principal", f"{me}-2")
    there("acls", "--remove", *words, "--force")
    assert state() == empty
    assert said == by_kafka("--add", *words)
    assert state() == added


def lines_of(output: str) -> list[str]:
    return sorted(line.strip() for line in output.splitlines() if line.strip())


# -- users ---------------------------------------------------------------------------------------------------------


def test_a_user_is_added_altered_listed_and_deleted(there: Command, listed: Callable[..., Any], tmp_path: Path) -> None:
    there("users", "add", "alice", "--password-stdin", stdin=f"{SECRET}\n")
    assert "exists already" in there("users", "add", "alice", "--password-stdin", stdin=f"{SECRET}\n", code=1).stderr
    (tmp_path / "password").write_text(f"{SECRET}-2\nnot a password\n")
    both = ("--mechanism", "SCRAM-SHA-256", "--iterations", "8192")
    there("users", "add", "alice", *both, "--password-file", str(tmp_path / "password"))
    assert listed("users", "list", "alice") == [
        {
            "user": "alice",
            "credentials": [
                {"mechanism": "SCRAM-SHA-512", "iterations": 4096},
                {"mechanism": "SCRAM-SHA-256", "iterations": 8192},
            ],
        }
    ]
    there("users", "alter", "alice", "--iterations", "5000", "--password-stdin", stdin=SECRET)
    line = there("users", "list").stdout.splitlines()[0]
    assert line.startswith("SCRAM credential configs for user-principal 'alice' are SCRAM-SHA-512=iterations=5000")
    assert "no user 'bob'" in there("users", "alter", "bob", "--password-stdin", stdin=SECRET, code=1).stderr
    there("users", "delete", "alice", "--mechanism", "scram-sha-256")
    assert "has SCRAM-SHA-512" in there("users", "delete", "alice", *both[:2], code=1).stderr
    there("users", "delete", "alice")
    assert listed("users", "list") == []
    assert "no mechanism" in there("users", "delete", "alice", code=1).stderr
    assert "has no SCRAM credential" in there("users", "list", "alice", code=1).stderr


def test_a_password_comes_from_the_environment(
    there: Command, listed: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEW_PASSWORD", SECRET)
    there("users", "add", "from-environment", "--password-env", "NEW_PASSWORD")
    assert [each["user"] for each in listed("users", "list", "from-environment")] == ["from-environment"]
    there("users", "delete", "from-environment")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "give it by --password-file, --password-env or --password-stdin"),
        (("--password-stdin",), "the password is empty"),
        (("--password-env", "NO_SUCH_VARIABLE"), "no environment variable NO_SUCH_VARIABLE"),
        (("--password-file", "/no/such/file"), "cannot read the password from /no/such/file"),
    ],
)
def test_a_missing_password_is_said(there: Command, arguments: tuple[str, ...], complaint: str) -> None:
    assert complaint in there("users", "add", "nobody", *arguments, code=1).stderr


def test_a_password_is_asked_for_twice_without_echo(
    there: Command, guarded: TidelogBroker, listed: Callable[..., Any]
) -> None:
    arguments = ["tidelog", "users", "add", "asked", "--bootstrap-server", guarded.bootstrap_servers]
    process, terminal = pty.fork()
    if process == 0:
        os.execv(tidelog_command(), arguments)
    said = b""
    try:
        for question in (b"Password: ", b"Once more: "):
            while not said.endswith(question):
                said += read_within(terminal)
            os.write(terminal, f"{SECRET}\n".encode())
        while b"Added user asked" not in said:
            said += read_within(terminal)
    finally:
        os.close(terminal)
        os.waitpid(process, 0)
    assert SECRET.encode() not in said
    assert [each["user"] for each in listed("users", "list", "asked")] == ["asked"]
    there("users", "delete", "asked")


def read_within(terminal: int) -> bytes:
    ready, _, _ = select.select([terminal], [], [], HANG_SECONDS)
    assert ready, "nothing was asked"
    return os.read(terminal, 1024)


def test_an_unknown_mechanism_is_refused(usage_error: Callable[..., str]) -> None:
    assert "must be one of SCRAM-SHA-256, SCRAM-SHA-512" in usage_error("users", "delete", "a", "--mechanism", "MD5")


@pytest.mark.maven
def test_kafka_configs_sets_passwords_and_shows_them_alike(there: Command, jars: Path, guarded: TidelogBroker) -> None:
    def configs(*arguments: str) -> str:
        servers = ("--bootstrap-server", guarded.bootstrap_servers)
        return run_tool(
            jars, "kafka.admin.ConfigCommand", *servers, "--entity-type", "users", *arguments
        ).stdout.decode()

    configs("--entity-name", "zoe", "--alter", "--add-config", f"SCRAM-SHA-256=[iterations=8192,password={SECRET}]")
    shown = configs("--describe")
    assert there("users", "list").stdout.splitlines() == shown.splitlines()
    there("users", "delete", "zoe")


# -- quotas --------------------------------------------------------------------------------------------------------


def test_quotas_are_set_listed_and_removed(there: Command, listed: Callable[..., Any]) -> None:
    there("quotas", "set", "--user", "ann", "producer_byte_rate=5", "request_percentage=0.5")
    there("quotas", "set", "--user", "ann", "--default", "client-id", "--add-config", "consumer_byte_rate=7")
    there("quotas", "set", "--ip", "10.0.0.7", "connection_creation_rate=3")
    assert there("quotas", "list", "--user", "ann").stdout.splitlines() == [
        "Quota configs for user-principal 'ann', the default client-id are consumer_byte_rate=7.0",
        "Quota configs for user-principal 'ann' are producer_byte_rate=5.0, request_percentage=0.5",
    ]
    assert listed("quotas", "list", "--ip", "10.0.0.7") == [
        {"entity": {"ip": "10.0.0.7"}, "quotas": {"connection_creation_rate": 3.0}}
    ]
    there("quotas", "remove", "--user", "ann", "producer_byte_rate")
    assert "nothing was removed" in there("quotas", "remove", "--user", "ann", "producer_byte_rate", code=1).stderr
    there("quotas", "remove", "--user", "ann", "--delete-config", "request_percentage")
    there("quotas", "remove", "--user", "ann", "--default", "client-id")
    assert listed("quotas", "list", "--user", "ann") == []
    there("quotas", "remove", "--ip", "10.0.0.7")
    assert "nothing was removed" in there("quotas", "remove", "--ip", "10.0.0.7", code=1).stderr


def test_what_a_broker_refuses_is_said(there: Command) -> None:
    refused = there("quotas", "set", "--user", "ann", "producer_byte_rate=0.5", code=1).stderr
    assert "must be a whole number" in refused
    assert "user-principal 'ann'" in refused


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("set producer_byte_rate=5", "say whose quota"),
        ("set --user ann", "name at least one quota"),
        ("set --user ann producer_bite_rate=5", "did you mean producer_byte_rate?"),
        ("set --user ann producer_byte_rate=much", "is not a number"),
        ("set --user ann --default user producer_byte_rate=5", "exclude each other"),
        ("set --default group producer_byte_rate=5", "is not one of user, client-id, ip"),
    ],
)
def test_a_wrong_use_of_quotas_is_explained(usage_error: Callable[..., str], arguments: str, complaint: str) -> None:
    assert complaint in usage_error("quotas", *arguments.split())


def test_configs_points_to_the_commands_for_users_and_quotas(usage_error: Callable[..., str]) -> None:
    assert "tidelog quotas" in usage_error("configs", "--describe", "--entity-type", "users")


@pytest.mark.maven
def test_quotas_are_shown_as_kafka_configs_shows_them(there: Command, jars: Path, guarded: TidelogBroker) -> None:
    there("quotas", "set", "--user", "kim", "--client-id", "c", "producer_byte_rate=5", "consumer_byte_rate=6")
    there("quotas", "set", "--user-defaults", "request_percentage=50")
    command = ("--bootstrap-server", guarded.bootstrap_servers, "--describe", "--entity-type", "users")
    theirs = run_tool(jars, "kafka.admin.ConfigCommand", *command).stdout.decode()
    of_pairs = run_tool(jars, "kafka.admin.ConfigCommand", *command, "--entity-type", "clients").stdout.decode()
    ours = there("quotas", "list").stdout
    assert lines_of(ours) == sorted({*lines_of(theirs), *lines_of(of_pairs)})
    there("quotas", "remove", "--user", "kim", "--client-id", "c")
    there("quotas", "remove", "--default", "user")
