"""Decides on UpdateFeatures: raises or lowers the level of a feature, if every node can work with it (KIP-584)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tidelog.controller.decision import Decision, Refusal
from tidelog.controller.eligible_leaders import MIN_IN_SYNC
from tidelog.metadata.image import ClusterImage, ResourceType, VersionRange
from tidelog.metadata.records import (
    ELIGIBLE_LEADER_REPLICAS,
    ELIGIBLE_LEADER_REPLICAS_FEATURE,
    GROUP_VERSION,
    GROUP_VERSION_FEATURE,
    METADATA_VERSION,
    METADATA_VERSION_FEATURE,
    TRANSACTION_VERSION,
    TRANSACTION_VERSION_FEATURE,
    ClearElrRecord,
    ConfigRecord,
    FeatureLevelRecord,
)
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from tidelog.protocol.messages.update_features_response import UpdatableFeatureResult, UpdateFeaturesResponse
from tidelog.protocol.schema import Message

# What the nodes of this version can work with.
SUPPORTED_FEATURES: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        METADATA_VERSION_FEATURE: (METADATA_VERSION, METADATA_VERSION),
        TRANSACTION_VERSION_FEATURE: (0, TRANSACTION_VERSION),
        GROUP_VERSION_FEATURE: (0, GROUP_VERSION),
        ELIGIBLE_LEADER_REPLICAS_FEATURE: (0, ELIGIBLE_LEADER_REPLICAS),
    }
)

# The values of the upgrade type. Lowering a level can lose metadata that only the higher one has; none of ours does.
UPGRADE = 1
SAFE_DOWNGRADE = 2
UNSAFE_DOWNGRADE = 3


def update_features(
    image: ClusterImage,
    request: UpdateFeaturesRequest,
    *,
    min_in_sync: int,
    supported: Mapping[str, tuple[int, int]] = SUPPORTED_FEATURES,
) -> Decision[UpdateFeaturesResponse]:
    """All of the request or nothing. `min_in_sync` is what the properties of this controller say of
    min.insync.replicas; `supported` is what it can work with.
    """
    records: list[Message] = []
    refusals: dict[str, Refusal] = {}
    for update in request.feature_updates:
        refusal = _problem(image, update, supported)
        if refusal is not None:
            refusals[update.feature] = refusal
        elif image.features.get(update.feature, 0) != update.max_version_level:
            records.append(FeatureLevelRecord(name=update.feature, feature_level=update.max_version_level))
            if update.feature == ELIGIBLE_LEADER_REPLICAS_FEATURE:
                records.extend(_eligible_leaders(image, update.max_version_level, min_in_sync))
    results = [
        UpdatableFeatureResult(
            feature=update.feature,
            error_code=refusals[update.feature].code if update.feature in refusals else ErrorCode.NONE,
            error_message=refusals[update.feature].message if update.feature in refusals else None,
        )
        for update in request.feature_updates
    ]
    first = next(iter(refusals.values()), None)
    if first is not None:
        reply = UpdateFeaturesResponse(error_code=first.code, error_message=first.message, results=results)
        return Decision(records=(), reply=reply)
    return Decision(
        records=() if request.validate_only else tuple(records),
        reply=UpdateFeaturesResponse(error_message=None, results=results),
    )


def _problem(image: ClusterImage, update: FeatureUpdateKey, supported: Mapping[str, tuple[int, int]]) -> Refusal | None:
    name, level = update.feature, update.max_version_level
    if level < 0:
        return Refusal(code=ErrorCode.INVALID_UPDATE_VERSION, message=f"{name}: there is no level {level}")
    low, high = supported.get(name, (0, 0))
    if name not in supported or not low <= level <= high:
        return Refusal(
            code=ErrorCode.INVALID_UPDATE_VERSION,
            message=f"{name}: the controller cannot work with level {level}, only with {low} to {high}",
        )
    for broker in image.brokers.values():
        low, high = broker.features.get(name, VersionRange(0, 0))
        if not low <= level <= high:
            return Refusal(
                code=ErrorCode.INVALID_UPDATE_VERSION,
                message=f"{name}: broker {broker.id} cannot work with level {level}, only with {low} to {high}",
            )
    lowers = level < image.features.get(name, 0)
    allows = update.allow_downgrade or update.upgrade_type in (SAFE_DOWNGRADE, UNSAFE_DOWNGRADE)
    if lowers and not allows:
        return Refusal(
            code=ErrorCode.INVALID_UPDATE_VERSION,
            message=f"{name}: level {level} is below the current one, which has to be asked for as a downgrade",
        )
    if not lowers and allows and level != image.features.get(name, 0):
        return Refusal(
            code=ErrorCode.INVALID_UPDATE_VERSION,
            message=f"{name}: level {level} is above the current one, which is no downgrade",
        )
    return None


def _eligible_leaders(image: ClusterImage, level: int, min_in_sync: int) -> list[Message]:
    if level == 0:
        return [ClearElrRecord(topic_name="")]
    # Which replicas are eligible depends on it, so all nodes must have the same value from now on: one for all brokers,
    # and none of a broker's own.
    records: list[Message] = [
        ConfigRecord(resource_type=resource.type, resource_name=resource.name, name=MIN_IN_SYNC, value=None)
        for resource, entries in image.configs.items()
        if resource.type == ResourceType.BROKER and resource.name and MIN_IN_SYNC in entries
    ]
    if MIN_IN_SYNC not in image.cluster_config():
        records.append(
            ConfigRecord(resource_type=ResourceType.BROKER, resource_name="", name=MIN_IN_SYNC, value=str(min_in_sync))
        )
    return records
