"""All fetchers of this broker: one for each broker that leads something of which we have a replica."""

from __future__ import annotations

import asyncio

from tidelog.server.replicas.replica import Replica
from tidelog.server.replication.fetcher import Following, LeaderFetcher


class Fetchers:
    """Kept up to date by `role_changed`. Nothing is fetched before `start` and after `stop`."""

    def __init__(self, following: Following) -> None:
        self._following = following
        self._fetchers: dict[int, LeaderFetcher] = {}
        self._leader_of: dict[Replica, int] = {}
        self._running = False

    def __len__(self) -> int:
        return len(self._fetchers)

    def role_changed(self, replica: Replica) -> None:
        """The replica has another leader, another leader epoch, or none to follow any more."""
        wanted = replica.leader_id if replica.is_follower else None
        current = self._leader_of.get(replica)
        if current is not None and current != wanted:
            del self._leader_of[replica]
            self._release(current, replica)
        if wanted is not None:
            self._leader_of[replica] = wanted
            self._fetcher(wanted).add(replica)

    def _fetcher(self, leader_id: int) -> LeaderFetcher:
        fetcher = self._fetchers.get(leader_id)
        if fetcher is None:
            fetcher = self._fetchers[leader_id] = LeaderFetcher(self._following, leader_id)
            if self._running:
                fetcher.start()
        return fetcher

    def _release(self, leader_id: int, replica: Replica) -> None:
        fetcher = self._fetchers[leader_id]
        fetcher.remove(replica)
        if not len(fetcher):
            # The connection is closed with it: a broker that is dead or follows us now needs none.
            del self._fetchers[leader_id]
            fetcher.stop()

    def start(self) -> None:
        self._running = True
        for fetcher in self._fetchers.values():
            fetcher.start()

    async def stop(self) -> None:
        self._running = False
        fetchers = list(self._fetchers.values())
        for fetcher in fetchers:
            fetcher.stop()
        await asyncio.gather(*(fetcher.wait_stopped() for fetcher in fetchers))
