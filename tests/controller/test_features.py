"""Which levels features may get: what Kafka allows, and words that say why not."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tidelog.controller.bootstrap import bootstrap_records
from tidelog.controller.features import SAFE_DOWNGRADE, UNSAFE_DOWNGRADE, UPGRADE, update_features
from tidelog.metadata.image import ClusterImage
from tidelog.metadata.replay import apply
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.feature_level_record import FeatureLevelRecord
from tidelog.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from tidelog.protocol.messages.update_features_response import UpdateFeaturesResponse
from tidelog.protocol.schema import Message

OLD = {"metadata.version": 25, "transaction.version": 2, "group.version": 1}
NEW = {**OLD, "metadata.version": 30, "eligible.leader.replicas.version": 1}


def cluster(features: Mapping[str, int]) -> ClusterImage:
    image, _ = apply(ClusterImage(cluster_id="c"), bootstrap_records(features))
    return image


def update(image: ClusterImage, *updates: FeatureUpdateKey) -> tuple[tuple[Message, ...], UpdateFeaturesResponse]:
    decision = update_features(image, UpdateFeaturesRequest(feature_updates=updates), min_in_sync=1)
    return tuple(decision.records), decision.reply


@pytest.mark.parametrize(
    ("features", "asked", "problem"),
    [
        (NEW, ("nonsense", 1, UPGRADE), "does not know this feature; it knows eligible.leader.replicas.version, group"),
        (NEW, ("nonsense", 0, UNSAFE_DOWNGRADE), "nonsense: the controller does not know this feature"),
        (NEW, ("", 1, UPGRADE), "does not know this feature"),
        (NEW, ("transaction.version", 9, UPGRADE), "only with 0 to 2"),
        (NEW, ("transaction.version", -1, UPGRADE), "-1 is not a level"),
        (NEW, ("transaction.version", 1, UPGRADE), "has to be asked for as a downgrade"),
        (NEW, ("transaction.version", 1, 0), "0 is not an upgrade type"),
        (NEW, ("transaction.version", 1, 9), "9 is not an upgrade type"),
        ({**NEW, "transaction.version": 1}, ("transaction.version", 2, SAFE_DOWNGRADE), "is no downgrade"),
        (NEW, ("metadata.version", 31, UPGRADE), "only with 7 to 30"),
        (NEW, ("metadata.version", 6, SAFE_DOWNGRADE), "only with 7 to 30"),
        (NEW, ("metadata.version", 29, SAFE_DOWNGRADE), "could delete metadata"),
        (NEW, ("metadata.version", 29, UNSAFE_DOWNGRADE), "could delete metadata"),
        (OLD, ("metadata.version", 22, SAFE_DOWNGRADE), "could delete metadata"),
        ({"metadata.version": 22}, ("eligible.leader.replicas.version", 1, UPGRADE), "needs metadata.version 23"),
    ],
)
def test_a_level_that_cannot_be_is_refused_with_the_reason(
    features: Mapping[str, int], asked: tuple[str, int, int], problem: str
) -> None:
    name, level, kind = asked
    good = FeatureUpdateKey(feature="group.version", max_version_level=0, upgrade_type=SAFE_DOWNGRADE)
    bad = FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)
    records, reply = update(cluster(features), good, bad)
    assert (records, reply.error_code, list(reply.results)) == ((), ErrorCode.INVALID_UPDATE_VERSION, [])
    assert problem in (reply.error_message or "")


@pytest.mark.parametrize(
    ("features", "name", "level", "kind"),
    [
        (OLD, "metadata.version", 30, UPGRADE),
        (OLD, "metadata.version", 23, SAFE_DOWNGRADE),
        (NEW, "transaction.version", 1, SAFE_DOWNGRADE),
        (NEW, "group.version", 0, UNSAFE_DOWNGRADE),
    ],
)
def test_a_level_that_can_be_is_written(features: Mapping[str, int], name: str, level: int, kind: int) -> None:
    records, reply = update(
        cluster(features), FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)
    )
    assert records == (FeatureLevelRecord(name=name, feature_level=level),)
    assert [(each.feature, each.error_code, each.error_message) for each in reply.results] == [(name, 0, "NONE")]


@pytest.mark.parametrize("kind", [UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE])
def test_the_level_that_there_is_changes_nothing(kind: int) -> None:
    same = FeatureUpdateKey(feature="transaction.version", max_version_level=2, upgrade_type=kind)
    records, reply = update(cluster(NEW), same)
    assert (records, reply.error_code) == ((), 0)


def test_the_first_version_asks_for_a_downgrade_in_its_own_way() -> None:
    asked = FeatureUpdateKey(feature="transaction.version", max_version_level=1, allow_downgrade=True)
    records, reply = update(cluster(NEW), asked)
    assert (len(records), reply.error_code) == (1, 0)
