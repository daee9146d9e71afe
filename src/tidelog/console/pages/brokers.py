"""Brokers: where they are, their log directories, and which versions of the protocol they speak."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter
from starlette.responses import Response

from tidelog.client.admin import Admin, BrokerVersions, LogDirectoryDescription
from tidelog.console.feeds import Pace
from tidelog.console.pages.overview import brokers_document, described_cluster, described_quorum, latencies_of
from tidelog.console.parts import ConsoleParts, Parts
from tidelog.console.replies import EXPECTED_FAILURES, Json, reply
from tidelog.model.errors import ApiError
from tidelog.protocol.messages import ApiKey

router = APIRouter()

# Brokers look at all their segments to tell sizes.
_PACE = Pace(seconds=5.0)


@router.get("/brokers/live")
async def brokers(parts: Parts) -> Response:
    return parts.feeds.stream("brokers", lambda: BrokersReader(parts).read, _PACE)


class BrokersReader:
    def __init__(self, parts: ConsoleParts) -> None:
        self._parts = parts

    async def read(self) -> Json:
        admin = await self._parts.cluster.watcher()
        metadata = await admin.cluster.fetch_metadata(None)
        cluster, quorum, latencies, directories = await asyncio.gather(
            described_cluster(admin),
            described_quorum(admin),
            latencies_of(admin, metadata.brokers),
            _directories(admin),
        )
        documents = brokers_document(cluster, metadata, quorum, latencies)
        return {
            "brokers": [
                {**document, "directories": _directories_of(directories, int(str(document["id"])))}
                for document in documents
            ]
        }


@router.get("/brokers/versions")
async def versions(parts: Parts) -> Response:
    """Slow to change and long: asked for once by the page of one broker."""
    admin = await parts.cluster.admin()
    return reply({"brokers": [_versions(each) for each in await admin.broker_versions()]})


async def _directories(admin: Admin) -> dict[int, tuple[LogDirectoryDescription, ...] | ApiError]:
    """Empty where they may not be seen."""
    try:
        return await admin.describe_log_dirs()
    except EXPECTED_FAILURES:
        return {}


def _directories_of(found: dict[int, tuple[LogDirectoryDescription, ...] | ApiError], broker: int) -> Json:
    answer = found.get(broker)
    if answer is None or isinstance(answer, ApiError):
        return None
    return [
        {
            "path": each.path,
            "problem": None if each.error is None else str(each.error),
            "replicas": len(each.replicas),
            "size": sum(replica.size for replica in each.replicas),
            # Brokers before KIP-827 do not tell; they say -1.
            "total": each.total_bytes if each.total_bytes >= 0 else None,
            "usable": each.usable_bytes if each.usable_bytes >= 0 else None,
        }
        for each in answer
    ]


def _versions(broker: BrokerVersions) -> dict[str, Json]:
    return {
        "id": broker.node.node_id,
        "problem": broker.problem,
        "features": None if broker.features is None else dict(sorted(broker.features.items())),
        "apis": [
            {"key": api.api_key, "name": _name_of(api.api_key), "min": api.min_version, "max": api.max_version}
            for api in broker.apis
        ],
    }


def _name_of(key: int) -> str:
    try:
        return "".join(word.capitalize() for word in ApiKey(key).name.split("_"))
    except ValueError:
        return f"API {key}"
