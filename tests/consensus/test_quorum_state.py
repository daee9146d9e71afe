from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.consensus.quorum_state import QuorumState, decode_quorum_state, encode_quorum_state
from tidelog.model.ids import ZERO_UUID, Uuid, parse_uuid

IDS = st.none() | st.integers(0, 2**31 - 1)
STATES = st.builds(
    QuorumState,
    epoch=st.integers(0, 2**31 - 1),
    leader_id=IDS,
    voted_id=IDS,
    voted_directory_id=st.binary(min_size=16, max_size=16).map(Uuid),
)


def test_fixed_voters_are_written_as_kafka_writes_them() -> None:
    text = encode_quorum_state(QuorumState(epoch=2, leader_id=1), {3, 1, 2})
    assert text == (
        '{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,'
        '"currentVoters":[{"voterId":1},{"voterId":2},{"voterId":3}],"data_version":0}'
    )


def test_changing_voters_are_read_as_kafka_writes_them() -> None:
    directory_id = parse_uuid("J8aAPcfLQt2bqs1JT_rMgQ")
    text = '{"leaderId":-1,"leaderEpoch":2,"votedId":1,"votedDirectoryId":"J8aAPcfLQt2bqs1JT_rMgQ","data_version":1}'
    assert decode_quorum_state(text) == QuorumState(epoch=2, voted_id=1, voted_directory_id=directory_id)


@given(STATES)
def test_only_the_directory_is_lost_in_version_0(state: QuorumState) -> None:
    decoded = decode_quorum_state(encode_quorum_state(state, (1, 2)))
    assert (decoded.epoch, decoded.leader_id, decoded.voted_id) == (state.epoch, state.leader_id, state.voted_id)
    assert decoded.voted_directory_id == ZERO_UUID


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "not JSON"),
        ('{"leaderId":1', "not JSON"),
        ("[]", "not a JSON object"),
        ("{}", "data_version"),
        ('{"leaderEpoch":1,"data_version":2}', "data_version 2"),
        ('{"leaderEpoch":"1","data_version":0}', "leaderEpoch"),
        ('{"leaderEpoch":-1,"data_version":0}', "leaderEpoch"),
        ('{"data_version":0}', "leaderEpoch"),
        ('{"leaderEpoch":1,"votedId":true,"data_version":0}', "votedId"),
        ('{"leaderEpoch":1,"votedDirectoryId":"short","data_version":1}', "short"),
        ('{"leaderEpoch":1,"votedDirectoryId":5,"data_version":1}', "votedDirectoryId"),
    ],
)
def test_damaged_text_is_refused_with_its_problem(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        decode_quorum_state(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(JSON)
def test_any_other_json_gives_a_value_error(content: object) -> None:
    with pytest.raises(ValueError, match="quorum state"):
        decode_quorum_state(json.dumps(content))
