"""Groups of the consumer protocol (KIP-848). Which partitions a member gets is the assignor's choice: with one member,
all of them."""

from __future__ import annotations

from typing import Any

from twin.asking import UNKNOWN_ID, Case, Kept, Step, TopicId, ask, script, step
from twin.cases.groups import commit, deleted_offsets, fetched, join, leave, of_member
from twin.state import EMPTY, GROUP, MISSING, PLAIN

from tidelog.protocol.messages import ApiKey

NEW = "twin-new-{run}"


def beat(member: str, epoch: int, group: str = NEW, **fields: Any) -> dict[str, Any]:
    joining = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": [PLAIN], "topic_partitions": []}
    given = {"group_id": group, "member_id": member, "member_epoch": epoch, "rebalance_timeout_ms": -1}
    return {**given, **(joining if epoch == 0 else {}), **fields}


def owning(topic: str, *partitions: int) -> list[dict[str, Any]]:
    return [{"topic_id": TopicId(topic), "partitions": list(partitions)}]


_BEAT = ApiKey.CONSUMER_GROUP_HEARTBEAT
_DESCRIBE = ApiKey.CONSUMER_GROUP_DESCRIBE


def _step(given: dict[str, Any], key: ApiKey = _BEAT, group: str = NEW, **options: Any) -> Step:
    return step(key, given, coordinator=group, **options)


_DESCRIBED = {"group_ids": [NEW], "include_authorized_operations": False}

SENSELESS: list[Case] = [
    ask(_BEAT, "a join without a name", beat("", 0, "twin-senseless"), versions=(1, 1)),
    ask(_BEAT, "a nameless group", beat("a", 0, "")),
    ask(_BEAT, "an empty instance id", beat("a", 0, "twin-senseless", instance_id="")),
    ask(_BEAT, "an empty rack", beat("a", 0, "twin-senseless", rack_id="")),
    ask(_BEAT, "no timeout", beat("a", 0, "twin-senseless", rebalance_timeout_ms=-1)),
    ask(_BEAT, "owns something already", beat("a", 0, "twin-senseless", topic_partitions=owning(PLAIN, 0))),
    ask(_BEAT, "says nothing about what it owns", beat("a", 0, "twin-senseless", topic_partitions=None)),
    ask(_BEAT, "no subscription", beat("a", 0, "twin-senseless", subscribed_topic_names=None)),
    ask(_BEAT, "an unknown assignor", beat("a", 0, "twin-senseless", server_assignor="clever")),
    ask(_BEAT, "an empty assignor", beat("a", 0, "twin-senseless", server_assignor="")),
    ask(
        _BEAT, "an expression that is none", beat("a", 0, "twin-senseless", subscribed_topic_regex="("), versions=(1, 1)
    ),
    ask(_BEAT, "leaves without instance", beat("a", -2, "twin-senseless")),
    ask(_BEAT, "a strange epoch", beat("a", -3, "twin-senseless")),
    ask(_BEAT, "no group", beat("a", 1, "twin-senseless"), varied=True),
    ask(_BEAT, "leaves no group", beat("a", -1, "twin-senseless")),
    ask(_DESCRIBE, "nobody", {"group_ids": ["twin-senseless", ""]}, varied=True),
    ask(_DESCRIBE, "a classic group", {"group_ids": [GROUP], "include_authorized_operations": True}),
    ask(_DESCRIBE, "none", {"group_ids": []}),
]

# What a classic consumer sends in its protocol: version 0, one topic, no user data.
_SUBSCRIPTION = b"\0\0" + b"\0\0\0\1" + len(PLAIN).to_bytes(2, "big") + PLAIN.encode() + b"\xff" * 4
_RANGE = {"protocol_type": "consumer", "protocol_name": "range"}


def _protocols(metadata: bytes) -> list[dict[str, Any]]:
    return [{"name": "range", "metadata": metadata}]


_OWNED = owning(PLAIN, 0, 1, 2)

LIVES: list[Case] = [
    script(
        _BEAT,
        "the life of one member",
        _step(beat("a", 0)),
        _step(beat("a", 1)),
        _step(beat("a", 1, topic_partitions=_OWNED, rebalance_timeout_ms=60_000, subscribed_topic_names=[PLAIN])),
        _step(_DESCRIBED, _DESCRIBE),
        _step({"group_ids": [NEW], "include_authorized_operations": True}, _DESCRIBE),
        _step({"groups": [NEW]}, ApiKey.DESCRIBE_GROUPS, version=5),
        _step({"groups": [NEW]}, ApiKey.DESCRIBE_GROUPS, version=6),
        _step(commit(NEW, generation=1, member="a"), ApiKey.OFFSET_COMMIT, version=9),
        _step(commit(NEW, generation=1, member="a"), ApiKey.OFFSET_COMMIT, version=8),
        _step(commit(NEW, generation=2, member="a"), ApiKey.OFFSET_COMMIT, version=9),
        _step(commit(NEW, generation=0, member="a"), ApiKey.OFFSET_COMMIT, version=9),
        _step(commit(NEW, generation=1, member="x"), ApiKey.OFFSET_COMMIT, version=9),
        _step(commit(NEW), ApiKey.OFFSET_COMMIT, version=9),
        _step(commit(NEW, generation=1, member="a"), ApiKey.OFFSET_COMMIT, version=10),
        _step(fetched(NEW), ApiKey.OFFSET_FETCH, version=9),
        _step(deleted_offsets(NEW), ApiKey.OFFSET_DELETE),
        _step(deleted_offsets(NEW, EMPTY), ApiKey.OFFSET_DELETE),
        _step({"groups_names": [NEW]}, ApiKey.DELETE_GROUPS),
        _step(of_member(NEW, 1, "a"), ApiKey.HEARTBEAT, version=4),
        _step(of_member(NEW, 1, "a", protocol_type=None, protocol_name=None), ApiKey.SYNC_GROUP, version=5),
        _step(beat("a", 9)),
        _step(beat("x", 1)),
        _step(beat("a", 1, subscribed_topic_names=[PLAIN, EMPTY])),
        _step(beat("a", 2, topic_partitions=[*_OWNED, *owning(EMPTY, 0)])),
        _step(_DESCRIBED, _DESCRIBE),
        _step(beat("a", 2, subscribed_topic_names=[MISSING])),
        _step(beat("a", 0)),
        _step(beat("a", -1)),
        _step(beat("a", -1)),
        _step(_DESCRIBED, _DESCRIBE),
        _step({"groups_names": [NEW]}, ApiKey.DELETE_GROUPS),
        _step(_DESCRIBED, _DESCRIBE),
    ),
    script(
        _BEAT,
        "a static member",
        _step(beat("a", 0, instance_id="i")),
        _step(beat("b", 0, instance_id="i")),
        _step(beat("a", 1, instance_id="j")),
        _step(beat("b", 1, instance_id="i")),
        _step(beat("a", -2, instance_id="i")),
        _step(_DESCRIBED, _DESCRIBE),
        _step(beat("a", 1, instance_id="i")),
        _step(beat("b", 0, instance_id="i")),
        _step(_DESCRIBED, _DESCRIBE),
        _step(beat("a", -1, instance_id="i")),
        _step(beat("b", -1, instance_id="i")),
        _step(_DESCRIBED, _DESCRIBE),
        versions=(0, 1),
    ),
    script(
        _BEAT,
        "an unknown topic is owned",
        _step(beat("a", 0)),
        _step(beat("a", 1, topic_partitions=[{"topic_id": UNKNOWN_ID, "partitions": [0]}])),
        _step(beat("a", -1)),
    ),
    script(
        _BEAT,
        "a classic member that does not say what it reads",
        _step(beat("a", 0)),
        _step(join(NEW, "", protocols=_protocols(b"nonsense")), ApiKey.JOIN_GROUP, keep={"member": "member_id"}),
        _step(join(NEW, Kept("member"), protocols=_protocols(b"nonsense")), ApiKey.JOIN_GROUP, version=9),
        _step(beat("a", -1)),
    ),
    script(
        _BEAT,
        "a classic member of a group of consumers",
        _step(beat("a", 0)),
        _step(
            join(NEW, "", protocols=_protocols(_SUBSCRIPTION)),
            ApiKey.JOIN_GROUP,
            keep={"member": "member_id"},
            version=9,
        ),
        _step(join(NEW, Kept("member"), protocols=_protocols(_SUBSCRIPTION)), ApiKey.JOIN_GROUP, version=9),
        _step(of_member(NEW, 3, Kept("member")), ApiKey.HEARTBEAT, version=4),
        _step(of_member(NEW, 2, Kept("member")), ApiKey.HEARTBEAT, version=4),
        _step(beat("a", -1)),
        _step(leave(NEW, Kept("member")), ApiKey.LEAVE_GROUP, version=5),
        _step(_DESCRIBED, _DESCRIBE),
    ),
    script(
        _BEAT,
        "a classic member in the place of the last consumer",
        _step(beat("a", 0, instance_id="i")),
        _step(
            join(NEW, "", group_instance_id="i", protocols=_protocols(_SUBSCRIPTION)),
            ApiKey.JOIN_GROUP,
            keep={"member": "member_id", "generation": "generation_id"},
            version=9,
        ),
        _step(
            of_member(NEW, Kept("generation"), Kept("member"), group_instance_id="i", **_RANGE),
            ApiKey.SYNC_GROUP,
            version=5,
        ),
        _step(of_member(NEW, Kept("generation"), Kept("member"), group_instance_id="i"), ApiKey.HEARTBEAT, version=4),
        _step(beat("a", 2, instance_id="i")),
        _step({"groups": [NEW]}, ApiKey.DESCRIBE_GROUPS, version=6),
        _step(_DESCRIBED, _DESCRIBE),
        _step(leave(NEW, Kept("member"), "i"), ApiKey.LEAVE_GROUP, version=5),
    ),
    script(
        _BEAT,
        "a consumer that comes to a classic group",
        _step(
            join(NEW, "", protocols=_protocols(_SUBSCRIPTION)),
            ApiKey.JOIN_GROUP,
            keep={"member": "member_id"},
            version=3,
        ),
        _step(
            of_member(NEW, 1, Kept("member"), assignments=[{"member_id": Kept("member"), "assignment": b""}]),
            ApiKey.SYNC_GROUP,
            version=3,
        ),
        _step(beat("b", 0, subscribed_topic_names=[EMPTY])),
        _step({"groups": [NEW]}, ApiKey.DESCRIBE_GROUPS, version=6),
        _step(of_member(NEW, 1, Kept("member")), ApiKey.HEARTBEAT, version=3),
        _step(leave(NEW, Kept("member")), ApiKey.LEAVE_GROUP, version=2),
        _step(beat("b", -1)),
    ),
]

CASES = [*SENSELESS, *LIVES]
