"""AlterClientQuotas as a decision over an image."""

from __future__ import annotations

import pytest

from tidelog.controller.client_quotas import alter_client_quotas, named_hosts
from tidelog.controller.decision import MAX_RECORDS_PER_REQUEST
from tidelog.metadata.image import ClusterImage
from tidelog.metadata.replay import apply
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.messages.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from tidelog.security.quotas.entities import QuotaEntity

EMPTY = ClusterImage(cluster_id="cluster")
ANN: QuotaEntity = (("user", "ann"),)
RATE = "producer_byte_rate"


def entry(entity: QuotaEntity, *changes: tuple[str, float | None]) -> EntryData:
    return EntryData(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
        ops=[OpData(key=key, value=value or 0.0, remove=value is None) for key, value in changes],
    )


def alter(
    image: ClusterImage, *entries: EntryData, validate_only: bool = False, unknown_hosts: tuple[str, ...] = ()
) -> tuple[ClusterImage, list[int]]:
    request = AlterClientQuotasRequest(entries=entries, validate_only=validate_only)
    decided = alter_client_quotas(image, request, unknown_hosts=unknown_hosts)
    return apply(image, decided.records)[0], [each.error_code for each in decided.reply.entries]


def test_quotas_are_set_changed_and_removed() -> None:
    image, codes = alter(
        EMPTY, entry(ANN, (RATE, 5.0), ("request_percentage", 0.5)), entry((("user", None),), (RATE, 9.0))
    )
    assert codes == [0, 0]
    assert image.client_quotas == {ANN: {RATE: 5.0, "request_percentage": 0.5}, (("user", None),): {RATE: 9.0}}
    image, codes = alter(image, entry(ANN, (RATE, 6.0), ("request_percentage", None)))
    assert image.client_quotas[ANN] == {RATE: 6.0}
    assert codes == [0]


def test_what_changes_nothing_writes_nothing() -> None:
    image, _ = alter(EMPTY, entry(ANN, (RATE, 5.0)))
    request = AlterClientQuotasRequest(entries=[entry(ANN, (RATE, 5.0), ("consumer_byte_rate", None))])
    assert alter_client_quotas(image, request).records == ()


def test_a_request_may_only_ask_whether_it_would_be_accepted() -> None:
    image, codes = alter(EMPTY, entry(ANN, (RATE, 5.0)), entry(ANN[:0], (RATE, 5.0)), validate_only=True)
    assert (image, codes) == (EMPTY, [ErrorCode.NONE, ErrorCode.INVALID_REQUEST])


@pytest.mark.parametrize(
    "refused",
    [
        entry((), (RATE, 5.0)),
        entry((("group", "g"),), (RATE, 5.0)),
        entry((("user", ""),), (RATE, 5.0)),
        entry((("ip", "1.2.3.4"), ("user", "ann")), ("connection_creation_rate", 5.0)),
        entry((("ip", "no such host"),), ("connection_creation_rate", 5.0)),
        entry((("ip", "gone.example"),), ("connection_creation_rate", 5.0)),
        entry((("ip", "1.2.3.4"),), (RATE, 5.0)),
        entry(ANN, (RATE, -1.0)),
        entry(ANN, (RATE, 1.5)),
        entry(ANN, ("a_quota", 5.0)),
        entry(ANN, (RATE, 5.0), (RATE, 6.0)),
        entry(ANN, (RATE, 5.0), (RATE, None)),
    ],
)
def test_what_is_no_quota_is_refused_alone(refused: EntryData) -> None:
    bob: QuotaEntity = (("user", "bob"),)
    image, codes = alter(EMPTY, refused, entry(bob, (RATE, 5.0)), unknown_hosts=("gone.example",))
    assert codes == [ErrorCode.INVALID_REQUEST, ErrorCode.NONE]
    assert image.client_quotas == {bob: {RATE: 5.0}}


def test_an_entity_that_comes_twice_has_an_error_and_its_first_change() -> None:
    image, codes = alter(EMPTY, entry(ANN, (RATE, 5.0)), entry(ANN, (RATE, 6.0)))
    assert codes == [ErrorCode.INVALID_REQUEST]
    assert image.client_quotas == {ANN: {RATE: 5.0}}


def test_only_names_of_hosts_have_to_be_resolved() -> None:
    addresses = ("1.2.3.4", "::1", "db.example", None, "db.example", "not a host")
    request = AlterClientQuotasRequest(entries=[entry((("ip", each),)) for each in addresses])
    assert named_hosts(request) == ["db.example"]


def test_no_request_fills_the_metadata_log() -> None:
    entries = [entry((("user", str(number)),), (RATE, 5.0)) for number in range(MAX_RECORDS_PER_REQUEST + 1)]
    with pytest.raises(ApiError, match="at most 10000") as refused:
        alter(EMPTY, *entries)
    assert refused.value.code is ErrorCode.POLICY_VIOLATION
