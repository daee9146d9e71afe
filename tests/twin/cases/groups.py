"""Classic groups, and the offsets of groups."""

from __future__ import annotations

from typing import Any

from twin.asking import Case, Kept, Step, TopicId, ask, script, step
from twin.state import EMPTY, GROUP, MISSING, PLAIN

from tidelog.protocol.messages import ApiKey

NOBODY = "twin-nobody"


def find(key: str, kind: int = 0, *more: str) -> dict[str, Any]:
    return {"key": key, "key_type": kind, "coordinator_keys": [key, *more]}


def join(group: str, member: Any = "", **fields: Any) -> dict[str, Any]:
    return {
        "group_id": group,
        "session_timeout_ms": 60_000,
        "rebalance_timeout_ms": 60_000,
        "member_id": member,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b"m"}],
        "reason": None,
        **fields,
    }


def of_member(group: str, generation: int | Kept = 1, member: Any = "m", **fields: Any) -> dict[str, Any]:
    return {"group_id": group, "generation_id": generation, "member_id": member, **fields}


def leave(group: str, member: Any = "m", instance: str | None = None) -> dict[str, Any]:
    members = [{"member_id": member, "group_instance_id": instance}]
    return {"group_id": group, "member_id": member, "members": members}


def commit(
    group: str,
    *,
    generation: int = -1,
    member: Any = "",
    offset: int = 5,
    topic: str = PLAIN,
    partition: int = 0,
    note: str | None = "note",
    **fields: Any,
) -> dict[str, Any]:
    committed = {
        "partition_index": partition,
        "committed_offset": offset,
        "committed_leader_epoch": -1,
        "committed_metadata": note,
    }
    topics = [{"name": topic, "topic_id": TopicId(topic), "partitions": [committed]}]
    return {
        "group_id": group,
        "generation_id_or_member_epoch": generation,
        "member_id": member,
        "retention_time_ms": -1,
        "topics": topics,
        **fields,
    }


def fetched(group: str, topic: str | None = PLAIN, **fields: Any) -> dict[str, Any]:
    topics = None if topic is None else [{"name": topic, "partition_indexes": [0, 1]}]
    by_id = None if topic is None else [{**each, "topic_id": TopicId(topic)} for each in topics or ()]
    asked = {"group_id": group, "member_id": None, "member_epoch": -1, "topics": by_id}
    return {"group_id": group, "topics": topics, "groups": [asked], "require_stable": False, **fields}


def deleted_offsets(group: str, topic: str = PLAIN, partition: int = 0) -> dict[str, Any]:
    return {"group_id": group, "topics": [{"name": topic, "partitions": [{"partition_index": partition}]}]}


_HUGE = (1 << 63) - 1

COORDINATORS: list[Case] = [
    ask(ApiKey.FIND_COORDINATOR, "of a group", find("twin-a"), varied=True),
    ask(ApiKey.FIND_COORDINATOR, "of several groups", find("twin-a", 0, "twin-b", "twin-a")),
    ask(ApiKey.FIND_COORDINATOR, "of a transactional id", find("twin-t", 1)),
    *[ask(ApiKey.FIND_COORDINATOR, f"of type {kind}", find("twin-a", kind)) for kind in (2, 3, 9, -1)],
    ask(ApiKey.FIND_COORDINATOR, "of an empty name", find("")),
    ask(ApiKey.FIND_COORDINATOR, "of an empty transactional id", find("", 1)),
    ask(ApiKey.FIND_COORDINATOR, "of nothing", {"key": "", "key_type": 0, "coordinator_keys": []}),
]

MEMBERS: list[Case] = [
    ask(ApiKey.JOIN_GROUP, "a stranger", join("twin-a", "stranger"), varied=True),
    ask(ApiKey.JOIN_GROUP, "a nameless group", join("")),
    ask(ApiKey.JOIN_GROUP, "a short session", join("twin-a", session_timeout_ms=1)),
    ask(ApiKey.JOIN_GROUP, "a long session", join("twin-a", session_timeout_ms=100_000_000)),
    ask(ApiKey.JOIN_GROUP, "without protocols", join("twin-a", protocols=[])),
    ask(ApiKey.JOIN_GROUP, "without a protocol type", join("twin-a", protocol_type="")),
    ask(ApiKey.HEARTBEAT, "a stranger", of_member(NOBODY), varied=True),
    ask(ApiKey.HEARTBEAT, "a nameless group", of_member("")),
    ask(ApiKey.HEARTBEAT, "a group without members", of_member(GROUP)),
    ask(ApiKey.SYNC_GROUP, "a stranger", of_member(NOBODY), varied=True),
    ask(ApiKey.SYNC_GROUP, "a nameless group", of_member("")),
    ask(ApiKey.SYNC_GROUP, "a type without a name", of_member(NOBODY, protocol_type="consumer")),
    ask(ApiKey.LEAVE_GROUP, "a stranger", leave(NOBODY), varied=True),
    ask(ApiKey.LEAVE_GROUP, "a strange instance", leave(NOBODY, "", "i")),
    ask(ApiKey.LEAVE_GROUP, "a nameless group", leave("")),
    ask(ApiKey.LEAVE_GROUP, "nobody", {"group_id": GROUP, "members": []}, versions=(3, 5)),
]

OFFSETS: list[Case] = [
    ask(ApiKey.OFFSET_COMMIT, "without members", commit(GROUP), varied=True),
    ask(ApiKey.OFFSET_COMMIT, "kept for ever", commit(GROUP, retention_time_ms=_HUGE)),
    ask(ApiKey.OFFSET_COMMIT, "kept for a while", commit("twin-kept", retention_time_ms=3_600_000)),
    ask(ApiKey.OFFSET_COMMIT, "a stranger", commit(GROUP, generation=3, member="stranger")),
    ask(ApiKey.OFFSET_COMMIT, "a nameless group", commit("")),
    ask(ApiKey.OFFSET_COMMIT, "a missing topic", commit(GROUP, topic=MISSING)),
    ask(ApiKey.OFFSET_COMMIT, "a missing partition", commit(GROUP, partition=9)),
    ask(ApiKey.OFFSET_COMMIT, "a long note", commit(GROUP, note="x" * 5000)),
    ask(ApiKey.OFFSET_COMMIT, "no note", commit(GROUP, note=None, partition=1)),
    ask(ApiKey.OFFSET_COMMIT, "an offset below zero", commit(GROUP, offset=-1, partition=1)),
    ask(ApiKey.OFFSET_COMMIT, "no topics", {**commit(GROUP), "topics": []}),
    ask(ApiKey.OFFSET_COMMIT, "an instance", commit(GROUP, group_instance_id="i")),
    ask(ApiKey.OFFSET_COMMIT, "a group that is not there", commit(NOBODY, generation=1, member="m")),
    ask(ApiKey.OFFSET_FETCH, "of nobody", fetched(NOBODY)),
    ask(ApiKey.OFFSET_FETCH, "of a group", fetched(GROUP), varied=True),
    ask(ApiKey.OFFSET_FETCH, "of a missing topic", fetched(GROUP, MISSING)),
    ask(ApiKey.OFFSET_FETCH, "of a nameless group", fetched("")),
    ask(ApiKey.OFFSET_FETCH, "all of them", fetched(GROUP, None), versions=(2, 10)),
    ask(ApiKey.OFFSET_FETCH, "all of nobody", fetched(NOBODY, None), versions=(2, 10)),
    ask(ApiKey.OFFSET_FETCH, "that are stable", fetched(GROUP, require_stable=True)),
    ask(
        ApiKey.OFFSET_FETCH,
        "of several groups",
        {"groups": [fetched(GROUP)["groups"][0], fetched(NOBODY)["groups"][0]]},
        versions=(8, 10),
    ),
    ask(ApiKey.OFFSET_DELETE, "of nobody", deleted_offsets(NOBODY), varied=True),
    ask(ApiKey.OFFSET_DELETE, "of a nameless group", deleted_offsets("")),
    ask(ApiKey.OFFSET_DELETE, "that are not there", deleted_offsets(GROUP, EMPTY)),
    ask(ApiKey.OFFSET_DELETE, "of a missing topic", deleted_offsets(GROUP, MISSING)),
    ask(ApiKey.OFFSET_DELETE, "of a missing partition", deleted_offsets(GROUP, PLAIN, 9)),
    script(
        ApiKey.OFFSET_COMMIT,
        "committed, fetched, deleted",
        step(ApiKey.OFFSET_COMMIT, commit("twin-c-{run}"), coordinator="twin-c-{run}"),
        step(ApiKey.OFFSET_FETCH, fetched("twin-c-{run}"), coordinator="twin-c-{run}"),
        step(ApiKey.DESCRIBE_GROUPS, {"groups": ["twin-c-{run}"]}, coordinator="twin-c-{run}"),
        step(ApiKey.OFFSET_DELETE, deleted_offsets("twin-c-{run}"), coordinator="twin-c-{run}"),
        step(ApiKey.OFFSET_FETCH, fetched("twin-c-{run}", None), version=8, coordinator="twin-c-{run}"),
        step(ApiKey.OFFSET_COMMIT, commit("twin-c-{run}"), coordinator="twin-c-{run}"),
        step(ApiKey.DELETE_GROUPS, {"groups_names": ["twin-c-{run}"]}, coordinator="twin-c-{run}"),
        step(ApiKey.DELETE_GROUPS, {"groups_names": ["twin-c-{run}"]}, coordinator="twin-c-{run}"),
    ),
]

DESCRIPTIONS: list[Case] = [
    ask(ApiKey.DESCRIBE_GROUPS, "known and unknown", {"groups": [NOBODY, GROUP, ""]}, varied=True),
    ask(
        ApiKey.DESCRIBE_GROUPS,
        "and what may be done",
        {"groups": [NOBODY, GROUP], "include_authorized_operations": True},
    ),
    ask(ApiKey.DESCRIBE_GROUPS, "none", {"groups": []}),
    ask(ApiKey.DESCRIBE_GROUPS, "one twice", {"groups": [GROUP, GROUP]}),
    ask(ApiKey.DELETE_GROUPS, "nobody", {"groups_names": [NOBODY, ""]}, varied=True),
    ask(ApiKey.DELETE_GROUPS, "none", {"groups_names": []}),
    ask(ApiKey.DELETE_GROUPS, "one twice", {"groups_names": [NOBODY, NOBODY]}),
    *[
        ask(
            ApiKey.LIST_GROUPS,
            f"in {states}, of {types}",
            {"states_filter": states, "types_filter": types},
            versions=(0 if not states and not types else 4 if not types else 5, 5),
        )
        for states, types in (
            ([], []),
            (["Empty"], []),
            (["empty"], []),
            (["Dead", "Stable"], []),
            (["nonsense"], []),
            ([""], []),
            ([], ["classic"]),
            ([], ["Classic"]),
            ([], ["consumer"]),
            ([], ["share"]),
            ([], ["nonsense"]),
            (["Empty"], ["classic"]),
        )
    ],
]


def _joined(group: str, name: str, **fields: Any) -> tuple[Step, Step]:
    """A join as clients do it: the first reply may ask to come again with the member id."""
    first = step(ApiKey.JOIN_GROUP, join(group, **fields), keep={name: "member_id"}, coordinator=group)
    return first, step(
        ApiKey.JOIN_GROUP, join(group, Kept(name), **fields), keep={name: "member_id"}, coordinator=group
    )


def _of(key: ApiKey, given: dict[str, Any], group: str = "twin-g-{run}", **options: Any) -> Step:
    return step(key, given, coordinator=group, **options)


_G = "twin-g-{run}"
_ASSIGNED = {"assignments": [{"member_id": Kept("member"), "assignment": b"yours"}]}

LIVES: list[Case] = [
    script(
        ApiKey.JOIN_GROUP,
        "the life of a group",
        *_joined(_G, "member"),
        _of(ApiKey.DESCRIBE_GROUPS, {"groups": [_G]}),
        _of(ApiKey.HEARTBEAT, of_member(_G, 2, Kept("member"))),
        _of(
            ApiKey.SYNC_GROUP,
            of_member(_G, 2, Kept("member"), protocol_type="consumer", protocol_name="range", **_ASSIGNED),
        ),
        _of(
            ApiKey.SYNC_GROUP,
            of_member(_G, 1, Kept("member"), protocol_type="consumer", protocol_name="range", **_ASSIGNED),
        ),
        _of(ApiKey.HEARTBEAT, of_member(_G, 1, Kept("member"))),
        _of(ApiKey.HEARTBEAT, of_member(_G, 7, Kept("member"))),
        _of(ApiKey.HEARTBEAT, of_member(_G, 1, "stranger")),
        _of(ApiKey.DESCRIBE_GROUPS, {"groups": [_G], "include_authorized_operations": True}),
        _of(ApiKey.OFFSET_COMMIT, commit(_G, generation=1, member=Kept("member"))),
        _of(ApiKey.OFFSET_COMMIT, commit(_G, generation=2, member=Kept("member"))),
        _of(ApiKey.OFFSET_COMMIT, commit(_G, generation=7, member=Kept("member"))),
        _of(ApiKey.OFFSET_COMMIT, commit(_G, generation=1, member="stranger")),
        _of(ApiKey.OFFSET_COMMIT, commit(_G)),
        _of(ApiKey.OFFSET_FETCH, fetched(_G)),
        _of(ApiKey.OFFSET_DELETE, deleted_offsets(_G)),
        _of(ApiKey.OFFSET_DELETE, deleted_offsets(_G, EMPTY)),
        _of(ApiKey.DELETE_GROUPS, {"groups_names": [_G]}),
        _of(ApiKey.JOIN_GROUP, join(_G, "", protocol_type="connect")),
        _of(ApiKey.JOIN_GROUP, join(_G, "", protocols=[{"name": "other", "metadata": b""}])),
        _of(ApiKey.JOIN_GROUP, join(_G, Kept("member"))),
        _of(ApiKey.LEAVE_GROUP, leave(_G, Kept("member"))),
        _of(ApiKey.HEARTBEAT, of_member(_G, 1, Kept("member"))),
        _of(ApiKey.LEAVE_GROUP, leave(_G, Kept("member"))),
        _of(ApiKey.DESCRIBE_GROUPS, {"groups": [_G]}),
        _of(ApiKey.DELETE_GROUPS, {"groups_names": [_G]}),
        _of(ApiKey.DESCRIBE_GROUPS, {"groups": [_G]}),
    ),
    script(
        ApiKey.JOIN_GROUP,
        "the life of a static member",
        _of(
            ApiKey.JOIN_GROUP, join("twin-s-{run}", group_instance_id="i"), "twin-s-{run}", keep={"member": "member_id"}
        ),
        _of(
            ApiKey.SYNC_GROUP,
            of_member(
                "twin-s-{run}",
                1,
                Kept("member"),
                group_instance_id="i",
                protocol_type="consumer",
                protocol_name="range",
                **_ASSIGNED,
            ),
            "twin-s-{run}",
        ),
        _of(
            ApiKey.JOIN_GROUP, join("twin-s-{run}", group_instance_id="i"), "twin-s-{run}", keep={"second": "member_id"}
        ),
        _of(ApiKey.HEARTBEAT, of_member("twin-s-{run}", 1, Kept("member"), group_instance_id="i"), "twin-s-{run}"),
        _of(ApiKey.DESCRIBE_GROUPS, {"groups": ["twin-s-{run}"]}, "twin-s-{run}"),
        _of(ApiKey.LEAVE_GROUP, leave("twin-s-{run}", "", "i"), "twin-s-{run}"),
        _of(ApiKey.LEAVE_GROUP, leave("twin-s-{run}", "", "i"), "twin-s-{run}"),
        versions=(5, 9),
    ),
]

CASES = [*COORDINATORS, *MEMBERS, *OFFSETS, *DESCRIPTIONS, *LIVES]
