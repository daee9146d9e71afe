"""Decides on UpdateFeatures: raises or lowers the level of a feature, if every node can work with it (KIP-584)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tidelog.controller.decision import Decision
from tidelog.controller.eligible_leaders import MIN_IN_SYNC
from tidelog.metadata.image import ClusterImage, ResourceType, VersionRange
from tidelog.metadata.records import (
    ELIGIBLE_LEADER_REPLICAS,
    ELIGIBLE_LEADER_REPLICAS_FEATURE,
    GROUP_VERSION,
    GROUP_VERSION_FEATURE,
    METADATA_VERSION,
    METADATA_VERSION_FEATURE,
    MINIMUM_METADATA_VERSION,
    TRANSACTION_VERSION,
    TRANSACTION_VERSION_FEATURE,
    metadata_version,
)
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.clear_elr_record import ClearElrRecord
from tidelog.protocol.messages.config_record import ConfigRecord
from tidelog.protocol.messages.feature_level_record import FeatureLevelRecord
from tidelog.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from tidelog.protocol.messages.update_features_response import UpdatableFeatureResult, UpdateFeaturesResponse
from tidelog.protocol.schema import Message

# What the nodes of this version can work with.
SUPPORTED_FEATURES: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        GROUP_VERSION_FEATURE: (0, GROUP_VERSION),
        METADATA_VERSION_FEATURE: (MINIMUM_METADATA_VERSION, METADATA_VERSION),
        TRANSACTION_VERSION_FEATURE: (0, TRANSACTION_VERSION),
        ELIGIBLE_LEADER_REPLICAS_FEATURE: (0, ELIGIBLE_LEADER_REPLICAS),
    }
)

# The values of the upgrade type.
UPGRADE = 1
SAFE_DOWNGRADE = 2
UNSAFE_DOWNGRADE = 3

# Levels of metadata.version that brought metadata which the level before cannot hold. Nobody may go back below one.
_CHANGED_METADATA = (8, 11, 13, 14, 15, 17, 23, 30)
# The level of metadata.version from which on eligible leaders can be written down.
_ELIGIBLE_LEADERS_FROM = 23


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
    asked = {update.feature: update.max_version_level for update in request.feature_updates}
    for update in request.feature_updates:
        problem = _problem(image, update, {**image.features, **asked}, supported)
        if problem is not None:
            # As in Kafka, one message for the whole request; the results of older versions stay empty then.
            message = f"no feature was updated: {update.feature}: {problem}"
            reply = UpdateFeaturesResponse(error_code=ErrorCode.INVALID_UPDATE_VERSION, error_message=message)
            return Decision(records=(), reply=reply)
        if image.features.get(update.feature, 0) != update.max_version_level:
            records.append(FeatureLevelRecord(name=update.feature, feature_level=update.max_version_level))
            if update.feature == ELIGIBLE_LEADER_REPLICAS_FEATURE:
                records.extend(_eligible_leaders(image, update.max_version_level, min_in_sync=min_in_sync))
    return Decision(
        records=() if request.validate_only else tuple(records),
        reply=UpdateFeaturesResponse(
            error_message=None,
            # Kafka's own words for a success.
            results=[
                UpdatableFeatureResult(feature=update.feature, error_message=ErrorCode.NONE.name)
                for update in request.feature_updates
            ],
        ),
    )


def _problem(
    image: ClusterImage,
    update: FeatureUpdateKey,
    planned: Mapping[str, int],
    supported: Mapping[str, tuple[int, int]],
) -> str | None:
    """Why a feature cannot get its level; `planned` are the levels of all features afterwards."""
    name, level, current = update.feature, update.max_version_level, image.features.get(update.feature, 0)
    kind = SAFE_DOWNGRADE if update.allow_downgrade else update.upgrade_type
    if kind not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        return f"{kind} is not an upgrade type; it must be 1 (upgrade), 2 (safe downgrade) or 3 (unsafe downgrade)"
    if level < 0:
        return f"{level} is not a level; the lowest is 0"
    if name not in supported:
        known = ", ".join(sorted(supported))
        return f"the controller does not know this feature; it knows {known}"
    problem = _unsupported(image, name, level, supported)
    if problem is not None:
        return problem
    if level < current and kind == UPGRADE:
        return f"level {level} is below the current level {current}, which has to be asked for as a downgrade"
    if level > current and kind != UPGRADE:
        return f"level {level} is above the current level {current}, which is no downgrade"
    if name == METADATA_VERSION_FEATURE and any(level < changed <= current for changed in _CHANGED_METADATA):
        return f"going back from level {current} to {level} could delete metadata, and is not supported"
    concerned = name in (ELIGIBLE_LEADER_REPLICAS_FEATURE, METADATA_VERSION_FEATURE)
    eligible = concerned and planned.get(ELIGIBLE_LEADER_REPLICAS_FEATURE, 0)
    if eligible and metadata_version(planned) < _ELIGIBLE_LEADERS_FROM:
        return f"{ELIGIBLE_LEADER_REPLICAS_FEATURE} needs {METADATA_VERSION_FEATURE} {_ELIGIBLE_LEADERS_FROM} or higher"
    return None


def _unsupported(image: ClusterImage, name: str, level: int, supported: Mapping[str, tuple[int, int]]) -> str | None:
    low, high = supported[name]
    if not low <= level <= high:
        return f"the controller cannot work with level {level}, only with {low} to {high}"
    for broker in image.brokers.values():
        low, high = broker.features.get(name, VersionRange(0, 0))
        if not low <= level <= high:
            return f"broker {broker.id} cannot work with level {level}, only with {low} to {high}"
    return None


def _eligible_leaders(image: ClusterImage, level: int, *, min_in_sync: int) -> list[Message]:
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
