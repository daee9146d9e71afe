"""What ApiVersions says about features: the levels that this software can work with, and those in use."""

from __future__ import annotations

from tidelog.controller.features import SUPPORTED_FEATURES
from tidelog.metadata.image import ClusterImage
from tidelog.protocol.messages.api_versions_response import FinalizedFeatureKey, SupportedFeatureKey

# Clients of older versions cannot read a minimum of 0 (KIP-1022).
FIRST_VERSION_WITH_ZERO = 4


def supported_features(version: int) -> list[SupportedFeatureKey]:
    return [
        SupportedFeatureKey(name=name, min_version=low, max_version=high)
        for name, (low, high) in SUPPORTED_FEATURES.items()
        if low > 0 or version >= FIRST_VERSION_WITH_ZERO
    ]


def finalized_features(image: ClusterImage) -> list[FinalizedFeatureKey]:
    return [
        FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
        for name, level in image.features.items()
        if name in SUPPORTED_FEATURES
    ]
