"""CreateAcls and DeleteAcls as decisions over an image."""

from __future__ import annotations

from typing import Any

import pytest

from tidelog.controller.acls import create_acls, delete_acls
from tidelog.controller.decision import MAX_RECORDS_PER_REQUEST
from tidelog.metadata.image import ClusterImage
from tidelog.metadata.replay import apply
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.create_acls_request import AclCreation, CreateAclsRequest
from tidelog.protocol.messages.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from tidelog.security.acls import CLUSTER_NAME

EMPTY = ClusterImage(cluster_id="cluster")


def creation(name: str = "t", **fields: Any) -> AclCreation:
    values = {"resource_type": 2, "resource_pattern_type": 3, "principal": "User:ann", "host": "*"}
    return AclCreation(resource_name=name, **{**values, "operation": 3, "permission_type": 3, **fields})


def selecting(**fields: Any) -> DeleteAclsFilter:
    values: dict[str, Any] = {
        "resource_type_filter": 1,
        "resource_name_filter": None,
        "pattern_type_filter": 1,
        "principal_filter": None,
        "host_filter": None,
    }
    return DeleteAclsFilter(**{**values, "operation": 1, "permission_type": 1, **fields})


def create(image: ClusterImage, *creations: AclCreation) -> tuple[ClusterImage, list[int]]:
    first = len(image.acls)
    ids = [Uuid((first + number).to_bytes(16, "big")) for number in range(len(creations))]
    decided = create_acls(image, CreateAclsRequest(creations=creations), acl_ids=ids)
    return apply(image, decided.records)[0], [result.error_code for result in decided.reply.results]


def delete(image: ClusterImage, *filters: DeleteAclsFilter) -> tuple[ClusterImage, list[int | list[str]]]:
    """The names of what each filter has deleted, or its error."""
    decided = delete_acls(image, DeleteAclsRequest(filters=filters))
    results = [
        result.error_code or [each.resource_name for each in result.matching_acls]
        for result in decided.reply.filter_results
    ]
    return apply(image, decided.records)[0], results


def names(image: ClusterImage) -> list[str]:
    return [binding.pattern.name for binding in image.acls.values()]


def test_one_acl_that_cannot_be_does_not_hold_up_the_others() -> None:
    image, codes = create(EMPTY, creation("a"), creation(""), creation("b"))
    assert codes == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST, ErrorCode.NONE]
    assert names(image) == ["a", "b"]


def test_an_acl_that_exists_is_a_success_and_not_stored_twice() -> None:
    image, codes = create(EMPTY, creation(), creation())
    assert codes == [0, 0]
    again, codes = create(image, creation())
    assert codes == [0]
    assert again.acls == image.acls
    assert len(image.acls) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"resource_type": 1},
        {"resource_type": 99},
        {"resource_pattern_type": 2},
        {"operation": 1},
        {"permission_type": 0},
        {"principal": "ann"},
        {"resource_type": 4, "name": "another cluster"},
    ],
)
def test_what_is_no_acl_is_refused(fields: dict[str, Any]) -> None:
    image, codes = create(EMPTY, creation(**fields))
    assert codes == [ErrorCode.INVALID_REQUEST]
    assert image == EMPTY


def test_the_cluster_has_one_name() -> None:
    assert create(EMPTY, creation(CLUSTER_NAME, resource_type=4))[1] == [0]


def test_filters_delete_what_they_select_once() -> None:
    image, _ = create(EMPTY, creation("a"), creation("b"), creation("c", principal="User:bob"))
    after, results = delete(
        image, selecting(resource_name_filter="a"), selecting(principal_filter="User:ann"), selecting(operation=77)
    )
    assert results == [["a"], ["a", "b"], ErrorCode.INVALID_REQUEST]
    assert names(after) == ["c"]
    assert delete(after, selecting(resource_name_filter="nothing")) == (after, [[]])


def test_no_request_fills_the_metadata_log() -> None:
    many = [creation(f"t{number}") for number in range(MAX_RECORDS_PER_REQUEST)]
    image, _ = create(EMPTY, *many)
    assert len(image.acls) == MAX_RECORDS_PER_REQUEST
    with pytest.raises(ApiError, match="at most 10000") as refused:
        create(EMPTY, *many, creation("one more"))
    assert refused.value.code is ErrorCode.POLICY_VIOLATION
    image, _ = create(image, creation("one more"))
    with pytest.raises(ApiError, match="at most 10000") as refused:
        delete(image, selecting())
    assert refused.value.code is ErrorCode.INVALID_REQUEST
    after, _ = delete(image, selecting(resource_name_filter="one more"))
    assert delete(after, selecting())[0] == EMPTY
