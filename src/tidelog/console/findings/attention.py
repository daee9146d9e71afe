"""What needs attention, in words: each finding is one sentence, with the page that shows more. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from urllib.parse import quote

from tidelog.client.admin import ClusterDescription, QuorumInfo, TransactionListing
from tidelog.client.cluster.metadata import ClusterMetadata
from tidelog.client.errors import ApiTimeout
from tidelog.console.replies import Json
from tidelog.model.lazy_dataclasses import dataclass

# So many names are in a sentence; the page has all of them.
_NAMED = 3
# Voters that fetch from the leader all the time are a few records behind at most.
_VOTER_LAG = 1000
_VOTER_SILENT_MS = 10_000


class Severity(StrEnum):
    # Something does not work now.
    BROKEN = "broken"
    # It works, but one more failure may break it, or somebody waits.
    AT_RISK = "at risk"


@dataclass(frozen=True, slots=True, kw_only=True)
class Concern:
    severity: Severity
    text: str
    # The address of the page that shows it.
    link: str

    def as_json(self) -> dict[str, Json]:
        return {"severity": self.severity.value, "text": self.text, "link": self.link}


def of_partitions(metadata: ClusterMetadata) -> Iterator[Concern]:
    offline, without_copies = [], []
    for topic in metadata.topics.values():
        for partition in topic.partitions:
            if partition.leader not in metadata.brokers:
                offline.append(f"{topic.name}-{partition.partition}")
            elif len(partition.in_sync) < len(partition.replicas):
                without_copies.append(f"{topic.name}-{partition.partition}")
    if offline:
        yield Concern(
            severity=Severity.BROKEN,
            text=f"{_count(offline, 'partition has', 'partitions have')} no leader, so nobody can write or read: "
            f"{_names(offline)}.",
            link="/topics?show=offline",
        )
    if without_copies:
        yield Concern(
            severity=Severity.AT_RISK,
            text=f"{_count(without_copies, 'partition is', 'partitions are')} under-replicated, not all replicas are "
            f"in sync: {_names(without_copies)}.",
            link="/topics?show=under-replicated",
        )


def of_brokers(cluster: ClusterDescription, silent: Iterable[int]) -> Iterator[Concern]:
    fenced = [str(node.node_id) for node in cluster.nodes if node.fenced]
    if fenced:
        yield Concern(
            severity=Severity.AT_RISK,
            text=f"{_brokers(fenced)} registered but fenced: stopped, or without contact to the controller.",
            link="/brokers",
        )
    not_answering = [str(node) for node in silent if str(node) not in fenced]
    if not_answering:
        yield Concern(
            severity=Severity.BROKEN,
            text=f"{_brokers(not_answering)} in the metadata, but {_they(not_answering)} not answer this console.",
            link="/brokers",
        )


def of_quorum(quorum: QuorumInfo | ApiTimeout | None, patience_ms: int) -> Iterator[Concern]:
    """So long was waited for the answer of a controller."""
    if quorum is None:
        return
    if isinstance(quorum, ApiTimeout) or quorum.leader is None:
        problem = "The metadata quorum has no leader: topics"
        if isinstance(quorum, ApiTimeout):
            problem = f"No controller has answered within {patience_ms / 1000:g} s: if there is none, topics"
        yield Concern(
            severity=Severity.BROKEN,
            text=f"{problem}, leaders and configurations cannot change.",
            link="/metadata",
        )
        return
    now_ms = quorum.leaders_clock_ms
    behind = [
        str(voter.node_id)
        for voter in quorum.voters
        if voter.node_id != quorum.leader and (voter.lag > _VOTER_LAG or _is_silent(voter.last_fetch_ms, now_ms))
    ]
    if behind:
        left = len(quorum.voters) - len(behind)
        majority = len(quorum.voters) // 2 + 1
        yield Concern(
            severity=Severity.AT_RISK,
            text=f"{'Voter' if len(behind) == 1 else 'Voters'} {', '.join(behind)} of the metadata quorum "
            f"{'does' if len(behind) == 1 else 'do'} not keep up: {left} of {len(quorum.voters)} voters do, and "
            f"{majority} are needed.",
            link="/metadata",
        )


def of_transactions(open_for_long: Sequence[TransactionListing], longer_than_ms: int) -> Iterator[Concern]:
    if open_for_long:
        ids = sorted(each.transactional_id for each in open_for_long)
        link = f"/transactions/{quote(ids[0], safe='')}" if len(ids) == 1 else "/transactions"
        yield Concern(
            severity=Severity.AT_RISK,
            text=f"{_count(ids, 'transaction has', 'transactions have')} been open for more than "
            f"{longer_than_ms // 1000} s; read_committed consumers wait behind "
            f"{'it' if len(ids) == 1 else 'them'}: {_names(ids)}.",
            link=link,
        )


def _is_silent(last_fetch_ms: int | None, now_ms: int | None) -> bool:
    return last_fetch_ms is not None and now_ms is not None and now_ms - last_fetch_ms > _VOTER_SILENT_MS


def _count(found: Sequence[str], one: str, many: str) -> str:
    return f"{len(found):,} {one if len(found) == 1 else many}"


def _names(found: Sequence[str]) -> str:
    more = len(found) - _NAMED
    return ", ".join(found[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _brokers(ids: Sequence[str]) -> str:
    return f"Broker {ids[0]} is" if len(ids) == 1 else f"Brokers {_names(ids)} are"


def _they(ids: Sequence[str]) -> str:
    return "it does" if len(ids) == 1 else "they do"
