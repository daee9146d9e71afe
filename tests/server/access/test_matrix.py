"""Every API under every set of ACLs answers as Apache Kafka does, and what APIs declare is what is checked."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.access_cases import ACL_SETS, PROBES, Acls, Probe
from support.access_verdicts import (
    ask_apache_kafka,
    recorded_verdicts,
    running_kafka_with_acls,
    staged_tidelog,
)
from support.apache_kafka import kafka_jars
from support.download_cache import Unavailable

from tidelog.protocol.messages import ApiKey
from tidelog.security.acls import SUPPORTED_OPERATIONS, AclResourceType, Operation
from tidelog.server.api.catalogue import APIS
from tidelog.server.declaration import CLUSTER_ACTION, TWO_PHASE_COMMIT, Api, ListenerKind
from tidelog.server.observability.logs import AUTHORIZER_LOGGER

# What needs no permission: who asks is not known yet, or is what it is about.
FOR_ANYBODY = {ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE}
# Apache Kafka does not serve the version that asks for it.
NOT_IN_APACHE_KAFKA = {(ApiKey.INIT_PRODUCER_ID, TWO_PHASE_COMMIT)}
# Several parts, so that several workers can ask them.
PARTS = 4
SAMPLED = 12


@pytest.fixture(autouse=True)
def without_the_audit_log() -> Any:
    """Tens of thousands of lines."""
    logger = logging.getLogger(AUTHORIZER_LOGGER)
    level = logger.level
    logger.setLevel(logging.ERROR)
    yield
    logger.setLevel(level)


def differences(
    theirs: Mapping[str, Sequence[str]], ours: Mapping[str, Sequence[str]], acl_sets: Sequence[Acls]
) -> list[str]:
    places = {acls.name: number for number, acls in enumerate(ACL_SETS)}
    return [
        f"{name}, {acls.name}: Apache Kafka says {theirs[name][places[acls.name]]!r}, tidelog {verdict!r}"
        for name, verdicts in ours.items()
        for acls, verdict in zip(acl_sets, verdicts, strict=True)
        if verdict != theirs[name][places[acls.name]]
    ]


def test_there_are_as_many_cases_as_promised() -> None:
    assert len(PROBES) * len(ACL_SETS) > 20_000
    assert len({acls.name for acls in ACL_SETS}) == len(ACL_SETS)


@pytest.mark.parametrize("part", range(PARTS))
async def test_each_case_is_answered_as_by_apache_kafka(part: int, tmp_path: Path, record_property: Any) -> None:
    acl_sets = ACL_SETS[part::PARTS]
    async with staged_tidelog(tmp_path) as stage:
        ours = await stage.ask_all(PROBES, acl_sets)
    assert differences(recorded_verdicts(), ours, acl_sets) == []
    record_property("shown", f"{len(PROBES) * len(acl_sets)} cases as Apache Kafka answers them")


@pytest.mark.slow
@pytest.mark.maven
@pytest.mark.xdist_group("jvm")
async def test_what_is_recorded_is_what_apache_kafka_answers(tmp_path: Path) -> None:
    try:
        jars = kafka_jars()
    except Unavailable as error:
        pytest.skip(f"Apache Kafka's jars cannot be had from Maven Central: {error}")
    acl_sets = [*ACL_SETS[:2], *Random(41).sample(ACL_SETS[2:], SAMPLED)]
    with running_kafka_with_acls(jars, tmp_path / "kafka") as addresses:
        theirs = await ask_apache_kafka(addresses, PROBES, acl_sets)
    assert differences(recorded_verdicts(), theirs, acl_sets) == []


# --------------------------------------------------------------------------------------------------------------
# Declared permissions.


def probes_of(api: Api) -> list[Probe]:
    return [probe for probe in PROBES if probe.key == api.key]


class Recorded:
    """Verdicts in which it only counts whether a client may do something in general, not what."""

    def __init__(self) -> None:
        names = [acls.name for acls in ACL_SETS]
        self._said = {
            (probe, name): frozenset(map(_without_bits, verdict.split()))
            for probe, found in recorded_verdicts().items()
            for name, verdict in zip(names, found, strict=True)
        }

    def changes(self, probe: Probe, operation: Operation, kind: AclResourceType) -> bool:
        """Whether it matters to the probe that this is allowed alone, or denied alone."""

        def differs(kind_of_set: str, otherwise: str, behind: str = "") -> bool:
            usual = self._said[probe.name, otherwise]
            about = f"{kind_of_set} {operation.name} {kind.name}"
            patterns = ("literal", "prefixed", "wildcard")
            return any(self._said.get((probe.name, f"{about} {each}{behind}"), usual) != usual for each in patterns)

        without = ", without the cluster"
        return (
            differs("allow", "none")
            or differs("deny", "everything")
            or differs("deny", f"everything{without}", without)
        )

    def stands_in(self, probe: Probe, operation: Operation) -> bool:
        """Whether what is denied on topics is done all the same by those who may do everything with the cluster."""
        denied, without = f"deny {operation.name} TOPIC wildcard", ", without the cluster"
        said = {name: self._said.get((probe.name, name)) for name in (denied, denied + without)}
        return (
            said[denied] == self._said[probe.name, "everything"]
            and said[denied + without] != self._said[probe.name, f"everything{without}"]
        )


def _without_bits(word: str) -> str:
    about, separator, bits = word.partition("~")
    return word if not separator or int(bits) <= 0 else f"{about}~something"


@pytest.fixture(scope="module")
def recorded() -> Recorded:
    return Recorded()


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.key.title)
def test_each_declared_permission_makes_a_difference(api: Api, recorded: Recorded) -> None:
    if api.key in FOR_ANYBODY:
        assert api.permissions == ()
        return
    assert api.permissions, "declare what it needs, and ask it in tests/support/access_cases.py"
    for permission in api.permissions:
        if (api.key, permission) not in NOT_IN_APACHE_KAFKA:
            found = [recorded.changes(probe, *permission) for probe in probes_of(api)]
            if permission.resource is AclResourceType.CLUSTER and permission.operation is Operation.CREATE:
                found += [recorded.stands_in(probe, Operation.CREATE) for probe in probes_of(api)]
            assert any(found), f"no probe in tests/support/access_cases.py shows {permission}"


_IMPLYING = {
    Operation.DESCRIBE: {Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER},
    Operation.DESCRIBE_CONFIGS: {Operation.ALTER_CONFIGS},
}


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.key.title)
def test_no_other_permission_makes_a_difference(api: Api, recorded: Recorded) -> None:
    if api.key is ApiKey.ENVELOPE:
        # What is in it needs permissions of its own.
        return
    declared = set(api.permissions)
    implying = {(each, kind) for operation, kind in declared for each in _IMPLYING.get(operation, ())}
    for kind in (
        AclResourceType.TOPIC,
        AclResourceType.GROUP,
        AclResourceType.CLUSTER,
        AclResourceType.TRANSACTIONAL_ID,
    ):
        for operation in SUPPORTED_OPERATIONS[kind]:
            if (operation, kind) in declared | implying:
                continue
            for probe in probes_of(api):
                assert not recorded.changes(probe, operation, kind), f"{probe.name} depends on {operation} {kind}"


OF_NODES = [api for api in APIS if CLUSTER_ACTION in api.permissions]


@pytest.mark.parametrize("api", OF_NODES, ids=lambda api: api.key.title)
def test_what_nodes_ask_each_other_is_asked_on_each_listener(api: Api) -> None:
    asked = {probe.listener for probe in probes_of(api)}
    # Apache Kafka's brokers do not answer it, so there is nothing to compare; test_cluster_actions.py asks ours.
    unlike_kafka = {ListenerKind.BROKER} if api.key == ApiKey.FETCH_SNAPSHOT else set()
    assert asked == api.listeners - unlike_kafka
