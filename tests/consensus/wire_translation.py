"""Sends the messages of a simulation through Kafka's RPCs: written, encoded, decoded and read, in changing versions."""

from __future__ import annotations

import random
from typing import TypeVar, cast

from tidelog.consensus.messages import Answer, BeginEpoch, EndEpoch, Fetch, FetchSnapshot, Request, Vote
from tidelog.consensus.wire import QuorumWire
from tidelog.consensus.wire_answers import VoterEndpoint
from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.codec import decode_whole, encode
from tidelog.protocol.schema import Message

M = TypeVar("M", bound=Request | Answer)

ENDPOINTS = {node_id: VoterEndpoint("127.0.0.1", 9_090 + node_id) for node_id in range(1, 6)}
# Votes that only ask exist since version 2; the others are understood in all versions that followers use.
_OLDEST = {"VoteRequest": 2, "FetchRequest": 12, "FetchResponse": 12}


def wire_of(node_id: int, cluster_id: str = "cluster") -> QuorumWire:
    return QuorumWire(
        cluster_id=cluster_id,
        node_id=node_id,
        directory_id=ZERO_UUID,
        listener_name="CONTROLLER",
        endpoints=ENDPOINTS,
    )


def through_bytes(message: Message, version: int) -> Message:
    return decode_whole(type(message), encode(message, version), version)


def versions_of(message_class: type[Message]) -> range:
    valid = message_class.SCHEMA.valid
    assert valid is not None
    return range(max(valid[0], _OLDEST.get(message_class.__name__, 0)), valid[1] + 1)


class WireTranslation:
    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def __call__(self, message: M, destination_id: int) -> M:
        receiver = wire_of(destination_id)
        if isinstance(message, Vote | BeginEpoch | EndEpoch | Fetch | FetchSnapshot):
            sent = wire_of(0).write_request(destination_id, message)
        else:
            sent = wire_of(0).write_answer(message)
        arrived = through_bytes(sent, self._chance.choice(versions_of(type(sent))))
        if isinstance(message, Vote | BeginEpoch | EndEpoch | Fetch | FetchSnapshot):
            return cast("M", receiver.read_request(arrived))
        return cast("M", receiver.read_answer(arrived))
