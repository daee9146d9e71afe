"""Producer ids and transactions, in the old protocol and in the new one (KIP-890)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twin.asking import Case, Kept, Step, TopicId, ask, script, step
from twin.cases.groups import commit, fetched
from twin.cases.records import fetch, list_offsets
from twin.state import GROUP, MISSING, PLAIN

from tidelog.protocol.messages import ApiKey

ID = "twin-tx-{run}"
_GROUP = "twin-txg-{run}"


def begin(name: str | None, *, timeout_ms: int = 60_000, producer: Any = -1, epoch: Any = -1) -> dict[str, Any]:
    return {
        "transactional_id": name,
        "transaction_timeout_ms": timeout_ms,
        "producer_id": producer,
        "producer_epoch": epoch,
    }


def of_producer(name: str, producer: Any = 5, epoch: Any = 0, **fields: Any) -> dict[str, Any]:
    return {"transactional_id": name, "producer_id": producer, "producer_epoch": epoch, **fields}


def add(
    name: str, *partitions: int, producer: Any = 5, epoch: Any = 0, topic: str = PLAIN, verify: bool = False
) -> Any:
    topics = [{"name": topic, "partitions": list(partitions)}]
    transaction = {**of_producer(name, producer, epoch), "verify_only": verify, "topics": topics}
    return {
        "transactions": [transaction],
        "v3_and_below_transactional_id": name,
        "v3_and_below_producer_id": producer,
        "v3_and_below_producer_epoch": epoch,
        "v3_and_below_topics": topics,
    }


def offsets(name: str, group: str, producer: Any = 5, epoch: Any = 0, **fields: Any) -> dict[str, Any]:
    committed = {
        "partition_index": 0,
        "committed_offset": 9,
        "committed_leader_epoch": -1,
        "committed_metadata": "in a transaction",
    }
    topics = [{"name": PLAIN, "partitions": [committed]}]
    given = {"group_id": group, "generation_id": -1, "member_id": "", "topics": topics}
    return {**of_producer(name, producer, epoch), **given, **fields}


def marker(producer: int, *, topic: str = PLAIN, partition: int = 2, commit: bool = True) -> dict[str, Any]:
    written = {
        "producer_id": producer,
        "producer_epoch": 0,
        "transaction_result": commit,
        "topics": [{"name": topic, "partition_indexes": [partition]}],
        "coordinator_epoch": 0,
        "transaction_version": 0,
    }
    return {"markers": [written]}


_INIT = ApiKey.INIT_PRODUCER_ID
_P, _E = Kept("producer"), Kept("epoch")

STRANGERS: list[Case] = [
    ask(_INIT, "an empty transactional id", begin("")),
    ask(_INIT, "no timeout", begin("twin-t", timeout_ms=0)),
    ask(_INIT, "a long timeout", begin("twin-t", timeout_ms=900_001)),
    ask(_INIT, "half an identity", begin("twin-t", producer=5), versions=(3, 5)),
    ask(_INIT, "the other half", begin("twin-t", epoch=5), versions=(3, 5)),
    ask(_INIT, "a foreign identity", begin("twin-t", producer=999_999, epoch=0), versions=(3, 5)),
    ask(ApiKey.ADD_PARTITIONS_TO_TXN, "a stranger", add("twin-stranger", 0), versions=(0, 3), varied=True),
    ask(ApiKey.ADD_PARTITIONS_TO_TXN, "a stranger in a batch", add("twin-stranger", 0), versions=(4, 5)),
    ask(ApiKey.ADD_PARTITIONS_TO_TXN, "a question of a broker", add("twin-stranger", 0, verify=True), versions=(4, 5)),
    ask(ApiKey.ADD_PARTITIONS_TO_TXN, "a missing topic", add("twin-stranger", 0, topic=MISSING), versions=(0, 3)),
    ask(
        ApiKey.ADD_PARTITIONS_TO_TXN,
        "an internal topic",
        add("twin-stranger", 0, topic="__consumer_offsets"),
        versions=(0, 3),
    ),
    ask(ApiKey.ADD_PARTITIONS_TO_TXN, "an empty name", add("", 0), versions=(0, 3)),
    ask(ApiKey.ADD_OFFSETS_TO_TXN, "a stranger", of_producer("twin-stranger", group_id=GROUP), varied=True),
    ask(ApiKey.ADD_OFFSETS_TO_TXN, "an empty name", of_producer("", group_id=GROUP)),
    ask(ApiKey.ADD_OFFSETS_TO_TXN, "a nameless group", of_producer("twin-stranger", group_id="")),
    ask(ApiKey.END_TXN, "a stranger", of_producer("twin-stranger", committed=True), varied=True),
    ask(ApiKey.END_TXN, "an empty name", of_producer("", committed=False)),
    ask(ApiKey.TXN_OFFSET_COMMIT, "a stranger", offsets("twin-stranger", GROUP)),
    ask(ApiKey.TXN_OFFSET_COMMIT, "a nameless group", offsets("twin-stranger", "")),
    ask(
        ApiKey.TXN_OFFSET_COMMIT,
        "a member that is none",
        offsets("twin-stranger", GROUP, generation_id=4, member_id="m"),
        versions=(3, 5),
    ),
    ask(ApiKey.DESCRIBE_TRANSACTIONS, "a stranger", {"transactional_ids": ["twin-stranger", ""]}, varied=True),
    ask(ApiKey.DESCRIBE_TRANSACTIONS, "those without a transaction", {"transactional_ids": ["twin-t"]}),
    *[
        ask(
            ApiKey.LIST_TRANSACTIONS,
            f"{states} of {producers}, {duration} ms, {pattern!r}",
            {
                "state_filters": states,
                "producer_id_filters": producers,
                "duration_filter": duration,
                "transactional_id_pattern": pattern,
            },
            versions=(0 if duration == -1 and pattern is None else 1 if pattern is None else 2, 2),
        )
        for states, producers, duration, pattern in (
            (["Ongoing"], [], -1, None),
            (["nonsense"], [], -1, None),
            (["Empty", "nonsense"], [123_456], -1, None),
            (["Ongoing"], [], 0, None),
            (["Ongoing"], [], 1 << 40, None),
            (["Empty"], [], -1, "twin-[tu]"),
            (["Empty"], [], -1, ""),
            (["Empty"], [], -1, "("),
            (["Empty"], [], -1, "nobody"),
        )
    ],
    ask(ApiKey.WRITE_TXN_MARKERS, "of no transaction", marker(4242)),
    ask(ApiKey.WRITE_TXN_MARKERS, "for a missing topic", marker(4243, topic=MISSING)),
    ask(ApiKey.WRITE_TXN_MARKERS, "for a missing partition", marker(4244, partition=9)),
    ask(ApiKey.WRITE_TXN_MARKERS, "none", {"markers": []}),
]


def _records(partition: int, produced: Callable[[int], bytes]) -> dict[str, Any]:
    data = {"index": partition, "records": produced}
    topics = [{"name": PLAIN, "topic_id": TopicId(PLAIN), "partition_data": [data]}]
    return {"transactional_id": ID, "acks": -1, "timeout_ms": 5000, "topic_data": topics}


def _step(key: ApiKey, given: dict[str, Any], **options: Any) -> Step:
    return step(key, given, **{"coordinator": ID, **options})


def _began() -> Step:
    return _step(
        _INIT, begin(ID), keep={"producer": "producer_id", "epoch": "producer_epoch"}, version=4, until_done=True
    )


def _described() -> Step:
    return _step(ApiKey.DESCRIBE_TRANSACTIONS, {"transactional_ids": [ID]})


LIVES: list[Case] = [
    script(
        _INIT,
        "producer ids",
        step(_INIT, begin(None), keep={"producer": "producer_id"}),
    ),
    script(
        _INIT,
        "a name, again and again",
        _step(_INIT, begin(ID), keep={"producer": "producer_id", "epoch": "producer_epoch"}, until_done=True),
        _step(_INIT, begin(ID, producer=_P, epoch=_E), keep={"epoch": "producer_epoch"}),
        _step(_INIT, begin(ID), keep={"epoch": "producer_epoch"}),
        _described(),
    ),
    script(
        ApiKey.END_TXN,
        "nothing to end",
        _began(),
        _step(ApiKey.END_TXN, of_producer(ID, _P, _E, committed=True)),
        _step(ApiKey.END_TXN, of_producer(ID, _P, 7, committed=True)),
        _step(ApiKey.END_TXN, of_producer(ID, 77, _E, committed=True)),
    ),
    *[
        script(
            ApiKey.ADD_PARTITIONS_TO_TXN,
            f"a transaction that is {'committed' if committed else 'aborted'}",
            _began(),
            _step(ApiKey.ADD_PARTITIONS_TO_TXN, add(ID, 0, 1, producer=_P, epoch=_E)),
            _step(ApiKey.ADD_PARTITIONS_TO_TXN, add(ID, 0, producer=_P, epoch=_E)),
            _step(ApiKey.ADD_PARTITIONS_TO_TXN, add(ID, 9, producer=_P, epoch=_E)),
            _step(ApiKey.ADD_PARTITIONS_TO_TXN, add(ID, 0, producer=_P, epoch=7)),
            _step(ApiKey.ADD_PARTITIONS_TO_TXN, add(ID, 0, producer=77, epoch=_E)),
            _described(),
            _step(ApiKey.LIST_TRANSACTIONS, {"transactional_id_pattern": ID, "duration_filter": -1}, version=2),
            _step(ApiKey.ADD_OFFSETS_TO_TXN, of_producer(ID, _P, _E, group_id=_GROUP)),
            step(ApiKey.TXN_OFFSET_COMMIT, offsets(ID, _GROUP, _P, _E), coordinator=_GROUP),
            step(ApiKey.OFFSET_FETCH, fetched(_GROUP, require_stable=True), version=7, coordinator=_GROUP),
            step(ApiKey.OFFSET_FETCH, fetched(_GROUP), version=7, coordinator=_GROUP),
            _step(ApiKey.END_TXN, of_producer(ID, _P, _E, committed=committed), version=4),
            _step(ApiKey.END_TXN, of_producer(ID, _P, _E, committed=committed), version=4),
            _step(ApiKey.END_TXN, of_producer(ID, _P, _E, committed=not committed), version=4),
            step(
                ApiKey.OFFSET_FETCH,
                fetched(_GROUP, require_stable=True),
                version=7,
                coordinator=_GROUP,
                until_done=True,
            ),
            step(ApiKey.FETCH, fetch(partition=1, isolation_level=1), version=11, leader=1),
            step(ApiKey.LIST_OFFSETS, list_offsets(-1, partition=1, isolation_level=1), version=7, leader=1),
            step(ApiKey.OFFSET_COMMIT, commit(_GROUP), version=8, coordinator=_GROUP),
            versions=(0, 3),
        )
        for committed in (True, False)
    ],
    script(
        ApiKey.END_TXN,
        "the second version of transactions",
        _began(),
        step(ApiKey.TXN_OFFSET_COMMIT, offsets(ID, _GROUP, _P, _E), coordinator=_GROUP, version=5),
        _described(),
        _step(ApiKey.END_TXN, of_producer(ID, _P, _E, committed=True), keep={"epoch": "producer_epoch"}, version=5),
        _step(ApiKey.END_TXN, of_producer(ID, _P, _E, committed=True), keep={"epoch": "producer_epoch"}, version=5),
        _step(ApiKey.END_TXN, of_producer(ID, _P, 0, committed=True), version=5),
        _step(ApiKey.END_TXN, of_producer(ID, _P, _E, committed=False), version=5),
        versions=(5, 5),
    ),
]

CASES = [*STRANGERS, *LIVES]
